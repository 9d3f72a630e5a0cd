"""Every command and every Python block of the documentation is run, in its order, in an empty folder.

What would take minutes is shortened by a setting added at the end of the line; nothing else about a line is changed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.data.album import album
from tests.data.mnist import made_up_mnist
from tests.recipes.test_shipped import made_up, made_up_recordings
from xattend import recipe, registry
from xattend.cli import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data.md"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
NAMES = ["Amsterdam", "Berlin", "Lisbon", "Madrid", "Oslo", "Paris", "Praha", "Riga", "Roma", "Sofia", "Tallinn", "Wien"]


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each fenced block that is to be run."""
    found = re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [(str(language), str(text)) for language, text in found]


def shortened(words: list[str]) -> list[str]:
    """Training is cut to a few updates; the rest is run as it stands."""
    if "train" in words and "--resume" not in words:
        return [*words, "-s", "training.steps=3", "-s", "training.validate_every=3", *fewer(words[2], words)]
    if "reproduce" in words and len(words) > 2:  # the first of its trainings: test_reproduce.py goes to the end of one
        first = registry.find("reproduction", words[2])().plans()[0]
        return [*words, "--trial", first.name, "-s", "training.steps=2", "-s", "training.validate_every=2", *fewer(first.recipe, first.overrides)]
    if "gradients" in words:
        return [*words, "--samples", "2", "--repeats", "4"]
    if "view" in words:
        return [*words, "--no-browser", "--seconds", "1"]
    if "grid" in words:
        return [*words, "-s", "training.steps=2", "-s", "training.validate_every=2"]
    return words


def fewer(name: str, overrides: Sequence[str]) -> list[str]:
    """Tasks that draw thousands of pictures or films draw a few, unless they are taken out."""
    shipped = dict(recipe.shipped())
    task = recipe.parse(shipped[name], name).section("data").get("task") if name in shipped else None
    drawn = isinstance(task, dict) and task.get("rows", 0) >= 5_000 and "data.task=" not in overrides
    return ["-s", "data.task.rows=200"] if drawn else []


def places(folder: Path) -> None:
    """The files that the pages speak of."""
    pairs = [f"{name}\t{name[::-1].lower()}" for name in NAMES * 5]
    (folder / "names.tsv").write_text("\n".join(f"{i % 7}{row}" if i >= len(NAMES) else row for i, row in enumerate(pairs)) + "\n")
    (folder / "names.txt").write_text("\n".join(NAMES) + "\n")
    (folder / "pairs.tsv").write_text("\n".join(pairs[: len(NAMES)]) + "\n")
    (folder / "pairs.gold").write_text("0-1 1?0\n" * len(NAMES))
    (folder / "spoken.tsv").write_text("spoken-digits:3 1 2024\t2024\n")
    album(folder, count=40)
    (folder / "photos.toml").write_text(re.findall(r"```toml\n(\[data\]\ntrain = \"captions.*?)```", DATA.read_text("utf-8"), flags=re.DOTALL)[0])
    made_up_mnist(folder / "DIR" / "mnist")
    for name, _ in recipe.shipped():  # --data DIR: made-up files in the layout of the data sets
        for split in ("train", "validation", "test"):
            data = recipe.load(name).section("data")
            if split in data:
                made_up(folder / "DIR", data, split)
        if not (folder / "DIR" / "fsdd").exists():
            made_up_recordings(folder / "DIR", recipe.load(name).section("data").get("task"))


def run_here(words: list[str], folder: Path) -> None:
    """`xattend` in this process: most of what a command of its own would take is importing torch."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        patch.setattr(sys, "argv", words)
        patch.setenv("XATTEND_CACHE", str(folder / "cache"))
        patch.delenv("XATTEND_DATA", raising=False)
        patch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code, f"{shlex.join(words)}\n{said.getvalue()}"


def run(words: list[str], folder: Path) -> None:
    if words[0] == "xattend" and "--plugin" not in words:  # a plugin's parts would stay
        run_here(words, folder)
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XATTEND_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    programs = {"xattend": [sys.executable, "-m", "xattend"], "python": [sys.executable], "torchrun": [sys.executable, "-m", "torch.distributed.run"]}
    command = [*programs[words[0]], *words[1:]]
    cwd = ROOT if "pytest" in words else folder
    command = [str(folder / word) if cwd == ROOT and word.endswith(".py") else word for word in command]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    places(tmp_path)
    ran = 0
    for language, text in blocks(page):
        if language == "python":
            registers = re.search(r'@register\("\w+", "(\w+)"\)', text)
            file = tmp_path / f"{registers[1] if registers else f'block{ran}'}.py"
            file.write_text(text)
            if not registers:
                run(["python", str(file)], tmp_path)
            ran += 1
            continue
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            if not words or words[0] == "make":  # the two make commands are what runs this test, and what it is about
                continue
            if "init" in words and (tmp_path / "names.toml").exists():
                (tmp_path / "names.toml").unlink()
            run(shortened(words), tmp_path)
            ran += 1
    assert ran or "make" in page.read_text("utf-8")


def test_the_makefile_has_the_targets_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not link.startswith(("http:", "https:")):
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)}: {link}"
