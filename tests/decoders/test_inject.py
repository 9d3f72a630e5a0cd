"""Each way in for the whole source against the paper's equation, written out with torch's own cells or by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.contracts import samples
from xattend import registry
from xattend.cells import Cell
from xattend.decoders import RNN
from xattend.errors import UserError
from xattend.objectives import CrossEntropy
from xattend.types import BOS, EOS, PAD, Memory, Padded, Space

PICTURE, WORDS, SIZE = samples.WIDTH, 4, samples.QUERY


def decoder(attention: str = "none", **given: Any) -> RNN:
    part = RNN(
        Space(vocabulary=samples.VOCABULARY), PICTURE, lambda query: samples.attention(attention, query),
        size=SIZE, embedding=WORDS, **given,
    )  # fmt: skip
    return samples.randomised(part).eval()  # type: ignore[no-any-return]


def setting(**given: Any) -> tuple[RNN, Memory, Tensor, Tensor, Tensor]:
    """A decoder, a memory, tokens, their vectors, and the picture beside each of them."""
    part, memory, tokens = decoder(**given), samples.memory(), samples.target(5)
    return part, memory, tokens, part.embedding(tokens), memory.summary_BD[:, None].expand(-1, 5, -1)


def in_torch(cell: Cell, inputs_BTD: Tensor) -> Tensor:
    """torch's own LSTM with these weights, from zeros."""
    lstm = nn.LSTM(inputs_BTD.shape[-1], SIZE, batch_first=True)
    with torch.no_grad():
        for theirs, ours in zip(lstm.parameters(), cell.kernel_weights(), strict=True):
            theirs.copy_(ours)
    outputs_BTD: Tensor = lstm(inputs_BTD)[0]
    return outputs_BTD


def cells(part: RNN) -> list[Cell]:
    return [cell for cell in part.stack.cells if isinstance(cell, Cell)]


def close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_none_and_state_are_the_bridge() -> None:
    part, memory, tokens, embedded, _ = setting(cell="tanh-rnn", readout="state", inject="state")
    assert part.bridge is not None
    state, cell = torch.tanh(part.bridge(memory.summary_BD)), cells(part)[0]
    for t in range(5):
        state = torch.tanh(cell.input(embedded[:, t]) + cell.recurrent(state))
        close(part.hidden(memory, tokens)[:, t], state)
    plain = decoder(cell="tanh-rnn", readout="state")
    plain.load_state_dict(part.state_dict())
    assert torch.equal(plain(memory, tokens), part(memory, tokens))


def test_every_is_an_input_of_every_step() -> None:
    part, memory, tokens, embedded, picture = setting(cell="lstm", readout="state", inject="every")
    assert part.bridge is None, "the picture comes in one way only"
    close(part.hidden(memory, tokens), in_torch(cells(part)[0], torch.cat([picture, embedded], dim=-1)))


def test_every_is_attention_every_step_without_a_readout() -> None:
    part, memory, tokens, _, _ = setting(readout="state", inject="every")
    other = decoder("every-step", readout="state", bridge="zero")
    weights = part.state_dict()
    weights["stack.cells.0.input.weight"] = weights["stack.cells.0.input.weight"].roll(-PICTURE, dims=1)  # there the picture comes last
    other.load_state_dict(weights)
    close(part(memory, tokens), other(memory, tokens))


def test_first_is_read_before_bos() -> None:
    """Show and Tell: x_{-1} = W I, x_t = E y_t; what the picture's own step would say is not used."""
    part, memory, tokens, embedded, _ = setting(cell="lstm", readout="state", inject="first")
    assert part.inject.view is not None
    everything = torch.cat([part.inject.view(memory.summary_BD)[:, None], embedded], dim=1)
    close(part.hidden(memory, tokens), in_torch(cells(part)[0], everything)[:, 1:])


def test_bias_is_added_once() -> None:
    """Karpathy: h_t = f(W_x x_t + W_h h_{t-1} + b + [t = 1] W_i I)."""
    part, memory, tokens, embedded, _ = setting(cell="tanh-rnn", readout="state", inject="bias")
    cell = cells(part)[0]
    once, state = memory.summary_BD @ cell.input.weight[:, :PICTURE].T, torch.zeros(4, SIZE)
    for t in range(5):
        word = embedded[:, t] @ cell.input.weight[:, PICTURE:].T + cell.input.bias
        state = torch.tanh(word + cell.recurrent(state) + (once if t == 0 else 0))
        close(part.hidden(memory, tokens)[:, t], state)


def test_merge_stays_out_of_the_recurrence() -> None:
    """m-RNN: m_t = g(V_w w_t + V_r r_t + V_I I)."""
    part, memory, tokens, embedded, picture = setting(cell="lstm", inject="merge")
    recurrent = in_torch(cells(part)[0], embedded)
    weight, bias = part.readout.layer.weight, part.readout.layer.bias
    assert part.inject.view is not None
    mixed = recurrent @ weight[:, :SIZE].T + embedded @ weight[:, SIZE:].T + bias + picture @ part.inject.view.weight.T
    close(part.hidden(memory, tokens), torch.tanh(mixed))


def test_second_goes_into_the_second_layer() -> None:
    part, memory, tokens, embedded, picture = setting(cell="lstm", readout="state", inject="second", layers=2)
    lower, upper = cells(part)
    close(part.hidden(memory, tokens), in_torch(upper, torch.cat([in_torch(lower, embedded), picture], dim=-1)))


def test_memory_recalls_what_was_said_and_is_asked_for_the_picture() -> None:
    part, memory, tokens, embedded, picture = setting(cell="lstm", readout="state", inject="memory")
    recall, rebuild = part.inject.recall, part.inject.rebuild
    assert recall is not None
    assert rebuild is not None
    recalled, state = [], torch.zeros(4, SIZE)
    for t in range(5):
        state = torch.tanh(recall.input(embedded[:, t]) + recall.recurrent(state))
        recalled.append(state)
    seen = torch.stack(recalled, dim=1)
    close(part.hidden(memory, tokens), in_torch(cells(part)[0], torch.cat([picture, seen, embedded], dim=-1)))
    extra_BT = part.extra_loss(memory, tokens)
    assert extra_BT is not None
    close(extra_BT, (rebuild(seen) - picture).square().mean(dim=-1))


def test_the_picture_does_not_learn_to_be_easily_rebuilt() -> None:
    part, memory, tokens, _, _ = setting(inject="memory")
    memory.summary_BD.requires_grad_()
    extra_BT = part.extra_loss(memory, tokens)
    assert extra_BT is not None
    extra_BT.sum().backward()
    assert memory.summary_BD.grad is None
    assert part.inject.rebuild is not None
    assert part.inject.rebuild.weight.grad is not None


def target() -> Padded:
    values = torch.tensor([[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD], [BOS, EOS, PAD, PAD], [BOS, 4, 5, EOS]])
    return Padded(values, values != PAD)


@pytest.mark.parametrize("name", ["cross-entropy", "sampled", "scheduled-sampling", "doubly-stochastic"])
def test_every_objective_adds_the_decoders_own_loss_in_training(name: str) -> None:
    part, memory, wanted = decoder("additive", inject="memory"), samples.memory(), target()
    given = {"sampled": {"words": 99}, "scheduled-sampling": {"probability": 0.0}, "doubly-stochastic": {"penalty": 0.0}}.get(name, {})
    objective = registry.build("objective", name, **given)
    plain = CrossEntropy().eval()(part, memory, wanted)
    extra_BT = part.extra_loss(memory, wanted.values[:, :-1])
    assert extra_BT is not None
    extra = extra_BT[wanted.mask_BS[:, 1:]].sum()
    loss = objective.train()(part, memory, wanted)
    close(loss.total, plain.total + extra)  # once, also where an objective asks another (sampled, of all words)
    assert loss.parts["extra"] == pytest.approx(extra.item())
    assert loss.parts["nll"] == pytest.approx(plain.total.item(), rel=1e-5)
    close(objective.eval()(part, memory, wanted).total, plain.total)


def test_other_decoders_have_no_loss_of_their_own() -> None:
    assert decoder(inject="every").extra_loss(samples.memory(), samples.target(5)) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inject": "second"}, "decoder.layers = 2"), ({"inject": "merge", "readout": "state"}, "decoder.readout"),
        ({"inject": "state", "bridge": "zero"}, "initial state"), ({"gate": True}, "decoder.gate needs an attention that looks"),
    ],
)  # fmt: skip
def test_settings_that_contradict_each_other(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        decoder(**given)


def test_a_language_model_has_no_picture() -> None:
    with pytest.raises(UserError, match="needs a source"):
        RNN(Space(vocabulary=9), 0, lambda query: samples.attention("none", query, 0), inject="every")
