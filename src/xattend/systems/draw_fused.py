"""All steps of DRAW as one autograd function with a backward of its own (Gregor et al. 2015; the system is in draw.py).

    x^_t    = x - sigmoid(c_{t-1}),   r_t = read(x, x^_t; V h^dec_{t-1})       both pictures through one filter bank                  (3, 4)
    h^enc_t = lstm(W [r_t ; h^enc_{t-1} ; 1 ; h^dec_{t-1}])                                                                         (5)
    z_t     = mu_t + sigma_t e_t,   (mu_t ; log sigma_t) = W [h^enc_t ; 1],   h^dec_t = lstm(W [1 ; h^dec_{t-1} ; z_t])             (6, 7)
    c_t     = c_{t-1} + write(V [1 ; h^dec_t])                                                                                      (8)

All factors of a step's products lie in one row [r ; h^enc ; 1 ; h^dec ; z], in the products' own type, and every product takes some columns of
it that lie side by side (`Columns`): nothing is put together, converted or added up a second time, and biases are weights of the 1. Going
back, the gradients of what was made of a row lie in one row as well, (codes ; encoder's gates ; decoder's gates ; V's), so that each state has
its gradient by one product, and each weight by one product over all steps. The canvas's gradient grows by that of what was missing:
dL/dc_{t-1} = dL/dc_t - s (1 - s) dL/dx^_t, s = sigmoid(c_{t-1}). Windows are in glimpses/fused.py. The plain way, `Draw.one_by_one`, is the
reference: tests hold this one to it.

>>> units = Units(1, torch.zeros(1, 2))
>>> units.forward(0, torch.tensor([[1e4, 1e4, 1e4, 1e4, -1e4, -1e4, 1e4, 1e4]])).mul(10_000).round().tolist()  # every gate open, g = 1: h = tanh(1)
[[7616.0, 7616.0]]

Shapes: B pictures, T steps, Z numbers of a code, Y = 2 Z, D width, G = 4 D, R numbers read, S pixels along a side, c channels x S, K rows
of V, X columns of a row of factors, J those of a row of gradients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from xattend.cells.base import Cell
from xattend.cells.gates import LSTMGates
from xattend.glimpses import fused
from xattend.glimpses.base import Glimpse
from xattend.glimpses.gaussian import Gaussian
from xattend.layers.precision import in_float32, of_products


class Plan(NamedTuple):
    """What the function needs to know besides tensors."""

    read: Gaussian
    write: Gaussian


def plan(read: Glimpse, write: Glimpse, encoder: Cell, decoder: Cell) -> Plan | None:
    """The fused form of these parts, or None if they have none: it is written for LSTMs and windows on square pictures."""
    if encoder.fused_gates() is not LSTMGates or encoder.input_norm is not None or not fused.fits(read) or not fused.fits(write):
        return None
    assert isinstance(read, Gaussian)
    assert isinstance(write, Gaussian)
    return Plan(read, write)


def run(
    how: Plan, picture_BCHW: Tensor, noise_TBZ: Tensor, blank_CHW: Tensor, encoder: Cell, decoder: Cell,
    to_code: nn.Linear, place: nn.Linear, stroke: nn.Linear,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The last canvas_BCHW, and code_TBY: of each step the means and the logarithms of the standard deviations."""
    layers = (encoder.input, encoder.recurrent, decoder.input, decoder.recurrent, to_code, place, stroke)
    picture_BHc = picture_BCHW.transpose(1, 2).flatten(2).contiguous()
    canvas_BHc, code_TBY = _Loop.apply(  # type: ignore[no-untyped-call]
        how, of_products() or picture_BHc.dtype, picture_BHc, noise_TBZ, blank_CHW.transpose(0, 1).flatten(1),
        *(layer.weight for layer in layers), *(layer.bias for layer in layers),
    )  # fmt: skip
    return canvas_BHc.unflatten(2, (-1, picture_BCHW.shape[3])).transpose(1, 2), code_TBY


class Columns(NamedTuple):
    """Which columns of a row of factors a product takes, and which hold what."""

    seen: slice
    enc: slice
    dec: slice
    z: slice

    @classmethod
    def of(cls, read: int, size: int, code: int) -> Columns:
        one = read + size
        return cls(slice(0, read), slice(read, one), slice(one + 1, one + 1 + size), slice(one + 1 + size, one + 1 + size + code))

    @property
    def one(self) -> int:
        return int(self.enc.stop)

    @property
    def look(self) -> slice:
        """What the encoder's gates are made of."""
        return slice(0, self.dec.stop)

    @property
    def paint(self) -> slice:
        """What the decoder's gates are made of."""
        return slice(self.one, self.z.stop)

    @property
    def coded(self) -> slice:
        return slice(self.enc.start, self.one + 1)

    @property
    def told(self) -> slice:
        return slice(self.one, self.dec.stop)


class Units:
    """An LSTM's units over all steps, from the whole sum that its gates are made of. Unlike cells/gates.py it works in place: a pass over
    four times the state costs as much as a small product. tanh(x) = 1 - 2 sigmoid(-2 x), and the sum has -2 x in place of g's x, because its
    weights have been `bent`: so one sigmoid is all four gates, and one slope s (1 - s) is that of all four."""

    def __init__(self, steps: int, first_BD: Tensor) -> None:
        self.gates = list[Tensor]()  # i, f, sigmoid(-2 g), o
        self.c_TBD = first_BD.new_zeros(steps + 1, *first_BD.shape).unbind()
        self.squashed_TBD = first_BD.new_empty(steps, *first_BD.shape).unbind()  # sigmoid(-2 c)
        self.d_c_BD, self.zero = torch.zeros_like(first_BD), first_BD.new_zeros(())

    def forward(self, t: int, sum_BG: Tensor) -> Tensor:
        """h_BD; the sum is used up."""
        self.gates.append(sum_BG.sigmoid_())
        i, f, s, o = sum_BG.chunk(4, dim=1)
        torch.addcmul(i, i, s, value=-2, out=self.c_TBD[t + 1]).addcmul_(f, self.c_TBD[t])
        squashed_BD = torch.mul(self.c_TBD[t + 1], -2, out=self.squashed_TBD[t]).sigmoid_()
        return torch.addcmul(o, o, squashed_BD, value=-2)

    def backward(self, t: int, d_h_BD: Tensor) -> Tensor:
        """The gradient of the sum; that of c waits here for the step before."""
        gates_BG, squashed_BD, d_c_BD = self.gates[t], self.squashed_TBD[t], self.d_c_BD
        if t + 1 == len(self.gates):
            d_c_BD.zero_()
        i, f, s, o = gates_BG.chunk(4, dim=1)
        d_sum_BG = torch.empty_like(gates_BG)
        d_i, d_f, d_s, d_o = d_sum_BG.chunk(4, dim=1)
        d_c_BD.add_(slope_(d_h_BD * o, squashed_BD), alpha=4)  # 1 - tanh^2 = 4 s (1 - s)
        torch.addcmul(d_c_BD, d_c_BD, s, value=-2, out=d_i)
        torch.mul(d_c_BD, self.c_TBD[t], out=d_f)
        torch.addcmul(self.zero, d_c_BD, i, value=-2, out=d_s)
        torch.addcmul(d_h_BD, d_h_BD, squashed_BD, value=-2, out=d_o)
        d_c_BD.mul_(f)
        return slope_(d_sum_BG, gates_BG)


def slope_(d_after: Tensor, after: Tensor) -> Tensor:
    """The gradient of a sigmoid's argument, in place of that of its value."""
    found: Tensor = torch.ops.aten.sigmoid_backward.grad_input(d_after, after, grad_input=d_after)
    return found


def bent(weight_GX: Tensor) -> Tensor:
    """An LSTM's weights, or their gradient, for `Units`: those of g times -2, in place."""
    weight_GX.chunk(4)[2].mul_(-2)
    return weight_GX


def joined(products: torch.dtype, *parts: Tensor) -> Tensor:
    """Weights side by side, in the products' own type; a vector is one column."""
    return torch.cat([part.to(products) if part.dim() > 1 else part.to(products)[:, None] for part in parts], dim=1)


def made(row_BX: Tensor, weight_GX: Tensor, of: slice, only: slice | None, one: int) -> Tensor:
    """The sum that gates are made of, in the weights' own type; `only`: the columns that are not 0 before the first step, besides the 1."""
    if only is None:
        return torch.mm(row_BX[:, of], weight_GX.t())
    return torch.addmm(weight_GX[:, one - of.start], row_BX[:, only], weight_GX[:, only.start - of.start : only.stop - of.start].t())


class _Loop(torch.autograd.Function):
    @staticmethod
    @in_float32  # but for the products with weights
    def forward(
        ctx: Any, how: Plan, products: torch.dtype, picture_BHc: Tensor, noise_TBZ: Tensor, blank_Hc: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        enc_GI, enc_GD, dec_GZ, dec_GD, code_YD, place_PD, stroke_KD = weights[:7]
        enc_G, enc_h_G, dec_G, dec_h_G, code_Y, place_P, stroke_K = weights[7:]
        (steps, batch, numbers), size, read, width = noise_TBZ.shape, enc_GD.shape[1], how.read.size, picture_BHc.shape[2]
        at, own = Columns.of(read, size, numbers), noise_TBZ.dtype
        look_GX = bent(joined(products, enc_GI[:, :read], enc_GD, enc_G + enc_h_G, enc_GI[:, read:]))
        paint_GX = bent(joined(products, dec_G + dec_h_G, dec_GD, dec_GZ))
        code_YX, v_KX = joined(products, code_YD, code_Y), joined(products, torch.cat([stroke_K, place_P]), torch.cat([stroke_KD, place_PD]))
        rows_TBX = noise_TBZ.new_zeros(steps + 1, batch, at.z.stop, dtype=products)
        rows_TBX[:, :, at.one] = 1
        encoder, decoder = (Units(steps, noise_TBZ.new_empty(batch, size)) for _ in range(2))
        code_TBY, std_TBZ = noise_TBZ.new_empty(steps, batch, 2 * numbers), torch.empty_like(noise_TBZ)
        shown_TBHc = picture_BHc.new_empty(steps, *picture_BHc.shape)
        both_BHc = torch.cat([picture_BHc, picture_BHc], dim=2)
        missing_BHc, canvas_BHc = both_BHc[..., width:], blank_Hc.repeat(batch, 1, 1)
        looks, strokes = list[tuple[fused.Bank, Tensor, Tensor]](), list[tuple[fused.Bank, Tensor, Tensor]]()
        told_BK = torch.cat([stroke_K, place_P]).expand(batch, -1)  # of a state that is 0
        seen_TBR, h_enc_TBD, h_dec_TBD, z_TBZ, coded_TBX, told_TBX = (
            rows_TBX[..., of].unbind() for of in (at.seen, at.enc, at.dec, at.z, at.coded, at.told)
        )
        code_XY, v_XK = code_YX.t(), v_KX.t()
        for t in range(steps):
            row_BX = rows_TBX[t]
            torch.sub(picture_BHc, torch.sigmoid(canvas_BHc, out=shown_TBHc[t]), out=missing_BHc)
            through = fused.bank(how.read, told_BK[:, len(stroke_K) :])
            seen_BR, lines = fused.read(through, both_BHc)
            looks.append((through, lines, seen_BR))
            seen_TBR[t].copy_(seen_BR)
            h_enc_TBD[t + 1].copy_(encoder.forward(t, made(row_BX, look_GX, at.look, None if t else at.seen, at.one).to(own)))
            code_BY = code_TBY[t].copy_(torch.mm(coded_TBX[t + 1], code_XY))
            std_BZ = torch.exp(code_BY[:, numbers:], out=std_TBZ[t])
            z_TBZ[t].copy_(torch.addcmul(code_BY[:, :numbers], std_BZ, noise_TBZ[t]))
            h_dec_TBD[t + 1].copy_(decoder.forward(t, made(row_BX, paint_GX, at.paint, None if t else at.z, at.one).to(own)))
            told_BK = torch.mm(told_TBX[t + 1], v_XK).to(own)
            through = fused.bank(how.write, told_BK[:, how.write.size : len(stroke_K)])
            strokes.append((through, *fused.write(through, told_BK[:, : how.write.size], canvas_BHc)))
        ctx.save_for_backward(look_GX, paint_GX, code_YX, v_KX, picture_BHc, noise_TBZ)
        ctx.run = at, encoder, decoder, rows_TBX, std_TBZ, shown_TBHc, both_BHc, looks, strokes
        return canvas_BHc, code_TBY

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_canvas_BHc: Tensor, d_code_TBY: Tensor) -> tuple[Tensor | None, ...]:
        look_GX, paint_GX, code_YX, v_KX, picture_BHc, noise_TBZ = ctx.saved_tensors
        at, encoder, decoder, rows_TBX, std_TBZ, shown_TBHc, both_BHc, looks, strokes = ctx.run
        (steps, batch, numbers), own, width = noise_TBZ.shape, noise_TBZ.dtype, picture_BHc.shape[2]
        coded, gated, told = len(code_YX), len(look_GX), len(v_KX)
        enc, dec, v = slice(coded, coded + gated), slice(coded + gated, coded + 2 * gated), slice(coded + 2 * gated, None)
        where = told - Gaussian.numbers  # V's rows that place the next look
        d_canvas_BHc = d_canvas_BHc.clone(memory_format=torch.contiguous_format)
        spread_TBZ, missing_BHc = std_TBZ * noise_TBZ, both_BHc[..., width:]
        # of what is made of a row: at first no code and no stroke, at last no gates and no look
        d_rows_TBJ = rows_TBX.new_empty(steps + 1, batch, coded + 2 * gated + told)
        d_rows_TBJ[0, :, v][:, :where], d_rows_TBJ[-1, :, v][:, where:] = 0, 0
        to_dec_JD, to_enc_JD = torch.cat([look_GX[:, at.dec], paint_GX[:, 1:-numbers], v_KX[:, 1:]]), torch.cat([code_YX[:, :-1], look_GX[:, at.enc]])
        to_seen_GR, to_z_GZ = look_GX[:, at.seen].contiguous(), paint_GX[:, -numbers:].contiguous()
        for t in range(steps - 1, -1, -1):
            d_row_BJ, d_next_BJ, last = d_rows_TBJ[t], d_rows_TBJ[t + 1], t + 1 == steps
            d_stroke_BR, d_where_BP = fused.unwrite(d_canvas_BHc, *strokes[t])
            d_next_v_BK = d_next_BJ[:, v]
            d_next_v_BK[:, : d_stroke_BR.shape[1]] = d_stroke_BR
            d_next_v_BK[:, d_stroke_BR.shape[1] : where] = d_where_BP
            d_h_BD = torch.mm(d_next_v_BK, to_dec_JD[2 * gated :]) if last else torch.mm(d_next_BJ[:, coded:], to_dec_JD)
            d_row_BJ[:, dec] = decoder.backward(t, d_h_BD.to(own))
            d_z_BZ = torch.mm(d_row_BJ[:, dec], to_z_GZ).to(own)
            d_next_BJ[:, :numbers] = d_code_TBY[t, :, :numbers] + d_z_BZ
            d_next_BJ[:, numbers:coded] = torch.addcmul(d_code_TBY[t, :, numbers:], d_z_BZ, spread_TBZ[t])
            d_h_BD = torch.mm(d_next_BJ[:, :coded], to_enc_JD[:coded]) if last else torch.mm(d_next_BJ[:, : enc.stop], to_enc_JD)
            d_row_BJ[:, enc] = encoder.backward(t, d_h_BD.to(own))
            through, lines, seen_BR = looks[t]
            torch.sub(picture_BHc, shown_TBHc[t], out=missing_BHc)
            d_seen_BR = torch.mm(d_row_BJ[:, enc], to_seen_GR).to(own)
            d_row_BJ[:, v][:, where:], d_missing_BHc = fused.unread(d_seen_BR, through, both_BHc, lines, seen_BR, width)
            d_canvas_BHc.sub_(slope_(d_missing_BHc, shown_TBHc[t]))
        # one product over all steps for each weight
        d_rows, rows = d_rows_TBJ.flatten(0, 1), rows_TBX.flatten(0, 1)
        d_look_GX = bent(torch.mm(d_rows[:-batch, enc].t(), rows[:-batch, at.look]))
        d_paint_GX = bent(torch.mm(d_rows[:-batch, dec].t(), rows[:-batch, at.paint]))
        d_code_YX, d_v_KX = torch.mm(d_rows[batch:, :coded].t(), rows[batch:, at.coded]), torch.mm(d_rows[:, v].t(), rows[:, at.told])
        d_enc_G, d_dec_G = d_look_GX[:, at.one], d_paint_GX[:, 0]
        d_weights = (
            torch.cat([d_look_GX[:, at.seen], d_look_GX[:, at.dec]], dim=1), d_look_GX[:, at.enc], d_paint_GX[:, -numbers:],
            d_paint_GX[:, 1:-numbers], d_code_YX[:, :-1], d_v_KX[where:, 1:], d_v_KX[:where, 1:],
            d_enc_G, d_enc_G, d_dec_G, d_dec_G, d_code_YX[:, -1], d_v_KX[where:, 0], d_v_KX[:where, 0],
        )  # fmt: skip
        return None, None, None, None, d_canvas_BHc.sum(dim=0), *(one.to(own, copy=True, memory_format=torch.contiguous_format) for one in d_weights)
