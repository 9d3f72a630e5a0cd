"""All steps of DRAW as one autograd function with a backward of its own (Gregor et al. 2015; the system is in draw.py).

    x^_t    = x - sigmoid(c_{t-1}),   r_t = read(x, x^_t; V h^dec_{t-1})       both pictures through one filter bank                  (3, 4)
    h^enc_t = lstm(W [r_t ; h^enc_{t-1} ; 1 ; h^dec_{t-1}])                                                                         (5)
    z_t     = mu_t + sigma_t e_t,   (mu_t ; log sigma_t) = W [h^enc_t ; 1],   h^dec_t = lstm(W [1 ; h^dec_{t-1} ; z_t])             (6, 7)
    c_t     = c_{t-1} + write(V [1 ; h^dec_t]),   L^z = 1/2 sum (mu^2 + sigma^2 - log sigma^2 - 1)                             (8, 10, 11)

All factors of a step's products lie in one row [r ; h^enc ; 1 ; h^dec ; z], in the products' own type, and every product takes some columns of
it that lie side by side (`Columns`): nothing is put together, converted or added up a second time, and biases are weights of the 1. Going
back, the gradients of what was made of a row lie in one row as well, (codes ; encoder's gates ; decoder's gates ; V's), so that each state has
its gradient by one product, and each weight by one product over all steps. The canvas's gradient grows by that of what was missing:
dL/dc_{t-1} = dL/dc_t - s (1 - s) dL/dx^_t, s = sigmoid(c_{t-1}). Views of each step are taken once, before a loop: one costs as much as a
small sum. Windows are in glimpses/fused.py. The plain way, `Draw.one_by_one`, is the reference: tests hold this one to it.

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
    """The last canvas_BCHW, and code_B, the price of all steps' codes (systems/generative.py)."""
    layers = (encoder.input, encoder.recurrent, decoder.input, decoder.recurrent, to_code, place, stroke)
    picture_BHc = picture_BCHW.transpose(1, 2).flatten(2).contiguous()
    canvas_BHc, code_B = _Loop.apply(  # type: ignore[no-untyped-call]
        how, of_products() or picture_BHc.dtype, picture_BHc, noise_TBZ, blank_CHW.transpose(0, 1).flatten(1),
        *(layer.weight for layer in layers), *(layer.bias for layer in layers),
    )  # fmt: skip
    return canvas_BHc.unflatten(2, (-1, picture_BCHW.shape[3])).transpose(1, 2), code_B


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
    """An LSTM's units over all steps, from the whole sum that its gates are made of. Unlike cells/gates.py it works in place, and a gate of
    all units lies in one piece: strips of rows take twice as long. tanh(x) = 1 - 2 sigmoid(-2 x), and the sum has -2 x in place of g's x,
    because its weights have been `bent`: so one sigmoid is all four gates, and one slope s (1 - s) is that of all four. What backward multiplies
    with is made step by step: for all steps at once it would be fewer calls, but leaves the cache in between, and that costs more."""

    def __init__(self, steps: int, first_BD: Tensor) -> None:
        self.gates = first_BD.new_empty(steps, 4, *first_BD.shape).unbind()  # i, f, sigmoid(-2 g), o
        self.c = first_BD.new_empty(steps + 1, *first_BD.shape).unbind()
        self.squashed = first_BD.new_empty(steps, *first_BD.shape).unbind()  # sigmoid(-2 c)
        self.d_4BD, self.d_c_BD, self.zero = torch.empty_like(self.gates[0]), torch.empty_like(first_BD), first_BD.new_zeros(())
        self.c[0].zero_()

    def forward(self, t: int, sum_BG: Tensor) -> Tensor:
        """h_BD"""
        i, f, s, o = self.gates[t].copy_(sum_BG.view(len(sum_BG), 4, -1).transpose(0, 1)).sigmoid_().unbind()
        torch.addcmul(i, i, s, value=-2, out=self.c[t + 1]).addcmul_(f, self.c[t])
        squashed_BD = torch.mul(self.c[t + 1], -2, out=self.squashed[t]).sigmoid_()
        return torch.addcmul(o, o, squashed_BD, value=-2)

    def backward(self, t: int, d_h_BD: Tensor) -> Tensor:
        """The gradient of the sum, d_4BD, until the next call; that of c waits here for the step before."""
        gates_4BD, squashed_BD, d_c_BD = self.gates[t], self.squashed[t], self.d_c_BD
        if t + 1 == len(self.gates):
            d_c_BD.zero_()
        i, f, s, o = gates_4BD.unbind()
        d_i, d_f, d_s, d_o = self.d_4BD.unbind()
        d_c_BD.add_(slope_(d_h_BD * o, squashed_BD), alpha=4)  # 1 - tanh^2 = 4 s (1 - s)
        torch.addcmul(d_c_BD, d_c_BD, s, value=-2, out=d_i)
        torch.mul(d_c_BD, self.c[t], out=d_f)
        torch.addcmul(self.zero, d_c_BD, i, value=-2, out=d_s)
        torch.addcmul(d_h_BD, d_h_BD, squashed_BD, value=-2, out=d_o)
        d_c_BD.mul_(f)
        return slope_(self.d_4BD, gates_4BD)


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
    """Within `inference_mode` an operation costs half as much to call; what is handed out is made outside of it, since others change it."""

    @staticmethod
    @in_float32  # but for the products with weights
    def forward(
        ctx: Any, how: Plan, products: torch.dtype, picture_BHc: Tensor, noise_TBZ: Tensor, blank_Hc: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        canvas_BHc = blank_Hc.repeat(len(picture_BHc), 1, 1)
        ctx.run, code_B = forth(how, products, picture_BHc, noise_TBZ, canvas_BHc, *weights)
        return canvas_BHc, code_B.clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_canvas_BHc: Tensor, d_code_B: Tensor) -> tuple[Tensor | None, ...]:
        d_blank_Hc, *d_weights = back(ctx.run, d_canvas_BHc, d_code_B)
        own = d_blank_Hc.dtype
        return None, None, None, None, *(one.to(own, copy=True, memory_format=torch.contiguous_format) for one in (d_blank_Hc, *d_weights))


class Run(NamedTuple):
    """What going back needs."""

    at: Columns
    encoder: Units
    decoder: Units
    weights: tuple[Tensor, Tensor, Tensor, Tensor]
    rows_TBX: Tensor
    noise_TBZ: Tensor
    mean_TBZ: Tensor
    std_TBZ: Tensor
    picture_BHc: Tensor
    shown_TBHc: Tensor
    both_BHc: Tensor
    looks: list[tuple[fused.Bank, Tensor, Tensor]]
    strokes: list[tuple[fused.Bank, Tensor, Tensor]]


@torch.inference_mode()
def forth(
    how: Plan, products: torch.dtype, picture_BHc: Tensor, noise_TBZ: Tensor, canvas_BHc: Tensor, *weights: Tensor
) -> tuple[Run, Tensor]:
    """Paints on the canvas; gives the codes' price."""
    enc_GI, enc_GD, dec_GZ, dec_GD, code_YD, place_PD, stroke_KD = weights[:7]
    enc_G, enc_h_G, dec_G, dec_h_G, code_Y, place_P, stroke_K = weights[7:]
    (steps, batch, numbers), size, read, width = noise_TBZ.shape, enc_GD.shape[1], how.read.size, picture_BHc.shape[2]
    at, own, wrote = Columns.of(read, size, numbers), noise_TBZ.dtype, how.write.size
    look_GX = bent(joined(products, enc_GI[:, :read], enc_GD, enc_G + enc_h_G, enc_GI[:, read:]))
    paint_GX = bent(joined(products, dec_G + dec_h_G, dec_GD, dec_GZ))
    code_YX, v_KX = joined(products, code_YD, code_Y), joined(products, torch.cat([stroke_K, place_P]), torch.cat([stroke_KD, place_PD]))
    rows_TBX = noise_TBZ.new_zeros(steps + 1, batch, at.z.stop, dtype=products)
    rows_TBX[:, :, at.one] = 1
    encoder, decoder = (Units(steps, noise_TBZ.new_empty(batch, size)) for _ in range(2))
    code_TBY, std_TBZ = noise_TBZ.new_empty(steps, batch, 2 * numbers), torch.empty_like(noise_TBZ)
    shown_TBHc = picture_BHc.new_empty(steps, *picture_BHc.shape)
    mean_TBZ, log_std_TBZ = code_TBY.chunk(2, dim=2)
    both_BHc = torch.cat([picture_BHc, picture_BHc], dim=2)
    missing_BHc, looks, strokes = both_BHc[..., width:], list[tuple[fused.Bank, Tensor, Tensor]](), list[tuple[fused.Bank, Tensor, Tensor]]()
    told_BK = torch.cat([stroke_K, place_P]).expand(batch, -1)  # of a state that is 0
    seen, h_enc, h_dec, z, coded, told = (rows_TBX[..., of].unbind() for of in (at.seen, at.enc, at.dec, at.z, at.coded, at.told))
    code, mean, log_std, std = (each_TB.unbind() for each_TB in (code_TBY, mean_TBZ, log_std_TBZ, std_TBZ))
    rows, noise, shown, code_XY, v_XK = rows_TBX.unbind(), noise_TBZ.unbind(), shown_TBHc.unbind(), code_YX.t(), v_KX.t()
    for t in range(steps):
        torch.sub(picture_BHc, torch.sigmoid(canvas_BHc, out=shown[t]), out=missing_BHc)
        through = fused.bank(how.read, told_BK[:, wrote + Gaussian.numbers :])
        seen_BR, lines = fused.read(through, both_BHc)
        looks.append((through, lines, seen_BR))
        seen[t].copy_(seen_BR)
        h_enc[t + 1].copy_(encoder.forward(t, made(rows[t], look_GX, at.look, None if t else at.seen, at.one)))
        code[t].copy_(torch.mm(coded[t + 1], code_XY))
        z[t].copy_(torch.addcmul(mean[t], torch.exp(log_std[t], out=std[t]), noise[t]))
        h_dec[t + 1].copy_(decoder.forward(t, made(rows[t], paint_GX, at.paint, None if t else at.z, at.one)))
        told_BK = torch.mm(told[t + 1], v_XK).to(own)
        through = fused.bank(how.write, told_BK[:, wrote : wrote + Gaussian.numbers])
        strokes.append((through, *fused.write(through, told_BK[:, :wrote], canvas_BHc)))
    code_B = std_TBZ.square().addcmul_(mean_TBZ, mean_TBZ).sub_(log_std_TBZ, alpha=2).sub_(1).sum(dim=(0, 2)).mul_(0.5)
    made_of = look_GX, paint_GX, code_YX, v_KX
    return Run(at, encoder, decoder, made_of, rows_TBX, noise_TBZ, mean_TBZ, std_TBZ, picture_BHc, shown_TBHc, both_BHc, looks, strokes), code_B


@torch.inference_mode()
def back(run: Run, d_canvas_BHc: Tensor, d_code_B: Tensor) -> tuple[Tensor, ...]:
    """The gradients of the blank canvas, and of all weights and biases, these in the products' own type."""
    at, encoder, decoder, (look_GX, paint_GX, code_YX, v_KX), rows_TBX, noise_TBZ, mean_TBZ, std_TBZ, picture_BHc, _, both_BHc, looks, strokes = run
    (steps, batch, numbers), own, width = noise_TBZ.shape, noise_TBZ.dtype, picture_BHc.shape[2]
    coded, gated, told = len(code_YX), len(look_GX), len(v_KX)
    enc, dec, v = slice(coded, coded + gated), slice(coded + gated, coded + 2 * gated), slice(coded + 2 * gated, None)
    where = coded + 2 * gated + told - Gaussian.numbers  # V's rows that place the next look
    wrote = where - Gaussian.numbers
    d_canvas_BHc, missing_BHc, shown = d_canvas_BHc.clone(memory_format=torch.contiguous_format), both_BHc[..., width:], run.shown_TBHc.unbind()
    # of what is made of a row: at first no code and no stroke, at last no gates and no look
    d_rows_TBJ = rows_TBX.new_empty(steps + 1, batch, coded + 2 * gated + told)
    d_rows_TBJ[0, :, v.start : where], d_rows_TBJ[-1, :, where:] = 0, 0
    to_dec_JD, to_enc_JD = torch.cat([look_GX[:, at.dec], paint_GX[:, 1:-numbers], v_KX[:, 1:]]), torch.cat([code_YX[:, :-1], look_GX[:, at.enc]])
    to_seen_GR, to_z_GZ = look_GX[:, at.seen].contiguous(), paint_GX[:, -numbers:].contiguous()
    parts = (slice(v.start, wrote), slice(wrote, where), slice(where, None), enc, dec, slice(coded), v, slice(coded, None), slice(enc.stop))
    d_stroke, d_where, d_look, d_enc, d_dec, d_code, d_told, of_dec, of_enc = (d_rows_TBJ[..., part].unbind() for part in parts)
    d_enc_4BD, d_dec_4BD = (d_rows_TBJ[..., of].view(steps + 1, batch, 4, -1).transpose(1, 2).unbind() for of in (enc, dec))
    # a code's gradient is that of its price, and as much of z's as mean and log std have a share in it
    price = torch.stack([mean_TBZ, std_TBZ.square().sub_(1)], dim=2).mul_(d_code_B[:, None, None]).unbind()
    shares = torch.stack([torch.ones_like(std_TBZ), std_TBZ * noise_TBZ], dim=2).unbind()
    for t in range(steps - 1, -1, -1):
        last = t + 1 == steps
        d_stroke_BR, d_where_BP = fused.unwrite(d_canvas_BHc, *strokes[t])
        d_stroke[t + 1].copy_(d_stroke_BR)
        d_where[t + 1].copy_(d_where_BP)
        d_h_BD = torch.mm(d_told[t + 1], to_dec_JD[2 * gated :]) if last else torch.mm(of_dec[t + 1], to_dec_JD)
        d_dec_4BD[t].copy_(decoder.backward(t, d_h_BD.to(own)))
        d_z_BZ = torch.mm(d_dec[t], to_z_GZ).to(own)
        d_code[t + 1].copy_(torch.addcmul(price[t], d_z_BZ[:, None], shares[t]).view(batch, -1))
        d_h_BD = torch.mm(d_code[t + 1], to_enc_JD[:coded]) if last else torch.mm(of_enc[t + 1], to_enc_JD)
        d_enc_4BD[t].copy_(encoder.backward(t, d_h_BD.to(own)))
        through, lines, seen_BR = looks[t]
        torch.sub(picture_BHc, shown[t], out=missing_BHc)
        d_look_BP, d_missing_BHc = fused.unread(torch.mm(d_enc[t], to_seen_GR).to(own), through, both_BHc, lines, seen_BR, width)
        d_look[t].copy_(d_look_BP)
        d_canvas_BHc.sub_(slope_(d_missing_BHc, shown[t]))
    # one product over all steps for each weight
    d_rows, rows = d_rows_TBJ.flatten(0, 1), rows_TBX.flatten(0, 1)
    d_look_GX = bent(torch.mm(d_rows[:-batch, enc].t(), rows[:-batch, at.look]))
    d_paint_GX = bent(torch.mm(d_rows[:-batch, dec].t(), rows[:-batch, at.paint]))
    d_code_YX, d_v_KX = torch.mm(d_rows[batch:, :coded].t(), rows[batch:, at.coded]), torch.mm(d_rows[:, v].t(), rows[:, at.told])
    d_enc_G, d_dec_G, placed = d_look_GX[:, at.one], d_paint_GX[:, 0], told - Gaussian.numbers
    return (
        d_canvas_BHc.sum(dim=0), torch.cat([d_look_GX[:, at.seen], d_look_GX[:, at.dec]], dim=1), d_look_GX[:, at.enc], d_paint_GX[:, -numbers:],
        d_paint_GX[:, 1:-numbers], d_code_YX[:, :-1], d_v_KX[placed:, 1:], d_v_KX[:placed, 1:],
        d_enc_G, d_enc_G, d_dec_G, d_dec_G, d_code_YX[:, -1], d_v_KX[placed:, 0], d_v_KX[:placed, 0],
    )  # fmt: skip
