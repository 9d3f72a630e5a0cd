"""Long utterances (Chorowski et al. 2015, section 4.2): content alone loses its place where sounds repeat, a hybrid keeps it.

Trained on strings of up to 5 digits, tested at 5, 15 and 30: on recordings (FSDD) and on made-up voices, with three seeds each. Who has never heard
more than 5 digits learns to end there, whatever the attention, if anything in the model can count. So for both kinds the decoder is a feed-forward
cell, which remembers the last digit and the last look alone, and begins at zero; recordings are read by GRUs, as in the paper; sounds are normalised by
those of training, not by themselves; and search asks that every position is looked at. The hybrid looks near its last look, and hardly back (the
paper's windowing). All this was chosen on other strings: made-up ones of another seed, and strings of 5, 15 and 30 of the validation's recordings.

Who compares two ways to look must not compare two pairs of ears: trainings of one kind differ by more than a tenth of their error. So for each seed
a model is trained first (`ear`, with content attention and CTC), and both kinds go on with its encoder. On made-up voices that is enough for them to be equal on validation's strings of up to 5 digits. On recordings the hybrid was a tenth worse there, so both go on with
all that the ear has learnt: content alone as it is, the hybrid with convolutions over its last look besides, which begin anew. All sounds have white noise over them, so that at 5 digits there
are mistakes to compare: without it they are few, and on the same few recordings.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

Outputs = tuple[list[str], list[str]]  # what was written, and what should have been
LENGTHS = (5, 15, 30)
SET = (
    "data.task.digits=[1, 5]", "data.task.test_digits=[5, 5, 5, 5, 5, 5, 15, 30]",  # most are of training's length, where few are wrong
    "decoder.cell=feed-forward", "decoder.size=64", "decoder.bridge=zero", "data.source.normalise=training", "objective.main=cross-entropy",
    "search.coverage_penalty=0.02", "search.max_ratio=0.2", "search.max_extra=2",  # nobody says a digit in less than 5 positions; what runs in circles is stopped
)  # fmt: skip
HYBRID = ("attention.kind=hybrid", "attention.filters=16", "attention.reach=32", "attention.window=32", "attention.back=4")  # a digit is about 11 positions long, one in fifteen more than 16
RECORDED = (  # with LSTMs over recordings it stopped after 5 to 7 digits
    "encoder.cell=gru", "encoder.size=96", "attention.size=128", "training.precision=float32", "data.source.hiss=5", "data.task.rows=12000",
)  # fmt: skip
MADE = ("attention.size=64", "data.source.hiss=30", "data.task.rows=10000")
EAR = ("attention.kind=additive",)
KINDS = {"content": EAR, "hybrid": HYBRID}
PLACES: dict[str, tuple[str, tuple[str, ...]]] = {"fsdd": ("las-fsdd", RECORDED), "made": ("spell", MADE)}
PASSES = {"ear": 6.0, "fsdd": 3.0, "made": 4.0}
ALL = ["encoder", *(f"decoder.{part}" for part in ("stack", "embedding", "readout", "output", "attention.key", "attention.query", "attention.v"))]  # all that both kinds have
HEARD = {"fsdd": ALL, "made": ["encoder"]}
# the last look needs somewhere to go when all is said: recordings are cut off at the last digit
LATER = {place: (f"training.start_parts={HEARD[place]}", "data.source.tail=0.3", "optimiser.lr=0.0005", f"training.epochs={PASSES[place]}", "training.ema=0.999") for place in PLACES}


def by_length(outputs: Sequence[str], references: Sequence[str]) -> dict[int, float]:
    """Percent of digits wrong in test strings of each length.

    >>> by_length(["12345", "1234"], ["12345", "12345"])
    {5: 10.0}
    """
    from xattend.metrics.edits import CharacterErrorRate

    found = {}
    for length in LENGTHS:
        rows = [row for row, reference in enumerate(references) if len(reference) == length]
        if rows:
            found[length] = 100 * CharacterErrorRate().compute([outputs[row] for row in rows], [[references[row]] for row in rows])
    return found


def joined(each: Sequence[Outputs]) -> Outputs:
    """Those of several models, one after the other."""
    return [text for written, _ in each for text in written], [text for _, wanted in each for text in wanted]


def difference(first: Outputs, second: Outputs) -> dict[str, float]:
    """Of two models' errors at 5 digits, in points, and what encloses 95 % of it when the strings are drawn anew."""
    from xattend.metrics.bootstrap import paired_bootstrap
    from xattend.metrics.edits import CharacterErrorRate

    rows = [row for row, reference in enumerate(first[1]) if len(reference) == LENGTHS[0]]
    one, other = ([outputs[row] for row in rows] for outputs, _ in (first, second))
    found = paired_bootstrap(CharacterErrorRate(), one, other, [[first[1][row]] for row in rows])
    return {"points": 100 * found.difference, "low": 100 * found.low, "high": 100 * found.high}


def ratio(content: float, hybrid: float) -> float:
    """Hybrid over content; where neither errs at all they are equal."""
    return hybrid / content if content else float(hybrid > 0) or 1.0


@register("reproduction", "speech-length")
class SpeechLength(Reproduction):
    """Error at 30 digits, hybrid over content."""

    system, paper = "Listen, Attend and Spell, hybrid and content attention", "Chorowski et al. 2015"
    metric, higher_is_better, floor = "FSDD, trained on up to 5 digits: error at 30, hybrid over content", False, 0.5
    differs = "digit strings instead of TIMIT sentences put together, halving layers, a decoder without recurrence, a coverage penalty; both kinds begin with one model of content alone, or (made-up voices) its encoder"
    seeds = (1, 2, 3)

    def plans(self) -> list[Plan]:
        plans = []
        for place, (recipe, more) in PLACES.items():
            for seed in self.seeds:
                common, ear = (*SET, *more, f"training.seed={seed}"), f"{place}-ear-{seed}"
                plans.append(Plan(ear, recipe, (*common, *EAR, f"training.epochs={PASSES['ear']}")))
                plans += [Plan(f"{place}-{name}-{seed}", recipe, (*common, *kind, *LATER[place]), start=ear) for name, kind in KINDS.items()]
        return plans

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        outputs = {name: one.trial.outputs("test")[1:] for name, one in found.items() if "-ear-" not in name}
        errors = {name: by_length(*each) for name, each in outputs.items()}
        mean = {
            place: {name: {length: statistics.mean(errors[f"{place}-{name}-{seed}"][length] for seed in self.seeds) for length in LENGTHS} for name in KINDS}
            for place in PLACES
        }  # fmt: skip
        ratios = {place: {length: ratio(of["content"][length], of["hybrid"][length]) for length in LENGTHS} for place, of in mean.items()}
        figures: dict[str, Any] = {"digit_error": mean, "by_training": errors, "hybrid_over_content": ratios}
        figures["equal_at_5"] = {place: abs(of[5] - 1) <= 0.1 for place, of in ratios.items()}
        figures["difference_at_5"] = {
            place: difference(*(joined([outputs[f"{place}-{name}-{seed}"] for seed in self.seeds]) for name in ("hybrid", "content"))) for place in PLACES
        }  # fmt: skip
        return Summary(ratios["fsdd"][30], figures)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {
            f"{place}, {name}": [(float(length), error) for length, error in of.items()]
            for place, by in figures["digit_error"].items() for name, of in by.items()
        }  # fmt: skip
        return {"error": Plot("Digit error against length", "digits of the string", "digit error, percent", lines), **super().plots(found, figures)}
