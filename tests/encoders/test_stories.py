"""Position and temporal encoding, worked by hand; the fast ways beside the plain ones."""

from __future__ import annotations

import pytest
import torch

from xattend.encoders.facts import Facts, one_after_another
from xattend.encoders.hierarchical import Hierarchical
from xattend.encoders.sentences import Sentences, ages, looked_up, shares, summed
from xattend.layers.attention_gru import AttentionGRU
from xattend.types import Padded, Space

SPACE = Space(beside=Space(vocabulary=12))


def story(words: list[list[list[int]]], question: list[list[int]]) -> Padded:
    values, asked = torch.tensor(words), torch.tensor(question)
    return Padded(values, values.any(dim=2), Padded(asked, asked != 0))


def test_the_position_code_is_twice_that_of_the_paper() -> None:
    """l_kj = 2 (1 - j/J) - 2 (k/d)(1 - 2j/J), every term by itself."""
    table, ids = torch.randn(12, 5), torch.tensor([[[4, 5, 6, 7], [8, 9, 0, 0]]])
    found = summed(ids, shares(ids, "position"), table, 5)
    for sentence, length in ((0, 4), (1, 2)):
        expected = torch.zeros(5)
        for j in range(1, length + 1):
            for k in range(1, 6):
                weight = 2 * (1 - j / length) - 2 * (k / 5) * (1 - 2 * j / length)
                expected[k - 1] += weight * table[ids[0, sentence, j - 1], k - 1]
        torch.testing.assert_close(found[0, sentence], expected)


def test_by_hand_the_second_of_two_words_counts_more_in_high_units() -> None:
    ids = torch.tensor([[4, 5]])  # J = 2, d = 2: l_1 = (1, 1), l_2 = (1, 2)
    table = torch.zeros(12, 2)
    table[4], table[5] = torch.tensor([2.0, 4.0]), torch.tensor([6.0, 8.0])
    assert summed(ids, shares(ids, "position"), table, 2).tolist() == [[8.0, 20.0]]
    assert summed(ids, shares(ids, "bag"), table, 2).tolist() == [[8.0, 12.0]]


@pytest.mark.parametrize("words", ["bag", "position"])
def test_the_product_is_the_lookup_gradients_included(words: str) -> None:
    ids = torch.randint(0, 12, (6, 4))
    weights = shares(ids, words)  # type: ignore[arg-type]
    table = torch.randn(12, 8, requires_grad=True)
    fast, plain = summed(ids, weights, table, 4), looked_up(ids, weights, table)
    if words == "position":
        plain = torch.stack([plain[:, 0], -plain[:, 1] * (torch.arange(1, 5) / 4).repeat(2)[None]]).sum(dim=0)[:, None]
    torch.testing.assert_close(fast, plain[:, 0])
    pull = torch.randn_like(fast)
    torch.testing.assert_close(*(torch.autograd.grad((one * pull).sum(), table)[0] for one in (fast, plain[:, 0])))


def test_ages_count_back_from_the_question_and_the_oldest_share_one() -> None:
    encoder = Sentences(SPACE, size=3, time=2).eval()
    source = story([[[4, 0], [5, 0], [6, 0]], [[4, 0], [0, 0], [0, 0]]], [[7], [7]])
    encoder.embedding.weight.data.zero_()
    assert encoder.time is not None
    memory = encoder(source)
    last, older = encoder.time.weight[0], encoder.time.weight[1]
    torch.testing.assert_close(memory.states_BSD[0], torch.stack([older, older, last]))
    torch.testing.assert_close(memory.states_BSD[1, 0], last)


def test_noise_keeps_the_order_and_shifts_ages() -> None:
    torch.manual_seed(1)
    mask = torch.ones(400, 20, dtype=torch.bool)
    mask[200:, 10:] = False
    drawn = ages(mask, 0.1)
    assert (drawn[:, :-1] > drawn[:, 1:])[mask[:, 1:]].all()  # the story's order
    first = drawn[:200, 0]
    assert first.min() == 19
    assert first.max() == 21  # two empty sentences among twenty
    assert drawn[200:, 0].max() == 10
    assert (drawn[:200, -1] > 0).any()  # an empty one may come after the last
    assert torch.equal(ages(mask, 0.0)[0], torch.arange(19, -1, -1))


def test_the_question_is_read_by_the_same_words_without_an_age() -> None:
    encoder = Sentences(SPACE, size=4, words="bag")
    memory = encoder(story([[[4, 5]]], [[6, 7]]))
    torch.testing.assert_close(memory.summary_BD[0], encoder.embedding.weight[[6, 7]].sum(dim=0))


def test_all_words_of_a_story_in_a_row() -> None:
    words, read = one_after_another(torch.tensor([[[4, 5, 0], [6, 0, 0]], [[7, 0, 0], [0, 0, 0]]]))
    assert words.tolist() == [[4, 5, 6], [7, 0, 0]]
    assert read.tolist() == [[2, 3], [1, 1]]


def test_a_fact_is_the_state_after_its_last_word() -> None:
    encoder = Facts(SPACE, size=4, words="gru", fusion=False).eval()
    memory = encoder(story([[[4, 5], [6, 0]]], [[7]]))
    assert encoder.reader is not None
    states, _ = encoder.reader.unroll(encoder.embedding(torch.tensor([[4, 5, 6]])), encoder.reader.start(1))
    torch.testing.assert_close(memory.states_BSD[0], states[0, [1, 2]])


def test_fusion_tells_a_fact_of_what_comes_later() -> None:
    encoder = Facts(SPACE, size=4).eval()
    one, other = (encoder(story([[[4, 5], [last, 6]]], [[7]])).states_BSD[0, 0] for last in (8, 9))
    assert not torch.allclose(one, other)
    alone = Facts(SPACE, size=4, fusion=False).eval()
    one, other = (alone(story([[[4, 5], [last, 6]]], [[7]])).states_BSD[0, 0] for last in (8, 9))
    torch.testing.assert_close(one, other)


def test_the_attention_gru_is_its_loop() -> None:
    torch.manual_seed(2)
    layer = AttentionGRU(3, 4)
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    facts, gates = torch.randn(5, 6, 3, requires_grad=True), torch.rand(5, 6).softmax(dim=1).requires_grad_()
    fast, plain = layer(facts, gates), layer.one_by_one(facts, gates)
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-4)
    pull = torch.randn_like(fast)
    for one, other in zip(*(torch.autograd.grad((out * pull).sum(), [facts, gates, *layer.parameters()]) for out in (fast, plain)), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)
    shut = layer(facts, torch.zeros(5, 6))
    assert shut.abs().max() < 1e-4
    open_last = torch.zeros(5, 6)
    open_last[:, 5] = 1.0
    torch.testing.assert_close(layer(facts, open_last), layer(facts[:, 5:], torch.ones(5, 1)), atol=1e-4, rtol=1e-3)


def test_a_dialogue_is_a_recurrence_of_turns() -> None:
    encoder = Hierarchical(SPACE, size=4, embedding=3).eval()
    memory = encoder(Padded(torch.tensor([[[4, 5], [6, 0]]]), torch.ones(1, 2, dtype=torch.bool)))
    first, _ = encoder.turn.unroll(encoder.embedding(torch.tensor([[4, 5]])), encoder.turn.start(1))
    second, _ = encoder.turn.unroll(encoder.embedding(torch.tensor([[6]])), encoder.turn.start(1))
    states, _ = encoder.session.unroll(torch.stack([first[:, -1], second[:, -1]], dim=1), encoder.session.start(1))
    torch.testing.assert_close(memory.states_BSD, states)
    torch.testing.assert_close(memory.summary_BD, states[:, -1])
