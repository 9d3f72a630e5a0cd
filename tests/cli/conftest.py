"""The command line as a user has it, in this process, and a few tiny runs that all tests share."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from xattend.cli import main

TINY = """
[encoder]
size = 8
embedding = 8
[decoder]
size = 16
embedding = 8
[training]
steps = 120
tokens = 256
validate_every = 1000
[optimiser]
lr = 0.02
"""
COPY = """
[data]
task = { kind = "copy", rows = 200, symbols = 5, max_length = 5 }
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Xattend = Callable[..., Answer]


@pytest.fixture
def xattend(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Xattend:
    """Runs a command; gives its exit code and what it wrote. An exception that main() lets through fails the test."""

    def run(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["xattend", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Answer(code if isinstance(code, int) else 0, *capfd.readouterr())

    return run


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XATTEND_CACHE", str(folder))
        patch.delenv("XATTEND_DATA", raising=False)
        yield folder


def trained(folder: Path, recipe: str, name: str) -> Path:
    """A run of a recipe's text."""
    from rich.console import Console

    from xattend import job

    (folder / f"{name}.toml").write_text(recipe, encoding="utf-8")
    with (folder / f"{name}.log").open("w") as log:
        job.start(folder / f"{name}.toml", out=folder / name, console=Console(file=log))
    return folder / name


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def copy_run(runs: Path) -> Path:
    """Learns to copy, a little."""
    return trained(runs, COPY + TINY, "copy")


@pytest.fixture(scope="session")
def blind_run(runs: Path) -> Path:
    """Has no attention."""
    return trained(runs, COPY + TINY + '[attention]\nkind = "none"\n', "blind")


@pytest.fixture(scope="session")
def language_model(runs: Path) -> Path:
    data = "[data]\ntask = { kind = \"copy\", rows = 200, symbols = 5, max_length = 5 }\n[system]\nkind = \"language-model\"\n"
    return trained(runs, data + TINY.replace("[encoder]\nsize = 8\nembedding = 8\n", ""), "lm")


@pytest.fixture(scope="session")
def unknowing_run(runs: Path) -> Path:
    """Knows two words; the others are <unk> to it, on both sides."""
    return trained(runs, COPY + 'source = { unit = "word", size = 6 }\ntarget = { unit = "word", size = 6 }\n' + TINY, "unknowing")


WORDS = ["kat", "katze", "hund", "hunde", "haus", "maus", "und", "der", "die", "das"]


@pytest.fixture(scope="session")
def subword_run(runs: Path) -> Path:
    """Reads subwords on both sides, of a file beside its recipe."""
    draw = random.Random(1)
    rows = [" ".join(draw.choices(WORDS, k=draw.randint(2, 5))) for _ in range(60)]
    (runs / "pairs.tsv").write_text("".join(f"{row}\t{row.upper()}\n" for row in rows))
    data = """
[data]
train = "pairs.tsv"
split = { validation = 0.2 }
source = { unit = "bpe", size = 30 }
target = { unit = "bpe", size = 20 }
"""
    return trained(runs, data + TINY, "subwords")
