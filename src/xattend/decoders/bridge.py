"""The state that a recurrent decoder starts from.

zero   nothing
tanh   h_0 = tanh(W summary + b), the other parts zero            the lecture's option 1, Bahdanau et al. 2015
both   h_0 = tanh(W_h summary + b_h), c_0 = tanh(W_c summary + b_c)   every part by a layer of its own: Xu et al. 2015
copy   the final states of the encoder's own layers                Sutskever et al. 2014

>>> import torch
>>> memory = Memory(torch.zeros(2, 3, 6), torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 6))
>>> lstm = Stack("lstm", 5, 4)
>>> [[bool(part.any()) for part in layer] for layer in first_state("tanh", bridge("tanh", 6, lstm), memory, lstm)]
[[True, False]]
>>> [[bool(part.any()) for part in layer] for layer in first_state("both", bridge("both", 6, lstm), memory, lstm)]
[[True, True]]
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from xattend.cells.stack import Stack, StackState
from xattend.errors import UserError
from xattend.types import Memory

Kind = Literal["tanh", "both", "copy", "zero"]


def bridge(kind: Kind, memory_size: int, stack: Stack) -> nn.Linear | None:
    """The layers' weights, all in one; None where there is nothing to learn."""
    if kind not in ("tanh", "both"):
        return None
    parts = sum(len(layer) if kind == "both" else 1 for layer in stack.start(0))
    return nn.Linear(memory_size, parts * stack.size)


def first_state(kind: Kind, layer: nn.Linear | None, memory: Memory, stack: Stack) -> StackState:
    """Every layer's state before the first step."""
    zeros = stack.start(len(memory.summary_BD))
    if kind == "copy":
        return _copied(memory, zeros)
    if layer is None:
        return zeros
    values_BD = torch.tanh(layer(memory.summary_BD).to(layer.weight.dtype))  # states are not of the type that products are made in
    filled = iter(values_BD.chunk(values_BD.shape[-1] // stack.size, dim=-1))
    if kind == "both":
        return tuple(tuple(next(filled) for _ in parts) for parts in zeros)
    return tuple((next(filled), *rest) for _, *rest in zeros)


def _copied(memory: Memory, zeros: StackState) -> StackState:
    if memory.carry is None:
        raise UserError("decoder.bridge = \"copy\" needs an encoder that keeps its final states: set encoder.carry = true")
    theirs = [[tuple(part.shape) for part in layer] for layer in memory.carry]
    ours = [[tuple(part.shape) for part in layer] for layer in zeros]
    if theirs != ours:
        raise UserError(
            "decoder.bridge = \"copy\" needs an encoder and a decoder of the same cell, layers and width: "
            f"the encoder's final states are {theirs}, the decoder's {ours} (batch first)"
        )
    copied: StackState = memory.carry
    return copied
