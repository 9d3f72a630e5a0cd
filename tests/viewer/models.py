"""Models for the page's tests: the recipe `hindi`, trained for some seconds, and untrained ones of every other kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from xattend import recipe as recipes
from xattend import registry
from xattend.data.corpus import encode_rows
from xattend.data.fields.base import Field
from xattend.data.readers.base import Row
from xattend.model import Model
from xattend.systems import assemble

SENTENCE = "main roti vahan kha raha hoon"  # I am eating bread there


def fitted(settings: dict[str, Any], texts: Sequence[str]) -> Field:
    given = {key: value for key, value in settings.items() if key != "kind"}
    field: Field = registry.build("field", settings["kind"], **given)
    field.fit(texts)
    return field


@cache
def hindi(seed: int = 1, steps: int = 130) -> Model:
    """The shipped recipe at a smaller size, learnt well enough to translate most sentences."""
    overrides = ["encoder.size=24", "attention.size=24", "decoder.size=48", "decoder.embedding=24", f"training.seed={seed}"]
    recipe = recipes.load("hindi", overrides).resolve()
    settings = dict(recipe.section("data")["task"])
    task = registry.build("task", settings.pop("kind"), **settings)
    pairs = list(task.splits()["train"])
    source, target = fitted(task.source, [one for one, _ in pairs]), fitted(task.target, [other for _, other in pairs])
    with torch.random.fork_rng():
        system, draw = assemble(recipe, source, target), random.Random(seed)
        optimiser = torch.optim.Adam(system.parameters(), lr=0.02)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(steps):
            rows = [Row(one, other, "rows", 1) for one, other in draw.sample(pairs, 96)]
            loss = system.loss(encode_rows((source, target), rows))
            optimiser.zero_grad()
            (loss.total / loss.tokens).backward()
            torch.nn.utils.clip_grad_norm_(system.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return Model(recipe, source, target, system)


def untrained(text: str, source: Sequence[str], target: Sequence[str]) -> Model:
    """A model of a recipe's text, its weights as they were drawn."""
    recipe = recipes.parse(text, "test.toml").resolve()
    data = recipe.section("data")
    task = registry.find("task", data["task"]["kind"])
    sides = fitted(data["source"] or task.source, source), fitted(data["target"] or task.target, target)
    return Model(recipe, *sides, assemble(recipe, *sides))


@cache
def caption() -> Model:
    return untrained(
        '[data]\ntask = "scenes"\nsource = { kind = "image", size = 32, crop = "squash", max_pixels = 250000 }\n'
        '[encoder]\nkind = "cnn"\nsize = 8\nwidths = [8, 8]\nstrides = [4, 2]\n[decoder]\nsize = 8\nembedding = 4\n[search]\nmax_length = 6\n',
        [], ["a red circle above a blue square"],
    )  # fmt: skip


@cache
def asked() -> Model:
    return untrained(
        '[data]\ntask = "questions"\nsource = { kind = "asked", size = 32, crop = "squash" }\n'
        '[encoder]\nkind = "asked"\npicture = { kind = "cnn", size = 8, widths = [8], strides = [8] }\n[decoder]\nkind = "hops"\nsize = 8\nhops = 2\n[search]\nmax_length = 2\n',
        ["x|what is red", "x|is it blue"], ["yes", "no"],
    )  # fmt: skip


@cache
def looker_that_writes(asked: bool = False) -> Model:
    """Six looks, then words by attention to them; or an answer to what is asked."""
    looks = '{ kind = "glimpses", looks = 6, size = 8, inner = 4 }'
    if asked:
        return untrained(
            '[data]\ntask = "questions"\nsource = { kind = "asked", size = 32, crop = "squash" }\n'
            f'[encoder]\nkind = "asked"\npicture = {looks}\n[decoder]\nkind = "hops"\nsize = 8\nhops = 2\n[search]\nmax_length = 2\n',
            ["x|what is red", "x|is it blue"], ["yes", "no"],
        )  # fmt: skip
    return untrained(
        '[data]\ntask = "scenes"\nsource = { kind = "image", size = 32, crop = "squash", max_pixels = 250000 }\n'
        '[encoder]\nkind = "glimpses"\nlooks = 6\nsize = 8\ninner = 4\n[decoder]\nsize = 8\nembedding = 4\n[search]\nmax_length = 6\n',
        [], ["a red circle above a blue square"],
    )  # fmt: skip


@cache
def film() -> Model:
    return untrained(
        '[data]\ntask = "moving-digits"\nsource = { kind = "film", frames = 4, size = 16, crop = "squash", grey = true }\n'
        '[encoder]\nkind = "frames"\nsize = 8\nwidths = [8, 8]\n[decoder]\nsize = 8\nembedding = 4\n[search]\nmax_length = 5\n',
        [], ["digit 3 goes up"],
    )  # fmt: skip


@cache
def listener() -> Model:
    return untrained(
        '[data]\ntask = "spoken-digits"\n[encoder]\nkind = "listen"\nsize = 4\nlayers = 1\nhalve = 1\n[decoder]\nsize = 8\nembedding = 4\n[search]\nmax_length = 4\n',
        [], ["0123456789"],
    )  # fmt: skip


@cache
def pen() -> Model:
    return untrained(
        '[data]\ntask = "handwriting"\nsource = { kind = "text", unit = "character" }\ntarget = { kind = "strokes" }\n'
        '[system]\nkind = "write"\nsize = 6\nlayers = 1\ngaussians = 2\n[attention]\nkind = "window"\ncomponents = 2\n[search]\nkind = "greedy"\n',
        ["some text"], ["30,-40 0,50. 20,10 5,-5."],
    )  # fmt: skip


@cache
def stories() -> Model:
    return untrained(
        '[data]\ntask = "stories"\n[system]\nkind = "memn2n"\nhops = 2\n[encoder]\nkind = "sentences"\nsize = 4\n[attention]\nkind = "dot"\n[search]\nkind = "greedy"\n',
        ["Ada walked to the cellar. Boris took the lamp. Where is Ada?"], ["cellar", "attic"],
    )  # fmt: skip


@cache
def computer() -> Model:
    return untrained(
        '[data]\ntask = "bits-copy"\n[system]\nkind = "machine"\nsize = 4\nslots = 4\nwidth = 3\nread = ["content", "links"]\nwrite = ["content", "usage", "allocation"]\n'
        '[search]\nkind = "greedy"\n',
        ["0110 1101 copy . ."], ["0110 1101"],
    )  # fmt: skip


@cache
def looker() -> Model:
    return untrained(
        '[data]\ntask = "digits"\nsource = { kind = "placed" }\ntarget = { unit = "character" }\n'
        '[system]\nkind = "ram"\nglimpse = { kind = "retina", size = 4, scales = 2 }\nlooks = 3\nsize = 8\ninner = 4\n[search]\nkind = "greedy"\n',
        [], ["0123456789"],
    )  # fmt: skip


@cache
def painter() -> Model:
    return untrained(
        '[data]\ntask = "digits"\nsource = { kind = "placed", binary = true }\ntarget = { unit = "character" }\n'
        '[system]\nkind = "draw"\nsteps = 3\nread = { kind = "gaussian", size = 2 }\nwrite = { kind = "gaussian", size = 3 }\nsize = 8\ncode = 4\n[search]\nkind = "greedy"\n',
        [], ["0123456789"],
    )  # fmt: skip
