"""Where heads were: in the terminal, and as a strip of pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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


def test_the_strip_shows_weights_usage_and_memory(tmp_path: Path) -> None:
    machine.save(trace(), tmp_path / "heads.png")
    with Image.open(tmp_path / "heads.png") as found:
        picture = np.asarray(found.convert("RGB")).astype(int)
    assert picture.shape == (4 * machine.GAP + machine.GAP + 4 * machine.TITLE + 3 * 6 * machine.CELL + 18, 4 * machine.CELL + 2 * machine.GAP, 3)
    top, left, middle = machine.GAP + machine.TITLE, machine.GAP, machine.CELL // 2
    assert picture[top + middle, left + middle].tolist() == [0, 0, 0]  # the write head at slot 0, step 0
    assert picture[top + middle, left + machine.CELL + middle].tolist() == [255, 255, 255]
    memory = 4 * machine.TITLE + 4 * machine.GAP + 3 * 6 * machine.CELL
    assert picture[memory, left + 3 * machine.CELL + middle].tolist() == [255, 0, 0]  # 2 is the largest: red
    assert picture[memory + 5, left + 3 * machine.CELL + middle].tolist() == [127, 127, 255]  # -1 is half as much: light blue


def test_a_machine_without_usage_has_fewer_panels() -> None:
    assert machine.strip(trace(memory=False)).height < machine.strip(trace()).height


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"as a \.png"):
        machine.save(trace(), tmp_path / "heads.svg")
