"""A recipe's parts, ready to be built: what a system's constructor asks for."""

from __future__ import annotations

from typing import Any

import torch

from xattend import registry
from xattend.data.fields.base import Field
from xattend.recipe import Recipe
from xattend.systems.base import System


class Parts:
    """The fields of the data, and a way to build the part in any section of the recipe."""

    def __init__(self, recipe: Recipe, source: Field | None, target: Field) -> None:
        self.recipe = recipe
        self.source = source
        self.target = target

    def build(self, section: str, *wired: Any) -> Any:
        """The part in a section, its sizes wired by position."""
        kind, given = self.recipe.part(section)
        return registry.build(section, kind, *wired, **given)


def assemble(recipe: Recipe, source: Field | None, target: Field) -> System:
    """The system of a resolved recipe, its weights drawn from the recipe's seed."""
    state = torch.random.get_rng_state()
    torch.manual_seed(recipe.training.seed)
    try:
        parts = Parts(recipe, source, target)
        system: System = parts.build("system", parts)
    finally:
        torch.random.set_rng_state(state)
    return system
