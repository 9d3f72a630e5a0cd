"""Hard alignments made on the way (Luo et al. 2016): at every step of the source the model decides whether to write a token now.

    h_s = encoder(x)_s,   g_u = cell(g_{u-1}, y_u)                     what was read, and what was written
    j_su = tanh(W h_s + V g_u),   b_su = sigmoid(w . j_su),   p(y_{u+1} | s, u) = softmax(O j_su)

learn = "marginal"          -log p(y | x), every way to write y summed by dynamic programming (lattices/online.py)
learn = "policy-gradient"   the same model from drawn paths: REINFORCE with the reward that is still to come, a learned baseline and an
entropy bonus

In evaluation both give the exact marginal, so their curves can be laid over each other. The paper's network also reads its own decision, so
that its state depends on the path; here it does not, which is what makes the sum possible. With an encoder that reads forwards (`rnn`)
nothing is known of the source's future: what is written is final at once.

Shapes: B rows, S steps, U tokens, W = U + 1, D width, V vocabulary.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from xattend import registry
from xattend.cells.base import Cell
from xattend.encoders.base import Encoder, read_once, symbol_embedding
from xattend.errors import UserError
from xattend.lattices.online import Lattice, draw, marginal, posterior
from xattend.registry import Named, register
from xattend.search.base import Search
from xattend.search.ensemble import Together
from xattend.search.greedy import Greedy
from xattend.systems.answers import places, prediction
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import BOS, SPECIALS, Batch, Hypothesis, Loss, Memory, Padded, Prediction

Positive = Annotated[int, pydantic.Field(ge=1)]
BASELINE = 0.05  # weight of its squared error


@register("system", "online")
class Online(System):
    """An encoder, a cell over what was written, and a decision at every step."""

    uses = ("encoder",)
    looks = True

    def __init__(
        self, parts: Parts, *,
        learn: Annotated[Literal["marginal", "policy-gradient"], "sum all paths, or draw some"] = "marginal",
        size: Annotated[Positive, "width of what joins both sides"] = 128,
        embedding: Annotated[Positive, "width of the word vectors"] = 32,
        cell: Annotated[str, Named("cell"), "over what was written"] = "gru",
        samples: Annotated[Positive, "paths drawn of each row"] = 1,
        baseline: Annotated[bool, "compare rewards with what was expected at that place"] = True,
        entropy: Annotated[Annotated[float, pydantic.Field(ge=0)], "bonus for undecided decisions"] = 0.01,
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        _must_be_greedy(parts.recipe.part("search")[0] == "greedy")
        self.source, self.target = parts.source, parts.target
        self.encoder: Encoder = parts.build("encoder", parts.source.space)
        vocabulary = parts.target.space.symbols()
        self.embedding = symbol_embedding(vocabulary, embedding)
        self.cell: Cell = registry.build("cell", cell, embedding, size)
        self.read, self.said = nn.Linear(self.encoder.size, size), nn.Linear(size, size, bias=False)
        self.decide, self.output = nn.Linear(size, 1), nn.Linear(size, vocabulary)
        self.expected = nn.Linear(size, 1) if baseline else None
        self.by_policy, self.samples, self.entropy = learn == "policy-gradient", samples, entropy
        never = torch.zeros(vocabulary)
        never[: len(SPECIALS)] = -1e4  # no row has a mark as its token
        self.never: Tensor
        self.register_buffer("never", never, persistent=False)

    def lattice(self, memory: Memory, target: Padded) -> tuple[Lattice, Tensor]:
        """And the states of all its places, joined_BSWD."""
        tokens_B, steps_B = target.lengths_B - 2, memory.mask_BS.sum(dim=1)
        if bool((tokens_B > steps_B).any()):
            row = int((tokens_B > steps_B).nonzero()[0])
            said = f"a target of {tokens_B[row]} tokens for {steps_B[row]} steps of the source"
            raise UserError(f"{said}: at most one is written a step, so the source must be longer")
        said_BWD, _ = self.cell.unroll(self.embedding(target.values[:, :-1]), self.cell.start(len(target.values)))
        joined_BSWD = torch.tanh(self.read(memory.states_BSD)[:, :, None] + self.said(said_BWD)[:, None])
        decide_BSW = self.decide(joined_BSWD)[..., 0]
        logs_BSUV = (self.output(joined_BSWD[:, :, :-1]) + self.never).log_softmax(dim=-1)
        wanted_BSU1 = target.values[:, None, 1:-1, None].expand(-1, logs_BSUV.shape[1], -1, -1)
        token_BSU = logs_BSUV.gather(3, wanted_BSU1)[..., 0]
        return Lattice(F.logsigmoid(-decide_BSW), F.logsigmoid(decide_BSW), token_BSU, steps_B, tokens_B), joined_BSWD

    def _open(self, batch: Batch) -> tuple[Lattice, Tensor]:
        assert batch.source is not None
        assert batch.target is not None
        return self.lattice(read_once(self.encoder, batch.source), batch.target)

    def loss(self, batch: Batch) -> Loss:
        assert batch.target is not None
        lattice, joined_BSWD = self._open(batch)
        tokens = int(batch.target.mask_BS[:, 1:].sum())
        if self.training and self.by_policy:
            total, reward = self._by_policy(lattice, joined_BSWD)
            return Loss(total, tokens, len(batch), {"nll": -float(reward.detach())})
        total = -marginal(lattice)[0].sum()
        return Loss(total, tokens, len(batch), {"nll": float(total.detach())})

    def _by_policy(self, lattice: Lattice, joined_BSWD: Tensor) -> tuple[Tensor, Tensor]:
        """The loss whose gradient is REINFORCE's, and the mean reward of the paths, summed over rows."""
        total, rewards = joined_BSWD.new_zeros(()), joined_BSWD.new_zeros(())
        for _ in range(self.samples):
            path = draw(lattice)
            to_come_BS = path.reward_BS.detach().flip(1).cumsum(dim=1).flip(1)
            surprise_BS = to_come_BS
            if self.expected is not None:
                at_BS1D = path.at_BS[:, :, None, None].expand(-1, -1, 1, joined_BSWD.shape[-1])
                expected_BS = self.expected(joined_BSWD.detach().gather(2, at_BS1D)[:, :, 0])[..., 0]
                surprise_BS = to_come_BS - expected_BS
                # weighed so that its gradient is about as large as the rest, or one limit on both would leave the model next to nothing
                total = total + BASELINE * surprise_BS.square().mul(path.free_BS).sum() / self.samples
            log_BS = lattice.write_BSW.gather(2, path.at_BS[:, :, None])[..., 0]
            unsure_BS = -(log_BS.exp() * log_BS + (1 - log_BS.exp()) * lattice.stay_BSW.gather(2, path.at_BS[:, :, None])[..., 0])
            gain = path.reward_BS.sum() + (path.policy_BS * surprise_BS.detach()).sum() + self.entropy * unsure_BS.mul(path.free_BS).sum()
            total, rewards = total - gain / self.samples, rewards + path.reward_BS.sum() / self.samples
        return total, rewards

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        """A token as soon as writing one is likelier than not; each at the step that it was written at."""
        assert batch.source is not None
        inner = search.inner if isinstance(search, Together) else search
        _must_be_greedy(isinstance(inner, Greedy) and not (isinstance(search, Together) and (search.others or search.held)))
        memory = read_once(self.encoder, batch.source)
        read_BSD, count = self.read(memory.states_BSD), len(memory.mask_BS)
        state = self.cell(self.embedding(torch.full((count,), BOS)), self.cell.start(count))
        found: list[list[tuple[int, int, float]]] = [[] for _ in range(count)]  # of each row: token, step, log-probability
        spent = torch.zeros(count)
        for step in range(read_BSD.shape[1]):
            joined_BD = torch.tanh(read_BSD[:, step] + self.said(state[0]))
            decide_B = self.decide(joined_BD)[:, 0]
            log_B, token_B = (self.output(joined_BD) + self.never).log_softmax(dim=1).max(dim=1)
            writes_B = (decide_B > 0) & memory.mask_BS[:, step]
            spent += torch.where(memory.mask_BS[:, step], F.logsigmoid(decide_B.abs()), 0.0)
            after = self.cell(self.embedding(token_B), state)
            state = tuple(torch.where(writes_B[:, None], new, old) for new, old in zip(after, state, strict=True))
            for row in writes_B.nonzero()[:, 0].tolist():
                found[row].append((int(token_B[row]), step, float(log_B[row])))
        names, answers = self.source.names(batch.source), []
        for row, written in enumerate(found):
            positions = int(memory.mask_BS[row].sum())
            logs = [log for _, _, log in written]
            weights_TS = torch.zeros(len(written) + 1, positions)
            for line, place in enumerate([*(step for _, step, _ in written), positions - 1]):
                weights_TS[line, place] = 1.0
            score = sum(logs) + float(spent[row])
            tokens, looked = [token for token, _, _ in written], weights_TS[:, None].numpy() if attention else None
            best = Hypothesis(tokens, score, score, [*logs, float(spent[row])], True, looked)
            cells = names[row] if names is not None and len(names[row]) == positions else places((positions,))
            answers.append(prediction([best], self.target, cells, (positions,)))
        return answers

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        """Of each token that it is the next one written, whenever that is; and of the end, that no other follows."""
        lattice, _ = self._open(batch)
        whole_B, firsts_BW = marginal(lattice)
        rows = zip(whole_B.tolist(), firsts_BW.tolist(), lattice.tokens_B.tolist(), strict=True)
        return [
            [*(after - before for before, after in pairwise(firsts[: tokens + 1])), whole - firsts[tokens]]
            for whole, firsts, tokens in rows
        ]  # fmt: skip

    def align(self, batch: Batch) -> list[Tensor]:
        """When each token of a given target was written, all ways weighed: its posterior. The end looks at the last step."""
        with torch.no_grad():
            lattice, _ = self._open(batch)
        weights_BUS, found = posterior(lattice), []
        for row, (tokens, steps) in enumerate(zip(lattice.tokens_B.tolist(), lattice.steps_B.tolist(), strict=True)):
            end_1S = F.one_hot(torch.tensor([steps - 1]), steps).float()
            found.append(torch.cat([weights_BUS[row, :tokens, :steps], end_1S])[:, None])
        return found


def _must_be_greedy(greedy: bool) -> None:
    if not greedy:
        said = "the system 'online' decides at once, and there is nothing to search"
        raise UserError(f'{said}: set search.kind = "greedy", without ensembles')
