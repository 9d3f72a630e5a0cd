"""Small decoders to search: a table of chances, and a GRU with additive attention."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor, nn

from xattend.types import BOS, EOS, PAD, Memory, State, Step

WORDS = 4  # the first token that is not a special


class Table:
    """p(next | last two tokens), the same for every source; it looks at source position (steps so far) mod S."""

    def __init__(self, vocabulary: int, seed: int = 0, sharpness: float = 1.5) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.logits_VVV = sharpness * torch.randn(vocabulary, vocabulary, vocabulary, generator=generator)

    def start(self, memory: Memory) -> State:
        last_B = torch.full((len(memory.mask_BS),), BOS)
        return State((memory.mask_BS,), (last_B, torch.zeros_like(last_B)))

    def step(self, token_B: Tensor, state: State) -> Step:
        (mask_BS,), (before_B, steps_B) = state.source, state.moving
        weights_BHS = torch.zeros(len(token_B), 1, mask_BS.shape[1])
        if mask_BS.shape[1]:
            weights_BHS[torch.arange(len(token_B)), 0, steps_B % mask_BS.sum(dim=1)] = 1.0
        return Step(self.logits_VVV[before_B, token_B], State(state.source, (token_B, steps_B + 1)), weights_BHS)

    def logprob(self, tokens: list[int]) -> float:
        """By the chain rule, EOS included; independent of all search code."""
        total, before, last = 0.0, BOS, BOS
        for token in [*tokens, EOS]:
            total += torch.log_softmax(self.logits_VVV[before, last], dim=0)[token].item()
            before, last = last, token
        return total


class Named:
    """Chances given by hand: {beginning: {next: probability}}; what is not named shares the rest equally."""

    def __init__(self, chances: dict[tuple[int, ...], dict[int, float]], vocabulary: int) -> None:
        self.chances, self.vocabulary = chances, vocabulary

    def start(self, memory: Memory) -> State:
        return State(None, torch.zeros(len(memory.mask_BS), 0, dtype=torch.long))

    def step(self, token_B: Tensor, state: State) -> Step:
        read_BT = torch.cat([state.moving, token_B.unsqueeze(1)], dim=1)
        rows = []
        for read in read_BT[:, 1:].tolist():
            given = self.chances.get(tuple(read), {})
            rest = (1 - sum(given.values())) / (self.vocabulary - len(given))
            rows.append([given.get(token, rest) for token in range(self.vocabulary)])
        return Step(torch.tensor(rows).log(), State(None, read_BT), torch.zeros(len(token_B), 1, 0))


class Attending(nn.Module):
    """A GRU with additive attention in two heads."""

    def __init__(self, vocabulary: int, size: int = 16, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embed = nn.Embedding(vocabulary, size)
        self.cell = nn.GRUCell(2 * size, size)
        self.key, self.query, self.energy = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, 2)
        self.output = nn.Linear(2 * size, vocabulary)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.7)
        with torch.no_grad():
            self.output.bias[PAD] += 3.0  # so that a search which forgets to forbid padding is caught

    def start(self, memory: Memory) -> State:
        source = (self.key(memory.states_BSD), memory.states_BSD, memory.mask_BS)
        return State(source, {"hidden": torch.tanh(memory.summary_BD), "context": torch.zeros_like(memory.summary_BD)})

    def step(self, token_B: Tensor, state: State) -> Step:
        keys_BSD, values_BSD, mask_BS = state.source
        hidden_BD = self.cell(torch.cat([self.embed(token_B), state.moving["context"]], 1), state.moving["hidden"])
        energy_BSH = self.energy(torch.tanh(keys_BSD + self.query(hidden_BD).unsqueeze(1)))
        weights_BHS = energy_BSH.masked_fill(~mask_BS.unsqueeze(2), -torch.inf).softmax(dim=1).transpose(1, 2)
        context_BD = (weights_BHS @ values_BSD).mean(dim=1)
        logits_BV = self.output(torch.cat([hidden_BD, context_BD], dim=1))
        return Step(logits_BV, State(state.source, {"hidden": hidden_BD, "context": context_BD}), weights_BHS)


def sources(lengths: list[int], size: int = 16, seed: int = 5) -> Memory:
    """A batch of random sources; row i does not depend on the other rows. Padding is garbage, to catch leaks."""
    width = max(lengths)
    states_BSD = torch.full((len(lengths), width, size), 1e3)
    mask_BS = torch.zeros(len(lengths), width, dtype=torch.bool)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(seed + row)
        states_BSD[row, :length] = torch.randn(length, size, generator=generator)
        mask_BS[row, :length] = True
    summary_BD = torch.stack([states_BSD[row, :length].mean(0) for row, length in enumerate(lengths)])
    return Memory(states_BSD, mask_BS, summary_BD, (width,))


def alone(memory: Memory, row: int) -> Memory:
    """One row of a batch, as a batch of its own without padding."""
    length = int(memory.mask_BS[row].sum())
    one = memory.take(torch.tensor([row]))
    return Memory(one.states_BSD[:, :length], one.mask_BS[:, :length], one.summary_BD, (length,))


def every_output(vocabulary: int, limit: int) -> list[list[int]]:
    """All outputs of at most `limit` tokens; UNK may be written, PAD, BOS and EOS may not."""
    words = [1, *range(WORDS, vocabulary)]
    return [list(tokens) for length in range(limit + 1) for tokens in itertools.product(words, repeat=length)]


def replay(decoder: object, memory: Memory, tokens: list[int]) -> tuple[list[float], list[Tensor]]:
    """Teacher forcing of one row: log-probability of each token and of EOS, and where each step looked."""
    state, logprobs, looked = decoder.start(memory), [], []  # type: ignore[attr-defined]
    for read, written in zip([BOS, *tokens], [*tokens, EOS]):
        step = decoder.step(torch.tensor([read]), state)  # type: ignore[attr-defined]
        state = step.state
        logprobs.append(torch.log_softmax(step.logits_BV[0], dim=0)[written].item())
        looked.append(step.weights_BHS[0])
    assert not math.isnan(sum(logprobs))
    return logprobs, looked
