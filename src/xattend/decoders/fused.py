"""The recurrent decoder that attends before its update, all steps as one autograd function with a backward of its own.

    q_t = W_q h_{t-1};  a_t = softmax(score(q_t, keys));  c_t = sum_j a_tj values_j
    h_t = cell(x_t + W_c c_t, h_{t-1})                        x_t: the words' half of the gates, made for all steps at once

What makes it faster than the same loop under autograd: one product per step for recurrence and query together; no graph
of small operations; and the gradients of the weights, keys and values are not added up step by step but made by one
product over all steps at the end. The plain path of decoders/rnn.py is the reference: tests hold this one to it.

W_c c_t is also sum_j a_tj (W_c values_j). In a small batch, where a step waits for its weights to come from memory, the values go
through W_c once, in one product, and the steps read those instead (`through_BSG`).

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


def fewer_through(values_BSD: Tensor) -> bool:
    """Whether the values of the batch, gone through W_c, are less to read at every step than W_c itself."""
    batch, positions, width = values_BSD.shape
    return batch * positions < width


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
        keys_BAS, scaled = keys_BSA.transpose(1, 2), joint
        ahead = fewer_through(values_BSD)
        through_BSG = values_BSD @ context_GD.t() if ahead else x_TBG.new_empty(0)
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
            if ahead:
                gates_BG = torch.baddbmm(x_TBG[t, :, None], weights_TBS[t, :, None], through_BSG).squeeze(1)
            else:
                torch.bmm(weights_TBS[t, :, None], values_BSD, out=contexts_TBD[t, :, None])
                gates_BG = torch.addmm(x_TBG[t], contexts_TBD[t], context_GD.t())
            before_TBH[t + 1] = gates.forward(t, gates_BG, recurrent_BG, h_BH)
        if ahead:
            contexts_TBD.copy_((weights_TBS.transpose(0, 1) @ values_BSD).transpose(0, 1))
        ctx.how, ctx.gates, ctx.has_v, ctx.ahead = how, gates, tanh, ahead
        ctx.save_for_backward(keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, hidden_TBSA, through_BSG,
                              *([v_A] if tanh else []))  # fmt: skip
        return before_TBH[1:].clone(), contexts_TBD.clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_outputs_TBH: Tensor, d_contexts_TBD: Tensor) -> tuple[Any, ...]:
        keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, hidden_TBSA, through_BSG, *rest = ctx.saved_tensors
        gates: Gates = ctx.gates
        tanh, ahead = ctx.has_v, ctx.ahead
        steps, batch = contexts_TBD.shape[:2]
        width = context_GD.shape[0]
        d_x_TBG = keys_BSA.new_empty(steps, batch, width)
        d_product_TBJ = keys_BSA.new_empty(steps, batch, joint.shape[0])
        d_scores_TBS = torch.empty_like(weights_TBS)
        d_all_contexts_TBD = d_contexts_TBD if ahead else torch.empty_like(contexts_TBD)
        d_keys_BSA = torch.zeros_like(keys_BSA) if tanh else keys_BSA
        slope_BSA = torch.empty_like(keys_BSA)  # one for all steps: it stays in the cache
        d_v_BA = keys_BSA.new_zeros(batch, keys_BSA.shape[2])
        values_BDS, through_BGS = values_BSD.transpose(1, 2), through_BSG.transpose(1, 2) if ahead else through_BSG
        d_weights_BTS = d_contexts_TBD.transpose(0, 1) @ values_BDS if ahead else weights_TBS
        slope_A = 4 * rest[0] if tanh else joint
        d_state = gates.start()
        for t in range(steps - 1, -1, -1):
            d_state = (d_state[0] + d_outputs_TBH[t], *d_state[1:])
            d_gates_BG, d_recurrent_BG, d_before_BH, d_state = gates.backward(t, before_TBH[t], d_state)
            d_x_TBG[t] = d_gates_BG
            if ahead:
                d_weights_BS = torch.baddbmm(d_weights_BTS[:, t : t + 1], d_gates_BG[:, None], through_BGS).squeeze(1)
            else:
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
        weights_BST = weights_TBS.permute(1, 2, 0)
        d_values_BSD = weights_BST @ d_all_contexts_TBD.transpose(0, 1)
        if ahead:
            d_through_BSG = weights_BST @ d_x_TBG.transpose(0, 1)
            d_values_BSD += d_through_BSG @ context_GD
            d_context_GD = d_through_BSG.flatten(0, 1).t() @ values_BSD.flatten(0, 1)
        else:
            d_context_GD = d_x_TBG.flatten(0, 1).t() @ contexts_TBD.flatten(0, 1)
        d_joint = d_product_TBJ.flatten(0, 1).t() @ before_TBH[:-1].flatten(0, 1)
        d_bias_G = d_product_TBJ[:, :, :width].sum(dim=(0, 1))
        if tanh:
            d_keys_BSA.mul_(slope_A)
            d_v_A = 2 * d_v_BA.sum(dim=0)  # the scores' gradients sum to zero over S, which takes out tanh's -1
        else:
            d_keys_BSA = (d_scores_TBS.permute(1, 2, 0) @ before_TBH[:-1].transpose(0, 1)).mul_(ctx.how.form.scale)
            d_v_A = None
        return (None, d_x_TBG, d_keys_BSA, d_values_BSD, None, d_context_GD, d_joint, d_bias_G, d_v_A, *d_state)
