"""The recurrent decoder that attends before its update, all steps as one autograd function with a backward of its own.

    q_t = W_q h_{t-1};  a_t = softmax(score(q_t, keys));  c_t = sum_j b_t a_tj values_j      b_t = 1, or sigmoid(w_b . h_{t-1}): a gate
    h_t = cell(x_t + W_c c_t, h_{t-1})                        x_t: the words' half of the gates, made for all steps at once

What makes it faster than the same loop under autograd: one product per step for recurrence, query and gate together; no graph
of small operations; and the gradients of the weights, keys and values are not added up step by step but made by one
product over all steps at the end. The plain path of decoders/rnn.py is the reference: tests hold this one to it.

W_c c_t is also sum_j a_tj (W_c values_j). In a small batch, where a step waits for its weights to come from memory, the values go
through W_c once, in one product, and the steps read those instead (`through_BSG`).

Shapes: B batch, T target steps, S source positions, A alignment width, D memory width, H state width, G gates x H,
J all that one product of the state makes: gates, query, gate on the context.
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
from xattend.decoders.gate import Gate
from xattend.layers.precision import in_float32, of_products, product


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
    how: Plan, cell: Cell, words_BTI: Tensor, state: tuple[Tensor, ...], bound: Bound, context_size: int, gate: Gate | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """All steps: outputs_BTH, contexts_BTD (gone through the gate) and weights_BTS (not gone through it)."""
    words = words_BTI.shape[-1]
    weight_GI = cell.input.weight
    assert weight_GI.shape[1] == words + context_size
    x_BTG = torch.nn.functional.linear(words_BTI, weight_GI[:, :words], cell.input.bias)
    joint: list[Tensor] = [cell.recurrent.weight]
    biases: list[Tensor] = [cell.recurrent.bias]
    v_A = how.form.v_A if isinstance(how.form, TanhScore) else None
    if isinstance(how.form, TanhScore):  # the query's projection rides along with the recurrence
        joint.append(how.form.query_AQ)
        biases.append(how.form.v_A.new_zeros(len(how.form.v_A)))
    if gate is not None:  # and so does the gate's
        joint.append(gate.layer.weight)
        biases.append(gate.layer.bias)
    outputs_TBH, contexts_TBD, weights_TBS = _Loop.apply(  # type: ignore[no-untyped-call]
        how, gate is not None, of_products() or joint[0].dtype, x_BTG.transpose(0, 1).contiguous(), bound.keys_BSA, bound.values_BSD, bound.mask_BS,
        weight_GI[:, words:], torch.cat(joint), torch.cat(biases), v_A, *state,
    )  # fmt: skip
    return outputs_TBH.transpose(0, 1), contexts_TBD.transpose(0, 1), weights_TBS.transpose(0, 1)


def fewer_through(values_BSD: Tensor) -> bool:
    """Whether the values of the batch, gone through W_c, are less to read at every step than W_c itself."""
    batch, positions, width = values_BSD.shape
    return batch * positions < width


class _Loop(torch.autograd.Function):
    @staticmethod
    @in_float32  # but for the products with weights
    def forward(
        ctx: Any, how: Plan, gated: bool, products: torch.dtype, x_TBG: Tensor, keys_BSA: Tensor, values_BSD: Tensor, mask_BS: Tensor,
        context_GD: Tensor, joint: Tensor, bias_J: Tensor, v_A: Tensor | None, *state: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        steps, batch, width = x_TBG.shape
        tanh = v_A is not None
        before_TBH = x_TBG.new_empty(steps + 1, batch, state[0].shape[1])
        before_TBH[0] = state[0]
        contexts_TBD = x_TBG.new_empty(steps, batch, values_BSD.shape[2])
        weights_TBS = x_TBG.new_empty(steps, batch, values_BSD.shape[1])
        gate_TB1 = x_TBG.new_empty(steps, batch, 1) if gated else x_TBG.new_empty(0)
        looked_TBS = torch.empty_like(weights_TBS) if gated else weights_TBS  # what is left of the weights behind the gate
        hidden_TBSA = x_TBG.new_empty(steps, *keys_BSA.shape) if tanh else x_TBG.new_empty(0)
        gates = how.gates(steps, state, x_TBG)
        keys_BAS, scaled = keys_BSA.transpose(1, 2), joint
        ahead = fewer_through(values_BSD)
        through_BSG = values_BSD @ context_GD.t() if ahead else x_TBG.new_empty(0)
        if tanh:  # v . tanh(q + k) is, but for a constant that softmax takes out, 2 v . sigmoid(2 q + 2 k): see attention/base.py
            assert v_A is not None
            twice_BSA, twice_A, last = 2 * keys_BSA, 2 * v_A, width + len(v_A)
            scaled = torch.cat([joint[:width], 2 * joint[width:last], joint[last:]])
        joint_t, context_DG = scaled.to(products).t(), context_GD.to(products).t()
        for t in range(steps):
            h_BH = before_TBH[t]
            made = product(h_BH, joint_t, bias_J)
            recurrent_BG = made[:, :width]
            if tanh:
                torch.add(twice_BSA, made[:, None, width:last], out=hidden_TBSA[t]).sigmoid_()
                scores_BS = hidden_TBSA[t] @ twice_A
            else:
                scores_BS = (h_BH[:, None] @ keys_BAS).squeeze(1).mul_(how.form.scale)  # type: ignore[union-attr]
            weights_TBS[t] = masked_softmax(scores_BS[:, None], mask_BS)[:, 0]
            if gated:
                torch.sigmoid(made[:, -1:], out=gate_TB1[t])
                torch.mul(weights_TBS[t], gate_TB1[t], out=looked_TBS[t])
            if ahead:
                gates_BG = torch.baddbmm(x_TBG[t, :, None], looked_TBS[t, :, None], through_BSG).squeeze(1)
            else:
                torch.bmm(looked_TBS[t, :, None], values_BSD, out=contexts_TBD[t, :, None])
                gates_BG = product(contexts_TBD[t], context_DG, x_TBG[t])
            before_TBH[t + 1] = gates.forward(t, gates_BG, recurrent_BG, h_BH)
        if ahead:
            contexts_TBD.copy_((looked_TBS.transpose(0, 1) @ values_BSD).transpose(0, 1))
        ctx.how, ctx.gates, ctx.has_v, ctx.ahead, ctx.gated, ctx.products = how, gates, tanh, ahead, gated, products
        ctx.save_for_backward(keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, looked_TBS, gate_TB1,
                              hidden_TBSA, through_BSG, *([v_A] if tanh else []))  # fmt: skip
        ctx.set_materialize_grads(False)  # nobody may ask for the weights, or for the contexts
        return before_TBH[1:].clone(), contexts_TBD.clone(), weights_TBS.clone()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_outputs_TBH: Tensor | None, d_contexts_TBD: Tensor | None, d_seen_TBS: Tensor | None) -> tuple[Any, ...]:
        keys_BSA, values_BSD, context_GD, joint, before_TBH, contexts_TBD, weights_TBS, looked_TBS, gate_TB1, *rest = ctx.saved_tensors
        hidden_TBSA, through_BSG, *rest = rest
        gates: Gates = ctx.gates
        tanh, ahead, products = ctx.has_v, ctx.ahead, ctx.products
        factor, factor_GD = joint.to(products), context_GD.to(products)
        steps, batch = contexts_TBD.shape[:2]
        width = context_GD.shape[0]
        d_outputs_TBH = torch.zeros_like(before_TBH[1:]) if d_outputs_TBH is None else d_outputs_TBH
        d_contexts_TBD = torch.zeros_like(contexts_TBD) if d_contexts_TBD is None else d_contexts_TBD
        d_x_TBG = keys_BSA.new_empty(steps, batch, width)
        d_product_TBJ = keys_BSA.new_empty(steps, batch, joint.shape[0])
        d_scores_TBS = torch.empty_like(weights_TBS)
        d_all_contexts_TBD = d_contexts_TBD if ahead else torch.empty_like(contexts_TBD)
        d_keys_BSA = torch.zeros_like(keys_BSA) if tanh else keys_BSA
        slope_BSA = torch.empty_like(keys_BSA)  # one for all steps: it stays in the cache
        d_v_BA = keys_BSA.new_zeros(batch, keys_BSA.shape[2])
        values_BDS, through_BGS = values_BSD.transpose(1, 2), through_BSG.transpose(1, 2) if ahead else through_BSG
        d_looked_BTS = d_contexts_TBD.transpose(0, 1) @ values_BDS if ahead else weights_TBS
        last = width + keys_BSA.shape[2] if tanh else width
        slope_A = 4 * rest[0] if tanh else joint
        d_state = gates.start()
        for t in range(steps - 1, -1, -1):
            d_state = (d_state[0] + d_outputs_TBH[t], *d_state[1:])
            d_gates_BG, d_recurrent_BG, d_before_BH, d_state = gates.backward(t, before_TBH[t], d_state)
            d_x_TBG[t] = d_gates_BG
            if ahead:
                d_looked_BS = torch.baddbmm(d_looked_BTS[:, t : t + 1], d_gates_BG[:, None], through_BGS).squeeze(1)
            else:
                d_context_BD = product(d_gates_BG, factor_GD, d_contexts_TBD[t])
                d_all_contexts_TBD[t] = d_context_BD
                d_looked_BS = (d_context_BD[:, None] @ values_BDS).squeeze(1)
            weights_BS, d_weights_BS = weights_TBS[t], d_looked_BS
            if ctx.gated:
                gate_B1 = gate_TB1[t]
                d_product_TBJ[t, :, last:] = (weights_BS * d_looked_BS).sum(dim=1, keepdim=True) * (gate_B1 - gate_B1.square())
                d_weights_BS = gate_B1 * d_looked_BS
            if d_seen_TBS is not None:
                d_weights_BS = d_weights_BS + d_seen_TBS[t]
            d_scores_BS = weights_BS * (d_weights_BS - (weights_BS * d_weights_BS).sum(dim=1, keepdim=True))
            d_scores_TBS[t] = d_scores_BS
            d_product_TBJ[t, :, :width] = d_recurrent_BG
            if tanh:  # d tanh(x) / dx = 4 s (1 - s), with s = sigmoid(2 x)
                row_B1S, hidden_BSA = d_scores_BS[:, None], hidden_TBSA[t]
                d_v_BA += (row_B1S @ hidden_BSA).squeeze(1)
                torch.addcmul(hidden_BSA, hidden_BSA, hidden_BSA, value=-1.0, out=slope_BSA)
                d_product_TBJ[t, :, width:last] = (row_B1S @ slope_BSA).squeeze(1).mul_(slope_A)
                d_keys_BSA.addcmul_(d_scores_BS[:, :, None], slope_BSA)
            else:
                d_before_BH = d_before_BH + (d_scores_BS[:, None] @ keys_BSA).squeeze(1).mul_(ctx.how.form.scale)
            d_state = (product(d_product_TBJ[t], factor, d_before_BH), *d_state)
        # one product over all steps for everything that is not recurrent
        looked_BST = looked_TBS.permute(1, 2, 0)
        d_values_BSD = looked_BST @ d_all_contexts_TBD.transpose(0, 1)
        if ahead:
            d_through_BSG = looked_BST @ d_x_TBG.transpose(0, 1)
            d_values_BSD += d_through_BSG @ context_GD
            d_context_GD = d_through_BSG.flatten(0, 1).t() @ values_BSD.flatten(0, 1)
        else:
            d_context_GD = product(d_x_TBG.flatten(0, 1).t(), contexts_TBD.flatten(0, 1).to(products))
        d_joint = product(d_product_TBJ.flatten(0, 1).t(), before_TBH[:-1].flatten(0, 1).to(products))
        d_bias_J = d_product_TBJ.sum(dim=(0, 1))
        if tanh:
            d_keys_BSA.mul_(slope_A)
            d_v_A = 2 * d_v_BA.sum(dim=0)  # the scores' gradients sum to zero over S, which takes out tanh's -1
        else:
            d_keys_BSA = (d_scores_TBS.permute(1, 2, 0) @ before_TBH[:-1].transpose(0, 1)).mul_(ctx.how.form.scale)
            d_v_A = None
        return (None, None, None, d_x_TBG, d_keys_BSA, d_values_BSD, None, d_context_GD, d_joint, d_bias_J, d_v_A, *d_state)
