"""A decoder: reads a memory, and writes a sequence token by token."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.types import Memory, Padded, State, Step


class Decoder(nn.Module):
    """Contract: `forward` equals repeated `step` to 1e-5. Search uses `start` and `step` alone.

    `hidden` and `output` are `forward` in two halves, so that an objective can score a few words instead of all.
    """

    output: nn.Linear

    def start(self, memory: Memory) -> State:
        """The state before the first token."""
        raise NotImplementedError

    def step(self, token_B: Tensor, state: State) -> Step:
        """Reads one token a row (BOS first) and scores the next."""
        raise NotImplementedError

    def hidden(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        """Last layer before the vocabulary, for all steps at once: hidden_BTD."""
        raise NotImplementedError

    def forward(self, memory: Memory, tokens_BT: Tensor) -> Tensor:
        """Teacher forcing: logits_BTV of what follows each of the given tokens (BOS first)."""
        logits_BTV: Tensor = self.output(self.hidden(memory, tokens_BT))
        return logits_BTV

    def hidden_and_weights(self, memory: Memory, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
        """`hidden`, and where each step looked, weights_BTHS, both with a gradient: for objectives that judge the looks, too.

        Here the weights come from single steps, beside `hidden`; a decoder that has them at hand says so in its own method.
        """
        state, seen = self.start(memory), []
        for token_B in tokens_BT.unbind(dim=1):
            step = self.step(token_B, state)
            state = step.state
            seen.append(step.looked())
        return self.hidden(memory, tokens_BT), torch.stack(seen, dim=1)

    def extra_loss(self, memory: Memory, tokens_BT: Tensor) -> Tensor | None:
        """A loss of the decoder's own for each step, extra_BT, which every objective adds in training. None: it has none."""
        return None

    def look(self, weights_BTHS: Tensor) -> Tensor:
        """One look a step, weights_BTS, of what its heads looked at: the mean of them."""
        return weights_BTHS.mean(dim=2)

    @torch.no_grad()
    def weights(self, memory: Memory, target: Padded) -> Tensor:
        """Where each step of a given target looked: weights_BTHS. Row t belongs to the token that step t writes."""
        return self.hidden_and_weights(memory, target.values[:, :-1])[1]
