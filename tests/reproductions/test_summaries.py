"""Figures made from scores: numbers worked by hand. And every plan of every reproduction is a valid recipe."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from xattend import recipe as recipes
from xattend import registry
from xattend.reproductions import Outcome, Reproduction
from xattend.reproductions.length import by_length, slope

NAMES = registry.names("reproduction")


def outcome(outputs: Any = None, **test: float) -> Outcome:
    return Outcome(SimpleNamespace(outputs=lambda split: outputs), {}, test, 1.0)  # type: ignore[arg-type]


def reproduction(name: str) -> Reproduction:
    found: Reproduction = registry.find("reproduction", name)()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_training_is_a_recipe_with_a_place_of_its_own(name: str) -> None:
    found = reproduction(name)
    plans = found.plans()
    assert len({plan.name for plan in plans}) == len(plans)
    texts = {recipes.load(plan.recipe, plan.overrides).resolve().dump() for plan in plans}
    assert len(texts) == len(plans)  # no two are the same training
    for fact in (found.system, found.paper, found.metric):
        assert fact


def test_reversal_is_the_mean_gain_over_seeds() -> None:
    found = reproduction("reversal")
    scores = {"forward": (10.0, 8.0), "reversed": (13.0, 6.0)}
    outcomes = {f"{way}-{seed}": outcome(**{"bleu-tok": bleu + seed * (way == "reversed"), "perplexity": ppl}) for way, (bleu, ppl) in scores.items() for seed in (1, 2, 3)}
    summary = found.summary(outcomes)
    assert summary.ours == pytest.approx(5.0)  # 4, 5 and 6
    assert summary.figures["perplexity_change_percent"] == pytest.approx(-25.0)
    assert found.reached(summary.ours) is True
    assert found.reached(1.9) is False


def test_the_ablation_is_what_dropout_is_worth_on_validation_rows() -> None:
    found = reproduction("ablation")
    rows = {plan.name: {"perplexity": 9.0, "bleu-tok": 20.0 - 3.0 * (plan.name == "D-dropout0")} for plan in found.plans()}
    summary = found.summary({name: Outcome(SimpleNamespace(), row, {"bleu-tok": 99.0}, 1.0) for name, row in rows.items()})  # type: ignore[arg-type]
    assert summary.ours == pytest.approx(3.0)
    assert summary.figures["table"]["C-layers1"] == {"perplexity": 9.0, "bleu": 20.0}
    assert summary.figures["paper"]["base"] == {"perplexity": 4.92, "bleu": 25.8}


def test_one_recipe_is_the_mean_of_its_seeds() -> None:
    summary = reproduction("names-ru").summary({"seed1": outcome(exact=0.5), "seed2": outcome(exact=0.7)})
    assert summary.ours == pytest.approx(0.6)
    assert summary.figures["standard_deviation"] == pytest.approx(0.1414, abs=1e-4)


def test_sigmorphon_is_its_worst_language() -> None:
    summary = reproduction("sigmorphon2021").summary({"fre": outcome(exact=0.9), "kor": outcome(exact=0.68)})
    assert summary.ours == pytest.approx(1.8)  # Korean: 32 against 30.2
    assert summary.figures["excess"]["fre"] == pytest.approx(-0.2)


def test_scan_says_which_splits_are_as_the_paper_has_them() -> None:
    summary = reproduction("scan").summary({"simple": outcome(exact=0.995), "length": outcome(exact=0.3), "jump": outcome(exact=0.01)})
    assert summary.ours == pytest.approx(99.5)
    assert summary.figures["as_wanted"] == {"simple": True, "length": False, "jump": True}


def test_slope_is_weighted_least_squares() -> None:
    line = [{"words": 5.0, "bleu": 30.0, "rows": 10.0}, {"words": 10.0, "bleu": 20.0, "rows": 3.0}, {"words": 20.0, "bleu": 0.0, "rows": 1.0}]
    assert slope(line) == pytest.approx(-2.0)
    # means 1 and 2; x y: (-1)(1) twice and (2)(-2), x x: 1 twice and 4: -6 / 6
    bent = [{"words": 0.0, "bleu": 3.0, "rows": 2.0}, {"words": 3.0, "bleu": 0.0, "rows": 1.0}]
    assert slope(bent) == pytest.approx(-1.0)


def test_bleu_by_length_scores_each_bucket_by_itself() -> None:
    short, long = "a b c d e", " ".join("abcdefghijklmnopq"[:16])
    found = by_length([short, short, long], ["v w x y z", "v w x y z", "wrong words all over"], ["v w x y z", "v w x y z", "right ones were asked for"])
    assert [(point["words"], point["rows"]) for point in found] == [(5.0, 2), (16.0, 1)]
    assert found[0]["bleu"] == pytest.approx(100.0)
    assert found[1]["bleu"] == 0.0


def test_the_ladder_takes_rungs_away_from_the_top() -> None:
    plans = {plan.name: recipes.load(plan.recipe, plan.overrides).resolve() for plan in reproduction("luong-ladder").plans()}
    seen = {
        name: (one.section("encoder")["reverse"], one.section("decoder")["dropout"], one.part("attention")[0], one.section("decoder")["input_feeding"])
        for name, one in plans.items()
    }
    assert seen == {
        "base": (False, 0.0, "none", False), "reverse": (True, 0.0, "none", False), "dropout": (True, 0.2, "none", False),
        "location": (True, 0.2, "location", False), "feed": (True, 0.2, "location", True), "local-p": (True, 0.2, "local-p", True),
    }  # fmt: skip


def test_gradients_of_a_linear_recurrence_fall_by_its_weight() -> None:
    """h_t = tanh(w h_{t-1} + small): with w = .5 the gradient halves at each step back, but for the tanh's slope."""
    import numpy as np
    import torch

    from xattend.attention.none import NoAttention
    from xattend.decoders.rnn import RNN
    from xattend.reproductions.lm_cells import LAGS, gradient_against_lag
    from xattend.types import Space

    decoder = RNN(Space(vocabulary=6), 0, lambda query: NoAttention(query, 0), cell="tanh-rnn", size=4, embedding=3, readout="state").eval()
    cell: Any = decoder.stack.cells[0]
    with torch.no_grad():
        cell.recurrent.weight.copy_(0.5 * torch.eye(4))
        cell.input.weight.mul_(1e-3)
    rows = [np.array([2, *np.tile([4, 5], 30), 3], dtype=np.int32) for _ in range(3)]
    lengths = np.array([[0, len(row)] for row in rows])
    split = type("Rows", (), {"ids": {"target": rows}, "lengths": lengths, "__len__": lambda self: 3})()
    trial = SimpleNamespace(model=lambda: SimpleNamespace(system=SimpleNamespace(decoder=decoder)), data=SimpleNamespace(splits={"test": split}))
    found = gradient_against_lag(trial)  # type: ignore[arg-type]
    assert found == pytest.approx({lag: 0.5**lag for lag in LAGS}, rel=1e-2)


def test_sentences_of_one_vector_lie_on_one_place() -> None:
    import numpy as np

    from xattend.reproductions.reversal import sentence_map

    vectors = {"a": (0.0, 0.0, 1.0), "b": (0.0, 0.0, 1.0), "c": (6.0, 0.0, 1.0), "d": (6.0, 2.0, 1.0)}
    model = SimpleNamespace(summaries=lambda texts: np.array([vectors[text] for text in texts]))
    plot = sentence_map(model, {"one": ("a", "b"), "two": ("c", "d")})  # type: ignore[arg-type]
    (a, b), (c, d) = ([point[:2] for point in plot.points[group]] for group in ("one", "two"))
    assert a == pytest.approx(b)
    assert np.hypot(*np.subtract(a, c)) == pytest.approx(6.0)  # two axes hold all there is
    assert np.hypot(*np.subtract(c, d)) == pytest.approx(2.0)
    assert plot.points["two"][0][2] == "c"


def test_video_compares_the_four_rows() -> None:
    found = reproduction("video")
    scores = {"plain": (4.0, 0.0), "3-D": (2.0, 0.2), "frames": (3.0, 0.1), "both": (1.5, 0.4)}
    outcomes = {f"{row}-{seed}": outcome(perplexity=ppl + 0.1 * seed, exact=exact) for row, (ppl, exact) in scores.items() for seed in (1, 2, 3)}
    summary = found.summary(outcomes)
    assert summary.ours == pytest.approx(1.7)
    assert summary.figures["perplexity_standard_deviation"]["3-D"] == pytest.approx(0.1)
    assert summary.figures["exact_captions_percent"]["both"] == pytest.approx(40.0)
    assert not any(summary.figures["claims"].values())  # 3-D is better than frames here
    swapped = {name.replace("3-D", "x").replace("frames", "3-D").replace("x", "frames"): one for name, one in outcomes.items()}
    assert all(found.summary(swapped).figures["claims"].values())


def test_captions_tuned_begin_with_the_soft_ones_and_their_minutes_add_up() -> None:
    found = reproduction("show-attend-tell-soft")
    starts = {plan.name: plan.start for plan in found.plans()}
    assert starts["tuned-2"] == "soft-2"
    assert starts["soft-2"] is None
    bleu = {"bleu-1": 65.0, "bleu-2": 46.0, "bleu-3": 31.0}
    outcomes = {plan.name: outcome(**bleu, **{"bleu-4": 20.0 + plan.name.startswith("tuned") + int(plan.name[-1])}) for plan in found.plans()}
    summary = found.summary(outcomes)
    assert summary.ours == pytest.approx(23.0)
    table = summary.figures["table"]
    assert table["tuned"]["minutes"] == pytest.approx(2 * table["soft"]["minutes"])
    assert summary.figures["floors_reached"] == {"bleu-1": True, "bleu-2": True, "bleu-3": False, "bleu-4": True}
    assert "floors" not in reproduction("show-and-tell").summary({plan.name: outcome(**{"bleu-4": 1.0}) for plan in reproduction("show-and-tell").plans()}).figures


def test_answers_are_scored_by_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reproduction("answer")
    sources = ["p|is the red thing small", "p|what shape is the red thing", "p|what shape is left of the red thing", "p|how many other things have the shape of the red thing"]
    wanted = ["yes", "circle", "cross", "1"]
    written = {"look": ["yes", "cross", "cross", "1"], "none": ["yes", "cross", "circle", "0"]}
    outcomes = {name: outcome((sources, said, wanted)) for name, said in written.items()}
    monkeypatch.setattr(type(found), "looks", lambda self, trial: {"one thing": 89.0, "relational": 50.0})
    summary = found.summary(outcomes)
    assert summary.ours == 50.0
    assert summary.figures["percent_right"]["look"] == {"all": 75.0, "one thing": 50.0, "relational": 100.0}
    assert summary.figures["gain_of_attention"] == 50.0
    assert summary.figures["floors_reached"] == {"pointing_percent": False, "gain_of_attention": True}


def test_reading_tells_straight_and_curved_words_apart() -> None:
    found = reproduction("read")
    sources = [f"words:ab plain 48x160 {shape} 1" for shape in ("straight", "curved", "curved", "straight")]
    wanted = ["ab"] * 4
    written = {"neighbourhood-again": ["ab", "ab", "ab", "ab"], "one-axis-again": ["ab", "x", "x", "ab"]}
    outcomes = {name: outcome((sources, said, wanted)) for name, said in written.items()} | {"photos-again": outcome(exact=0.5)}
    summary = found.summary(outcomes)
    assert summary.ours == 100.0
    assert summary.figures["two_axes_minus_one_on_curved"] == 100.0
    assert summary.figures["iiit5k_percent_right"] == 50.0
    assert summary.figures["floors_reached"] == {"two_axes_minus_one_on_curved": True}
