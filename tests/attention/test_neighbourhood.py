"""Attention with neighbours against the sum written out cell by cell, and its borders."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.contracts import samples
from xattend.attention.neighbourhood import Neighbourhood
from xattend.types import Memory


def part(query: int = 3, width: int = 4, size: int = 5) -> Neighbourhood:
    return samples.randomised(Neighbourhood(query, width, size=size))  # type: ignore[no-any-return]


def picture(height: int, width: int, masked: tuple[int, ...] = ()) -> Memory:
    mask = torch.ones(2, height * width, dtype=torch.bool)
    mask[0, list(masked)] = False
    return Memory(torch.randn(2, height * width, 4), mask, torch.zeros(2, 4), (height, width))


def written_out(attention: Neighbourhood, query_BQ: Tensor, memory: Memory) -> Tensor:
    """Scores cell by cell: the cell itself, and each neighbour that is there and real, by a matrix of its own."""
    height, width = memory.grid
    scores = torch.zeros(len(query_BQ), height * width)
    for row in range(len(query_BQ)):
        for i in range(height):
            for j in range(width):
                inside = attention.query(query_BQ[row])
                for p in range(max(0, i - 1), min(height, i + 2)):
                    for q in range(max(0, j - 1), min(width, j + 2)):
                        if memory.mask_BS[row, p * width + q]:
                            inside = inside + attention.around.weight[:, :, p - i + 1, q - j + 1] @ memory.states_BSD[row, p * width + q]
                scores[row, i * width + j] = attention.v.weight[0] @ torch.tanh(inside)
    return scores


@pytest.mark.parametrize("masked", [(), (4, 5, 7)], ids=["whole", "masked"])
@pytest.mark.parametrize("grid", [(3, 4), (1, 6), (4, 2)])
def test_it_is_the_sum_over_neighbours(grid: tuple[int, int], masked: tuple[int, ...]) -> None:
    attention, memory, query = part(), picture(*grid, masked=tuple(cell for cell in masked if cell < grid[0] * grid[1])), torch.randn(2, 3)
    expected = written_out(attention, query, memory).masked_fill(~memory.mask_BS, -1e9).softmax(dim=-1)
    context, weights, _ = attention.attend(query, attention.bind(memory), None)
    assert weights is not None
    torch.testing.assert_close(weights[:, 0], expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(context, (expected[:, None] @ memory.states_BSD)[:, 0], atol=1e-5, rtol=1e-5)


def test_by_hand() -> None:
    """One unit everywhere: W = 1, the neighbour to the right counts 10, v = 1, no query: tanh(v_j + 10 v_{j+1})."""
    attention = Neighbourhood(1, 1, size=1)
    with torch.no_grad():
        for weight in (attention.around.weight, attention.query.weight):
            weight.zero_()
        attention.around.weight[0, 0, 1, 1], attention.around.weight[0, 0, 1, 2] = 1.0, 10.0
        attention.v.weight.fill_(1.0)
    memory = Memory(torch.tensor([[[0.1], [0.0], [0.05]]]), torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 1), (3,))
    scores = torch.tanh(torch.tensor([0.1 + 0.0, 0.0 + 0.5, 0.05]))
    _, weights, _ = attention.attend(torch.zeros(1, 1), attention.bind(memory), None)
    assert weights is not None
    torch.testing.assert_close(weights[0, 0], scores.softmax(dim=0))


def test_a_row_in_a_row_of_pictures_is_not_a_neighbour() -> None:
    """The last cell of a row and the first of the next lie side by side in memory, not in the picture."""
    attention, memory = part(), picture(2, 3)
    changed = memory.states_BSD.clone()
    changed[:, 3] += 1.0  # row 1, column 0
    other = Memory(changed, memory.mask_BS, memory.summary_BD, (2, 3))
    before, after = attention.bind(memory).keys_BSA, attention.bind(other).keys_BSA
    moved = (before - after).abs().sum(dim=(0, 2)) > 1e-4
    assert moved.tolist() == [True, True, False, True, True, False]


def test_frames_of_a_film_do_not_see_each_other() -> None:
    attention, film = part(), torch.randn(2, 12, 4)
    whole = Memory(film, torch.ones(2, 12, dtype=torch.bool), torch.zeros(2, 4), (2, 2, 3))
    apart = [Memory(film[:, at : at + 6], torch.ones(2, 6, dtype=torch.bool), torch.zeros(2, 4), (2, 3)) for at in (0, 6)]
    torch.testing.assert_close(attention.bind(whole).keys_BSA, torch.cat([attention.bind(one).keys_BSA for one in apart], dim=1))


def test_no_grid_is_a_row() -> None:
    attention, states = part(), torch.randn(2, 5, 4)
    one, other = (Memory(states, torch.ones(2, 5, dtype=torch.bool), torch.zeros(2, 4), grid) for grid in ((), (5,)))
    assert torch.equal(attention.bind(one).keys_BSA, attention.bind(other).keys_BSA)


def test_a_grid_of_another_size_is_found_out() -> None:
    with pytest.raises(ValueError, match="does not have 5 places"):
        part().bind(Memory(torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool), torch.zeros(2, 4), (2, 3)))
