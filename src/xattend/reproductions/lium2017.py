"""The text-only attention GRU of LIUM-CVC at WMT 2017: 39.00 BLEU in one run, 38.1 +- .8 over five."""

from __future__ import annotations

from xattend.registry import register
from xattend.reproductions.base import OneRecipe


@register("reproduction", "lium2017")
class Lium2017(OneRecipe):
    """Multi30k English-German, tokenised lower-case BLEU on test2016."""

    recipe, key = "lium2017", "bleu-tok"
    system, paper = "conditional GRU with attention", "Caglayan et al. 2017"
    metric, published, floor = "test2016 tokenised BLEU", 39.0, 37.5
    differs = "a declared number of passes with a cosine, best validation BLEU instead of METEOR, products in bfloat16"
