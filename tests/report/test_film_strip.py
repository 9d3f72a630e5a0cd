"""A film's frames, once a word, each as bright as its weight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from xattend.report import overlay
from xattend.types import Trace

TRACE = Trace(["0", "1", "2"], ["left", "</s>"], np.array([[[0.1, 0.8, 0.1]], [[0.5, 0.0, 0.5]]], np.float32), (3,), media="a.gif")
FRAMES = np.stack([np.full((16, 16, 3), level, np.uint8) for level in (200, 100, 40)])


def test_each_word_has_a_row_of_frames_lit_by_their_weights(tmp_path: Path) -> None:
    overlay.save(TRACE, FRAMES, tmp_path / "a.png")
    step, left = overlay.FRAME + overlay.GAP, overlay.GAP + overlay.WORD
    with Image.open(tmp_path / "a.png") as page:
        assert page.size == (left + 3 * step, overlay.GAP + 3 * step)

        def levels(row: int) -> list[int]:
            return [page.getpixel((left + column * step + 30, overlay.GAP + row * step + 30))[0] for column in range(3)]

        assert levels(0) == [200, 100, 40]  # the film itself
        dim = 0.25 + 0.75 * 0.1 / 0.8
        assert np.allclose(levels(1), [200 * dim, 100, 40 * dim], atol=1)
        assert np.allclose(levels(2), [200, 25, 40], atol=1)


def test_what_can_be_drawn_so() -> None:
    assert overlay.fits(TRACE, FRAMES)
    assert not overlay.fits(TRACE, FRAMES[:2])
    assert not overlay.fits(TRACE, FRAMES[0])  # a picture's weights lie on a grid
    assert overlay.fits(Trace(["0,0", "0,1"], ["a"], np.ones((1, 1, 2), np.float32), (1, 2)), FRAMES[0])
