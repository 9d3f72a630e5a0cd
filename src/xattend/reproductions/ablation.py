"""Rows A to E of the Transformer's table 3 (Vaswani et al. 2017) at a tiny size on Multi30k: heads, key width, size, dropout, positions.

Perplexity is without label smoothing. Eight passes over 10,000 sentences, in which these models do not yet know the rows by heart: rows about
overfitting (dropout, larger models) come out otherwise than in a long training.
"""

from __future__ import annotations

from collections.abc import Mapping

from xattend.registry import register
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

VOCABULARY = 3000
BASE = (
    "data.rows=10000", f"data.source.size={VOCABULARY}", f"data.target.size={VOCABULARY}", "encoder.layers=3", "decoder.layers=3",
    "optimiser.lr=0.003", "schedule.kind=cosine", "schedule.warmup=300", "training.epochs=8.0", "training.ema=0.0", "training.tokens=1024",
    "training.validate_every=980",
)  # fmt: skip


def both(key: str, value: object) -> tuple[str, ...]:
    return f"encoder.{key}={value}", f"decoder.{key}={value}"


def heads(count: int) -> tuple[str, ...]:
    return (*both("heads", count), f"attention.heads={count}")


def keys(width: int) -> tuple[str, ...]:
    return (*both("key", width), f"attention.key={width}")


ROWS: dict[str, tuple[str, ...]] = {
    "base": (),
    "A-heads1": heads(1), "A-heads8": heads(8), "A-heads16": heads(16),
    "B-key8": keys(8), "B-key16": keys(16),
    "C-layers1": both("layers", 1), "C-layers4": both("layers", 4),
    "C-width64": both("size", 64), "C-width256": both("size", 256), "C-inner512": both("inner", 512),
    "D-dropout0": both("dropout", 0.0), "D-dropout.1": both("dropout", 0.1), "D-dropout.5": both("dropout", 0.5),
    "D-smoothing0": ("objective.label_smoothing=0.0",), "D-smoothing.2": ("objective.label_smoothing=0.2",),
    "E-learned": both("positions", "learned"), "pre-norm": both("norm", "pre"),
}  # fmt: skip
PAPER = {  # on newstest2013
    "base": {"perplexity": 4.92, "bleu": 25.8}, "A-heads1": {"perplexity": 5.29, "bleu": 24.9}, "B-key16": {"perplexity": 5.16, "bleu": 25.1},
    "D-dropout0": {"perplexity": 5.77, "bleu": 24.6}, "D-smoothing0": {"perplexity": 4.67, "bleu": 25.3}, "E-learned": {"perplexity": 4.92, "bleu": 25.7},
}  # fmt: skip


@register("reproduction", "ablation")
class Ablation(Reproduction):
    """What removing dropout costs; the rest of the table is in the figures."""

    system, paper = "Transformer, 3 + 3 layers of width 128", "Vaswani et al. 2017"
    metric, published = "validation BLEU of base minus that without dropout", 1.2
    differs = "width 128, 8 passes over 10,000 sentences of Multi30k, the parts' own first weights, products in bfloat16, one seed"

    def plans(self) -> list[Plan]:
        return [Plan(name, "transformer2017-tiny", (*BASE, *changes)) for name, changes in ROWS.items()]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        table = {name: {"perplexity": one.validation["perplexity"], "bleu": one.validation["bleu-tok"]} for name, one in found.items()}
        return Summary(table["base"]["bleu"] - table["D-dropout0"]["bleu"], {"table": table, "paper": PAPER})
