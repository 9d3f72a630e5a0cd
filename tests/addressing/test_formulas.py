"""Addressing against numbers worked by hand, plain loops and finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from xattend import registry
from xattend.addressing.allocation import allocation
from xattend.addressing.base import Addressing, Seen
from xattend.addressing.content import cosine
from xattend.addressing.links import linked
from xattend.addressing.sharpen import sharpen
from xattend.addressing.shift import shift
from xattend.addressing.slots import Slots, change
from xattend.addressing.top_k import keep_largest
from xattend.addressing.usage import usage
from xattend.errors import UserError

TURING: list[Any] = ["content", "interpolation", "shift", "sharpen"]
READ: list[Any] = [{"kind": "content", "least": 1.0}, "links"]
WRITE: list[Any] = [{"kind": "content", "least": 1.0}, "usage", "allocation"]


def slots(kind: str, *, reads: int = 2, writes: int = 1, count: int = 5, width: int = 3) -> Slots:
    chains = {"turing": (TURING, TURING), "computer": (READ, WRITE), "sparse": ([*TURING, {"kind": "top-k", "count": 2}],) * 2}
    read, write = chains[kind]
    return Slots(read, write, slots=count, width=width, reads=reads, writes=writes)


def test_content_is_a_softmax_of_cosines() -> None:
    part = registry.build("addressing", "content", 2, 1, 1)
    memory = torch.tensor([[[1.0, 0.0], [3.0, 4.0]]])
    key = [math.tanh(2.0), math.tanh(1.0)]
    beta = math.log(1 + math.exp(0.7))
    cosines = [key[0] / math.hypot(*key), (3 * key[0] + 4 * key[1]) / (5 * math.hypot(*key))]
    wanted = [math.exp(beta * one) / sum(math.exp(beta * other) for other in cosines) for one in cosines]
    found, _ = part(torch.tensor([[[2.0, 1.0, 0.7]]]), torch.zeros(1, 1, 2), Seen(memory, *[torch.zeros(1, 1, 2)] * 3), {})
    assert found.flatten().tolist() == pytest.approx(wanted, abs=1e-5)


def test_an_empty_slot_is_like_nothing_and_has_a_finite_gradient() -> None:
    memory = torch.zeros(1, 2, 3, requires_grad=True)
    found = cosine(torch.ones(1, 1, 3), memory)
    found.sum().backward()
    assert not found.any()
    assert memory.grad is not None
    assert memory.grad.abs().max() < 1e3


@pytest.mark.parametrize("reach", [1, 2])
def test_shifting_goes_round(reach: int) -> None:
    weights, by = torch.rand(2, 3, 7).softmax(dim=-1), torch.rand(2, 3, 2 * reach + 1).softmax(dim=-1)
    wanted = torch.zeros_like(weights)
    for i in range(7):
        for j in range(-reach, reach + 1):
            wanted[..., i] += by[..., j + reach] * weights[..., (i - j) % 7]
    torch.testing.assert_close(shift(weights, by), wanted)


def test_sharpening_is_a_power() -> None:
    weights, gamma = torch.tensor([[[0.5, 0.3, 0.2, 0.0]]]), torch.tensor([[[3.0]]])
    torch.testing.assert_close(sharpen(weights, gamma), weights**3 / (weights**3).sum(), atol=1e-6, rtol=0)


def test_usage_and_allocation_are_those_of_a_loop() -> None:
    used, written, read, free = torch.rand(3, 6), torch.rand(3, 6) / 6, torch.rand(3, 2, 6), torch.rand(3, 2)
    now = usage(used, written, read, free)
    found = allocation(now)
    for b in range(3):
        wanted = [0.0] * 6
        for i in range(6):
            kept = math.prod(1 - float(free[b, r]) * float(read[b, r, i]) for r in range(2))
            u, w = float(used[b, i]), float(written[b, i])
            assert float(now[b, i]) == pytest.approx((u + w - u * w) * kept, abs=1e-5)
        product = 1.0
        for i in sorted(range(6), key=lambda i: float(now[b, i])):
            wanted[i] = (1 - float(now[b, i])) * product
            product *= float(now[b, i])
        assert found[b].tolist() == pytest.approx(wanted, abs=1e-4)


def test_allocation_of_an_empty_memory_has_a_gradient() -> None:
    empty = torch.zeros(1, 4, requires_grad=True)
    allocation(empty)[0, 0].backward()
    assert empty.grad is not None
    assert torch.isfinite(empty.grad).all()


def test_links_are_those_of_a_loop_and_have_no_loops() -> None:
    links, last = torch.zeros(2, 4, 4), torch.zeros(2, 4)
    plain, before = links.tolist(), last.tolist()
    for _ in range(3):
        write = torch.rand(2, 4) / 4
        links, last = linked(links, last, write)
        for b in range(2):
            w = write[b].tolist()
            plain[b] = [
                [0.0 if i == j else (1 - w[i] - w[j]) * plain[b][i][j] + w[i] * before[b][j] for j in range(4)] for i in range(4)
            ]
            before[b] = [(1 - sum(w)) * before[b][i] + w[i] for i in range(4)]
    torch.testing.assert_close(links, torch.tensor(plain))
    torch.testing.assert_close(last, torch.tensor(before))
    assert not links.diagonal(dim1=1, dim2=2).any()


def test_top_k_keeps_the_sum() -> None:
    weights = torch.rand(2, 3, 6) / 6
    found = keep_largest(weights, 2)
    assert ((found > 0).sum(dim=-1) == 2).all()
    torch.testing.assert_close(found.sum(dim=-1), weights.sum(dim=-1))
    torch.testing.assert_close(found.argmax(dim=-1), weights.argmax(dim=-1))


def test_every_write_head_erases_and_adds() -> None:
    memory, at, told = torch.rand(1, 3, 2), torch.rand(1, 2, 3), torch.randn(1, 2, 2, 2)
    wanted = memory[0].clone()
    for head in range(2):
        wanted = wanted * (1 - at[0, head, :, None] * torch.sigmoid(told[0, head, 0]))
    for head in range(2):
        wanted = wanted + at[0, head, :, None] * torch.tanh(told[0, head, 1])
    torch.testing.assert_close(change(memory, at, told)[0], wanted)


def run(part: Slots, numbers_TBX: Tensor) -> Tensor:
    state, found = part.start(numbers_TBX.shape[1], numbers_TBX), []
    for numbers_BX in numbers_TBX:
        vectors, state = part(numbers_BX, state)
        found.append(vectors)
    return torch.stack(found)


@pytest.mark.parametrize("kind", ["turing", "computer"])
@pytest.mark.parametrize("reads", [1, 3])
def test_the_fused_step_is_the_plain_one(kind: str, reads: int) -> None:
    part, plain = slots(kind, reads=reads), slots(kind, reads=reads)
    assert part.fused
    plain.fused = False
    numbers = (2 * torch.randn(4, 2, part.numbers, dtype=torch.float64))
    numbers[1, 0, ::7] *= 50  # some are cut
    numbers.requires_grad_()
    gradients = []
    for one in (part, plain):
        found = run(one, numbers)
        (gradient,) = torch.autograd.grad(found.square().sum(), numbers)
        gradients.append((found, gradient))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("kind", ["turing", "computer", "sparse"])
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    part = slots(kind, reads=2, count=4, width=2)
    numbers = torch.randn(3, 1, part.numbers, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: run(part, given), (numbers,), atol=1e-4)


@pytest.mark.parametrize("kind", ["turing", "computer", "sparse"])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_nothing_is_ever_not_a_number(kind: str, size: float) -> None:
    """Twenty seeds, of ordinary numbers and of absurd ones, over more steps than slots."""
    part = slots(kind)
    for seed in range(20):
        numbers = (size * torch.randn(12, 2, part.numbers, generator=torch.Generator().manual_seed(seed))).requires_grad_()
        found = run(part, numbers)
        (gradient,) = torch.autograd.grad(found.square().sum(), numbers)
        assert torch.isfinite(found).all()
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", registry.names("addressing"))
def test_every_part_gives_weights(name: str) -> None:
    """None below 0, no more in sum than 1, whatever the controller says."""
    part: Addressing = registry.build("addressing", name, 3, 1, 1)
    weights = torch.rand(2, 1, 5).softmax(dim=-1)
    state = {**part.start(2, 5, weights), "usage": torch.rand(2, 5)}
    seen = Seen(torch.randn(2, 5, 3), *(torch.rand(2, 1, 5).softmax(dim=-1) for _ in range(3)))
    found, _ = part(torch.randn(2, 1, part.numbers), weights, seen, state)
    assert (found >= 0).all()
    assert (found.sum(dim=-1) <= 1 + 1e-5).all()


@pytest.mark.parametrize(
    ("read", "write", "writes", "said"),
    [
        (["content"], ["content", "allocation"], 1, "'allocation' needs 'usage' before it"),
        (READ, WRITE, 2, "one write head"),
        (["content", "links"], ["content", "links"], 1, "for read heads alone"),
        (["content"], ["contnet"], 1, "did you mean 'content'"),
    ],
)
def test_chains_that_cannot_be_are_refused(read: list[Any], write: list[Any], writes: int, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Slots(read, write, slots=4, width=2, reads=1, writes=writes)


def test_heads_that_move_start_at_the_first_slot() -> None:
    assert slots("turing").start(1, torch.zeros(1)).heads_BHN[0, 1].tolist() == [1, 0, 0, 0, 0]
    assert not slots("computer").start(1, torch.zeros(1)).heads_BHN.any()
