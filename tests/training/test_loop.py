"""The loop on a toy: what it counts, keeps, skips and when it stops."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.toy import ToySystem, data, new_run, recipe, train_toy
from xattend.errors import UserError
from xattend.metrics.exact import ExactMatch
from xattend.run import Run
from xattend.training import seed
from xattend.training.budget import Budget
from xattend.training.distributed import Group
from xattend.training.update import Updater
from xattend.training.validation import Validation
from xattend.training.weights import from_bytes, load, weights_of


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return new_run(tmp_path / "run")


def lines(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def weights(run: Run) -> dict[str, torch.Tensor]:
    return from_bytes(run.model.read_bytes(), run.model)


def test_it_learns_and_leaves_a_good_run(run: Run) -> None:
    result, _ = train_toy(run, "training.steps=60")
    run.verify()
    assert run.finished
    assert (result.step, result.stopped_because, result.exit_code) == (60, "60 steps", 0)
    scores = [line["validation_loss"] for line in lines(run) if line.get("event") == "validation"]
    assert result.best == min(scores) < 0.6 * scores[0]
    updates = [line for line in lines(run) if "lr" in line]
    assert [line["step"] for line in updates] == list(range(4, 61, 4))
    for line in updates:
        assert line["loss"] == pytest.approx(line["nll"])
        assert {"epoch", "grad_norm", "tokens_per_second", "seconds"} <= line.keys()


def test_the_model_file_is_the_best_validation(run: Run) -> None:
    """The weights on disk score exactly what the best line of the log says, though training went on past them."""
    result, _ = train_toy(run, "optimiser.lr=0.3", "training.steps=45")
    scores = {line["step"]: line["validation_loss"] for line in lines(run) if line.get("event") == "validation"}
    assert scores[45] > min(scores.values())  # such a rate does not end at its best
    system = ToySystem()
    load(system, run.model)
    system.eval()
    with torch.no_grad():
        loss = system.loss(data().splits["validation"].batch(range(20)))
    assert float(loss.total) / loss.tokens == pytest.approx(result.best, rel=1e-5)


def test_no_limit_means_twenty_epochs_and_says_so() -> None:
    settings = recipe()
    del settings.sections["training"]["steps"]
    budget, remark = Budget.of(settings.training)
    assert budget == Budget(epochs=20.0)
    assert "20 epochs" in remark


def test_epochs_and_minutes(run: Run, tmp_path: Path) -> None:
    result, _ = train_toy(run, "training.steps=100000", "training.epochs=1.5")
    assert (result.step, result.stopped_because) == (18, "1.5 epochs")  # 12 batches a pass
    result, _ = train_toy(new_run(tmp_path / "other"), "training.steps=100000", "training.minutes=0.005")
    assert result.stopped_because == "0.005 minutes"
    assert 0.2 < result.seconds < 5


@pytest.mark.parametrize("normalise", ["tokens", "sentences"])
@pytest.mark.parametrize("parts", [2, 3, 50])
def test_micro_batches_make_no_difference(parts: int, normalise: str) -> None:
    batch = data().splits["train"].batch(range(7))
    results = []
    for accumulate in (1, parts):
        seed(1)
        system = ToySystem(dropout=0.0)
        optimiser = torch.optim.SGD(system.parameters(), lr=1.0)
        updater = Updater(system, optimiser, Group(), accumulate=accumulate, clip=0.1, normalise=normalise)
        outcome = updater.update(batch)
        results.append((outcome, weights_of(system)))
    (one, whole), (other, split) = results
    assert one.norm == pytest.approx(other.norm, rel=1e-5)
    assert one.loss == pytest.approx(other.loss, rel=1e-6)
    for name, tensor in whole.items():
        if tensor.is_floating_point():
            assert (tensor - split[name]).abs().max() < 1e-6


def test_the_update_is_the_mean_gradient_clipped() -> None:
    """Against autograd on the mean loss and torch's own clipping."""
    batch = data().splits["train"].batch(range(5))
    for clip in (0.0, 0.05, 100.0):
        seed(1)
        ours, theirs = ToySystem(dropout=0.0), ToySystem(dropout=0.0)
        theirs.load_state_dict(ours.state_dict())
        optimiser = torch.optim.SGD(ours.parameters(), lr=1.0)
        outcome = Updater(ours, optimiser, Group(), accumulate=1, clip=clip, normalise="tokens").update(batch)
        loss = theirs.loss(batch)
        (loss.total / loss.tokens).backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), clip or math.inf)
        torch.optim.SGD(theirs.parameters(), lr=1.0).step()
        assert outcome.norm == pytest.approx(norm.item(), rel=1e-5)
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(mine, other, atol=1e-6)


def test_schedule_and_rate_in_the_log(run: Run) -> None:
    train_toy(run, "schedule.kind=linear", "training.log_every=10", "training.steps=40")
    rates = [line["lr"] for line in lines(run) if "lr" in line]
    assert rates == pytest.approx([0.01 * (1 - step / 40) for step in (9, 19, 29, 39)])


def test_patience_stops(run: Run) -> None:
    result, _ = train_toy(run, "optimiser.lr=3.0", "training.steps=5000", "training.patience=3")
    assert result.stopped_because == "no better loss in 3 validations"
    scores = [line["validation_loss"] for line in lines(run) if line.get("event") == "validation"]
    assert scores.index(min(scores)) == len(scores) - 4


def test_a_target_stops(run: Run) -> None:
    result, _ = train_toy(run, "training.steps=5000", "training.target=1000.0", "training.validate_every=10")
    assert result.stopped_because == "loss as good as training.target"
    assert lines(run)[-1]["step"] == 10


def test_a_metric_by_name_and_its_direction(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[list[str]]] = []
    real = ExactMatch.compute

    def noting(self: ExactMatch, outputs: list[str], references: list[list[str]]) -> float:
        seen.append(references)
        return real(self, outputs, references)

    monkeypatch.setattr(ExactMatch, "compute", noting)
    result, _ = train_toy(run, "training.metric=exact", "training.validate_rows=7", "training.steps=200", "training.validate_every=50")
    scores = [line["validation_exact"] for line in lines(run) if line.get("event") == "validation"]
    assert result.best == max(scores) > scores[0]
    assert len(seen) == 4
    assert all(len(references) == 7 and references == seen[0] for references in seen)  # always the same rows


def test_of_equal_metrics_the_lower_loss_is_the_better(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([(0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.5, 9.0), (0.5, 9.0), (0.4, 1.0)])
    monkeypatch.setattr(Validation, "__call__", lambda self: dict(zip(("exact", "loss"), next(scores), strict=True)))
    result, _ = train_toy(run, "training.metric=exact")
    assert [line["step"] for line in lines(run) if line.get("best")] == [5, 10, 20]
    assert result.best == 0.5


def test_a_metric_that_is_not_there_is_the_users_error(run: Run) -> None:
    with pytest.raises(UserError, match="no metric called"):
        train_toy(run, "training.metric=bleuu")


def test_validation_does_not_change_training(tmp_path: Path) -> None:
    """The last weights are the same however often one validates."""
    found = []
    for every in (3, 30):
        run = new_run(tmp_path / str(every))
        train_toy(run, f"training.validate_every={every}")
        found.append((run.state / "30" / "model.safetensors").read_bytes())
    assert found[0] == found[1]


def test_without_validation_data_the_last_weights_are_kept(run: Run) -> None:
    result, system = train_toy(run, rows=data(held_out=0))
    assert result.best is None
    assert all(torch.equal(tensor, weights_of(system)[name]) for name, tensor in weights(run).items())
    run.verify()


def test_patience_without_validation_data_is_refused(run: Run) -> None:
    with pytest.raises(UserError, match=r"training\.patience needs validation data"):
        train_toy(run, "training.patience=3", rows=data(held_out=0))


@pytest.mark.parametrize("score", [0.5, 1.5])
def test_average_of_the_last_validations_is_kept_unless_it_is_worse(run: Run, score: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([3.0, 1.0, 2.0, 2.0, 2.0, 2.0, score])  # step 10 is the best of six; then comes the average
    monkeypatch.setattr(Validation, "__call__", lambda self: {"loss": next(scores)})
    result, _ = train_toy(run, "training.average=3")
    kept = {step: from_bytes((run.state / "weights" / f"{step}.safetensors").read_bytes(), run.path) for step in (10, 20, 25, 30)}
    name = "rnn.weight_hh_l0"
    by_hand = (kept[20][name].double() + kept[25][name].double() + kept[30][name].double()) / 3
    assert not torch.allclose(by_hand, kept[30][name].double(), atol=1e-4)
    expected = by_hand if score < 1 else kept[10][name].double()
    assert torch.allclose(weights(run)[name].double(), expected, atol=1e-7)
    assert result.best == min(score, 1.0)
    run.verify()


def test_moving_average_by_hand(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """average = d average + (1 - d) weights, d = min(decay, (1 + n) / (10 + n)), from the weights after each update."""
    seen: list[torch.Tensor] = []
    real = Updater.update

    def noting(self: Updater, *args: Any, **named: Any) -> Any:
        if not seen:
            seen.append(self.system.embedding.weight.detach().clone())  # type: ignore[union-attr, operator]
        outcome = real(self, *args, **named)
        seen.append(self.system.embedding.weight.detach().clone())  # type: ignore[union-attr, operator]
        return outcome

    monkeypatch.setattr(Updater, "update", noting)
    train_toy(run, "training.ema=0.3", "training.steps=5")
    expected = seen[0].double()
    for step, weight in enumerate(seen[1:], 1):
        decay = min(0.3, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * weight.double()
    assert torch.allclose(weights(run)["embedding.weight"].double(), expected, atol=1e-6)


def test_a_bad_batch_is_skipped_and_written_down(run: Run) -> None:
    result, system = train_toy(run, "training.steps=24", bad_rows={5})
    assert result.step == 24
    assert all(torch.isfinite(tensor).all() for tensor in weights_of(system).values())
    files = sorted(run.bad.iterdir())
    assert len(files) == 2  # once a pass
    noted = json.loads(files[0].read_text())
    row = next(row for row in noted["rows"] if row["row"] == 5)
    assert row["source"] == data().splits["train"].texts(5)[0]
    assert noted["loss"] == "nan"
    last = [line for line in lines(run) if "lr" in line][-1]
    assert last["skipped"] == 2
    assert math.isfinite(last["loss"])


def test_too_many_bad_batches_end_it_and_a_resume_starts_from_the_last_good_state(run: Run) -> None:
    everything = set(range(100))
    train_toy(run, "training.steps=10", "training.save_every=10")
    good = (run.state / "10" / "model.safetensors").read_bytes()
    published = run.model.read_bytes()
    with pytest.raises(UserError, match=r"4 updates in a row.*nan_limit.*--resume"):
        train_toy(run, "training.steps=30", "training.save_every=1", "training.nan_limit=4", resume=True, bad_rows=everything)
    assert sorted(entry.name for entry in run.state.glob("[0-9]*")) == ["10"]
    assert run.model.read_bytes() == published
    run.verify()
    result, _ = train_toy(run, "training.steps=11", resume=True)
    assert result.step == 11
    assert (run.state / "10" / "model.safetensors").read_bytes() == good


def test_a_validation_that_is_not_finite_is_never_the_best(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([2.0, math.nan, 1.0, -math.inf, 3.0, 1.5])
    monkeypatch.setattr(Validation, "__call__", lambda self: {"loss": next(scores)})
    result, _ = train_toy(run)
    assert result.best == 1.0
    kept = [line["step"] for line in lines(run) if line.get("best")]
    assert kept == [5, 15]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_update_saves_and_says_how_to_go_on(
    run: Run, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    real = ToySystem.loss

    def signalled(self: ToySystem, batch: Any) -> Any:
        if self.training and int(self.updates) == 11:
            os.kill(os.getpid(), number)
        return real(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(ToySystem, "loss", signalled)
        result, _ = train_toy(run)
    assert (result.stopped_because, result.exit_code, result.step) == ("interrupted", 130, 12)
    assert f"xattend train --resume {run.path}" in capsys.readouterr().err
    assert not run.finished
    train_toy(run, resume=True)
    whole = new_run(tmp_path / "whole")
    train_toy(whole)
    assert run.model.read_bytes() == whole.model.read_bytes()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_two_trainings_cannot_share_a_run(run: Run) -> None:
    with run.locked(), pytest.raises(UserError, match="another training"):
        train_toy(run)


def test_other_data_cannot_be_resumed_with(run: Run) -> None:
    train_toy(run, "training.steps=7")
    other = dataclasses.replace(data(), fingerprint="other")
    with pytest.raises(UserError, match="the data are not those"):
        train_toy(run, resume=True, rows=other)


def test_weights_of_another_model_are_refused(run: Run) -> None:
    train_toy(run, "training.steps=1")
    with pytest.raises(UserError, match=r"another model: '1\.weight'"):
        load(torch.nn.Sequential(torch.nn.Embedding(3, 3), torch.nn.Linear(3, 3)), _renamed(run))


def _renamed(run: Run) -> Path:
    import safetensors.torch

    file = run.path / "other.safetensors"
    file.write_bytes(safetensors.torch.save({"0.weight": torch.zeros(3, 3)}))
    return file
