"""Made-up files in MNIST's layout."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

NAMES = {"train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"), "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")}


def idx(array: np.ndarray) -> bytes:
    """An array of bytes as an idx file."""
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


def made_up_mnist(folder: Path, rows: int = 200) -> None:
    """Pictures with a bar whose place says what they are, among noise."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (images, labels) in enumerate(NAMES.values()):
        random = np.random.default_rng(number)
        kinds = np.arange(rows) % 10
        pictures = random.integers(0, 40, (rows, 28, 28))
        for picture, kind in zip(pictures, kinds):
            picture[4:24, 4 + 2 * kind] = 250
        (folder / images).write_bytes(gzip.compress(idx(pictures)))
        (folder / labels).write_bytes(gzip.compress(idx(kinds)))
