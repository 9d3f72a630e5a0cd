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


def sound(steps: int = 4, seconds: float = 0.5, rate: int = 8000) -> Trace:
    """A tone that rises; its words look at four places one after the other."""
    weights = np.full((steps, 1, 20), 0.01, np.float32)
    for step in range(steps):
        weights[step, 0, 5 * step : 5 * step + 2] = 0.4
    times = np.arange(int(seconds * rate)) / rate
    grey = np.tile(np.linspace(0, 255, 50).astype(np.uint8), (40, 1))
    return Trace(
        [str(place) for place in range(20)], [*words(steps - 1, "w"), "</s>"], weights, (20,), kind="sound", pixels=np.repeat(grey[:, :, None], 3, axis=2), seconds=seconds,
        samples_N=np.sin(2 * np.pi * (300 + 400 * times) * times).astype(np.float32), rate=rate, target_text="w0 w1 w2", logprobs=[-0.3] * steps,
        notes=["of the sound the first 0.5 of 600.0 seconds can be heard"],
    )  # fmt: skip


def strokes() -> Trace:
    points = np.array([[0, 0, 0], [30, 40, 0], [30, -40, 1], [20, 0, 0], [0, 40, 1]], np.float32)
    weights = np.array([[1, 0, 0], [0.8, 0.2, 0], [0.1, 0.9, 0], [0, 1, 0], [0, 0.2, 0.8], [0, 0, 1]], np.float32)[:, None]
    return Trace(["v", "i", "</s>"], [*words(5, "p"), "</s>"], weights, (3,), kind="strokes", points_T3=points, source_text="vi", target_text="5 points, 2 strokes")


def glimpse() -> Trace:
    boxes = np.array([[[0.0, 0.0, 0.25, 0.25], [0.0, 0.0, 0.5, 0.5]], [[0.5, 0.5, 0.75, 0.75], [0.25, 0.25, 1.0, 1.0]], [[0.7, 0.1, 0.95, 0.35], [0.6, -0.2, 1.1, 0.5]]], np.float32)
    pixels = np.zeros((28, 28, 3), np.uint8)
    pixels[6:22, 12:16] = 255
    nbest = [{"text": "1", "score": -0.2, "logprob": -0.2, "tokens": ["1", "</s>"], "logprobs": [-0.2, 0.0]}]
    return Trace(words(784, "p"), ["1", "2", "3"], shares(3, 1, 784), (28, 28), kind="glimpse", boxes_TK4=boxes, pixels=pixels, target_text="1", nbest=nbest)


def looks(seen: bool = True) -> Trace:
    """Two words and the end, over three looks that came before them."""
    boxes = np.array([[-0.1, -0.1, 1.1, 1.1], [0.0, 0.0, 0.5, 0.5], [0.5, 0.25, 1.0, 0.75]], np.float32)
    weights = np.array([[[0.81, 0.15, 0.04]], [[0.04, 0.36, 0.6]], [[0.3, 0.35, 0.35]]], np.float32)
    return Trace(
        ["1", "2", "3"], ["red", "dot", "</s>"], weights, (3,), kind="picture", media="a.png", boxes_TK4=np.repeat(boxes[None], 3, axis=0), pixels=picture().pixels if seen else None,
        target_text="red dot", logprobs=[-0.3] * 3,
    )  # fmt: skip


def canvas(looked: bool = True) -> Trace:
    """Four canvases, one lighter than the other; without windows, as samples are."""
    pixels = np.stack([np.full((28, 28, 3), 60 * step + 30, np.uint8) for step in range(4)])
    steps = ["1", "2", "3", "4"]
    if not looked:
        return Trace([], steps, np.zeros((4, 0, 0), np.float32), (0,), kind="canvas", pixels=pixels, source_text="samples", target_text="painted")
    boxes = np.array([[[0.1 * step, 0.1, 0.5, 0.6], [-0.2, 0.2 * step, 0.4, 1.3]] for step in range(4)], np.float32)
    seen = np.full((28, 28, 3), 200, np.uint8)
    return Trace(words(784, "p"), steps, shares(4, 2, 784), (28, 28), kind="canvas", heads=["read", "write"], boxes_TK4=boxes, pixels=pixels, seen=seen, target_text="90.00 nats")


def story() -> Trace:
    weights = np.array([[[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]], [[0, 0, 0], [0, 0, 0]]], np.float32)
    return Trace(
        ["ada <b>fell</b>", "boris sat", "ada rose"], ["ada", "</s>"], weights, (3,), kind="memory", heads=["hop 1", "hop 2"], source_text="a story", target_text="ada",
        logprobs=[-0.1, 0.0],
    )  # fmt: skip


def machine(steps: int = 5, slots: int = 4) -> Trace:
    weights = np.zeros((steps, 2, slots), np.float32)
    for step in range(steps):
        weights[step, 0, step % slots], weights[step, 1, (step + 1) % slots] = 1.0, 0.5
    held = np.zeros((steps - 1, slots, 3), np.float32)  # of the last step it was left out
    held[:, 1, 0], held[:, 2, 2] = 2.0, -1.0
    usage = np.linspace(0, 1, steps * slots, dtype=np.float32).reshape(steps, slots)
    nbest = [{"text": "01", "score": -0.1, "logprob": -0.1, "tokens": ["01", "</s>"], "logprobs": [-0.1, 0.0]}]
    return Trace(
        words(slots, ""), ["01", "11", "copy", "> 01", "> 10"][:steps], weights, (slots,), kind="machine", heads=["write 1", "read 1"], contents_TNM=held, usage_TN=usage,
        target_text="01 10", nbest=nbest,
    )  # fmt: skip
