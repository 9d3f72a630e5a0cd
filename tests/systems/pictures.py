"""Systems that look at pictures, made straight from parts, and small pictures for them: the pattern in one corner is the label."""

from __future__ import annotations

from typing import Any

import torch

from xattend.data.fields.placed import Placed
from xattend.data.fields.text import Text
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import System, assemble
from xattend.types import BOS, EOS, Batch, Padded

SIDE = 16
PATTERNS = torch.tensor([[[1.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 1.0]]])


def labels() -> Text:
    text = Text(unit="character")
    text.fit(["0123"])
    return text


def system(**sections: dict[str, Any]) -> System:
    recipe = Recipe({"data": {"task": "digits"}, "training": {"seed": 3}, **sections}, "test.toml").resolve()
    return assemble(recipe, Placed(size=SIDE, digit=8), labels())


def batch(size: int, seed: int, corner: int = 2) -> Batch:
    """Faint noise, and a pattern of 4 x 4 pixels near the top left corner."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(4, (size,), generator=generator)
    pictures = 0.2 * torch.rand(size, 1, 1, SIDE, SIDE, generator=generator)
    pictures[:, 0, 0, corner : corner + 4, corner : corner + 4] += 0.8 * PATTERNS[kinds].repeat_interleave(2, 1).repeat_interleave(2, 2)
    ids = torch.tensor(labels().encode("0123"))[kinds]
    target = torch.stack([torch.full_like(ids, BOS), ids, torch.full_like(ids, EOS)], dim=1)
    return Batch(Padded(pictures, torch.ones(size, 1).bool()), Padded(target, torch.ones(size, 3).bool()), tuple(range(size)))


def learn(model: System, steps: int, *, lr: float = 0.005, rows: int = 64) -> list[float]:
    """Trains, and gives the loss a row at every step."""
    optimiser, losses = torch.optim.Adam(model.parameters(), lr=lr), []
    model.train()
    torch.manual_seed(5)
    for step in range(steps):
        loss = model.loss(batch(rows, step))
        optimiser.zero_grad()
        (loss.total / loss.sentences).backward()
        optimiser.step()
        losses.append(float(loss.total.detach()) / loss.sentences)
    model.eval()
    return losses


def right(model: System) -> float:
    """The share of new pictures that are named rightly."""
    new = batch(200, 12345)
    assert new.target is not None
    wanted = [labels().decode(row) for row in new.target.values.tolist()]
    return sum(found.text == want for found, want in zip(model.predict(new, Greedy()), wanted, strict=True)) / 200
