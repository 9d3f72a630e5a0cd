"""`xattend parts`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Xattend
from xattend import registry


def test_every_kind_has_its_parts(xattend: Xattend) -> None:
    found = {row["kind"]: row["parts"].split(", ") for row in json.loads(xattend("parts", "--json").out)}
    assert found == {kind: registry.names(kind) for kind in registry.ROOMS}


@pytest.mark.parametrize("kind", registry.ROOMS)
def test_every_part_says_what_it_is_and_what_its_settings_mean(xattend: Xattend, kind: str) -> None:
    rows = json.loads(xattend("parts", kind, "--json").out)
    assert [row["name"] for row in rows] == registry.names(kind)
    assert all(row["what"] for row in rows)
    for row in rows:
        settings = json.loads(xattend("parts", kind, row["name"], "--json").out)
        assert ", ".join(one["setting"] for one in settings) == row["settings"]
        assert all(one["what"] and one["type"] for one in settings), row["name"]


def test_a_part_with_its_settings_in_words(xattend: Xattend) -> None:
    answer = xattend("parts", "attention", "local-p")
    assert answer.lines[0].startswith("attention local-p: A window")
    (score,) = [line for line in answer.lines if line.startswith("score")]
    assert "name of an attention" in score
    assert '"bilinear"' in score
    assert xattend("parts", "attention", "dot").lines[-1] == "It has no settings."


@pytest.mark.parametrize("section", ["data", "training"])
def test_sections_of_every_recipe_are_listed_too(xattend: Xattend, section: str) -> None:
    settings = json.loads(xattend("parts", section, "--json").out)
    assert {"data": "split", "training": "epochs"}[section] in [one["setting"] for one in settings]
    assert all(one["what"] for one in settings)


def test_a_wrong_name_comes_with_the_right_one(xattend: Xattend) -> None:
    for words, right in ((("attentoin",), "attention"), (("attention", "aditive"), "additive"), (("training", "epochs"), "xattend parts training")):
        answer = xattend("parts", *words)
        assert answer.code == 2
        assert right in answer.err
