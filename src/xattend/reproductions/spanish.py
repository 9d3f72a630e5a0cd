"""English to Spanish sentences, and the lectures' own: "I have a big cat but a small house." No paper prints a figure for these rows."""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import OneRecipe, Outcome, Summary

LECTURE = "I have a big cat but a small house."


@register("reproduction", "spanish")
class Spanish(OneRecipe):
    """BLEU on held-out English sides, all their translations being references."""

    recipe, key = "spanish", "bleu"
    system, paper = "attention GRU", "the lectures' example; Bahdanau et al. 2015 (mechanism)"
    metric, variants = "test BLEU (13a, all translations of a sentence as references)", True

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        summary = super().summary(found)
        (one,) = found.values()
        return Summary(summary.ours, {**summary.figures, "lecture": one.trial.answers([LECTURE])})
