"""The first neural encoder-decoder in small (Kalchbrenner and Blunsom 2013): convolutions read, a recurrent network writes.

The paper rescored a phrase-based system's lists and gives perplexities, 43 % below a state-of-the-art alignment model's. Here the claim is
checked as in its table 1: the perplexity of the translation model beside that of the same decoder which reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary


@register("reproduction", "rctm")
class Rctm(Reproduction):
    """How much reading the source lowers perplexity."""

    system, paper = "convolutional sentence model, recurrent decoder", "Kalchbrenner and Blunsom 2013"
    metric = "perplexity reduced by reading the source, percent"
    differs = "beside the same decoder with an attention that sees nothing, not beside alignment models; Multi30k, 256 units, 5 passes of Adam"

    def plans(self) -> list[Plan]:
        short = ("training.epochs=5.0", "training.precision=bfloat16")
        return [Plan("conv", "rctm2013", short), Plan("blind", "rctm2013", (*short, "attention.kind=none"))]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        perplexity = {name: float(one.test["perplexity"]) for name, one in found.items()}
        figures = {"perplexity": perplexity, "bleu": {name: one.test["bleu-tok"] for name, one in found.items()}}
        return Summary(100 * (1 - perplexity["conv"] / perplexity["blind"]), figures)
