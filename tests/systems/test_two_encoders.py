"""Two encoders, one decoder, and a search that knows nothing of it."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.systems import small
from xattend.attention import Additive
from xattend.decoders import RNN
from xattend.encoders import BiRNN
from xattend.search.beam import Beam
from xattend.search.greedy import Greedy
from xattend.types import Memory, Space


class TwoSources(torch.nn.Module):
    """Reads two strings and writes the first followed by the second."""

    def __init__(self) -> None:
        super().__init__()
        words = Space(vocabulary=12)
        self.one, self.other = BiRNN(words, size=24, embedding=16), BiRNN(words, size=24, embedding=16)
        self.decoder = RNN(words, 48, lambda query: Additive(query, 48), size=64, embedding=16)

    def read(self, one: small.Padded, other: small.Padded) -> Memory:
        return Memory.join([self.one(one), self.other(other)])


def rows(size: int, generator: torch.Generator) -> tuple[small.Padded, small.Padded, Tensor]:
    one = torch.randint(4, 12, (size, 2), generator=generator)
    other = torch.randint(4, 12, (size, 1), generator=generator)
    target = torch.cat([torch.full((size, 1), 2), one, other, torch.full((size, 1), 3)], dim=1)
    return small.Padded(one, one > 0), small.Padded(other, other > 0), target


def test_two_encoders_learn_and_search_is_unchanged() -> None:
    torch.manual_seed(0)
    model, generator = TwoSources(), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(250):
        one, other, target = rows(64, generator)
        logits = model.decoder(model.read(one, other), target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    one, other, target = rows(50, generator)
    with torch.inference_mode():
        memory = model.read(one, other)
        for search in (Greedy(), Beam(size=3)):
            found = search.search(model.decoder, memory, attention=True)
            right = [best[0].tokens == row[1:-1] for best, row in zip(found, target.tolist(), strict=True)]
            assert sum(right) > 45
            assert found[0][0].weights_THS is not None
            assert found[0][0].weights_THS.shape[2] == 3  # two positions of one source, one of the other
