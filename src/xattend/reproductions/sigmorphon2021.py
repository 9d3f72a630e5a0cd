"""Spelling to pronunciation, SIGMORPHON 2021 task 1, medium setting: word error rates of one model a language.

Beside a single Transformer a language (4 + 4 layers of width 256): French 10.2, Georgian .1, Hungarian 1.9, Japanese 8.5, Korean 30.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

TRANSFORMER = {"fre": 10.2, "geo": 0.1, "hun": 1.9, "jpn_hira": 8.5, "kor": 30.2}  # word error, percent
APART = ("kor",)  # languages whose syllables are taken apart into letters


@register("reproduction", "sigmorphon2021")
class Sigmorphon2021(Reproduction):
    """The largest excess of word error over the Transformer's row."""

    system, paper = "attention LSTM, letters to phonemes", "SIGMORPHON 2021 task 1"
    metric, higher_is_better, floor = "largest excess of word error over a single Transformer, in points", False, 1.5
    differs = "an attention LSTM instead of a Transformer; Korean syllables as their letters"

    def plans(self) -> list[Plan]:
        folder = "sigmorphon2021_g2p/medium"
        return [
            Plan(language, "pronounce", (
                f"data.train={folder}/{language}_train.tsv", f"data.validation={folder}/{language}_dev.tsv",
                f"data.test={folder}/{language}_test.tsv", *(["data.source.decompose=true"] if language in APART else []),
            ))
            for language in TRANSFORMER
        ]  # fmt: skip

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        errors = {language: 100 * (1 - one.test["exact"]) for language, one in found.items()}
        excess = {language: error - TRANSFORMER[language] for language, error in errors.items()}
        return Summary(max(excess.values()), {"word_error": errors, "transformer": TRANSFORMER, "excess": excess})
