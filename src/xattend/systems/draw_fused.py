"""All steps of DRAW as one autograd function with a backward of its own (Gregor et al. 2015; the system is in draw.py).

    x^_t    = x - sigmoid(c_{t-1}),   r_t = read(x, x^_t; V h^dec_{t-1})       both pictures through one filter bank                  (3, 4)
    h^enc_t = lstm(W r_t + W h^enc_{t-1} + U h^dec_{t-1})                                                                           (5)
    z_t     = mu_t + sigma_t e_t,   h^dec_t = lstm(W z_t + U h^dec_{t-1})                                                           (6, 7)
    c_t     = c_{t-1} + write(V h^dec_t)                                                                                            (8)

U is one matrix for the gates of both cells, V one for stroke and windows. Going back, the canvas's gradient grows by that of what was
missing: dL/dc_{t-1} = dL/dc_t - s (1 - s) dL/dx^_t, s = sigmoid(c_{t-1}). Windows are in glimpses/fused.py. Weights have their gradient by
one product over all steps; states before the first step are 0 and cost no product. The plain way, `Draw.one_by_one`, is the reference:
tests hold this one to it.

>>> units = Units(1, torch.zeros(1, 2))
>>> units.forward(0, torch.full((1, 8), 1e4)).mul(10_000).round().tolist()  # every gate open, g = 1: c = 1, h = tanh(1)
[[7616.0, 7616.0]]

Shapes: B pictures, T steps, Z numbers of a code, Y = 2 Z, D width, G = 4 D, R numbers read, S pixels along a side, c channels x S, K rows
of V.
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
from xattend.layers.precision import in_float32, of_products, product


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


class Units:
    """An LSTM's units over all steps, from the whole sum that its gates are made of. Unlike cells/gates.py it works in place, and puts
    gradients where they are wanted: a pass over four times the state costs as much as a small product."""

    def __init__(self, steps: int, first_BD: Tensor) -> None:
        self.gates = list[Tensor]()  # i, f, g, o
        self.c_TBD = first_BD.new_zeros(steps + 1, *first_BD.shape)
        self.squashed_TBD = first_BD.new_empty(steps, *first_BD.shape)  # tanh(c)
        self.d_c_BD = torch.zeros_like(first_BD)

    def forward(self, t: int, sum_BG: Tensor) -> Tensor:
        """h_BD; the sum is used up."""
        self.gates.append(sum_BG)
        i, f, g, o = sum_BG.chunk(4, dim=1)
        g.mul_(2)  # tanh(x) = 2 sigmoid(2 x) - 1
        sum_BG.sigmoid_()
        g.mul_(2).sub_(1)
        torch.mul(f, self.c_TBD[t], out=self.c_TBD[t + 1]).addcmul_(i, g)
        torch.mul(self.c_TBD[t + 1], 2, out=self.squashed_TBD[t]).sigmoid_().mul_(2).sub_(1)
        return o * self.squashed_TBD[t]

    def backward(self, t: int, d_h_BD: Tensor, d_sum_BG: Tensor) -> None:
        """Puts the gradient of the sum into d_sum_BG; that of c waits here for the step before."""
        if t + 1 == len(self.gates):
            self.d_c_BD = torch.zeros_like(d_h_BD)
        gates_BG, squashed, d_c = self.gates[t], self.squashed_TBD[t], self.d_c_BD
        i, f, g, o = gates_BG.chunk(4, dim=1)
        d_i, d_f, d_g, d_o = d_sum_BG.chunk(4, dim=1)
        through = d_h_BD * o
        d_c.add_(through).addcmul_(through.mul_(squashed), squashed, value=-1)
        torch.mul(d_c, g, out=d_i)
        torch.mul(d_c, self.c_TBD[t], out=d_f)
        torch.mul(d_h_BD, squashed, out=d_o)
        slope_BG = torch.addcmul(gates_BG, gates_BG, gates_BG, value=-1)  # s - s^2, as it is for sigmoids
        torch.addcmul(slope_BG.new_ones(()), g, g, value=-1, out=slope_BG[:, 2 * g.shape[1] : 3 * g.shape[1]])  # and 1 - g^2 for tanh
        torch.mul(d_c, i, out=d_g)
        d_sum_BG.mul_(slope_BG)
        d_c.mul_(f)


class _Loop(torch.autograd.Function):
    @staticmethod
    @in_float32  # but for the products with weights
    def forward(
        ctx: Any, how: Plan, products: torch.dtype, picture_BHc: Tensor, noise_TBZ: Tensor, blank_Hc: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        enc_GI, enc_GD, dec_GZ, dec_GD, code_YD, place_PD, stroke_KD = weights[:7]
        enc_G, enc_h_G, dec_G, dec_h_G, code_Y, place_P, stroke_K = weights[7:]
        (steps, batch, numbers), (gated, size), read, columns = noise_TBZ.shape, enc_GD.shape, how.read.size, picture_BHc.shape[2]
        u_GD, u_G = torch.cat([enc_GI[:, read:], dec_GD]), torch.cat([enc_G + enc_h_G, dec_G + dec_h_G])
        v_KD, v_K = torch.cat([stroke_KD, place_PD]), torch.cat([stroke_K, place_P])
        kept = enc_GI[:, :read], enc_GD, dec_GZ, code_YD, u_GD, v_KD
        factors = [weight.to(products) for weight in kept]
        read_RG, enc_DG, dec_ZG, code_DY, u_DG, v_DK = (factor.t() for factor in factors)
        h_enc_TBD, h_dec_TBD = (noise_TBZ.new_zeros(steps + 1, batch, size) for _ in range(2))
        encoder, decoder = Units(steps, h_enc_TBD[0]), Units(steps, h_dec_TBD[0])
        seen_TBR, code_TBY = noise_TBZ.new_empty(steps, batch, read), noise_TBZ.new_empty(steps, batch, 2 * numbers)
        std_TBZ, z_TBZ = torch.empty_like(noise_TBZ), torch.empty_like(noise_TBZ)
        both_TBHc = noise_TBZ.new_empty(steps, *picture_BHc.shape[:2], 2 * columns)
        both_TBHc[..., :columns] = picture_BHc
        canvas_BHc = blank_Hc.repeat(batch, 1, 1)
        looks, strokes = list[tuple[fused.Bank, Tensor]](), list[tuple[fused.Bank, Tensor, Tensor]]()
        from_dec_BG, told_BK = u_G.expand(batch, -1), v_K.expand(batch, -1)  # of a state that is 0
        for t in range(steps):
            torch.sub(picture_BHc, canvas_BHc.sigmoid(), out=both_TBHc[t, ..., columns:])
            through = fused.bank(how.read, told_BK[:, len(stroke_K) :])
            seen_TBR[t], rows = fused.read(through, both_TBHc[t])
            looks.append((through, rows))
            sum_BG = product(seen_TBR[t], read_RG, from_dec_BG[:, :gated])
            if t:
                sum_BG = product(h_enc_TBD[t], enc_DG, sum_BG, out=sum_BG)
            h_enc_TBD[t + 1] = encoder.forward(t, sum_BG)
            product(h_enc_TBD[t + 1], code_DY, code_Y, out=code_TBY[t])
            torch.exp(code_TBY[t, :, numbers:], out=std_TBZ[t])
            torch.addcmul(code_TBY[t, :, :numbers], std_TBZ[t], noise_TBZ[t], out=z_TBZ[t])
            h_dec_TBD[t + 1] = decoder.forward(t, product(z_TBZ[t], dec_ZG, from_dec_BG[:, gated:]))
            told_BK = product(h_dec_TBD[t + 1], v_DK, v_K)
            through = fused.bank(how.write, told_BK[:, how.write.size : len(stroke_K)])
            strokes.append((through, *fused.write(through, told_BK[:, : how.write.size], canvas_BHc)))
            if t + 1 < steps:
                from_dec_BG = product(h_dec_TBD[t + 1], u_DG, u_G)
        ctx.save_for_backward(*factors, picture_BHc, noise_TBZ)
        ctx.run = encoder, decoder, h_enc_TBD, h_dec_TBD, seen_TBR, std_TBZ, z_TBZ, both_TBHc, looks, strokes
        return canvas_BHc, code_TBY.clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_canvas_BHc: Tensor, d_given_TBY: Tensor) -> tuple[Tensor | None, ...]:
        read_GR, enc_GD, dec_GZ, code_YD, u_GD, v_KD, picture_BHc, noise_TBZ = ctx.saved_tensors
        products = enc_GD.dtype
        encoder, decoder, h_enc_TBD, h_dec_TBD, seen_TBR, std_TBZ, z_TBZ, both_TBHc, looks, strokes = ctx.run
        (steps, batch, _), gated, columns, where = seen_TBR.shape, len(enc_GD), picture_BHc.shape[2], len(v_KD) - Gaussian.numbers
        d_canvas_BHc = d_canvas_BHc.clone(memory_format=torch.contiguous_format)
        d_code_TBY = d_given_TBY.clone()
        d_sums_TBG = noise_TBZ.new_empty(steps, batch, 2 * gated)  # of the gates' sums, the encoder's beside the decoder's
        # of what a state is asked for after t steps: at first no stroke, at last no look
        d_told_TBK = noise_TBZ.new_zeros(steps + 1, batch, len(v_KD))
        d_enc_TBG, d_dec_TBG = d_sums_TBG.chunk(2, dim=2)
        d_after_BD = torch.zeros_like(h_enc_TBD[0])  # of the encoder's state, from the step behind
        for t in range(steps - 1, -1, -1):
            d_told_TBK[t + 1, :, :where] = torch.cat(fused.unwrite(d_canvas_BHc, *strokes[t]), dim=1)
            d_h_BD = product(d_told_TBK[t + 1], v_KD)
            if t + 1 < steps:
                d_h_BD = product(d_sums_TBG[t + 1], u_GD, d_h_BD, out=d_h_BD)
            decoder.backward(t, d_h_BD, d_dec_TBG[t])
            d_z_BZ = product(d_dec_TBG[t], dec_GZ)
            d_code_TBY[t].add_(torch.cat([d_z_BZ, d_z_BZ * std_TBZ[t] * noise_TBZ[t]], dim=1))
            encoder.backward(t, product(d_code_TBY[t], code_YD, d_after_BD), d_enc_TBG[t])
            if t:  # nobody asks for the gradient of the first state
                d_after_BD = product(d_enc_TBG[t], enc_GD)
            through, rows = looks[t]
            d_seen_BR = product(d_enc_TBG[t], read_GR)
            d_told_TBK[t, :, where:], d_missing_BHc = fused.unread(d_seen_BR, through, both_TBHc[t], rows, seen_TBR[t], columns)
            shown_BHc = picture_BHc - both_TBHc[t, ..., columns:]
            d_canvas_BHc.addcmul_(d_missing_BHc, shown_BHc.addcmul_(shown_BHc, shown_BHc, value=-1), value=-1)
        # one product over all steps for each weight
        d_sums, d_told, d_code = d_sums_TBG.flatten(0, 1), d_told_TBK[1:].flatten(0, 1), d_code_TBY.flatten(0, 1)
        seen, z, wrote, coded = (part.flatten(0, 1).to(products) for part in (seen_TBR, z_TBZ, h_dec_TBD[1:], h_enc_TBD[1:]))
        d_enc, d_dec = d_sums.chunk(2, dim=1)
        d_u_GD = product(d_sums_TBG[1:].flatten(0, 1).t(), wrote[:-batch])
        d_v_KD, d_v_K = product(d_told.t(), wrote), d_told_TBK.sum(dim=(0, 1))
        d_enc_G, d_dec_G = d_sums.sum(dim=0).chunk(2)
        d_weights = (
            torch.cat([product(d_enc.t(), seen), d_u_GD[:gated]], dim=1),
            product(d_enc_TBG[1:].flatten(0, 1).t(), coded[:-batch]), product(d_dec.t(), z), d_u_GD[gated:],
            product(d_code.t(), coded), d_v_KD[where:], d_v_KD[:where],
        )  # fmt: skip
        d_biases = d_enc_G, d_enc_G.clone(), d_dec_G, d_dec_G.clone(), d_code.sum(dim=0), d_v_K[where:], d_v_K[:where]
        return None, None, None, None, d_canvas_BHc.sum(dim=0), *d_weights, *d_biases
