"""Machines with a memory: what they answer, what they refuse, resuming, more slots, and that they learn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from xattend import job, registry
from xattend.data.fields.bits import Bits
from xattend.data.tasks.bits import Copy
from xattend.errors import UserError
from xattend.model import Model
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import assemble
from xattend.systems.machine import Machine, answered, batches, drawn
from xattend.types import Batch

COMPUTER: dict[str, Any] = {"read": ["content", "links"], "write": ["content", "usage", "allocation"]}
KINDS: dict[str, dict[str, Any]] = {
    "turing": {}, "feed-forward": {"controller": "feed-forward"}, "computer": COMPUTER, "two layers": {"layers": 2, "reads": 2},
    "two writers": {"writes": 2}, "sparse": {"read": ["content", "top-k"], "write": ["content", "shift", "sharpen"]},
    "none": {"read": [], "write": []}, "clockwork": {"read": [], "write": [], "controller": {"kind": "clockwork", "periods": [1, 2]}},
}  # fmt: skip
SMALL: dict[str, Any] = {"width": 3, "max_length": 3, "rows": 50}


def fields() -> tuple[Bits, Bits]:
    found = Bits(), Bits()
    found[0].fit(["010 copy ."])
    found[1].fit(["010"])
    return found


def machine(task: dict[str, Any] = SMALL, **given: Any) -> Machine:
    sections = {
        "data": {"task": {"kind": "bits-copy", **task}}, "search": {"kind": "greedy"}, "training": {"seed": 3},
        "system": {"kind": "machine", "size": 12, "slots": 6, "width": 4, **given},
    }  # fmt: skip
    found = assemble(Recipe(sections, "test.toml").resolve(), *fields())
    assert isinstance(found, Machine)
    return found


def rows(*texts: tuple[str, str]) -> Batch:
    source, target = fields()
    given = [np.array(target.as_target(target.encode(text)), np.int32) for _, text in texts]
    return Batch(source.read([text for text, _ in texts]), target.collate(given), tuple(range(len(texts))))


RAGGED = rows(("010 copy .", "010"), ("110 001 copy . .", "110 001"), ("110 001", "001 111"))


def test_answers_are_given_in_silence_or_always() -> None:
    assert RAGGED.source is not None
    assert answered(RAGGED.source).int().tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 0, 0]]


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind: str) -> None:
    model = machine(**KINDS[kind]).eval()
    scores = model.score(RAGGED)
    alone = [model.score(RAGGED.part(slice(row, row + 1)))[0] for row in range(3)]
    for together, single in zip(scores, alone, strict=True):
        assert together == pytest.approx(single, abs=1e-5)
    assert -model.loss(RAGGED).total.item() == pytest.approx(sum(map(sum, scores)), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_is_the_chance_of_every_bit(kind: str) -> None:
    model = machine(**KINDS[kind]).eval()
    one = RAGGED.part(slice(0, 1))
    assert one.source is not None
    chances = model.run(one.source)[0, -1].sigmoid().tolist()
    wanted = math.log(1 - chances[0]) + math.log(chances[1]) + math.log(1 - chances[2])
    assert model.score(one)[0] == pytest.approx([wanted, 0.0], abs=1e-5)
    found = model.predict(one, Greedy())[0]
    assert found.text == "".join(str(int(chance > 0.5)) for chance in chances)
    assert found.logprob == pytest.approx(sum(math.log(max(chance, 1 - chance)) for chance in chances), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_every_weight(kind: str) -> None:
    model = machine(**KINDS[kind]).train()
    torch.manual_seed(1)
    loss = model.loss(RAGGED)
    loss.total.backward()  # type: ignore[no-untyped-call]
    lost = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert lost == []


def test_training_rows_are_drawn_anew_from_the_generator() -> None:
    model = machine().train()
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model.loss(RAGGED).total.item())
    assert losses[0] == losses[1] != losses[2]
    kept = machine(fresh=False).train()
    assert kept.loss(RAGGED).total.item() == kept.loss(RAGGED).total.item() == kept.eval().loss(RAGGED).total.item()
    assert model.eval().loss(RAGGED).tokens == 5


def test_a_trace_has_heads_memory_and_usage() -> None:
    found = machine(reads=2, **COMPUTER).eval().predict(RAGGED, Greedy(), attention=True)[1].trace
    assert found is not None
    assert found.contents_TNM is not None
    assert found.usage_TN is not None
    assert (found.kind, found.heads) == ("machine", ["write 1", "read 1", "read 2"])
    assert (found.weights_THS.shape, found.contents_TNM.shape, found.usage_TN.shape) == ((5, 3, 6), (5, 6, 4), (5, 6))
    assert found.target_tokens[:3] == ["110", "001", "copy"]
    assert found.target_tokens[3].startswith("> ")
    assert machine().eval().predict(RAGGED, Greedy(), attention=True)[0].trace is not None
    assert machine(**KINDS["none"]).eval().predict(RAGGED, Greedy(), attention=True)[0].trace is None


def test_slots_are_no_weight() -> None:
    few, many = machine(**COMPUTER).eval(), machine(**{**COMPUTER, "slots": 40}).eval()
    many.load_state_dict(few.state_dict())
    assert len(many.predict(RAGGED, Greedy(), attention=True)[0].trace.source_tokens) == 40  # type: ignore[union-attr]


def test_an_answer_of_another_length_is_refused() -> None:
    with pytest.raises(UserError, match=r"asks for 1 steps .* has 2"):
        machine().eval().loss(rows(("010 copy .", "010 111")))


@pytest.mark.parametrize(
    ("given", "said"),
    [({"read": []}, "go together"), ({"controller": "feed-forward", "layers": 2}, "one layer"), ({"controller": "lstmm"}, "did you mean 'lstm'")],
)
def test_what_cannot_be_built_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        machine(**given)


def test_other_searches_are_refused() -> None:
    with pytest.raises(UserError, match="nothing to search"):
        machine().eval().predict(RAGGED, registry.build("search", "beam"))


def test_a_resumed_training_sees_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    changes = ["data.task.max_length=3", "data.task.rows=60", "system.size=8", "system.slots=6", "system.width=4", "training.validate_every=2", "schedule.kind=constant"]
    whole, _ = job.start("ntm", out=tmp_path / "whole", overrides=[*changes, "training.steps=6"])
    halves, _ = job.start("ntm", out=tmp_path / "halves", overrides=[*changes, "training.steps=4"])
    job.resume(halves.path, overrides=["training.steps=6"])
    for name in ("model.safetensors", "optimiser.safetensors"):
        assert (whole.state / "6" / name).read_bytes() == (halves.state / "6" / name).read_bytes()
    model = Model.load(whole.path)
    assert set(model.predict("01101001 copy .").text) <= {"0", "1"}
    with pytest.raises(UserError, match="'paste' is no step"):
        model.predict("01101001 paste .")


def learn(model: Machine, updates: int, *, rate: float, rows: int = 16) -> float:
    """Bits a sequence on new rows after so many updates."""
    task = model.task
    assert task is not None
    optimiser, like = torch.optim.Adam(model.parameters(), lr=rate), drawn(task, np.random.default_rng(0), rows)
    for step in range(updates):
        torch.manual_seed(step)
        loss = model.train().loss(like)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
    model.eval()
    with torch.no_grad():
        return sum(model.loss(batch).parts["nll"] for batch in batches(task, 100, seed=9)) / 100 / math.log(2)


@pytest.mark.parametrize("kind", ["feed-forward", "computer"])
def test_a_memory_is_learnt_to_be_used(kind: str) -> None:
    """One word of three bits, copied after a mark: chance is 3 bits. A feed-forward controller can know it from the memory alone."""
    model = machine({**SMALL, "max_length": 1}, **{**KINDS[kind], "size": 24})
    assert learn(model, 120, rate=0.02) < 1.5


@pytest.mark.parametrize("kind", ["turing", "feed-forward", "computer"])
@pytest.mark.parametrize("reads", [1, 3])
def test_the_whole_sequence_is_the_plain_one(kind: str, reads: int) -> None:
    """Rows of unlike lengths, the loss and the gradient of every weight; plain: chains of parts, step by step."""
    model, found = machine(fresh=False, reads=reads, **KINDS[kind]).train(), []
    assert model.slots is not None
    for fused in (True, False):
        model.slots.fused = fused
        loss = model.loss(RAGGED).total
        found.append((loss, *torch.autograd.grad(loss, list(model.parameters()))))
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["turing", "computer"])
@pytest.mark.parametrize("spread", [1.0, 1e4])
def test_twenty_seeds_stay_finite(kind: str, spread: float) -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        model = machine({"width": 3, "min_length": 6, "max_length": 6, "rows": 50}, **KINDS[kind])
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=spread)
        loss = model.train().loss(RAGGED)
        gradients = torch.autograd.grad(loss.total, list(model.parameters()))
        assert math.isfinite(loss.total.item())
        assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_the_task_of_a_machine_is_that_of_its_recipe() -> None:
    assert isinstance(machine().task, Copy)
    assert machine().task.width == 3  # type: ignore[union-attr]
