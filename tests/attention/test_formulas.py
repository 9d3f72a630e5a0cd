"""Attention against numbers worked by hand, the lectures' printed ones, and torch's own module."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from xattend.attention import (
    Additive,
    AlignmentRNN,
    Attention,
    Bilinear,
    Concat,
    Coverage,
    Dot,
    LocalM,
    LocalP,
    Location,
    MultiHead,
    Oracle,
    ScaledDot,
)  # fmt: skip
from xattend.errors import UserError
from xattend.types import Memory


def memory(states: torch.Tensor, length: int | None = None, **more: torch.Tensor) -> Memory:
    mask = torch.arange(states.shape[1])[None].expand(len(states), -1) < (length or states.shape[1])
    return Memory(states, mask, states.mean(dim=1), (states.shape[1],), **more)  # type: ignore[arg-type]


def weights(part: Attention, query: torch.Tensor, of: Memory) -> torch.Tensor:
    bound = part.bind(of)
    return part.attend(query, bound, part.start(bound))[1].detach()


def test_the_lectures_printed_example() -> None:
    """q.k1 = 112 and q.k2 = 96, divided by sqrt(64) = 8: 14 and 12, softmax .88 and .12."""
    query = torch.zeros(1, 64)
    query[0, 0] = 16.0
    keys = torch.zeros(1, 2, 64)
    keys[0, :, 0] = torch.tensor([7.0, 6.0])
    assert (query @ keys[0].T).tolist() == [[112.0, 96.0]]
    found = weights(ScaledDot(64, 64), query, memory(keys))
    assert found[0, 0].tolist() == pytest.approx([0.88, 0.12], abs=0.005)
    assert found[0, 0, 0].item() == pytest.approx(1 / (1 + math.exp(-2.0)), abs=1e-6)


def test_additive_by_hand() -> None:
    part = Additive(1, 1, size=2)
    with torch.no_grad():
        part.query.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        part.key.weight.copy_(torch.tensor([[0.5], [2.0]]))
        part.v.weight.copy_(torch.tensor([[3.0, 1.0]]))
    states = torch.tensor([[[1.0], [-1.0]]])
    energies = [3 * math.tanh(0.4 + 0.5 * s) + math.tanh(-0.4 + 2.0 * s) for s in (1.0, -1.0)]
    total = sum(math.exp(e) for e in energies)
    context, found, _ = part.attend(torch.tensor([[0.4]]), part.bind(memory(states)), None)
    assert found[0, 0].tolist() == pytest.approx([math.exp(e) / total for e in energies], abs=1e-6)
    assert context.item() == pytest.approx((math.exp(energies[0]) - math.exp(energies[1])) / total, abs=1e-6)


def test_concat_is_a_perceptron_over_both_vectors() -> None:
    part, states, query = Concat(4, 3, size=5), torch.randn(2, 6, 3), torch.randn(2, 4)
    both = torch.cat([query[:, None].expand(-1, 6, -1), states], dim=-1)
    expected = part.w2(torch.tanh(part.layer(both))).squeeze(-1).softmax(dim=-1)
    torch.testing.assert_close(weights(part, query, memory(states))[:, 0], expected.detach())


def test_bilinear_and_dot() -> None:
    states, query = torch.randn(2, 6, 4), torch.randn(2, 4)
    part = Bilinear(4, 4)
    expected = torch.einsum("bq,qd,bsd->bs", query, part.weight.weight, states).softmax(dim=-1)
    torch.testing.assert_close(weights(part, query, memory(states))[:, 0], expected.detach())
    expected = torch.einsum("bd,bsd->bs", query, states).softmax(dim=-1)
    torch.testing.assert_close(weights(Dot(4, 4), query, memory(states))[:, 0], expected)
    assert list(Dot(4, 4).parameters()) == []


def test_location_looks_where_the_query_says_whatever_stands_there() -> None:
    part, query = Location(4, 3, positions=5), torch.randn(2, 4)
    one, other = memory(torch.randn(2, 4, 3)), memory(torch.randn(2, 4, 3))
    torch.testing.assert_close(weights(part, query, one), weights(part, query, other))
    torch.testing.assert_close(weights(part, query, one)[:, 0], part.place(query)[:, :4].softmax(dim=-1).detach())


def test_location_never_looks_past_its_last_row() -> None:
    found = weights(Location(4, 3, positions=2), torch.randn(1, 4), memory(torch.randn(1, 5, 3)))
    assert (found[0, 0, 2:] == 0).all()
    assert found.sum().item() == pytest.approx(1.0)


def test_local_m_moves_one_position_a_step_and_stops_at_the_end() -> None:
    part = LocalM(4, 4, window=1)
    bound = part.bind(memory(torch.randn(1, 6, 4), length=4))
    state, seen = part.start(bound), []
    for _ in range(6):
        _, found, state = part.attend(torch.randn(1, 4), bound, state)
        seen.append([j for j in range(6) if found[0, 0, j] > 0])
    assert seen == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3], [2, 3], [2, 3]]


def test_local_p_fades_by_a_gaussian_around_the_predicted_place() -> None:
    part, states, query = LocalP(4, 4, window=2), torch.randn(1, 7, 4), torch.randn(1, 4)
    found = weights(part, query, memory(states, length=6))[0, 0]
    hidden = torch.tanh(query @ part.place[0].weight.T)
    centre = 6 * torch.sigmoid(hidden @ part.place[2].weight.T).item()
    inside = [j for j in range(6) if abs(j - centre) <= 2]
    scores = torch.einsum("q,qd,sd->s", query[0], part.content.weight.weight, states[0])  # type: ignore[union-attr]
    expected = torch.zeros(7)
    expected[inside] = scores[inside].softmax(dim=0)
    for j in inside:
        expected[j] *= math.exp(-((j - centre) ** 2) / (2 * 1.0**2))  # sigma = window / 2 = 1
    torch.testing.assert_close(found, expected.detach())


def test_coverage_is_the_sum_of_past_weights() -> None:
    part = Coverage(4, 3)
    bound = part.bind(memory(torch.randn(2, 5, 3)))
    state, total = part.start(bound), torch.zeros(2, 5)
    for _ in range(3):
        hidden = torch.tanh(part.query(query := torch.randn(2, 4))[:, None] + bound.keys_BSA + part.covered(total[..., None]))
        _, found, state = part.attend(query, bound, state)
        torch.testing.assert_close(found[:, 0], part.v(hidden).squeeze(-1).softmax(dim=-1))
        total = total + found[:, 0]
        torch.testing.assert_close(state, total)


def test_alignment_rnn_reads_every_past_alignment() -> None:
    part = AlignmentRNN(4, 3, past=2)
    bound = part.bind(memory(torch.randn(1, 5, 3)))
    _, first, state = part.attend(torch.randn(1, 4), bound, part.start(bound))
    expected = torch.tanh(part.recurrent.bias + part.weight_in(first[:, 0, :, None]) + part.state_in(bound.values_BSD))
    torch.testing.assert_close(state, expected)
    again = torch.tanh(part.recurrent(state) + part.weight_in(first[:, 0, :, None]) + bound.extra)
    torch.testing.assert_close(part.advance(state, first[:, 0], bound), again)


def test_oracle_rows_of_the_lecture() -> None:
    """Main ghar ja raha hoon -> I am going home: the hand-set rows."""
    rows = torch.tensor([[[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0.5, 0.5, 0], [0, 1, 0, 0, 0]]])
    part = Oracle(4, 5)
    bound = part.bind(memory(torch.eye(5)[None], given_BTS=rows))
    context, found, _ = part.attend_all(torch.zeros(1, 4, 4), bound, part.start(bound))
    assert found is not None
    torch.testing.assert_close(found[:, :, 0], rows)
    torch.testing.assert_close(context, rows)


def test_oracle_without_weights_says_what_is_missing() -> None:
    with pytest.raises(UserError, match="given_BTS"):
        Oracle(4, 5).bind(memory(torch.eye(5)[None]))


def test_multi_head_is_torchs_multihead_attention() -> None:
    theirs = nn.MultiheadAttention(8, 4, batch_first=True).eval()
    ours = MultiHead(8, 8, heads=4).eval()
    with torch.no_grad():
        nn.init.normal_(theirs.in_proj_bias)
        for part, weight, bias in zip(
            (ours.query, ours.key, ours.value), theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
        ours.out.load_state_dict(theirs.out_proj.state_dict())
    states, query = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    of = memory(states, length=4)
    expected, expected_weights = theirs(query, states, states, key_padding_mask=~of.mask_BS, average_attn_weights=False)
    bound = ours.bind(of)
    context, found, _ = ours.attend_all(query, bound, ours.start(bound))
    assert found is not None
    torch.testing.assert_close(context, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.transpose(1, 2), expected_weights, atol=1e-6, rtol=1e-5)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(UserError, match="does not divide"):
        MultiHead(8, 8, heads=3)


def test_a_head_must_read_its_query() -> None:
    with pytest.raises(UserError, match="cannot be the score of a head"):
        MultiHead(8, 8, score="every-step")
