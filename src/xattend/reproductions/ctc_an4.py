"""Characters by CTC on AN4 (Graves et al. 2006): best path, prefix search, prefix beam, and the beam with language models of
the training texts. How much those count is chosen on validation rows, whose texts they have seen: it may be chosen too high."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.8)  # of a language model; the best one on validation rows is used
ALONE = {"best path": ("search.kind=best-path",), "prefix search": ("search.kind=exact",)}
ORDERS = {"with unigram": 1, "with 5-gram": 5, "with LSTM": None}


def fusion(language: Path, order: int | None, weight: float) -> tuple[str, ...]:
    """The settings that have a language model's say in the prefix beam: an n-gram model of its texts, or itself."""
    inner = 'search.inner={ kind = "beam", size = 8, length_penalty = 0.0 }'
    found = ("search.kind=fusion", f"search.language_model={language}", f"search.weight={weight}", inner)
    return found if order is None else (*found, f"search.order={order}")


class Decoded(NamedTuple):
    """Percent of characters wrong, and the log-probability of each output, in the order of the rows."""

    error: float
    logprobs: list[float]


def decode(trial: Trial, split: str, overrides: tuple[str, ...]) -> Decoded:
    """The rows of a split, decoded in another way."""
    from xattend.cli.evaluate import rows_of
    from xattend.metrics.edits import CharacterErrorRate
    from xattend.model import Model

    model, rows = Model.load(trial.path, overrides), list(rows_of(trial.data.splits[split]))
    found = list(model.predict_rows((row._replace(target=None) for row in rows), model.search()))
    error = CharacterErrorRate().compute([one.text for one in found], [[row.target or ""] for row in rows])
    return Decoded(100 * error, [one.hypothesis.logprob for one in found if one.hypothesis is not None])


def best_weight(trial: Trial, language: Path, order: int | None) -> float:
    """On validation rows; the least of those that do as well."""
    errors = {weight: decode(trial, "validation", fusion(language, order, weight)).error for weight in WEIGHTS}
    return min(errors, key=lambda weight: errors[weight])


@register("reproduction", "ctc-an4")
class CtcAn4(Reproduction):
    """Character error without a language model."""

    system, paper = "BiLSTM, CTC over characters", "Graves et al. 2006"
    metric, higher_is_better, floor = "AN4 test, character error by a prefix beam, percent", False, 12.0
    differs = "AN4 instead of TIMIT, characters instead of phones, 39 cepstra and deltas, time divided by 4, Adam, dropout and masking beside input noise"

    def plans(self) -> list[Plan]:
        return [Plan("ctc", "ctc-an4"), Plan("language", "lm-an4")]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        trial, language = found["ctc"].trial, found["language"].trial.path
        alone = {name: decode(trial, "test", overrides) for name, overrides in ALONE.items()}
        below = sum(searched < path - 1e-4 for searched, path in zip(alone["prefix search"].logprobs, alone["best path"].logprobs, strict=True))
        errors = {"beam": 100 * found["ctc"].test["cer"], **{name: one.error for name, one in alone.items()}}
        chosen = {}
        for name, order in ORDERS.items():
            chosen[name] = best_weight(trial, language, order)
            errors[name] = decode(trial, "test", fusion(language, order, chosen[name])).error
        return Summary(errors["beam"], {
            "character_error": errors, "weight_of_language_model": chosen, "prefix_search_below_best_path": below,
            "paper_timit_label_error": {"best path": 31.47, "prefix search": 30.51},
        })  # fmt: skip
