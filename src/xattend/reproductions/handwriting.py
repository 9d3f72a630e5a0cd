"""Handwriting synthesis (Graves 2013) on pen strokes that are drawn, so that it is known which character each point belongs to.

Three trainings: with the text, without it (the paper's prediction network), and a reader, which has to make out what is written. The
window is right at a point if it weighs the point's own character most. Strings are written with a bias, one for each of the first test
texts, and read by the reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary
from xattend.trial import Trial

BIAS, STRINGS = 1.0, 200
GAIN, READ = 0.3, 85.0  # wanted: nats a point that the text is worth, and percent of written characters that are read


def looks_right(trial: Trial, rows: int | None = None) -> float:
    """Percent of the test drawings' points at which the window's heaviest character is the point's own."""
    from xattend.cli.evaluate import rows_of
    from xattend.data.tasks.handwriting import Handwriting

    model, right, points = trial.model(), 0, 0
    kept = list(rows_of(trial.data.splits["test"]))[:rows]
    for start in range(0, len(kept), 64):
        some = kept[start : start + 64]
        for row, weights_THS in zip(some, model.system.align(model._batch(some)), strict=True):
            letters = Handwriting.letters((row.target or "").partition(":")[2])
            found = weights_THS[: len(letters), 0].argmax(dim=1).tolist()
            right, points = right + sum(a == b for a, b in zip(found, letters, strict=True)), points + len(letters)
    return 100.0 * right / max(1, points)


def read_back(writer: Trial, reader: Trial, strings: int = STRINGS) -> dict[str, float]:
    """Percent of characters made out in what the writer writes and in what the task drew, and of drawings without an end."""
    from xattend.cli.evaluate import rows_of
    from xattend.metrics.edits import CharacterErrorRate
    from xattend.systems.write import Write

    model, reads = writer.model(), reader.model()
    assert isinstance(model.system, Write)
    model.system.bias = BIAS
    rows = list(rows_of(writer.data.splits["test"]))[:strings]
    texts, written = [row.source for row in rows], []
    cut = 0
    for number, text in enumerate(texts):
        model.system.seed = number + 1  # a hand of its own for each
        sample = model.predict(text)
        cut += not sample.finished
        written.append(sample.text)
    percent = {}
    for name, drawings in (("written", written), ("drawn", [row.target or "" for row in rows])):
        found = reads.predict([drawing or "0,0." for drawing in drawings])
        read = [one.text if drawing else "" for one, drawing in zip(found, drawings, strict=True)]
        percent[name] = 100.0 * (1 - CharacterErrorRate().compute(read, [[text] for text in texts]))
    return {**percent, "cut": 100.0 * cut / max(1, len(rows))}


@register("reproduction", "handwriting")
class Handwriting(Reproduction):
    """Where the window looks; what the text is worth; whether what is written can be read."""

    system, paper = "two LSTM layers of 200, window of 5 Gaussians, mixture of 10", "Graves 2013"
    metric, floor = "points at which the window's heaviest character is the right one, percent", 95.0
    differs = "single-stroke letters of 40 made-up hands instead of IAM-OnDB, two layers of 200 instead of three of 400, a learnt end"

    def plans(self) -> list[Plan]:
        without = Plan("without-text", "handwriting", ("attention.kind=none",))
        return [Plan("text", "handwriting"), without, Plan("reader", "handwriting-read")]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        nats = {name: float(found[name].test["nll"]) for name in ("text", "without-text")}
        looks, read = self.looks(found["text"].trial), self.read(found["text"].trial, found["reader"].trial)
        gain = nats["without-text"] - nats["text"]
        return Summary(looks, {
            "nats_a_point": nats, "gain_of_the_text": gain, "percent_read": read, "reader_cer": found["reader"].test.get("cer"),
            "claims": {"text worth .3 nats a point": gain >= GAIN, "85 % of written characters read": read["written"] >= READ},
        })  # fmt: skip

    def looks(self, trial: Trial) -> float:
        return looks_right(trial)

    def read(self, writer: Trial, reader: Trial) -> dict[str, float]:
        return read_back(writer, reader)

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        bars = {name: (value, 0.0) for name, value in figures["nats_a_point"].items()}
        return {"table": Plot("Handwriting", "", "nats a point, test", bars=bars), **super().plots(found, figures)}
