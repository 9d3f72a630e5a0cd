"""Characters by CTC on AN4 (Graves et al. 2006): best path, prefix beam, and the beam with language models of the training texts beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

WEIGHT = 0.4


def searches(language: Path) -> dict[str, tuple[str, ...]]:
    """What is set otherwise for each way to decode; the prefix beam is the recipe's own."""
    fusion = ("search.kind=fusion", f"search.language_model={language}", f"search.weight={WEIGHT}", 'search.inner={ kind = "beam", size = 8 }')
    return {"best-path": ("search.kind=best-path",), "with 5-gram": (*fusion, "search.order=5"), "with LSTM": fusion}


def character_error(trial: Trial, overrides: tuple[str, ...]) -> float:
    """Percent, of the test rows, decoded in another way."""
    from xattend.cli.evaluate import rows_of
    from xattend.metrics.edits import CharacterErrorRate
    from xattend.model import Model

    model, rows = Model.load(trial.path, overrides), list(rows_of(trial.data.splits["test"]))
    outputs = [one.text for one in model.predict_rows((row._replace(target=None) for row in rows), model.search())]
    return 100 * CharacterErrorRate().compute(outputs, [[row.target or ""] for row in rows])


@register("reproduction", "ctc-an4")
class CtcAn4(Reproduction):
    """Character error without a language model."""

    system, paper = "BiLSTM, CTC over characters", "Graves et al. 2006"
    metric, higher_is_better, floor = "AN4 test, character error by a prefix beam, percent", False, 12.0
    differs = "AN4 instead of TIMIT, characters instead of phones, 39 cepstra and deltas, Adam, dropout and masking instead of input noise"

    def plans(self) -> list[Plan]:
        return [Plan("ctc", "ctc-an4"), Plan("language", "lm-an4")]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        errors = {"beam": 100 * found["ctc"].test["cer"]}
        for name, overrides in searches(found["language"].trial.path).items():
            errors[name] = character_error(found["ctc"].trial, overrides)
        return Summary(errors["beam"], {"character_error": errors, "weight_of_language_model": WEIGHT, "paper_timit_label_error": {"best path": 31.47, "prefix search": 30.51}})
