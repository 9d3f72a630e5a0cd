"""The laboratory's bench: a recipe's system, made narrow, and a few rows of its data, cut to a few places and steps.

Float64, and no dropout: hard attention's draws are all that is random. Its weights are the recipe's initial ones, or a run's.

>>> shrunk(Recipe({"decoder": {"size": 256, "embedding": 64}, "encoder": {"size": 128}}, "mine.toml"), 16).section("decoder")
{'size': 16, 'embedding': 4}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from xattend import job
from xattend import recipe as recipes
from xattend.attention.hard import Hard
from xattend.data.corpus import Data
from xattend.decoders.base import Decoder
from xattend.errors import UserError
from xattend.recipe import Recipe
from xattend.systems import assemble
from xattend.systems.seq2seq import Seq2Seq
from xattend.training.weights import load
from xattend.types import Batch, Memory, Padded

WIDTHS = ("size", "embedding", "inner", "readout_size", "key", "past")  # settings that are widths
LOOKED_AT = 1000  # rows among which long enough ones are looked for


@dataclass(frozen=True)
class Bench:
    """A system and the rows it is measured on.

    places   the memory is cut to so many
    """

    system: Seq2Seq
    batch: Batch
    places: int

    @property
    def decoder(self) -> Decoder:
        return self.system.decoder

    @property
    def target(self) -> Padded:
        assert self.batch.target is not None
        return self.batch.target

    @property
    def hard(self) -> Hard:
        (found,) = hard_attentions(self.decoder)
        return found

    def weights(self) -> tuple[list[nn.Parameter], int]:
        """Everything with a gradient, attention's own first, and how many of the tensors are those."""
        own = list(self.hard.parameters())
        known = {id(weight) for weight in own}
        rest = [*self.system.encoder.parameters(), *self.decoder.parameters()]
        return own + [weight for weight in dict.fromkeys(rest) if id(weight) not in known], len(own)

    def read(self, times: int = 1) -> tuple[Memory, Padded]:
        """The rows, read anew and each taken so many times."""
        whole = self.system.read(self.batch)
        cut = replace(
            whole, states_BSD=whole.states_BSD[:, : self.places], mask_BS=whole.mask_BS[:, : self.places], grid=(self.places,)
        )
        rows_n = torch.arange(len(self.batch)).repeat_interleave(times)
        return cut.take(rows_n), Padded(self.target.values[rows_n], self.target.mask_BS[rows_n])


def hard_attentions(decoder: Decoder) -> list[Hard]:
    return [part for part in decoder.modules() if isinstance(part, Hard)]


def prepare(
    name: str, *, overrides: Sequence[str] = (), data_dir: Path | None = None, rows: int = 2, places: int = 4, steps: int = 3,
    width: int = 16, scale: float = 1.0, seed: int | None = None,
) -> Bench:  # fmt: skip
    """The bench of a recipe, or of a run directory, which keeps its own width and has trained weights.

    scale   multiplies a recipe's initial matrices: those are small, and a model that hardly cares where it looks shows little
    """
    if Path(name).is_dir():
        if overrides:
            raise UserError(f"-s {overrides[0]}: the model is trained; give its recipe to change it", file=name)
        run, recipe, data = job.reopen(name, data_dir=data_dir)
        system = assemble(recipe, data.source, data.target)
        load(system, run.model)
    else:
        more = () if seed is None else (f"training.seed={seed}",)
        recipe = shrunk(recipes.load(name, (*overrides, *more)).resolve(), width)
        root = Path(name).parent.resolve() if Path(name).is_file() else Path.cwd()
        data = job.open_data(recipe, root, data_dir)
        system = assemble(recipe, data.source, data.target)
        with torch.no_grad():
            for weight in system.parameters():
                weight.mul_(scale if weight.dim() > 1 else 1.0)
    kind = recipe.part("attention")[0] if "attention" in recipe.sections else None
    if not isinstance(system, Seq2Seq) or not (found := hard_attentions(system.decoder)):
        has = "has no attention" if kind is None else f"has attention '{kind}'"
        raise UserError(f"the laboratory measures hard attention, and this {has}: add -s attention.kind=hard", file=name)
    if len(found) > 1:
        raise UserError(f"all paths are summed for one hard attention, and this decoder has {len(found)}: add -s decoder.layers=1", file=name)
    return _made(system, data, rows, places, steps)


def _made(system: Seq2Seq, data: Data, rows: int, places: int, steps: int) -> Bench:
    split = data.splits.get("validation") or data.splits["train"]
    lengths = np.minimum(split.lengths[:LOOKED_AT], [places, steps + 1])
    chosen = np.argsort(-lengths.sum(axis=1), kind="stable")[:rows]  # the first that are long enough
    whole = split.batch([int(row) for row in chosen])
    assert whole.source is not None
    assert whole.target is not None
    source = whole.source
    if system.source.space.vocabulary is not None:  # of a picture the memory is cut instead
        source = Padded(source.values[:, :places], source.mask_BS[:, :places], source.beside)
    target = Padded(whole.target.values[:, : steps + 1], whole.target.mask_BS[:, : steps + 1])
    return Bench(ready(system), Batch(source, target, whole.rows), places)


def ready(system: Seq2Seq) -> Seq2Seq:
    """The system, in float64 and without dropout, with hard attention that draws plainly."""
    system.double().eval()
    for hard in hard_attentions(system.decoder):
        hard.train()
        hard.sampler, hard.semi_sampling = "categorical", 0.0
    return system


def shrunk(recipe: Recipe, width: int) -> Recipe:
    """A resolved recipe whose decoder is so wide, and all else in proportion (to even widths); 0, or a wider one: as it is."""
    own = recipe.section("decoder").get("size")
    if not width or own is None or own <= width:
        return recipe

    def narrow(value: int) -> int:
        return 2 * max(1, round(value * width / int(own) / 2))

    sections = {
        name: {key: narrow(value) if key in WIDTHS and isinstance(value, int) else value for key, value in section.items()}
        if name in ("encoder", "attention", "decoder") else section
        for name, section in recipe.sections.items()
    }  # fmt: skip
    return Recipe(sections, recipe.origin, recipe.text, recipe.overridden)
