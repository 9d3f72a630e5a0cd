"""Systems that read sounds, from training to times, drawings and a language model; small, and on made-up voices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from xattend import job
from xattend.cli import align, predict
from xattend.data.corpus import encode_rows
from xattend.data.fields.sound import Sound
from xattend.data.readers.base import Row
from xattend.errors import UserError
from xattend.model import Model
from xattend.objectives.with_ctc import WithCTC
from xattend.report.complete import complete
from xattend.report.trace_json import read_trace, trace_to_json
from xattend.systems.ctc import CTC

DATA = """
[data]
task = { kind = "spoken-digits", rows = 12, digits = [1, 3] }
source = { kind = "sound", rate = 8000, size = 20 }
"""
SMALL = """
[encoder]
kind = "listen"
size = 8
layers = 1
halve = 1
[training]
steps = 3
sentences = 6
validate_every = 3
metric = "cer"
"""
SYSTEMS = {
    "ctc": '[system]\nkind = "ctc"\n',
    "transducer": '[system]\nkind = "transducer"\nsize = 8\nembedding = 4\n',
    "seq2seq": '[attention]\nkind = "hybrid"\nsize = 8\n[decoder]\nsize = 8\nembedding = 4\n[objective]\nkind = "with-ctc"\n'
    'main = { kind = "scheduled-sampling" }\n[search]\nkind = "beam"\nmax_length = 6\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("speech"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XATTEND_CACHE", str(folder / "cache"))
        for name, more in SYSTEMS.items():
            (folder / f"{name}.toml").write_text(DATA + SMALL + more)
            job.start(folder / f"{name}.toml", out=folder / name)
            found[name] = folder / name
        lm = DATA.replace('source = { kind = "sound", rate = 8000, size = 20 }\n', "")
        (folder / "lm.toml").write_text(lm + '[system]\nkind = "language-model"\n[decoder]\nsize = 8\nembedding = 4\n[training]\nsteps = 3\n')
        job.start(folder / "lm.toml", out=folder / "lm")
        found["lm"] = folder / "lm"
        yield found  # type: ignore[misc]


TEXT = "spoken-digits:1 5 31"


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_predicts_scores_aligns_and_traces(runs: dict[str, Path], name: str) -> None:
    model = Model.load(runs[name])
    found = model.predict([TEXT, "spoken-digits:2 9 4"], attention=True)
    for text, one in zip([TEXT, "spoken-digits:2 9 4"], found, strict=True):
        assert one.trace is not None
        assert one.trace.weights_THS.shape[2] == len(one.trace.source_tokens)
        whole = complete(model, one, text)
        assert whole.kind == "sound"
        again = read_trace(json.loads(json.dumps(trace_to_json(whole))))
        assert again.seconds == whole.seconds
        assert again.pixels is not None
    score = next(iter(model.score_rows([Row(TEXT, "31", "x", 1)])))
    assert len(score.token_logprobs) == 3
    assert score.logprob < 0


def test_ctcs_score_is_that_of_all_paths(runs: dict[str, Path]) -> None:
    model = Model.load(runs["ctc"])
    assert isinstance(model.system, CTC)
    rows = [Row(TEXT, "31", "x", 1), Row("spoken-digits:2 9 4", "444", "x", 2)]
    batch = encode_rows((model.source, model.target), rows)
    sums = [sum(one) for one in model.system.score(batch)]
    np.testing.assert_allclose(sums, model.system.log_probability(batch).numpy(), atol=1e-4)
    loss = model.system.loss(batch)
    np.testing.assert_allclose(-sum(sums), float(loss.total.detach()), rtol=1e-4)


def test_a_row_too_short_for_its_labels_is_counted(runs: dict[str, Path]) -> None:
    model = Model.load(runs["ctc"])
    batch = encode_rows((model.source, model.target), [Row(TEXT, "3" * 200, "x", 1), Row(TEXT, "31", "x", 2)])
    loss = model.system.loss(batch)
    assert loss.parts["impossible"] == 1
    assert bool(torch.isfinite(loss.total))
    loss.total.backward()
    assert all(bool(torch.isfinite(weight.grad).all()) for weight in model.system.parameters() if weight.grad is not None)


@pytest.mark.parametrize("given", [{}, {"order": 2}])
def test_a_language_model_beside_it(runs: dict[str, Path], given: dict[str, Any]) -> None:
    for name in ("ctc", "seq2seq"):
        words = [f"search.{key}={value}" for key, value in given.items()]
        model = Model.load(runs[name], ["search.kind=fusion", f"search.language_model={runs['lm']}", "search.weight=0.5", *words])
        assert isinstance(model.predict(TEXT).text, str)
        plain = Model.load(runs[name], ["search.kind=beam"])
        without = Model.load(runs[name], ["search.kind=fusion", f"search.language_model={runs['lm']}", "search.weight=0.0", *words])
        assert plain.predict(TEXT).text == without.predict(TEXT).text
        assert plain.predict(TEXT).logprob == pytest.approx(without.predict(TEXT).logprob, abs=1e-3)


def test_fusion_without_a_language_model_says_so(runs: dict[str, Path]) -> None:
    with pytest.raises(UserError, match="language_model"):
        Model.load(runs["ctc"], ["search.kind=fusion"]).predict(TEXT)


@pytest.mark.parametrize("name", SYSTEMS)
def test_times_of_words_lie_within_the_sound_and_in_order(runs: dict[str, Path], name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.tsv").write_text(f"{TEXT}\t31\n")
    done = CliRunner().invoke(align.command, [str(runs[name]), "--file", str(tmp_path / "rows.tsv"), "--units"])
    assert done.exit_code == 0, done.output
    lines = [line.split("\t") for line in done.output.strip().splitlines()]
    assert [line[3] for line in lines] == ["3", "1"]
    model = Model.load(runs[name])
    assert isinstance(model.source, Sound)
    seconds = model.source.seconds(TEXT)
    assert all(0 <= float(start) < float(end) <= seconds + 1e-3 for _, start, end, _ in lines)
    if name == "ctc":
        assert float(lines[0][2]) <= float(lines[1][1])  # one after the other


def test_it_is_drawn_along_time(runs: dict[str, Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(predict.command, [str(runs["ctc"]), TEXT, "--attention", str(tmp_path / "looked.png")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "looked.png").stat().st_size > 1000
    done = CliRunner().invoke(predict.command, [str(runs["seq2seq"]), TEXT, "--attention"])
    assert done.exit_code == 0, done.output
    assert "0.0s" in done.output


def test_the_auxiliary_loss_is_added_in_training_alone(runs: dict[str, Path]) -> None:
    model = Model.load(runs["seq2seq"])
    batch = encode_rows((model.source, model.target), [Row(TEXT, "31", "x", 1)])
    objective = model.system.objective
    assert isinstance(objective, WithCTC)
    plain = model.system.loss(batch)
    assert "ctc" not in plain.parts
    objective.main.probability = 0.0  # type: ignore[assignment]
    model.system.train()
    loss = model.system.loss(batch)
    assert float(loss.total.detach()) == pytest.approx(0.8 * loss.parts["nll"] + 0.2 * loss.parts["ctc"], rel=1e-4)
