"""Peak memory of training as the corpus grows: 1x, 10x and 100x rows.

    python benchmarks/memory.py [--rows 100000] [--steps 200] [--work runs/memory]

Rows of made-up words are written to a file, and `xattend train` runs on it in a process of its own: reading, encoding into
the cache on disk, and some updates. Printed: the peak resident memory of that process, which counts pages of mapped files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

RECIPE = """
[data]
train = "{file}"
split = {{ validation = 0.0001 }}
source = {{ unit = "character" }}
target = {{ unit = "character" }}
[encoder]
kind = "birnn"
size = 256
embedding = 256
[decoder]
kind = "rnn"
size = 512
embedding = 256
[training]
tokens = 4096
steps = {steps}
validate_every = {steps}
"""
BLOCK = 100_000


def write_rows(file: Path, rows: int) -> None:
    """Words of 4 to 12 letters; the target is the word with its letters moved on by one."""
    random = np.random.default_rng(1)
    with file.open("wb") as stream:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            letters = random.integers(97, 122, (count, 12), dtype=np.uint8)
            lengths = random.integers(4, 13, count)
            lines = [
                word[:n] + b"\t" + after[:n] + b"\n"
                for word, after, n in zip(map(bytes, letters), map(bytes, letters + 1), lengths, strict=True)
            ]
            stream.write(b"".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="of the smallest corpus")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--work", type=Path, default=Path("runs/memory"))
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    found = {}
    for times in (1, 10, 100):
        rows, file = chosen.rows * times, (chosen.work / f"{times}.tsv").resolve()
        write_rows(file, rows)
        recipe = chosen.work / f"{times}.toml"
        recipe.write_text(RECIPE.format(file=file, steps=chosen.steps), "utf-8")
        command = [sys.executable, "-m", "xattend", "train", str(recipe), "--out", str(chosen.work / f"run{times}"), "--overwrite"]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "XATTEND_CACHE": str(chosen.work / "cache")})
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"training on {rows:,} rows failed")
        found[rows] = usage.ru_maxrss / 1024
        print(f"{rows:>12,} rows  {found[rows]:7,.0f} MB  {time.perf_counter() - began:6.0f} s", flush=True)
        file.unlink()
    print(json.dumps({"peak_mb": found, "largest_over_smallest": found[chosen.rows * 100] / found[chosen.rows]}))


if __name__ == "__main__":
    main()
