"""CTC's sums against every path there is, torch's loss, and each other."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.lattices.ctc import collapsed, forced, forward_backward, posterior
from xattend.lattices.prefixes import PrefixSteps
from xattend.search.beam import Beam
from xattend.search.best_path import BestPath
from xattend.search.exact import Exact, ExactHypothesis
from xattend.types import BOS, EOS, Memory

V = 6  # blank, unknown, the two marks, and two labels


def distributions(batch: int, frames: int, seed: int = 0, *, marks: bool = False) -> Tensor:
    """log y_BTV; the marks of beginning and end are never heard."""
    logits = torch.randn(batch, frames, V, generator=torch.Generator().manual_seed(seed)) * 2
    if not marks:
        logits[:, :, [1, BOS, EOS]] = -1e4
    return logits.log_softmax(dim=-1)


def every_path(log_y_TV: Tensor) -> dict[tuple[int, ...], Tensor]:
    """The probability of every output, path by path."""
    found: dict[tuple[int, ...], Tensor] = {}
    heard = [label for label in range(V) if bool((log_y_TV[:, label] > -100).any())]
    for path in itertools.product(heard, repeat=len(log_y_TV)):
        p = log_y_TV[torch.arange(len(path)), torch.tensor(path)].double().sum().exp()
        labels = tuple(collapsed(list(path)))
        found[labels] = found.get(labels, torch.zeros(())) + p
    return found


def memory_of(log_y_BTV: Tensor, lengths: list[int]) -> Memory:
    mask = torch.arange(log_y_BTV.shape[1]) < torch.tensor(lengths)[:, None]
    return Memory(log_y_BTV, mask, torch.zeros(len(lengths), V), (log_y_BTV.shape[1],))


@pytest.mark.parametrize("frames", range(1, 7))
def test_the_sum_over_paths_is_the_sum_over_paths(frames: int) -> None:
    log_y = distributions(1, frames, seed=frames)
    sums = every_path(log_y[0])
    assert abs(float(sum(sums.values())) - 1) < 1e-6
    for labels, p in sums.items():
        ours = forward_backward(log_y, torch.tensor([frames]), torch.tensor([labels], dtype=torch.long).view(1, -1), torch.tensor([len(labels)]))
        torch.testing.assert_close(ours.log_prob_B.exp()[0], p, atol=1e-9, rtol=1e-5)


def test_it_equals_torchs_loss_for_rows_of_different_lengths() -> None:
    log_y = distributions(5, 40, marks=True)
    frames, counts = torch.tensor([40, 31, 20, 12, 9]), torch.tensor([9, 5, 6, 0, 3])
    labels = torch.randint(4, V, (5, 9), generator=torch.Generator().manual_seed(1))
    labels = labels * (torch.arange(9) < counts[:, None])
    theirs = F.ctc_loss(log_y.transpose(0, 1), labels, frames, counts, blank=0, reduction="none")
    torch.testing.assert_close(-forward_backward(log_y, frames, labels, counts).log_prob_B.float(), theirs, atol=1e-5, rtol=1e-5)


def test_gamma_is_the_gradient_of_the_log_probability() -> None:
    """d log p / d log y_tk = the sum of gamma over the states that say k: torch's loss and autograd are the reference."""
    log_y = distributions(2, 8, marks=True).double().requires_grad_()
    labels, counts, frames = torch.tensor([[4, 4, 5], [5, 4, 0]]), torch.tensor([3, 2]), torch.tensor([8, 6])
    gamma = forward_backward(log_y, frames, labels, counts).log_gamma_BTN.exp()
    total = torch.zeros(2, 8, V, dtype=torch.float64)
    for row in range(2):
        states = [0, *itertools.chain.from_iterable((label, 0) for label in labels[row, : counts[row]].tolist())]
        for n, label in enumerate(states):
            total[row, :, label] += gamma[row, :, n]
    # torch folds the softmax into its gradient: d / d logits = y - gamma
    F.ctc_loss(log_y.transpose(0, 1), labels, frames, counts, blank=0, reduction="sum").backward()
    for row in range(2):
        t = int(frames[row])
        torch.testing.assert_close(total[row, :t], (log_y.detach().exp() - log_y.grad)[row, :t], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(gamma[row, :t].sum(dim=1), torch.ones(t, dtype=torch.float64))


def test_a_repeated_label_needs_a_blank_and_so_three_frames() -> None:
    log_y = distributions(1, 2)
    assert float(forward_backward(log_y, torch.tensor([2]), torch.tensor([[4, 4]]), torch.tensor([2])).log_prob_B) == float("-inf")
    assert forced(log_y[0], [4, 4]) is None
    longer = distributions(1, 3)
    p = forward_backward(longer, torch.tensor([3]), torch.tensor([[4, 4]]), torch.tensor([2])).log_prob_B
    torch.testing.assert_close(p[0], longer[0, 0, 4].double() + longer[0, 1, 0] + longer[0, 2, 4])


def test_posterior_rows_sum_to_one_and_move_forward() -> None:
    log_y, frames = distributions(3, 12), torch.tensor([12, 9, 7])
    labels, counts = torch.tensor([[4, 5, 4], [5, 5, 0], [4, 0, 0]]), torch.tensor([3, 2, 1])
    weights = posterior(log_y, frames, labels, counts)
    for row in range(3):
        own = weights[row, : counts[row]]
        torch.testing.assert_close(own.sum(dim=1), torch.ones(len(own)))
        assert own[:, frames[row] :].sum() == 0
        centres = (own * torch.arange(12)).sum(dim=1)
        assert (centres.diff() > 0).all()


def test_forced_alignment_is_the_likeliest_path() -> None:
    log_y = distributions(1, 6, seed=3)[0]
    spans = forced(log_y, [4, 5])
    assert spans is not None
    best = max(
        (path for path in itertools.product([0, 4, 5], repeat=6) if collapsed(list(path)) == [4, 5]),
        key=lambda path: float(log_y[torch.arange(6), torch.tensor(path)].sum()),
    )
    assert [best[a:b] for a, b in spans] == [(4,) * (spans[0][1] - spans[0][0]), (5,) * (spans[1][1] - spans[1][0])]
    assert sum(label != 0 for label in best) == sum(b - a for a, b in spans)


@pytest.mark.parametrize("frames", [1, 3, 5])
def test_steps_are_the_conditional_probabilities_of_prefixes(frames: int) -> None:
    log_y = distributions(1, frames, seed=frames)
    sums = every_path(log_y[0])

    def begins(prefix: tuple[int, ...]) -> float:
        return float(sum(p for labels, p in sums.items() if labels[: len(prefix)] == prefix))

    steps = PrefixSteps()
    # the same row alone, and beside a longer one: padding says nothing
    padded = torch.cat([torch.nn.functional.pad(log_y, (0, 0, 0, 3), value=-0.5), distributions(1, frames + 3, seed=9)])
    for prefix in [(), (4,), (4, 5), (4, 4), (5, 4, 5)]:
        if begins(prefix) < 1e-6:
            continue
        state = steps.start(memory_of(padded, [frames, frames + 3]))
        for token in (BOS, *prefix):
            step = steps.step(torch.tensor([token, token]), state)
            state = step.state
        p = step.logits_BV[0].double().exp()
        for label in (4, 5):
            assert abs(float(p[label]) - begins((*prefix, label)) / begins(prefix)) < 1e-5
        assert abs(float(p[EOS]) - float(sums.get(prefix, 0.0)) / begins(prefix)) < 1e-5


def test_prefix_search_finds_the_likeliest_output_and_is_never_below_best_path() -> None:
    better = 0
    for seed in range(30):
        log_y = distributions(1, 5, seed=seed) * 0.4
        log_y = log_y.log_softmax(dim=-1)
        sums, memory = every_path(log_y[0]), memory_of(log_y, [5])
        best = max(sums, key=lambda labels: float(sums[labels]))
        path, prefix = BestPath().search(PrefixSteps(), memory)[0][0], Exact(allow_unk=False).search(PrefixSteps(), memory)[0][0]
        assert tuple(prefix.tokens) == best
        assert abs(prefix.logprob - float(sums[best].log())) < 1e-4
        assert abs(path.logprob - float(sums[tuple(path.tokens)].log())) < 1e-4
        assert abs(sum(path.token_logprobs) - path.logprob) < 1e-4
        assert prefix.logprob >= path.logprob - 1e-6
        better += prefix.logprob > path.logprob + 1e-6
        beam = Beam(size=4, length_penalty=0.0).search(PrefixSteps(), memory)[0][0]
        assert abs(beam.logprob - float(sums[tuple(beam.tokens)].log())) < 1e-4
    assert better > 0, "no case in which the two differ: the test says nothing"


def test_prefix_search_is_not_below_best_path_when_its_budget_is_spent() -> None:
    rescued = 0
    for seed in range(10):
        memory = memory_of((distributions(1, 12, seed=seed) * 0.6).log_softmax(dim=-1), [12])
        path = BestPath().search(PrefixSteps(), memory)[0][0]
        found = Exact(budget=4).search(PrefixSteps(), memory)[0]
        assert isinstance(found[0], ExactHypothesis)
        assert found[0].finished
        assert found[0].logprob >= path.logprob
        rescued += found[0].tokens == path.tokens and not found[0].complete
    assert rescued > 0
