"""Traces of every kind to draw, small and with known weights."""

from __future__ import annotations

import numpy as np

from xattend.types import Trace

HOSTILE = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\U0001f469\u200d\U0001f680", "مرحبا", "שלום", "नमस्ते", "\x00", "\ud800",
    "x" * 10_000, "&amp;", "\u202eabc", "\u2028", " ",
]  # fmt: skip


def shares(steps: int, heads: int, positions: int, seed: int = 0, sharp: float = 2.0) -> np.ndarray:
    """Weights that sum to one."""
    draw = np.random.default_rng(seed)
    scores = sharp * draw.standard_normal((steps, heads, positions), dtype=np.float32)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def words(count: int, letter: str) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


def text(steps: int = 7, heads: int = 1, positions: int = 9, **more: object) -> Trace:
    names = [f"layer {head // 2 + 1}, head {head % 2 + 1}" for head in range(heads)] if heads > 1 else []
    nbest = [{"text": "one", "score": -1.0, "logprob": -2.0, "tokens": ["one", "</s>"], "logprobs": [-1.5, -0.5]},
             {"text": "two", "score": -1.5, "logprob": -3.0, "tokens": ["two", "</s>"], "logprobs": [-2.5, float("-inf")]}]  # fmt: skip
    given: dict[str, object] = {
        "heads": names, "source_text": "a source", "target_text": "an output", "logprobs": [-0.1 * step for step in range(steps)], "nbest": nbest,
    }  # fmt: skip
    return Trace(words(positions, "s"), [*words(steps - 1, "t"), "</s>"], shares(steps, heads, positions), (positions,), **(given | more))  # type: ignore[arg-type]


def hostile() -> Trace:
    count = len(HOSTILE)
    tree = {"nodes": [
        {"id": at, "parent": at - 1, "step": at, "token": token, "logprob": -0.5, "total": -0.5 * at, "rank": 0, "kept": True, "greedy": True, "why": None,
         "score": None, "best": True} for at, token in enumerate(HOSTILE)]}  # fmt: skip
    return Trace(
        HOSTILE, HOSTILE, shares(count, 2, count), (count,), heads=HOSTILE[:2], source_text="".join(HOSTILE), target_text=HOSTILE[0], logprobs=[-0.5] * count,
        nbest=[{"text": token, "score": 0.0, "logprob": -1.0, "tokens": [token], "logprobs": [-1.0]} for token in HOSTILE], tree=tree,
        modes={"sampled": shares(count, 2, count, 1)},
    )  # fmt: skip


def picture(steps: int = 3) -> Trace:
    pixels = np.zeros((24, 32, 3), np.uint8)
    pixels[:12, :16], pixels[12:, 16:] = (200, 60, 40), (40, 90, 220)
    names = [f"{y},{x}" for y in range(3) for x in range(4)]
    return Trace(names, words(steps, "w"), shares(steps, 1, 12), (3, 4), kind="picture", media="a.png", pixels=pixels, target_text="w0 w1 w2", logprobs=[-0.3] * steps)


def film(space: bool, steps: int = 3) -> Trace:
    pixels = np.stack([np.full((16, 16, 3), 40 * number + 40, np.uint8) for number in range(5)])
    grid = (5, 2, 2) if space else (5,)
    count = int(np.prod(grid))
    return Trace(words(count, "p"), words(steps, "w"), shares(steps, 1, count), grid, kind="film", media="a.gif", pixels=pixels, target_text="w", logprobs=[-0.3] * steps)


def beams(width: int = 3, steps: int = 5) -> dict[str, object]:
    """A tree: at each step twice the width of candidates, of which `width` go on."""
    nodes: list[dict[str, object]] = [{"id": 0, "parent": -1, "step": 0, "token": "<s>", "logprob": 0.0, "total": 0.0, "rank": 0, "kept": True, "greedy": True, "why": None, "score": None, "best": True}]
    parents = [0]
    for step in range(1, steps + 1):
        kept = []
        for rank in range(2 * width):
            number = len(nodes)
            keeps = rank < width
            nodes.append({
                "id": number, "parent": parents[rank % len(parents)], "step": step, "token": f"t{step}.{rank}", "logprob": -0.4 * (rank + 1), "total": -0.4 * (rank + step),
                "rank": rank, "kept": keeps, "greedy": rank == 0, "why": None if keeps else "pruned", "score": None, "best": rank == 0,
            })  # fmt: skip
            kept += [number] if keeps else []
        parents = kept
    return {"nodes": nodes}
