"""Conversation on film dialogue (Vinyals and Le 2015): the perplexity of answers, beside a 5-gram model's on the same tokens.

The paper has 8 against 18 on helpdesk chats, and 17 against 28 on film subtitles.
"""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import OneRecipe, Outcome, Summary

SAID = ("hello .", "what is your name ?", "where are you from ?", "are you a man or a machine ?", "what is the purpose of living ?")


@register("reproduction", "conversation")
class Conversation(OneRecipe):
    """Perplexity as a share of the 5-gram model's."""

    recipe, key = "conversation", "perplexity"
    system, paper = "LSTM to LSTM, no attention", "Vinyals and Le 2015"
    metric, higher_is_better, published = "test perplexity over a 5-gram model's", False, 17 / 28
    differs = "40,954 lines of film dialogue with <UNK> instead of 62 million subtitles, one layer of 384 instead of two of 4096"

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        from math import exp

        from xattend.ngram import KneserNey

        (one,) = found.values()
        data = one.trial.data
        targets = {name: [data.splits[name].ids["target"][row] for row in range(len(data.splits[name]))] for name in ("train", "test")}
        nll, tokens = KneserNey(targets["train"], vocabulary=data.target.space.symbols(), order=5).nll(targets["test"])
        beside = exp(nll / tokens)
        figures = {"perplexity": one.test["perplexity"], "five_gram": beside, "tokens": tokens, "answers": one.trial.answers(SAID)}
        return Summary(one.test["perplexity"] / beside, figures)
