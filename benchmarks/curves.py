"""What training and decoding cost as the work grows: `python benchmarks/curves.py [--rounds 3] [--seconds 1.5]`

An attention GRU (256/512, additive) and a Transformer (3+3 layers, 256 wide) on made-up rows of one length. One setting
moves, the others stay: source and target length, tokens a batch, words of the vocabulary, threads; then beam and output
length. Every point is timed once a round, round after round; the median is kept. Written: results/curves.json and
docs/images/curves.svg (needs matplotlib).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from xattend import recipe as recipes
from xattend.data.corpus import prepare
from xattend.search import Beam
from xattend.systems import System, assemble
from xattend.training.distributed import Group
from xattend.training.optimisers.adam import Adam
from xattend.training.update import Updater
from xattend.types import SPECIALS, Batch, Padded

ROOT = Path(__file__).parent.parent
DATA = """
[data]
train = "{file}"
source = {{ unit = "word" }}
target = {{ unit = "word" }}
"""
MODELS = {
    "GRU": """
[encoder]
kind = "birnn"
size = 256
embedding = 256
[attention]
kind = "additive"
size = 512
[decoder]
kind = "rnn"
size = 512
embedding = 256
readout = "luong"
""",
    "Transformer": """
[encoder]
kind = "transformer"
[attention]
kind = "multi-head"
[decoder]
kind = "transformer"
""",
}


class Point(NamedTuple):
    """What is timed: one training update, or one search if `beam` is not 0."""

    length: int = 16
    tokens: int = 2048
    vocabulary: int = 8000
    threads: int = 2
    beam: int = 0


TRAINING, DECODING = Point(), Point(length=20, tokens=640, beam=5)
CURVES: dict[str, tuple[str, list[Point]]] = {
    "training against length": ("length", [TRAINING._replace(length=n) for n in (8, 16, 32, 64, 128)]),
    "training against batch": ("tokens", [TRAINING._replace(tokens=n) for n in (256, 512, 1024, 2048, 4096, 8192)]),
    "training against vocabulary": ("vocabulary", [TRAINING._replace(vocabulary=n) for n in (1000, 4000, 16000, 64000)]),
    "training against threads": ("threads", [TRAINING._replace(threads=n) for n in (1, 2)]),
    "decoding against beam": ("beam", [DECODING._replace(beam=n) for n in (1, 2, 5, 10, 20)]),
    "decoding against length": ("length", [DECODING._replace(length=n, tokens=32 * n) for n in (10, 20, 40, 80)]),
}


def build(model: str, vocabulary: int) -> System:
    """A new model whose vocabulary has so many words."""
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.tsv"
        words = [f"w{number}" for number in range(vocabulary - len(SPECIALS))]
        rows = [" ".join(words[start : start + 50]) for start in range(0, len(words), 50)]
        file.write_text("".join(f"{row}\t{row}\n" for row in rows), "utf-8")
        recipe = recipes.parse(DATA.format(file=file) + MODELS[model] + "[training]\nsteps = 1\n", "curves.toml").resolve()
        data = prepare(recipe, Path(folder) / "cache", root=Path(folder))
    return assemble(recipe, data.source, data.target)


def batch(point: Point) -> Batch:
    count = max(1, point.tokens // point.length)
    draws = torch.Generator().manual_seed(1)

    def side() -> Padded:
        ids_BT = torch.randint(len(SPECIALS), point.vocabulary, (count, point.length), generator=draws)
        return Padded(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))

    return Batch(side(), side(), tuple(range(count)))


def seconds_per_token(system: System, point: Point, budget: float) -> float:
    """Of one target token: the median over as many updates or searches as there is time for."""
    torch.set_num_threads(point.threads)
    rows = batch(point)
    if point.beam:
        search = Beam(size=point.beam, min_length=point.length, max_length=point.length)

        def once() -> None:
            system.predict(rows, search)

        system.eval()
    else:
        updater = Updater(system, Adam(system.parameters(), lr=1e-4), Group(), accumulate=1, clip=1.0, normalise="tokens")

        def once() -> None:
            updater.update(rows)

        system.train()
    once()
    times: list[float] = []
    while len(times) < 2 or sum(times) < budget:
        began = time.perf_counter()
        once()
        times.append(time.perf_counter() - began)
    return statistics.median(times) / (len(rows) * point.length)


def measure(rounds: int, budget: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for turn in range(rounds):
        for model in MODELS:
            for vocabulary in sorted({point.vocabulary for _, points in CURVES.values() for point in points}):
                system = build(model, vocabulary)
                for title, (moves, points) in CURVES.items():
                    for point in [point for point in points if point.vocabulary == vocabulary]:
                        cost = seconds_per_token(system, point, budget)
                        found.setdefault(title, {}).setdefault(model, {}).setdefault(getattr(point, moves), []).append(cost)
                        print(f"round {turn + 1}  {model}  {title}  {moves} {getattr(point, moves)}: {cost * 1e6:.0f} us a token", file=sys.stderr)
    return {
        title: {model: {at: statistics.median(costs) * 1e6 for at, costs in of.items()} for model, of in models.items()}
        for title, models in found.items()
    }


def draw(found: dict[str, Any], file: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6))
    for axis, (title, models) in zip(axes.flat, found.items(), strict=True):
        for model, costs in models.items():
            axis.plot([int(at) for at in costs], list(costs.values()), marker="o", label=model)
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(CURVES[title][0])
        axis.set_ylabel("microseconds a target token", fontsize=8)
    axes.flat[0].legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each point in each round")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "curves.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "curves.svg")
    chosen = parser.parse_args()
    found = measure(chosen.rounds, chosen.seconds)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    settings = {"rounds": chosen.rounds, "seconds": chosen.seconds, "torch": torch.__version__, "training": TRAINING._asdict(), "decoding": DECODING._asdict()}
    chosen.out.write_text(json.dumps({"settings": settings, "microseconds_per_token": found}, indent=1) + "\n", "utf-8")
    draw(found, chosen.picture)


if __name__ == "__main__":
    main()
