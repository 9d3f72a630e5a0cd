"""Pictures of which only some places are looked at: traces and looks lie over the whole grid all the same."""

from __future__ import annotations

import numpy as np
import torch

from xattend.systems.answers import places, prediction
from xattend.systems.encoder_decoder import extents
from xattend.types import Hypothesis, Memory


def memory(mask: list[list[bool]], grid: tuple[int, ...]) -> Memory:
    mask_BS = torch.tensor(mask)
    return Memory(torch.zeros(*mask_BS.shape, 2), mask_BS, torch.zeros(len(mask_BS), 2), grid=grid)


def test_a_row_ends_with_its_last_real_position_and_a_picture_with_its_last_place() -> None:
    left_out = [[False, True, False, True, False, False], [True, False, False, False, False, False]]
    assert extents(memory(left_out, (2, 3))) == [6, 6]
    assert extents(memory([[True, True, False], [True, True, True]], (3,))) == [2, 3]
    assert extents(memory([[False, False, False]], (3,))) == [0]


def test_a_trace_has_a_weight_for_every_place_of_a_picture() -> None:
    weights_THS = np.array([[[0.25, 0.75]]], dtype=np.float32)  # what search keeps: up to the last place that is looked at
    found = Hypothesis([], 0.0, 0.0, [0.0], True, weights_THS)
    trace = prediction([found], _Words(), places((2, 2)), (2, 2)).trace  # type: ignore[arg-type]
    assert trace is not None
    assert trace.weights_THS.tolist() == [[[0.25, 0.75, 0.0, 0.0]]]


class _Words:
    """A field that writes nothing."""

    def symbols(self, ids: list[int]) -> list[str]:
        return ["</s>"] * len(ids)

    def decode(self, ids: list[int]) -> str:
        return ""
