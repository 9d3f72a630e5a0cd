"""State as a tree of batch-first tensors: tuples, named tuples, dicts, None, tensors, and nodes that move their own rows.

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

Tree = Any  # Tensor | Node | None | tuple[Tree, ...] | dict[str, Tree]: mypy has no useful recursive form of it


class Node:
    """A leaf that knows a cheaper way to move its rows than to copy them (layers/cache.py)."""

    def take(self, rows_N: Tensor) -> Node:
        raise NotImplementedError

    def repeat(self, times: int) -> Node:
        raise NotImplementedError


def map_tree(function: Callable[[Tensor], Tensor], tree: Tree, of_node: Callable[[Node], Node] | None = None) -> Tree:
    """`function` on every tensor, and `of_node` on every node; the tree keeps its form."""
    if tree is None:
        return None
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_tree(function, value, of_node) for key, value in tree.items()}
    if isinstance(tree, tuple):
        parts = [map_tree(function, value, of_node) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, Node) and of_node is not None:
        return of_node(tree)
    raise TypeError(f"a state holds tensors, tuples, dicts and None, not {type(tree).__name__}")


def take(tree: Tree, rows_N: Tensor) -> Tree:
    """Rows of every tensor, chosen and ordered by index: how a beam is reordered."""
    return map_tree(lambda tensor: tensor.index_select(0, rows_N), tree, lambda node: node.take(rows_N))


def repeat(tree: Tree, times: int) -> Tree:
    """Each row `times` times in a row: one sentence becomes its beams."""
    return map_tree(lambda tensor: tensor.repeat_interleave(times, dim=0), tree, lambda node: node.repeat(times))


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
