"""Small memories, sources and parts that every contract test uses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.backbones.tiny import Tiny
from xattend import registry
from xattend.attention import Attention
from xattend.types import BOS, Memory, Padded, Space

QUERY, WIDTH, VOCABULARY = 8, 6, 11
LENGTHS = (5, 3, 1, 5)  # ragged, with a sequence of one

# what a part needs besides its defaults to be built alone; a new part needs nothing here
ATTENTION_SETTINGS: dict[str, dict[str, Any]] = {
    "local-p": {"window": 2}, "local-m": {"window": 2},
    "hybrid": {"reach": 2}, "monotonic": {"at_test": "expected"},  # a walk has no gradient, either
    "hard": {"at_test": "expected"},  # the likeliest place has no gradient; it has its own cases
}  # fmt: skip
ENCODER_SETTINGS: dict[str, dict[str, Any]] = {
    "transformer": {"inner": 16, "heads": 2, "layers": 2}, "ladder": {"heads": 2},
    "conv": {"widest": 3},  # of short sources, wider kernels have no gradient
    "frames": {"widths": [8, 8]}, "clip": {"widths": [8, 8]}, "frames+clip": {"widths": [8, 8], "clip_widths": [8, 8]},
    "cnn": {"widths": [8, 8], "strides": [2, [2, 1]]}, "asked": {"picture": {"kind": "cnn", "size": 8, "widths": [8], "strides": [4]}},
    "tail": {"backbone": Tiny.registered_name}, "dense": {"widths": [8, 8]},
    "glimpses": {"looks": 3, "inner": 8, "glimpse": {"kind": "gaussian", "size": 3}},
}  # fmt: skip
DECODER_SETTINGS: dict[str, dict[str, Any]] = {"transformer": {"inner": 16, "heads": 2, "layers": 2, "key": 3}}


def mask(lengths: tuple[int, ...] = LENGTHS, width: int | None = None) -> Tensor:
    return torch.arange(width or max(lengths)) < torch.tensor(lengths)[:, None]


def memory(lengths: tuple[int, ...] = LENGTHS, size: int = WIDTH, dtype: torch.dtype = torch.float32) -> Memory:
    batch, longest = len(lengths), max(lengths)
    given = torch.rand(batch, 3, longest, dtype=dtype) + 0.1
    return Memory(
        torch.randn(batch, longest, size, dtype=dtype), mask(lengths), torch.randn(batch, size, dtype=dtype), (longest,),
        given_BTS=given,
    )  # fmt: skip


def padded_further(old: Memory, extra: int) -> Memory:
    """The same memory with rubbish in more padding."""
    pad = (0, 0, 0, extra)
    rubbish = nn.functional.pad(old.states_BSD, pad, value=7.5)
    given = None if old.given_BTS is None else nn.functional.pad(old.given_BTS, (0, extra), value=3.0)
    return Memory(
        rubbish, nn.functional.pad(old.mask_BS, (0, extra)), old.summary_BD, (rubbish.shape[1],), old.carry, given
    )


def source(lengths: tuple[int, ...] = LENGTHS) -> Padded:
    values = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)))
    return Padded(values * mask(lengths), mask(lengths))


def story() -> Padded:
    """Sentences of one to four words, ragged in both ways, and a question."""
    words = torch.randint(4, VOCABULARY, (len(LENGTHS), max(LENGTHS), 4)) * mask((4, 1, 3, 2, 4), 4)
    return Padded(words * mask()[:, :, None], mask(), source(LENGTHS[::-1]))


def space_for(name: str) -> Space:
    """What an encoder reads in these tests."""
    if name == "tail":
        stage = Tiny().stages["middle"]
        return Space(features=(stage.width,), grid=stage.grid)
    reads = registry.find("encoder", name).reads
    return {
        "symbols": Space(vocabulary=VOCABULARY), "frames": Space(features=(3, 8, 8)), "vectors": Space(features=(WIDTH,)),
        "asked": Space(features=(3, 8, 8), beside=Space(vocabulary=VOCABULARY)), "story": Space(beside=Space(vocabulary=VOCABULARY)),
    }[reads]  # fmt: skip


def source_for(name: str) -> Padded:
    """A ragged source for an encoder; whole maps for one that reads maps."""
    space = space_for(name)
    if registry.find("encoder", name).reads == "story":
        return story()
    if space.vocabulary is not None:
        return source()
    assert space.features is not None
    if space.grid is not None:
        places = space.grid[0] * space.grid[1]
        return Padded(torch.rand(len(LENGTHS), places, *space.features), mask((places,) * len(LENGTHS)))
    values = torch.rand(len(LENGTHS), max(LENGTHS), *space.features)
    beside = None if space.beside is None else source(LENGTHS[::-1])
    return Padded(values * mask().view(*mask().shape, *[1] * len(space.features)), mask(), beside)


def target(steps: int = 4, batch: int = len(LENGTHS)) -> Tensor:
    tokens = torch.randint(4, VOCABULARY, (batch, steps))
    tokens[:, 0] = BOS
    return tokens


def attention(name: str, query: int = QUERY, width: int = WIDTH, **given: Any) -> Attention:
    part = registry.build("attention", name, query, width, **{**ATTENTION_SETTINGS.get(name, {}), **given})
    assert isinstance(part, Attention)
    return randomised(part).eval()


def randomised(part: Any) -> Any:
    """Every weight random: no symmetry or zero of the initialisation hides a mistake."""
    for weight in part.parameters():
        nn.init.normal_(weight, std=0.5)
    return part


def scores() -> list[str]:
    """Mechanisms that can be the score inside each head (in a head, monotonic attention walks in evaluation, and a walk has no gradient)."""
    names = registry.names("attention")
    # a window's weights have no bound: with random weights heads of them are large numbers that cancel, and roundings show
    return [n for n in names if registry.find("attention", n).reads_query and n not in ("multi-head", "hard", "window", "monotonic")]
