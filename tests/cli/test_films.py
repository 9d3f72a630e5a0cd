"""Training on films, describing one of a user's own, and drawing which frames each word looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Xattend, trained
from tests.data.album import COLOURS

RECIPE = """
[data]
train = "films.tsv"
folder = "films"
split = { validation = 0.3 }
target = { unit = "word" }
source = { kind = "film", frames = 4, size = 16 }
[encoder]
kind = "frames+clip"
size = 8
widths = [8, 8]
clip_widths = [8]
[decoder]
size = 16
embedding = 8
[training]
steps = 60
tokens = 256
validate_every = 1000
[optimiser]
lr = 0.02
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Films of one colour, as animations and as folders, with captions that say which."""
    folder = tmp_path_factory.mktemp("films")
    (folder / "films").mkdir()
    rows = []
    for number in range(30):
        colour = list(COLOURS)[number % len(COLOURS)]
        pages = [Image.new("RGB", (20, 16), COLOURS[colour]) for _ in range(5)]
        for page, one in enumerate(pages):
            one.paste((number, 0, page), (0, 0, 3, 3))
        if number % 2:
            pages[0].save(folder / "films" / f"{number}.gif", save_all=True, append_images=pages[1:])
        else:
            (folder / "films" / str(number)).mkdir()
            for page, one in enumerate(pages):
                one.save(folder / "films" / str(number) / f"{page}.png")
        rows.append(f"{number}{'.gif' * (number % 2)}\tall {colour}\n")
    (folder / "films.tsv").write_text("".join(rows))
    return folder


def test_it_learns_describes_and_draws(xattend: Xattend, place: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(place, RECIPE, "colours")
    monkeypatch.chdir(place / "films")
    said = xattend("predict", run, "1.gif", "2", "--json", "--attention")
    assert said.code == 0, said.err
    found = [json.loads(line) for line in said.lines]
    assert [one["text"] for one in found] == ["all green", "all blue"]
    assert found[0]["source"] == ["0", "1", "2", "3"]
    assert [len(row) for row in found[0]["attention"]] == [4, 4, 4]
    assert xattend("predict", run, "1.gif", "--attention", place / "looked.png").code == 0
    with Image.open(place / "looked.png") as strip:
        assert strip.size == (4 + 120 + 4 * 68, 4 + 4 * 68)  # the film, two words and the end mark
        assert strip.getpixel((160, 40))[1] > 150  # green
    said = xattend("evaluate", run, "--split", "validation", "--json")
    assert said.code == 0, said.err
    said = xattend("check", place / "colours.toml", "-s", "training.steps=2")
    assert said.code == 0, said.err
    assert "source: films, " in said.out
    assert "each 3 x 16 x 16" in said.out
    said = xattend("predict", run, "nowhere.gif")
    assert (said.code, said.err.count("\n")) == (2, 1)
