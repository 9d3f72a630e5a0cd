"""Encoders against torch's own layers, and the ladder against the corrected unrolling."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from xattend.encoders import BiRNN, Ladder, Transformer
from xattend.encoders.ladder import implicit_weights
from xattend.layers.positions import Positions, sinusoids
from xattend.types import Padded, Space

WORDS = Space(vocabulary=20)


def source(batch: int = 3, length: int = 6) -> Padded:
    lengths = torch.tensor([length, length - 2, 1])[:batch]
    return Padded(torch.randint(4, 20, (batch, length)), torch.arange(length) < lengths[:, None])


def test_birnn_is_torchs_packed_bidirectional_gru() -> None:
    encoder, read = BiRNN(WORDS, size=5, embedding=4), source()
    theirs = nn.GRU(4, 5, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for suffix, stack in (("", encoder.forwards[0]), ("_reverse", encoder.backwards[0])):
            cell = stack.cells[0]
            for name, value in (
                ("weight_ih", cell.input.weight), ("weight_hh", cell.recurrent.weight), ("bias_ih", cell.input.bias),
                ("bias_hh", cell.recurrent.bias),
            ):  # fmt: skip
                getattr(theirs, f"{name}_l0{suffix}").copy_(value)
    packed = nn.utils.rnn.pack_padded_sequence(
        encoder.embedding(read.values), read.lengths_B, batch_first=True, enforce_sorted=False
    )
    outputs, last = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
    memory = encoder(read)
    torch.testing.assert_close(memory.states_BSD, expected)
    torch.testing.assert_close(memory.summary_BD, torch.cat([last[0], last[1]], dim=-1))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_transformer_layer_is_torchs(norm: str) -> None:
    encoder = Transformer(WORDS, size=8, layers=1, heads=2, inner=16, norm=norm).eval()  # type: ignore[arg-type]
    theirs = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm == "pre").eval()
    layer = encoder.layers[0]
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(layer.look.query_key_value.weight)
        theirs.self_attn.in_proj_bias.copy_(layer.look.query_key_value.bias)
        theirs.self_attn.out_proj.load_state_dict(layer.look.out.state_dict())
        theirs.linear1.load_state_dict(layer.think.widen.state_dict())
        theirs.linear2.load_state_dict(layer.think.narrow.state_dict())
    read = source()
    x = encoder.embedding(read.values) * 8**0.5 + sinusoids(6, 8)
    expected = encoder.last_norm(theirs(x, src_key_padding_mask=~read.mask_BS))
    found = encoder(read).states_BSD
    torch.testing.assert_close(found[read.mask_BS], expected[read.mask_BS], atol=1e-5, rtol=1e-4)


def test_without_positions_the_transformer_cannot_tell_orders_apart() -> None:
    read = Padded(torch.tensor([[4, 5, 6, 7]]), torch.ones(1, 4, dtype=torch.bool))
    order = torch.tensor([2, 0, 3, 1])
    for positions, blind in (("none", True), ("sinusoidal", False)):
        encoder = Transformer(WORDS, size=8, layers=2, heads=2, inner=16, positions=positions).eval()  # type: ignore[arg-type]
        states, moved = encoder(read).states_BSD, encoder(Padded(read.values[:, order], read.mask_BS)).states_BSD
        assert torch.allclose(states[:, order], moved, atol=1e-5) == blind


def test_sinusoids() -> None:
    table = sinusoids(50, 6)
    assert table[0].tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    assert table[7, 2].item() == pytest.approx(torch.sin(torch.tensor(7 / 10000 ** (2 / 6))).item(), abs=1e-6)
    assert table[7, 3].item() == pytest.approx(torch.cos(torch.tensor(7 / 10000 ** (2 / 6))).item(), abs=1e-6)


def test_learned_positions_say_where_they_end() -> None:
    with pytest.raises(Exception, match="longer than the 4 learned positions"):
        Positions("learned", 8, 4)(0, 5, torch.zeros(1, 8))


def test_the_gated_unit_unrolled_is_its_recurrence() -> None:
    """The corrected sum: h_t = (prod u) h_0 + sum_i (prod_{i<j<=t} u_j)(1 - u_i) n_i, and its weights sum to one."""
    steps, width = 7, 3
    update, candidate, h = torch.rand(2, steps, width), torch.randn(2, steps, width), torch.randn(2, width)
    weights, first = implicit_weights(update)
    unrolled = first * h[:, None] + torch.einsum("btid,bid->btd", weights, candidate)
    for t in range(steps):
        h = update[:, t] * h + (1 - update[:, t]) * candidate[:, t]
        torch.testing.assert_close(unrolled[:, t], h, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(weights.sum(dim=2) + first, torch.ones(2, steps, width))


def test_the_printed_sum_is_not_the_recurrence() -> None:
    """Errata: with the product running to i instead of from i + 1, as printed, the sum is another number."""
    update, candidate = torch.rand(1, 5, 1), torch.randn(1, 5, 1)
    h = torch.zeros(1, 1)
    for t in range(5):
        h = update[:, t] * h + (1 - update[:, t]) * candidate[:, t]
    printed = sum(update[:, : i + 1].prod(dim=1) * (1 - update[:, i]) * candidate[:, i] for i in range(5))
    assert not torch.allclose(h, torch.as_tensor(printed), atol=1e-3)


def test_rung_zero_is_that_recurrence_and_every_rung_is_causal_with_weights_that_sum_to_one() -> None:
    for rung in range(5):
        encoder = Ladder(WORDS, size=8, rung=rung, heads=2)  # type: ignore[arg-type]
        x = torch.randn(2, 6, 8)
        states, weights = encoder.read(x)
        changed = x.clone()
        changed[:, 4] += 1.0
        torch.testing.assert_close(encoder.read(changed)[0][:, :4], states[:, :4])
        assert weights.triu(1).abs().max() == 0
        if rung > 0:
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights.sum(dim=-1)))


def test_rung_four_is_causal_multi_head_attention() -> None:
    encoder, x = Ladder(WORDS, size=8, rung=4, heads=2), torch.randn(2, 6, 8)
    values = torch.tanh(encoder.candidate(x))
    q, k, v = encoder.query_key_value.weight.chunk(3)
    parts = [torch.unflatten(y @ w.T, -1, (2, 4)).transpose(1, 2) for y, w in ((x, q), (values, k), (values, v))]
    expected = nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
    torch.testing.assert_close(encoder.read(x)[0], expected)


@pytest.mark.parametrize("rung", [2, 3, 4])
def test_rungs_without_recurrence_cannot_tell_the_order_of_the_past(rung: int) -> None:
    """h_t does not change when x_1 ... x_{t-1} change places, until positions are added; the gated unit's does."""
    one = Padded(torch.tensor([[4, 5, 6, 7]]), torch.ones(1, 4, dtype=torch.bool))
    other = Padded(torch.tensor([[6, 4, 5, 7]]), one.mask_BS)
    for positions, blind in (("none", True), ("sinusoidal", False)):
        encoder = Ladder(WORDS, size=8, rung=rung, heads=2, positions=positions)  # type: ignore[arg-type]
        assert torch.allclose(encoder(one).summary_BD, encoder(other).summary_BD, atol=1e-5) == blind
    gated = Ladder(WORDS, size=8, rung=0)
    assert not torch.allclose(gated(one).summary_BD, gated(other).summary_BD, atol=1e-5)
