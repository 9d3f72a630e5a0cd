"""English names in Russian letters (NETransliteration, Merhav and Ash 2018): the share of names written exactly right."""

from __future__ import annotations

from xattend.registry import register
from xattend.reproductions.base import OneRecipe


@register("reproduction", "names-ru")
class NamesRu(OneRecipe):
    """Exact match of the best output."""

    recipe, key = "names-ru", "exact"
    system, paper = "attention LSTM, letters to letters", "Merhav and Ash 2018"
    variants = True
    metric, published, floor = "exact match, 1-best", 0.60, 0.60
