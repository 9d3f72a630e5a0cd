"""State as a tree of batch-first tensors: tuples, named tuples, dicts, None and tensors.

Decoders and attentions may keep any state they like as long as it is such a tree; search reorders it with `take`
and never needs to know what is inside.

>>> import torch
>>> take({"h": torch.tensor([[1.0], [2.0]]), "none": None}, torch.tensor([1, 1]))["h"].tolist()
[[2.0], [2.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Tree = Any  # Tensor | None | tuple[Tree, ...] | dict[str, Tree]: mypy has no useful recursive form of it


def map_tree(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """`function` on every tensor; the tree keeps its form."""
    if tree is None:
        return None
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_tree(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        parts = [map_tree(function, value) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    raise TypeError(f"a state holds tensors, tuples, dicts and None, not {type(tree).__name__}")


def leaves(tree: Tree) -> list[Tensor]:
    """Every tensor of the tree, in a fixed order."""
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tree(keep, tree)
    return found


def take(tree: Tree, rows_N: Tensor) -> Tree:
    """Rows of every tensor, chosen and ordered by index: how a beam is reordered."""
    return map_tree(lambda tensor: tensor.index_select(0, rows_N), tree)


def repeat(tree: Tree, times: int) -> Tree:
    """Each row `times` times in a row: one sentence becomes its beams."""
    return map_tree(lambda tensor: tensor.repeat_interleave(times, dim=0), tree)


def where(mask_B: Tensor, new: Tree, old: Tree) -> Tree:
    """`new` in the rows where the mask is True, else `old`: how padding leaves a state alone."""
    if new is None:
        return None
    if isinstance(new, Tensor):
        return torch.where(mask_B.view(-1, *[1] * (new.dim() - 1)), new, old)
    if isinstance(new, dict):
        return {key: where(mask_B, value, old[key]) for key, value in new.items()}
    parts = [where(mask_B, a, b) for a, b in zip(new, old, strict=True)]
    return type(new)(*parts) if hasattr(new, "_fields") else tuple(parts)
