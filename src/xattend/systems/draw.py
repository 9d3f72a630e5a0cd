"""DRAW (Gregor et al. 2015): a picture is looked at and painted through windows, a little at every step.

    x^_t    = x - sigmoid(c_{t-1})                                 what is still missing           (3)
    r_t     = read(x, x^_t; h^dec_{t-1})                                                           (4)
    h^enc_t = cell(h^enc_{t-1}, [r_t ; h^dec_{t-1}])                                               (5)
    z_t     ~ N(mu_t, sigma_t^2),  mu_t = W h^enc_t,  log sigma_t = W h^enc_t                      (6, 1, 2)
    h^dec_t = cell(h^dec_{t-1}, z_t)                                                               (7)
    c_t     = c_{t-1} + write(h^dec_t)                                                             (8)

`read` and `write` are glimpses: `gaussian` is the paper's attention, `whole` is DRAW without it. Where each lies is a linear layer on
h^dec. The noise of z_t is drawn anew at every step. The canvas begins as learnt logits, 0 at first. To sample, z_t comes from N(0, 1) and the
encoder is not asked. The bound is in systems/generative.py. Training with LSTMs through Gaussian windows runs all steps as one function
(draw_fused.py).

Shapes: B pictures, T steps, Z numbers of a code, D width, P numbers that place a window.
"""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
import torch
from torch import Tensor, nn

from xattend import registry
from xattend.cells.base import Cell
from xattend.errors import UserError
from xattend.glimpses.base import Glimpse
from xattend.registry import Named, register
from xattend.systems import draw_fused
from xattend.systems.generative import Generative, Painted, divergence
from xattend.systems.parts import Parts
from xattend.types import Space

Positive = Annotated[int, pydantic.Field(ge=1)]
START = 0.01  # standard deviation of the weights that place a window: it begins as the whole picture


@register("system", "draw")
class Draw(Generative):
    """A recurrent variational autoencoder with a window to read through and one to write through."""

    heads = ("read", "write")

    def __init__(
        self, parts: Parts, *,
        steps: Annotated[Positive, "looks and strokes (T)"] = 10,
        read: Annotated[str | dict[str, Any], Named("glimpse"), "the window to read through; whole: no attention"] = {"kind": "gaussian", "size": 5},  # noqa: B006
        write: Annotated[str | dict[str, Any], Named("glimpse"), "the window to write through; whole: no attention"] = {"kind": "gaussian", "size": 5},  # noqa: B006
        cell: Annotated[str, Named("cell"), "of encoder and decoder"] = "lstm",
        size: Annotated[Positive, "width of their states"] = 256,
        code: Annotated[Positive, "numbers of a step's code (Z)"] = 32,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        channels, height, width = self.space.frames()
        self.steps, self.code = steps, code
        self.read: Glimpse = registry.build_named("glimpse", read, Space(features=(2 * channels, height, width)))
        self.write: Glimpse = registry.build_named("glimpse", write, self.space)
        self.windows = [self.read, self.write]
        if self.read.hard or self.write.hard:
            raise UserError("DRAW learns where to look by the gradient, and a hard glimpse has none: take \"gaussian\" or \"whole\"")
        self.encoder: Cell = registry.build("cell", cell, self.read.size + size, size)
        self.decoder: Cell = registry.build("cell", cell, code, size)
        self.to_code = nn.Linear(size, 2 * code)
        self.place_read = _placing(size, self.read.numbers)
        # what is written and where come from the same state: one product
        self.stroke = nn.Linear(size, self.write.size + self.write.numbers)
        nn.init.normal_(self.stroke.weight[self.write.size :], std=START)
        nn.init.zeros_(self.stroke.bias)
        self.blank = nn.Parameter(torch.zeros(channels, height, width))

    def paint(self, picture_BCHW: Tensor | None, noise_TBZ: Tensor, *, film: bool = False) -> Painted:
        how = draw_fused.plan(self.read, self.write, self.encoder, self.decoder)
        if picture_BCHW is None or self.place_read is None or how is None or film or not torch.is_grad_enabled():
            return self.one_by_one(picture_BCHW, noise_TBZ, film=film)
        canvas_BCHW, code_B = draw_fused.run(
            how, picture_BCHW, noise_TBZ, self.blank, self.encoder, self.decoder, self.to_code, self.place_read, self.stroke
        )
        return Painted(canvas_BCHW, code_B, [], [])

    def one_by_one(self, picture_BCHW: Tensor | None, noise_TBZ: Tensor, *, film: bool = False) -> Painted:
        """The plain way, for every window and cell, for samples and films: the reference for draw_fused.py."""
        batch = noise_TBZ.shape[1]
        canvas_BCHW = self.blank.expand(batch, -1, -1, -1)
        encoder, decoder = self.encoder.start(batch), self.decoder.start(batch)
        means, log_stds, shown = list[Tensor](), list[Tensor](), list[Tensor]()
        places: list[list[Tensor]] = [[], []]
        for code_BZ in noise_TBZ:
            read_BP = self._where(self.place_read, decoder[0])
            if picture_BCHW is not None:
                both_BCHW = torch.cat([picture_BCHW, picture_BCHW - canvas_BCHW.sigmoid()], dim=1)
                seen_BR = self.read.read(self.read.bind(both_BCHW), read_BP)
                encoder = self.encoder(torch.cat([seen_BR, decoder[0]], dim=1), encoder)
                mean_BZ, log_std_BZ = self.to_code(encoder[0]).chunk(2, dim=1)
                means.append(mean_BZ)
                log_stds.append(log_std_BZ)
                code_BZ = mean_BZ + log_std_BZ.exp() * code_BZ
            decoder = self.decoder(code_BZ, decoder)
            stroke_BR, write_BP = self.stroke(decoder[0]).split([self.write.size, self.write.numbers], dim=1)
            canvas_BCHW = canvas_BCHW + self.write.write(stroke_BR, write_BP)
            if film:
                shown.append(canvas_BCHW)
                places[0].append(read_BP)
                places[1].append(write_BP)
        spent_B = divergence(torch.cat(means, dim=1), torch.cat(log_stds, dim=1)) if means else noise_TBZ.new_zeros(batch)  # of all steps at once
        return Painted(canvas_BCHW, spent_B, shown, places if film else [])

    @staticmethod
    def _where(layer: nn.Linear | None, state_BD: Tensor) -> Tensor:
        where_BP: Tensor = state_BD.new_zeros(len(state_BD), 0) if layer is None else layer(state_BD)
        return where_BP


def _placing(size: int, numbers: int) -> nn.Linear | None:
    if not numbers:
        return None
    layer = nn.Linear(size, numbers)
    nn.init.normal_(layer.weight, std=START)
    nn.init.zeros_(layer.bias)
    return layer
