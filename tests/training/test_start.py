"""`training.start`: a training that begins with what another has learnt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import xattend
from xattend import job
from xattend.errors import UserError
from xattend.kept import fields_of
from xattend.run import Run
from xattend.training.weights import from_bytes

SMALL = ("encoder.size=8", "decoder.size=8", "encoder.embedding=8", "decoder.embedding=8", "training.steps=3", "training.validate_rows=4", "data.task.rows=60")


def trained(folder: Path, *more: str) -> Run:
    run, result = job.start("copy", out=folder, overrides=[*SMALL, *more])
    assert result.exit_code == 0
    return run


def weights(run: Run) -> dict[str, torch.Tensor]:
    return from_bytes(run.model.read_bytes(), run.model)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("start") / "first")


def test_begins_with_the_weights_and_the_vocabulary_of_a_run(first: Run, tmp_path: Path) -> None:
    begin = f"training.start={first.path}"
    still = trained(tmp_path / "still", begin, "optimiser.lr=1e-30", "data.task.seed=9", "training.seed=2")
    for name, tensor in weights(first).items():
        torch.testing.assert_close(weights(still)[name], tensor)
    assert fields_of(still)[1].to_json() == fields_of(first)[1].to_json()
    moved = trained(tmp_path / "moved", begin)
    assert any(not torch.equal(weights(moved)[name], tensor) for name, tensor in weights(first).items())
    xattend.load(moved.path)


def test_an_objective_begins_anew(first: Run, tmp_path: Path) -> None:
    by_score = ("objective.kind=expected-score", "objective.after=9", "objective.samples=2")
    counted = trained(tmp_path / "counted", *by_score, f"training.start={first.path}")
    assert int(weights(counted)["objective.batches"]) == 3
    again = trained(tmp_path / "again", *by_score, f"training.start={counted.path}")
    assert int(weights(again)["objective.batches"]) == 3


def test_goes_on_without_the_run_it_began_with(first: Run, tmp_path: Path) -> None:
    earlier = trained(tmp_path / "earlier")
    later = trained(tmp_path / "later", f"training.start={earlier.path}")
    (tmp_path / "earlier").rename(tmp_path / "gone")
    assert job.resume(later.path, overrides=["training.steps=5"]).exit_code == 0


def test_a_run_that_is_not_there_or_of_another_model(first: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.start: .*no such directory"):
        trained(tmp_path / "one", f"training.start={tmp_path / 'nowhere'}")
    with pytest.raises(UserError, match="another model"):
        trained(tmp_path / "two", f"training.start={first.path}", "decoder.size=12")
    assert not (tmp_path / "two").exists()


def test_rows_are_read_as_the_new_recipe_says(tmp_path: Path) -> None:
    """Vocabularies are the run's; the size of pictures and what becomes of capitals are the recipe's."""
    small = ("encoder.size=8", "encoder.widths=[4]", "encoder.strides=[4]", "encoder.depth=1", "decoder.size=8", "decoder.embedding=8", "training.steps=2", "training.validate_rows=4")
    task = "data.task={kind='words',rows=40,alphabet='%s'}"
    job.start("read", out=tmp_path / "first", overrides=[*small, task % "abcd"])
    other = ["data.source={kind='image',crop='squash',size=[16,50],grey=true}", "data.target={unit='character',plain=true}"]
    run, result = job.start("read", out=tmp_path / "second", overrides=[*small, task % "abc", *other, f"training.start={tmp_path / 'first'}"])
    assert result.exit_code == 0
    (source, target), (_, before) = fields_of(run), fields_of(Run(tmp_path / "first"))
    assert source is not None
    assert source.to_json()["settings"]["crop"] == "squash"
    assert target.encode("DAD") == before.encode("dad") != before.encode("DAD")
    assert "d" in target.to_json()["vocabulary"]  # which the second's words do not have


def test_other_units_are_refused(first: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.start: that run reads or writes \w+ of text, this recipe \w+ of text"):
        trained(tmp_path / "other", "data.target={unit='byte'}", f"training.start={first.path}")


def test_some_parts_alone(first: Run, tmp_path: Path) -> None:
    """The encoder is the run's; attention and decoder are of another kind and begin anew, as without a run to begin with."""
    other, still = ("attention.kind=dot", "decoder.embedding=12"), "optimiser.lr=1e-30"
    mixed = weights(trained(tmp_path / "mixed", *other, still, f"training.start={first.path}", "training.start_parts=['encoder']"))
    fresh, before = weights(trained(tmp_path / "fresh", *other, still)), weights(first)
    assert {name.partition(".")[0] for name in mixed} > {"encoder"}
    for name, tensor in mixed.items():
        torch.testing.assert_close(tensor, before[name] if name.startswith("encoder.") else fresh[name])
    assert any(not torch.equal(fresh[name], before[name]) for name in before if name.startswith("encoder."))


def test_a_part_that_is_not_there(first: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.start_parts: that run's model has no 'encodr'; both have decoder, encoder"):
        trained(tmp_path / "typo", f"training.start={first.path}", "training.start_parts=['encodr']")
    with pytest.raises(UserError, match=r"no training\.start to take it from"):
        trained(tmp_path / "alone", "training.start_parts=['encoder']")


def test_frozen_parts_stay_as_they_are(first: Run, tmp_path: Path) -> None:
    """They stay those of the run that was begun with, also with a moving average; the others move."""
    found = weights(trained(tmp_path / "held", f"training.start={first.path}", "training.frozen=['encoder']", "training.ema=0.9"))
    before = weights(first)
    for name, tensor in found.items():
        assert torch.equal(tensor, before[name]) == name.startswith("encoder."), name


def test_a_part_without_weights_cannot_be_frozen(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"training\.frozen: this recipe's model has no weights of 'encodr'; it has those of decoder, encoder"):
        trained(tmp_path / "typo", "training.frozen=['encodr']")
