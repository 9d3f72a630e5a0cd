"""The transducer's lattice against every path there is, and its steps against the lattice."""

from __future__ import annotations

import itertools

import torch

from xattend.lattices.transducer import emitted, log_probability
from xattend.search.exact import Exact
from xattend.systems.transducer import Joint
from xattend.types import BOS, EOS, Memory, Padded

V = 6


def joint() -> Joint:
    torch.manual_seed(3)
    return Joint(5, V, size=8, embedding=4, cell="gru", dropout=0.0).eval()


def memory(lengths: tuple[int, ...]) -> Memory:
    torch.manual_seed(4)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return Memory(torch.randn(len(lengths), max(lengths), 5), mask, torch.zeros(len(lengths), 5), (max(lengths),))


def target(*rows: list[int]) -> Padded:
    longest = max(map(len, rows)) + 2
    values = torch.tensor([[BOS, *row, EOS] + [0] * (longest - len(row) - 2) for row in rows])
    return Padded(values, values != 0)


def by_hand(blank: torch.Tensor, label: torch.Tensor, frames: int, labels: int) -> float:
    """Each path says its labels at frames that never fall; between them it goes on in time."""
    total = 0.0
    for said in itertools.combinations_with_replacement(range(frames), labels):
        p = sum(float(label[t, u]) for u, t in enumerate(said))
        p += sum(float(blank[t, sum(one <= t for one in said)]) for t in range(frames))
        total += float(torch.tensor(p, dtype=torch.float64).exp())
    return total


def test_the_lattice_is_the_sum_over_paths() -> None:
    part, rows = joint(), [[4, 5, 4], [5], []]
    lengths = (4, 3, 2)
    blank, label, frames, labels = (one.detach() for one in part.lattice(memory(lengths), target(*rows)))
    found = log_probability(blank, label, frames, labels).exp()
    for row, length in enumerate(lengths):
        assert abs(float(found[row]) - by_hand(blank[row], label[row], length, len(rows[row]))) < 1e-6


def test_the_gradient_is_right() -> None:
    torch.manual_seed(1)
    blank, label = torch.randn(2, 4, 3, dtype=torch.float64).requires_grad_(), torch.randn(2, 4, 2, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: log_probability(a, b, torch.tensor([4, 3]), torch.tensor([2, 1])), (blank, label))


def test_every_label_is_said_once() -> None:
    blank, label, frames, labels = joint().lattice(memory((5, 3)), target([4, 5], [5]))
    weights = emitted(blank, label, frames, labels)
    torch.testing.assert_close(weights.sum(dim=2), torch.tensor([[1.0, 1.0], [1.0, 0.0]]))
    assert (weights[1, 0, 3:] == 0).all()


def test_steps_multiply_to_the_lattices_sum_and_add_up_to_one() -> None:
    part, heard = joint(), memory((4, 3))
    for row in ([4, 5], [5, 5], [4, 4]):
        state, logs = part.start(heard), torch.zeros(2)
        for token, following in itertools.pairwise([BOS, *row, EOS]):
            step = part.step(torch.tensor([token, token]), state)
            torch.testing.assert_close(step.logits_BV.exp().sum(dim=1), torch.ones(2))
            state, logs = step.state, logs + step.logits_BV[:, following]
        torch.testing.assert_close(logs.double(), log_probability(*part.lattice(heard, target(row, row))), atol=1e-5, rtol=1e-5)


def test_search_writes_with_it() -> None:
    best = Exact(max_length=4).search(joint(), memory((3,)))[0][0]
    other = Exact(max_length=4, nbest=3).search(joint(), memory((3,)))[0]
    assert best.tokens == other[0].tokens
    assert other[0].logprob >= other[1].logprob >= other[2].logprob
