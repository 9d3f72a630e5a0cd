"""Turning round: values, and gradients against torch's own gather."""

from __future__ import annotations

import torch

from xattend.layers.order import turn


def test_each_row_is_turned_inside_its_own_length() -> None:
    rows = torch.tensor([[1, 2, 3, 9], [4, 9, 9, 9], [5, 6, 9, 9]])
    assert turn(rows, torch.tensor([3, 1, 2])).tolist() == [[3, 2, 1, 9], [4, 9, 9, 9], [6, 5, 9, 9]]
    assert torch.equal(turn(turn(rows, torch.tensor([3, 0, 2])), torch.tensor([3, 0, 2])), rows)


def test_its_gradient_is_right() -> None:
    values = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: turn(v, torch.tensor([5, 2, 0])) ** 2, (values,))
