"""Where a system looked through windows, as a trace: one step a look instead of one a word.

    weights_THS   of each look how much each pixel counted, a head for each window (reading, writing)
    boxes_TK4     the windows: left, top, right, bottom, as shares of the picture
    kind          "glimpse": reading only; "canvas": reading and writing, and `pixels` has the canvas after each step

Shapes: T looks, B pictures, H windows at a time, K boxes of all of them, S pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xattend.glimpses.base import Glimpse
from xattend.systems.answers import places
from xattend.types import Trace


def traces(
    windows: Sequence[Glimpse], where_HTBP: Sequence[Sequence[Tensor]], *, canvas_TBCHW: Sequence[Tensor] = (), heads: Sequence[str] = ()
) -> list[Trace]:
    """A trace for each picture of a batch; `where` has for each window its place at each look."""
    light_BTHS = torch.stack(
        [torch.stack([window.light(where_BP).flatten(1) for where_BP in looks], dim=1) for window, looks in zip(windows, where_HTBP, strict=True)], dim=2
    )
    boxes_BTK4 = torch.cat(
        [torch.stack([window.boxes(where_BP) for where_BP in looks], dim=1) for window, looks in zip(windows, where_HTBP, strict=True)], dim=2
    )
    grid = (windows[0].height, windows[0].width)
    tokens, steps = places(grid), [str(step + 1) for step in range(light_BTHS.shape[1])]
    film = [_pixels(canvas_BCHW) for canvas_BCHW in canvas_TBCHW]
    return [
        Trace(
            tokens, steps, light_BTHS[row].float().cpu().numpy(), grid, kind="canvas" if film else "glimpse", heads=list(heads),
            pixels=np.stack([canvas[row] for canvas in film]) if film else None, boxes_TK4=boxes_BTK4[row].float().cpu().numpy(),
        )
        for row in range(len(light_BTHS))
    ]  # fmt: skip


def _pixels(canvas_BCHW: Tensor) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Shares as bytes, [B, height, width, 3]."""
    shown = (255 * canvas_BCHW.clamp(0, 1)).round().to(torch.uint8).expand(-1, 3, -1, -1)
    return np.ascontiguousarray(shown.permute(0, 2, 3, 1).cpu().numpy())
