"""A small seq2seq made straight from parts, and copy/reverse batches for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xattend.data.fields.text import Text
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import System, assemble
from xattend.types import BOS, EOS, Batch, Padded

SYMBOLS = "abcdefgh"


def field() -> Text:
    text = Text(unit="character")
    text.fit([SYMBOLS])
    return text


def recipe(**sections: dict[str, Any]) -> Recipe:
    given: dict[str, dict[str, Any]] = {
        "data": {"task": "copy"}, "encoder": {"kind": "birnn", "size": 32, "embedding": 16},
        "decoder": {"kind": "rnn", "size": 64, "embedding": 16}, "training": {"seed": 3},
    }  # fmt: skip
    for name, section in sections.items():
        given[name] = section if "kind" in section else {**given.get(name, {}), **section}
    return Recipe(given, "test.toml").resolve()


def system(**sections: dict[str, Any]) -> System:
    return assemble(recipe(**sections), field(), field())


def padded(rows: list[list[int]]) -> Padded:
    longest = max(map(len, rows))
    values = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return Padded(values, values != 0)


def batch(size: int, generator: torch.Generator, turn: bool = False, longest: int = 5) -> Batch:
    """Random strings and their copies (or the copies turned round)."""
    lengths = torch.randint(1, longest + 1, (size,), generator=generator).tolist()
    rows = [(torch.randint(len(SYMBOLS), (n,), generator=generator) + 4).tolist() for n in lengths]
    outputs = [row[::-1] if turn else row for row in rows]
    return Batch(
        padded([[*row, EOS] for row in rows]), padded([[BOS, *row, EOS] for row in outputs]), tuple(range(size))
    )


def learn(model: System, steps: int, *, turn: bool = False, lr: float = 0.005, longest: int = 5) -> float:
    """Trains, and gives the share of new strings that come out exactly right, free-running."""
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        loss = model.loss(batch(64, generator, turn, longest))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    model.eval()
    new = batch(200, torch.Generator().manual_seed(2), turn, longest)
    assert new.target is not None
    wanted = [field().decode(row) for row in new.target.values.tolist()]
    found = [prediction.text for prediction in model.predict(new, Greedy())]
    return sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)


def weights_on_diagonal(weights_TS: Tensor) -> float:
    steps = min(weights_TS.shape)
    return float(weights_TS[:steps, :steps].diagonal().mean())
