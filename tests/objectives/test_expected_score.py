"""The expected score against its exact gradient by enumeration, the reward by hand, and who is compared with whom."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.contracts import samples
from tests.contracts.test_decoders import decoder
from xattend.decoders import Decoder
from xattend.errors import UserError
from xattend.objectives import CrossEntropy, ExpectedScore
from xattend.objectives.expected_score import References, credits, draw, reward, written
from xattend.types import BOS, EOS, PAD, UNK, Memory, Padded, State, Step

WORDS = 6


class Chain(Decoder):
    """What follows depends on the word before it alone."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(WORDS, WORDS, bias=False, dtype=torch.float64)
        self.dropout = nn.Dropout(0.5)

    def start(self, memory: Memory) -> State:
        return State((), {}, shared=True)

    def step(self, token_B: Tensor, state: State) -> Step:
        return Step(self.output(self._seen(token_B)), state, None)

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        return self._seen(tokens_BT)

    def _seen(self, tokens: Tensor) -> Tensor:
        seen: Tensor = self.dropout(F.one_hot(tokens, WORDS).double())
        return seen


def target_of(*rows: list[int]) -> Padded:
    longest = max(map(len, rows))
    values = torch.tensor([[BOS, *row, EOS] + [PAD] * (longest - len(row)) for row in rows])
    return Padded(values, values != PAD)


def expected_reward(chain: Chain, references: References, most: int) -> Tensor:
    """The sum over all outputs that end in time."""
    log_VV = chain.output.weight.T.index_fill(1, torch.tensor([PAD, BOS]), -math.inf).log_softmax(dim=1)
    whole = torch.zeros((), dtype=torch.float64)
    for length in range(1, most):
        for units in product((UNK, 4, 5), repeat=length):
            path = [BOS, *units, EOS]
            log = torch.stack([log_VV[before, after] for before, after in pairwise(path)]).sum()
            whole = whole + log.exp() * reward(units, references, 0.2)
    return whole


def test_the_gradient_is_that_of_the_expected_score() -> None:
    torch.manual_seed(3)
    chain, objective = Chain(), ExpectedScore(samples=500).train()
    target, memory = target_of([4, 5]), Memory.empty(1, torch.zeros(1))
    exact = expected_reward(chain, References.of([[4, 5]]), most=2 * target.values.shape[1])
    (wanted,) = torch.autograd.grad(exact, chain.output.weight)
    chain.train()
    found = torch.stack([-torch.autograd.grad(objective(chain, memory, target).total, chain.output.weight)[0] for _ in range(40)])
    error = found.std(dim=0) / math.sqrt(len(found))
    assert ((found.mean(dim=0) - wanted).abs() <= 4 * error + 1e-6).all()
    assert (wanted.abs() > 8 * error).any()  # it could have failed
    assert chain.training
    loss = objective(chain, memory, target)
    assert loss.parts["score"] / loss.tokens == pytest.approx(100 * float(exact.detach()), rel=0.3)


def test_rewards_by_hand() -> None:
    references = References.of([[4, 5, 6], [4, 4, 7, 8, 9]])
    assert references.length == 4
    # 4 4 7 6: all four words (two 4s in one reference), 4 4 and 4 7 of three pairs, 4 4 7 of two triples, no four
    found = (4 / 4) * (2.2 / 3.2) * (1.2 / 2.2) * (0.2 / 1.2)
    assert reward([4, 4, 7, 6], references, 0.2) == pytest.approx(found**0.25)
    assert reward([4, 4, 7, 6], references, 0.0) == 0.0
    assert reward([3, 3], references, 0.2) == 0.0


def test_rows_of_one_source_are_each_others_references() -> None:
    objective = ExpectedScore()
    drawn, target = target_of([4], [5], [5]), target_of([4], [5], [5])
    apart = objective._rewards(drawn, [0, 1, 2], [0, 1, 2], target)
    swapped = objective._rewards(target_of([5], [4], [4]), [0, 0, 2], [0, 1, 2], target)
    assert apart.tolist() == pytest.approx([1, 1, 1])
    assert swapped.tolist() == pytest.approx([1, 1, 0])


def test_unknown_words_and_outputs_without_an_end_are_worth_nothing() -> None:
    objective, target = ExpectedScore(), target_of([UNK], [4])
    assert objective._rewards(target, [0, 1], [0, 1], target).tolist() == pytest.approx([0, 1])
    endless = Padded(torch.tensor([[BOS, 4, 4], [BOS, 4, EOS]]), torch.ones(2, 3).bool())
    assert objective._rewards(endless, [0, 1], [0, 1], target_of([4], [4])).tolist() == pytest.approx([0, 1])
    assert written(target) == [[UNK], [4]]


def test_a_draw_alone_is_refused() -> None:
    part, memory, target = decoder("rnn", {}, "additive"), samples.memory(), target_of([5, 6], [7], [4], [4, 5])
    with pytest.raises(UserError, match=r"set objective\.samples to 2 or more"):
        ExpectedScore().train()(part, memory, target)
    memory = replace(memory, source_B=torch.tensor([0, 0, 2, 2]))
    loss = ExpectedScore().train()(part, memory, target)
    assert loss.total.requires_grad
    assert loss.sentences == 4
    assert credits(torch.tensor([1.0, 0.5, 3.0, 3.0]), torch.tensor([0, 0, 2, 2])).tolist() == [0.5, -0.5, 0, 0]


def test_the_first_batches_are_learnt_by_another_objective() -> None:
    part, memory, target = decoder("rnn", {}, "additive"), samples.memory(), target_of([5, 6], [7], [4], [4, 5])
    objective = ExpectedScore(after=1, samples=2, first={"kind": "cross-entropy", "label_smoothing": 0.1}).train()
    torch.testing.assert_close(objective(part, memory, target).total, CrossEntropy(label_smoothing=0.1).train()(part, memory, target).total)
    assert "score" in objective(part, memory, target).parts
    resumed = ExpectedScore(after=1, samples=2)
    resumed.load_state_dict(objective.state_dict())
    assert "score" in resumed.train()(part, memory, target).parts


def test_draws_follow_the_model() -> None:
    torch.manual_seed(0)
    chain = Chain().eval()
    with torch.no_grad():
        chain.output.weight.zero_()[:, EOS] = -1e9
        chain.output.weight[4, BOS] = math.log(3.0)  # of UNK, EOS, 4 and 5 after BOS: 4 half the time
        chain.output.weight[EOS, 4:] = 1e9
    drawn = draw(chain, Memory.empty(4000, torch.zeros(1)), most=5)
    share = (drawn.values[:, 1] == 4).float().mean()
    assert share == pytest.approx(0.5, abs=0.03)
    assert not bool((drawn.values[:, 1:] == BOS).any())
    assert torch.equal(drawn.mask_BS, drawn.values != PAD)
