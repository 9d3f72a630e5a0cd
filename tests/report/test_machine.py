"""Where heads were: in the terminal, and as a strip of pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from xattend.errors import UserError
from xattend.report import machine
from xattend.types import Trace


def trace(slots: int = 6, memory: bool = True) -> Trace:
    weights = np.zeros((4, 2, slots), np.float32)
    weights[0, 0, 0] = weights[1, 0, 1] = 1.0
    weights[2, 1, 0] = weights[3, 1, 1] = 0.6
    held, usage = np.zeros((4, slots, 3), np.float32), np.zeros((4, slots), np.float32)
    held[1:, 0, 0], held[2:, 1, 2], usage[1:, 0] = 2.0, -1.0, 1.0
    more = {"contents_TNM": held, "usage_TN": usage} if memory else {}
    return Trace(list(map(str, range(slots))), ["01", "copy", "> 01", "> 11"], weights, (slots,), kind="machine", heads=["write 1", "read 1"], **more)


def test_the_terminal_has_a_panel_a_head() -> None:
    drawn = machine.draw(trace(), ascii=True).splitlines()
    assert drawn[:3] == ["write 1", "  01   #", "  copy  #"]
    assert drawn[5:] == ["read 1", "  01", "  copy", "> 01   *", "> 11    *", "# = 1.00; 4 of 6 slots are not shown"]


def test_no_line_is_wider_than_asked() -> None:
    one = trace(200)
    one.weights_THS[:, :, 150] = 0.5
    assert max(map(len, machine.draw(one, width=40).splitlines())) <= 40


def wraps(slots: int = 128, steps: int = 5) -> Trace:
    """Heads at the first slots, and round the end of the memory at the last."""
    weights = np.zeros((steps, 2, slots), np.float32)
    weights[:, 0, 0] = weights[:, 1, slots - 1] = weights[0, 1, 1] = 1.0
    names = [f"{number:08b}" for number in range(steps - 2)]
    return Trace(
        list(map(str, range(slots))), [*names, "> 0", "> 1"], weights, (slots,), kind="machine", heads=["write 1", "read 1"],
        contents_TNM=np.ones((steps, slots, 20), np.float32), usage_TN=np.ones((steps, slots), np.float32),
    )  # fmt: skip


def test_slots_between_those_that_are_used_are_left_out_of_the_terminal() -> None:
    drawn = machine.draw(wraps(), ascii=True).splitlines()
    assert drawn[1] == "  00000000 # |"
    assert drawn[7] == "  00000000  #|#"
    assert drawn[-1] == "# = 1.00; 125 of 128 slots are not shown"


def test_the_strip_shows_weights_usage_and_memory(tmp_path: Path) -> None:
    machine.save(trace(), tmp_path / "heads.png")
    with Image.open(tmp_path / "heads.png") as found:
        picture = np.asarray(found.convert("RGB")).astype(int)
    wide, high = machine.WIDE, machine.TALL  # four steps and two slots have room
    black = np.argwhere((picture == 0).all(axis=2))
    top, left = next((y, x) for y, x in black.tolist() if (picture[y : y + high, x : x + wide] == 0).all())  # the write head at slot 0, step 0
    write = picture[top + high // 2 : top + 2 * high : high, left + wide // 2 : left + 4 * wide : wide]  # the middles of its cells
    assert write[:, :, 0].tolist() == [[0, 255, 255, 255], [255, 0, 255, 255]]
    panel = machine.TITLE + machine.GAP + 2 * high
    read, usage, memory = top + panel + high // 2, top + 2 * panel + high // 2, top + 3 * panel
    grey = [101] * 3  # 255 (1 - .6), rounded down
    assert picture[read, left + 2 * wide + wide // 2].tolist() == grey
    assert picture[read + high, left + 3 * wide + wide // 2].tolist() == grey
    assert picture[usage, left + wide // 2].tolist() == [255] * 3
    assert picture[usage, left + wide + wide // 2].tolist() == [0] * 3
    row = machine.CELL
    assert picture[memory + row // 2, left + 3 * wide + wide // 2].tolist() == [255, 0, 0]  # 2 is the largest: red
    assert picture[memory + 5 * row + row // 2, left + 3 * wide + wide // 2].tolist() == [127, 127, 255]  # -1 is half as much: light blue
    assert len(picture) == memory + 6 * row + machine.GAP  # the four slots that no head came to are not there


def test_a_short_run_over_many_slots_is_a_picture_to_read() -> None:
    sheet = machine.strip(wraps())
    assert sheet.height < 800
    assert sheet.width >= machine.GAP + machine.FONT.getlength("memory, a band a slot: red to 1, blue to -1")


def test_the_names_of_steps_are_there_if_they_fit() -> None:
    few, many = machine.strip(wraps(steps=5)), machine.strip(wraps(steps=200))
    assert few.height - many.height == pytest.approx(machine.SMALL.getlength("00000000"), abs=1)  # only names make the one higher
    above = np.asarray(few.convert("L"))[: few.height - many.height + 4 * machine.TITLE + 2 * machine.GAP]
    dark = np.flatnonzero((above[4 * machine.TITLE + machine.GAP :] < 128).any(axis=0))  # below the four lines of what is shown
    assert len(dark) > 3 * 5  # five names, from below, each some pixels wide
    assert dark[-1] > 4 * machine.WIDE
    assert many.width >= 200 * machine.NARROW


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(ImageDraw.ImageDraw, "text", lambda _, place, text, **how: said.append(text))
    machine.strip(wraps())
    assert "125 of 128 slots are not shown:" in said
    assert "no head gave them 0.05 or more" in said
    assert [text for text in said if text in ("0", "1", "2", "126", "127")] == ["0", "1", "0", "1", "127"] + 3 * ["0", "1", "127"]  # two steps, four panels
    said.clear()
    machine.strip(trace(2, memory=False))
    assert not [text for text in said if "not shown" in text]


def test_a_machine_without_usage_has_fewer_panels() -> None:
    assert machine.strip(trace(memory=False)).height < machine.strip(trace()).height


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"drawn as \.png"):
        machine.save(trace(), tmp_path / "heads.svg")
