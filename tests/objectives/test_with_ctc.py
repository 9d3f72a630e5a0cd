"""CTC beside a decoder's own objective: which states it reads, and in which order."""

from __future__ import annotations

import torch

from xattend.objectives.with_ctc import in_line
from xattend.types import Memory


def test_a_line_is_read_as_it_is() -> None:
    memory = Memory(torch.randn(2, 3, 4), torch.tensor([[True, True, False], [True, True, True]]), torch.zeros(2, 4), grid=(3,))
    states, mask = in_line(memory)
    assert states is memory.states_BSD
    assert mask is memory.mask_BS


def test_a_picture_is_read_column_by_column() -> None:
    states_BSD = torch.tensor([[[0.0, 9.0], [1.0, 0.0], [7.0, 7.0], [3.0, 1.0], [8.0, -1.0], [5.0, 5.0]]])  # two rows of three
    mask_BS = torch.tensor([[True, True, False, True, False, False]])
    columns, real = in_line(Memory(states_BSD, mask_BS, torch.zeros(1, 2), grid=(2, 3)))
    assert columns.tolist() == [[[3.0, 9.0], [1.0, 0.0], [0.0, 0.0]]]  # the second column has one real place, the third none
    assert real.tolist() == [[True, True, False]]


def test_an_empty_column_between_others_is_a_column() -> None:
    memory = Memory(torch.ones(1, 4, 1), torch.tensor([[False, True, False, True]]), torch.zeros(1, 1), grid=(1, 4))
    columns, real = in_line(memory)
    assert columns.flatten().tolist() == [0.0, 1.0, 0.0, 1.0]
    assert real.tolist() == [[True] * 4]
