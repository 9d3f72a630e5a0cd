"""The recurrent decoder that attends before its update, all steps as one autograd function with a backward of its own.

    q_t = W_q h_{t-1};  a_t = softmax(score(q_t, keys));  c_t = sum_j a_tj values_j
    h_t = cell(x_t + W_c c_t, h_{t-1})                        x_t: the words' half of the gates, made for all steps at once

What makes it faster than the same loop under autograd: one product per step for recurrence and query together; no graph
of small operations; and the gradients of the weights, keys and values are not added up step by step but made by one
product over all steps at the end. The plain path of decoders/rnn.py is the reference: tests hold this one to it.

Shapes: B batch, T target steps, S source positions, A alignment width, D memory width, H state width, G gates x H.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from xattend.attention.base import Attention, Bound, ProductScore, TanhScore, masked_softmax
from xattend.cells.base import Cell
from xattend.cells.gates import Gates
from xattend.cells.stack import Stack


class Plan(NamedTuple):
    """What the function needs to know besides tensors."""

    gates: type[Gates]
    form: TanhScore | ProductScore


def plan(stack: Stack, attention: Attention, bound: Bound) -> Plan | None:
    """The fused form of a decoder's parts, or None if they have none: several layers, layer norm, a score with a state."""
    cells = list(stack.cells)
    form = attention.fused_form()
    if len(cells) != 1 or form is None or bound.mask_BS.shape[1] == 0:
        return None
    cell = cells[0]
    assert isinstance(cell, Cell)
    gates = cell.fused_gates() if cell.recurrent_norm is None else None
    return None if gates is None else Plan(gates, form)


def run(
    how: Plan, cell: Cell, embedded_BTD: Tensor, state: tuple[Tensor, ...], bound: Bound, context_size: int
) -> tuple[Tensor, Tensor]:
    """All steps: outputs_BTH and contexts_BTD."""
    words = embedded_BTD.shape[-1]
    weight_GI = cell.input.weight
    assert weight_GI.shape[1] == words + context_size
    x_BTG = torch.nn.functional.linear(embedded_BTD, weight_GI[:, :words], cell.input.bias)
    joint, v_A = cell.recurrent.weight, None
    if isinstance(how.form, TanhScore):  # the query's projection rides along with the recurrence
        joint, v_A = torch.cat([joint, how.form.query_AQ]), how.form.v_A
    outputs_TBH, contexts_TBD = _Loop.apply(  # type: ignore[no-untyped-call]
        how, x_BTG.transpose(0, 1).contiguous(), bound.keys_BSA, bound.values_BSD, bound.mask_BS,
        weight_GI[:, words:], joint, cell.recurrent.bias, v_A, *state,
    )  # fmt: skip
    return outputs_TBH.transpose(0, 1), contexts_TBD.transpose(0, 1)


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, how: Plan, x_TBG: Tensor, keys_BSA: Tensor, values_BSD: Tensor, mask_BS: Tensor,
        context_GD: Tensor, joint: Tensor, bias_G: Tensor, v_A: Tensor | None, *state: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        steps, batch, width = x_TBG.shape
        tanh = v_A is not None
        before_TBH = x_TBG.new_empty(steps + 1, batch, state[0].shape[1])
        before_TBH[0] = state[0]
        contexts_TBD = x_TBG.new_empty(steps, batch, values_BSD.shape[2])
        weights_TBS = x_TBG.new_empty(steps, batch, values_BSD.shape[1])
        hidden_TBSA = x_TBG.new_empty(steps, *keys_BSA.shape) if tanh else x_TBG.new_empty(0)
        gates = how.gates(steps, state, x_TBG)
        context_DG, keys_BAS, scaled = context_GD.t(), keys_BSA.transpose(1, 2), joint
        if tanh:  # v . tanh(q + k) is, but for a constant that softmax takes out, 2 v . sigmoid(2 q + 2 k): see attention/base.py
            assert v_A is not None
            twice_BSA, twice_A = 2 * keys_BSA, 2 * v_A
            scaled = torch.cat([joint[:width], 2 * joint[width:]])
        joint_t, bias_J = scaled.t(), torch.nn.functional.pad(bias_G, (0, len(joint) - width))
        for t in range(steps):
            h_BH = before_TBH[t]
            product = torch.addmm(bias_J, h_BH, joint_t)
            recurrent_BG = product[:, :width]
            if tanh:
                torch.add(twice_BSA, product[:, None, width:], out=hidden_TBSA[t]).sigmoid_()
                scores_BS = hidden_TBSA[t] @ twice_A
            else:
                scores_BS = (h_BH[:, None] @ keys_BAS).squeeze(1).mul_(how.form.scale)  # type: ignore[union-attr]
            weights_TBS[t] = masked_softmax(scores_BS[:, None], mask_BS)[:, 0]
            torch.bmm(weights_TBS[t, :, None], values_BSD, out=contexts_TBD[t, :, None])
            gates_BG = torch.addmm(x_TBG[t], contexts_TBD[t], context_DG)
            before_TBH[t + 1] = gates.forward(t, gates_BG, recurrent_BG, h_BH)
        ctx.how, ctx.gates, ctx.has_v = how, gates, tanh
        ctx.save_for_backward(keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, hidden_TBSA,
                              *([v_A] if tanh else []))  # fmt: skip
        return before_TBH[1:].clone(), contexts_TBD.clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_outputs_TBH: Tensor, d_contexts_TBD: Tensor) -> tuple[Any, ...]:
        keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, hidden_TBSA, *rest = ctx.saved_tensors
        gates: Gates = ctx.gates
        tanh = ctx.has_v
        steps, batch = contexts_TBD.shape[:2]
        width = context_GD.shape[0]
        d_x_TBG = keys_BSA.new_empty(steps, batch, width)
        d_product_TBJ = keys_BSA.new_empty(steps, batch, joint.shape[0])
        d_scores_TBS = torch.empty_like(weights_TBS)
        d_all_contexts_TBD = torch.empty_like(contexts_TBD)
        d_keys_BSA = torch.zeros_like(keys_BSA) if tanh else keys_BSA
        slope_BSA = torch.empty_like(keys_BSA)  # one for all steps: it stays in the cache
        d_v_BA = keys_BSA.new_zeros(batch, keys_BSA.shape[2])
        values_BDS = values_BSD.transpose(1, 2)
        slope_A = 4 * rest[0] if tanh else joint
        d_state = gates.start()
        for t in range(steps - 1, -1, -1):
            d_state = (d_state[0] + d_outputs_TBH[t], *d_state[1:])
            d_gates_BG, d_recurrent_BG, d_before_BH, d_state = gates.backward(t, before_TBH[t], d_state)
            d_x_TBG[t] = d_gates_BG
            d_context_BD = torch.addmm(d_contexts_TBD[t], d_gates_BG, context_GD)
            d_all_contexts_TBD[t] = d_context_BD
            d_weights_BS = (d_context_BD[:, None] @ values_BDS).squeeze(1)
            weights_BS = weights_TBS[t]
            d_scores_BS = weights_BS * (d_weights_BS - (weights_BS * d_weights_BS).sum(dim=1, keepdim=True))
            d_scores_TBS[t] = d_scores_BS
            d_product_TBJ[t, :, :width] = d_recurrent_BG
            if tanh:  # d tanh(x) / dx = 4 s (1 - s), with s = sigmoid(2 x)
                row_B1S, hidden_BSA = d_scores_BS[:, None], hidden_TBSA[t]
                d_v_BA += (row_B1S @ hidden_BSA).squeeze(1)
                torch.addcmul(hidden_BSA, hidden_BSA, hidden_BSA, value=-1.0, out=slope_BSA)
                d_product_TBJ[t, :, width:] = (row_B1S @ slope_BSA).squeeze(1).mul_(slope_A)
                d_keys_BSA.addcmul_(d_scores_BS[:, :, None], slope_BSA)
            else:
                d_before_BH = d_before_BH + (d_scores_BS[:, None] @ keys_BSA).squeeze(1).mul_(ctx.how.form.scale)
            d_state = (torch.addmm(d_before_BH, d_product_TBJ[t], joint), *d_state)
        # one product over all steps for everything that is not recurrent
        flat_x = d_x_TBG.flatten(0, 1)
        d_context_GD = flat_x.t() @ contexts_TBD.flatten(0, 1)
        d_joint = d_product_TBJ.flatten(0, 1).t() @ before_TBH[:-1].flatten(0, 1)
        d_bias_G = d_product_TBJ[:, :, :width].sum(dim=(0, 1))
        d_values_BSD = weights_TBS.permute(1, 2, 0) @ d_all_contexts_TBD.transpose(0, 1)
        if tanh:
            d_keys_BSA.mul_(slope_A)
            d_v_A = 2 * d_v_BA.sum(dim=0)  # the scores' gradients sum to zero over S, which takes out tanh's -1
        else:
            d_keys_BSA = (d_scores_TBS.permute(1, 2, 0) @ before_TBH[:-1].transpose(0, 1)).mul_(ctx.how.form.scale)
            d_v_A = None
        return (None, d_x_TBG, d_keys_BSA, d_values_BSD, None, d_context_GD, d_joint, d_bias_G, d_v_A, *d_state)
