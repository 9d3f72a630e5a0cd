"""The robot that greets: its targets by brute force, what it answers, what it refuses, resuming, and that it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from xattend import job, registry
from xattend.data.fields.text import Text
from xattend.data.tasks.greeter import ending
from xattend.drawing.encounter import ACTIONS, STEPS, Encounters
from xattend.errors import UserError
from xattend.model import Model
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import assemble
from xattend.systems.interact import Interact, returns
from xattend.types import Batch

SETTINGS: dict[str, dict[str, Any]] = {"oracle": {"pattern": "uniform"}, "location": {"positions": 40}}


def source() -> Text:
    return Text(unit="byte", eos=False)


def target() -> Text:
    words = Text(unit="word")
    words.fit([" ".join(ACTIONS)])
    return words


def system(**sections: dict[str, Any]) -> Interact:
    given: dict[str, dict[str, Any]] = {
        "data": {"task": "greeter"}, "system": {"kind": "interact", "size": 24}, "search": {"kind": "greedy"}, "training": {"seed": 3},
        "encoder": {"kind": "cnn", "size": 24, "widths": [16], "strides": [4], "positions": "learned"},
    }  # fmt: skip
    for name, section in sections.items():
        given[name] = {**given.get(name, {}), **section}
    found = assemble(Recipe(given, "test.toml").resolve(), source(), target())
    assert isinstance(found, Interact)
    return found


def batch(seeds: list[int], texts: list[str] | None = None) -> Batch:
    words = target()
    given = None if texts is None else Text.collate([torch.tensor(words.as_target(words.encode(text))).int().numpy() for text in texts])
    return Batch(source().read([f"greeter:{seed}" for seed in seeds]), given, tuple(range(len(seeds))))


@pytest.mark.parametrize("steps", [1, 3, 5, 9])
def test_returns_are_what_their_definition_says(steps: int) -> None:
    rewards_BT, values_BT = torch.randn(2, 5), torch.randn(2, 5)
    found_BT = returns(rewards_BT, values_BT, steps=steps, discount=0.9)
    for b in range(2):
        for t in range(5):
            wanted = sum(0.9**k * float(rewards_BT[b, t + k]) for k in range(steps) if t + k < 5)
            wanted += 0.9**steps * float(values_BT[b, t + steps]) if t + steps < 5 else 0.0
            assert float(found_BT[b, t]) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in registry.names("attention") if name != "none"])
def test_every_attention_looks_at_the_frames(name: str) -> None:
    model = system(attention={"kind": name, **SETTINGS.get(name, {})})
    loss = model.train().loss(batch([1, 2, 3]))
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert (loss.tokens, loss.sentences) == (3 * STEPS, 3)
    assert model.network.value.weight.grad is not None
    assert all(weight.grad is None for weight in model.copied.parameters())
    found = model.eval().predict(batch([1, 2]), Greedy(), attention=True)[0]
    assert found.attention.shape == (STEPS + 1, 36)  # and the end mark, which looks nowhere
    assert not found.attention[-1].any()


def test_a_prediction_is_an_episode() -> None:
    model = system().eval()
    found = model.predict(batch([4, 5, 6]), Greedy())
    for seed, one in zip((4, 5, 6), found, strict=True):
        assert one.score == pytest.approx(ending(f"greeter:{seed}", one.text).reward)
    alone = model.predict(batch([5]), Greedy())[0]
    assert alone.text == found[1].text
    scored = model.score(batch([4, 5, 6], [one.text for one in found]))
    for one, logs in zip(found, scored, strict=True):
        assert one.hypothesis is not None
        assert logs == pytest.approx(one.hypothesis.token_logprobs, abs=1e-5)
        assert len(logs) == STEPS + 1


def test_validation_is_minus_the_reward_and_changes_nothing() -> None:
    model = system().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    loss = model.loss(batch([4, 5, 6]))
    assert float(loss.total) == pytest.approx(-sum(one.score for one in model.predict(batch([4, 5, 6]), Greedy())))
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_copy_is_renewed_and_exploring_ends() -> None:
    model = system(system={"kind": "interact", "size": 24, "renew": 2, "explore": 0.9, "explore_last": 0.1, "explore_losses": 4}).train()
    assert model.epsilon() == pytest.approx(0.9)
    weight, copied = model.network.value.weight, model.copied.value.weight
    for losses in range(1, 4):
        with torch.no_grad():
            weight += 1.0
        model.loss(batch([1]))
        assert float((weight - copied).mean().detach()) == pytest.approx(float(losses == 2), abs=1e-5)
    assert model.epsilon() == pytest.approx(0.3)
    assert int(model.losses) == 3


def test_what_it_refuses() -> None:
    with pytest.raises(UserError, match="never see a frame"):
        system(attention={"kind": "none"})
    with pytest.raises(UserError, match=r'search.kind = "greedy"'):
        system(search={"kind": "beam"})
    model = system().eval()
    with pytest.raises(UserError, match=r'search.kind = "greedy"'):
        model.predict(batch([1]), registry.build("search", "beam"))
    with pytest.raises(UserError, match=r'search.kind = "greedy"'):
        model.predict(batch([1]), Greedy().forbidding([(4,)]))
    with pytest.raises(UserError, match="2 actions, and an episode has 16"):
        model.score(batch([1], ["wait wave"]))
    with pytest.raises(UserError, match="looks at pictures"):
        model.align(batch([1]))


def test_a_resumed_training_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    small = ["data.task.rows=40", "training.sentences=8", "training.validate_every=3", "training.save_every=2", "system.renew=3",
             "system.size=16", "encoder.size=16", "encoder.widths=[8]", "encoder.strides=[4]"]  # fmt: skip
    whole, _ = job.start("interact", out=tmp_path / "whole", overrides=[*small, "training.steps=5"])
    run, _ = job.start("interact", out=tmp_path / "run", overrides=[*small, "training.steps=2"])
    job.resume(run.path, overrides=["training.steps=5"])
    for name in ("model", "optimiser"):
        assert (run.state / "5" / f"{name}.safetensors").read_bytes() == (whole.state / "5" / f"{name}.safetensors").read_bytes()
    assert Model.load(run.path).predict("greeter:7").text.split()[0] in ACTIONS


def test_it_learns_to_greet() -> None:
    """A few visitors who answer at once, met again and again."""
    seeds = [seed for seed in range(300) if (world := Encounters([seed])).visitor_B[0] and world.turn_B[0] == world.reach_B[0] == 1][:16]
    torch.manual_seed(1)
    model = system(system={"kind": "interact", "size": 32, "renew": 10, "explore_losses": 40}).train()
    optimiser = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=0.005)
    for _ in range(80):
        loss = model.loss(batch(seeds))
        optimiser.zero_grad()
        (loss.total / loss.sentences).backward()
        optimiser.step()
    earned = [one.score for one in model.eval().predict(batch(seeds), Greedy())]
    assert sum(earned) / len(earned) > 0.7
