"""All looks of RAM as one autograd function with a backward of its own (Mnih et al. 2014; the system is in ram.py).

    s_t = relu([W rho(x, l_t) ; W l_t]),   g_t = relu(W s_t),   h_t = cell(g_t, h_{t-1})        glimpse network and core
    m_t = tanh(W relu(W h_t)),   l_{t+1} = m_t + std e_t,   b_t = W h_t + b                     where to look next, and the baseline

No gradient passes through a place, and none from the location network or the baseline into the core. So going back, h_t is all that must
wait for the step behind it:

    dL/dh_{t-1} = W^T dL/da_t      a_t: what the core's gates are made of

Every other gradient, those of the glimpse network's layers and of all weights, is one product over all looks. Going forth, the recurrence
and the location network's first layer are one product with h_t. The plain way, `RAM.one_by_one`, is the reference: tests hold this one
to it.

>>> rectified = ReluGates(1, (torch.zeros(1, 2),), torch.zeros(1))
>>> rectified.forward(0, torch.tensor([[1.0, -3.0]]), torch.tensor([[1.0, 1.0]]), torch.zeros(1, 2)).tolist()
[[2.0, 0.0]]
>>> rectified.backward(0, torch.zeros(1, 2), (torch.tensor([[5.0, 7.0]]),))[0].tolist()
[[5.0, 0.0]]

Shapes: N walks, T looks, n = T - 1 places chosen, R numbers in a window, I inner width, D width, G gates x D, J = G + I.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from xattend.cells.base import Cell
from xattend.cells.gates import Gates, Gradients, tanh_
from xattend.cells.relu import ReluRNN
from xattend.glimpses.base import Glimpse
from xattend.glimpses.network import GlimpseNetwork
from xattend.layers.precision import in_float32, of_products
from xattend.tree import Tree


class ReluGates(Gates):
    """The simple recurrence of rectified units; see cells/relu.py."""

    def __init__(self, steps: int, state: tuple[Tensor, ...], like: Tensor) -> None:
        super().__init__(steps, state, like)
        self.kept = like.new_empty(steps, *state[0].shape)

    def forward(self, t: int, gates_BG: Tensor, recurrent_BG: Tensor, h_BH: Tensor) -> Tensor:
        return torch.add(gates_BG, recurrent_BG, out=self.kept[t]).relu_()

    def backward(self, t: int, h_BH: Tensor, d_state: Gradients) -> tuple[Tensor, Tensor, Tensor, Gradients]:
        d_gates = unrelu(d_state[0], self.kept[t])
        return d_gates, d_gates, self.zero, ()


def unrelu(d_after: Tensor, after: Tensor) -> Tensor:
    """The gradient of what was rectified."""
    found: Tensor = torch.ops.aten.threshold_backward(d_after, after, 0)
    return found


def gates_of(core: Cell) -> type[Gates] | None:
    """The core's gates with their own backward, if they are written."""
    if core.input_norm is not None:
        return None
    return ReluGates if isinstance(core, ReluRNN) else core.fused_gates()


class Plan(NamedTuple):
    """What the function needs to know besides tensors."""

    window: Glimpse
    core: Cell
    gates: type[Gates]
    std: float


def run(
    how: Plan, network: GlimpseNetwork, locator: nn.Sequential, baseline: nn.Linear, bound: Tree, first_N2: Tensor, noise_NT2: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """last_ND, where_TN2, drawn_nN2, mean_nN2, expected_nN; there must be two looks or more."""
    hidden, chosen, core = locator[0], locator[2], how.core
    assert network.where is not None
    assert isinstance(hidden, nn.Linear)
    assert isinstance(chosen, nn.Linear)
    layers = (network.what, network.where, network.both, core.input, core.recurrent, hidden, chosen, baseline)
    found: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = _Walk.apply(  # type: ignore[no-untyped-call]
        how, of_products() or first_N2.dtype, bound, first_N2, noise_NT2, *(layer.weight for layer in layers), *(layer.bias for layer in layers)
    )
    return found


class _Walk(torch.autograd.Function):
    @staticmethod
    @in_float32  # but for the products, and what lies between two of them
    def forward(
        ctx: Any, how: Plan, products: torch.dtype, bound: Tree, first_N2: Tensor, noise_NT2: Tensor, *weights: Tensor
    ) -> tuple[Tensor, ...]:
        what_IR, where_I2, both_DI, input_GD, recurrent_GD, hidden_ID, chosen_2I, expect_1D = weights[:8]
        what_I, place_I, both_D, input_G, recurrent_G, hidden_I, chosen_2, expect_1 = weights[8:]
        (count, steps), own = noise_NT2.shape[:2], first_N2.dtype
        inner, width, gated = len(what_IR), len(both_DI), len(input_GD)
        patch_TNR = first_N2.new_empty(steps, count, what_IR.shape[1], dtype=products)
        seen_TNI = first_N2.new_empty(steps, count, 2 * inner, dtype=products)  # what, and where beside it
        glimpse_TND = first_N2.new_empty(steps, count, width, dtype=products)
        states_TND = first_N2.new_zeros(steps + 1, count, width, dtype=products)
        hidden_nNI = first_N2.new_empty(steps - 1, count, inner, dtype=products)
        mean_nN2, drawn_nN2 = (first_N2.new_empty(steps - 1, count, 2) for _ in range(2))
        where_TN2 = first_N2.new_empty(steps, count, 2)
        where_TN2[0] = first_N2
        between = products if how.gates is ReluGates else own  # gates that only add and rectify lose nothing in the products' type
        gates = how.gates(steps, how.core.start(count), first_N2.to(between))
        h_ND = states_TND[0].to(between)
        kept = both_DI, input_GD, recurrent_GD, what_IR, hidden_ID, what_I, both_D, input_G, recurrent_G, hidden_I
        factors = [weight.to(products) for weight in kept]
        both_DI, input_GD, recurrent_GD, what_IR, hidden_ID, what_I, both_D, input_G, recurrent_G, hidden_I = factors
        joint_DJ, joint_J = torch.cat([recurrent_GD, hidden_ID]).t(), torch.cat([recurrent_G, hidden_I])
        what_RI, both_ID, input_DG, where_2I, chosen_I2 = what_IR.t(), both_DI.t(), input_GD.t(), where_I2.t(), chosen_2I.t()
        recurrent_NG = recurrent_G.expand(count, -1).to(between)  # the first state is 0
        looks = zip(patch_TNR, seen_TNI, glimpse_TND, where_TN2, states_TND[1:], strict=True)
        for t, (patch_NR, seen_NI, glimpse_ND, where_N2, state_ND) in enumerate(looks):
            patch_NR.copy_(how.window.read(bound, where_N2))
            torch.addmm(what_I, patch_NR, what_RI, out=seen_NI[:, :inner])
            seen_NI[:, inner:] = torch.addmm(place_I, where_N2, where_2I)
            torch.addmm(both_D, seen_NI.relu_(), both_ID, out=glimpse_ND).relu_()
            h_ND = gates.forward(t, torch.addmm(input_G, glimpse_ND, input_DG).to(between), recurrent_NG, h_ND)
            state_ND.copy_(h_ND)
            if t + 1 < steps:
                product_NJ = torch.addmm(joint_J, state_ND, joint_DJ)
                recurrent_NG = product_NJ[:, :gated].to(between)
                known_NI = torch.clamp_min(product_NJ[:, gated:], 0, out=hidden_nNI[t]).to(own)
                mean_N2 = tanh_(torch.addmm(chosen_2, known_NI, chosen_I2, out=mean_nN2[t]))
                drawn_N2 = torch.add(mean_N2, noise_NT2[:, t], alpha=how.std, out=drawn_nN2[t])
                torch.clamp(drawn_N2, -1, 1, out=where_TN2[t + 1])
        before = states_TND[1:-1].flatten(0, 1).to(own)
        expected_nN = (before @ expect_1D[0] + expect_1).view(steps - 1, count)
        ctx.save_for_backward(*factors[:3], chosen_2I)
        ctx.between = between
        ctx.run = gates, patch_TNR, where_TN2, seen_TNI, glimpse_TND, states_TND, hidden_nNI, mean_nN2, before
        found = h_ND.to(own, copy=True), where_TN2.clone(), drawn_nN2, mean_nN2.clone(), expected_nN  # what backward needs is not handed out
        ctx.mark_non_differentiable(found[1], drawn_nN2)
        return found

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_last_ND: Tensor, *rest: Tensor) -> tuple[Tensor | None, ...]:
        _, _, d_mean_nN2, d_expected_nN = rest  # places have none
        both_DI, input_GD, recurrent_GD, chosen_2I = ctx.saved_tensors
        gates, patch_TNR, where_TN2, seen_TNI, glimpse_TND, states_TND, hidden_nNI, mean_nN2, before = ctx.run
        steps, inner, products, own, between = len(patch_TNR), hidden_nNI.shape[2], both_DI.dtype, d_last_ND.dtype, ctx.between
        d_gates_TNG, d_recurrent_TNG = list[Tensor](), list[Tensor]()
        d_state = (d_last_ND.to(between), *gates.start()[1:])
        for t in range(steps - 1, -1, -1):
            d_gates_NG, d_recurrent_NG, d_before_ND, d_rest = gates.backward(t, states_TND[t].to(between), d_state)
            d_gates_TNG.append(d_gates_NG.to(products))
            d_recurrent_TNG.append(d_gates_TNG[-1] if d_recurrent_NG is d_gates_NG else d_recurrent_NG.to(products))
            if t:  # nobody asks for the gradient of the first state
                d_h_ND = torch.mm(d_recurrent_TNG[-1], recurrent_GD).to(between)
                d_state = (d_h_ND if d_before_ND is gates.zero else d_h_ND.add_(d_before_ND), *d_rest)
        # the rest is one product each over all looks
        d_gates = torch.cat(d_gates_TNG[::-1])
        d_recurrent = d_gates if d_recurrent_TNG[0] is d_gates_TNG[0] else torch.cat(d_recurrent_TNG[::-1])
        seen, glimpse, known = seen_TNI.flatten(0, 1), glimpse_TND.flatten(0, 1), hidden_nNI.flatten(0, 1)
        d_both = unrelu(torch.mm(d_gates, input_GD), glimpse)
        d_seen = unrelu(torch.mm(d_both, both_DI), seen)
        d_mean = (d_mean_nN2 * (1 - mean_nN2.square())).flatten(0, 1)
        d_hidden = unrelu((d_mean @ chosen_2I).to(products), known)
        d_expected, states = d_expected_nN.reshape(1, -1), states_TND[1:steps].flatten(0, 1)
        d_where_2I = where_TN2.flatten(0, 1).t() @ d_seen[:, inner:].to(own)
        d_chosen_2I = d_mean.t() @ known.to(own)
        made = (
            torch.mm(d_seen[:, :inner].t(), patch_TNR.flatten(0, 1)), d_where_2I.t(), torch.mm(d_both.t(), seen), torch.mm(d_gates.t(), glimpse),
            torch.mm(d_recurrent[len(d_last_ND) :].t(), states), torch.mm(d_hidden.t(), states), d_chosen_2I, d_expected @ before,
            *d_seen.sum(dim=0).chunk(2), d_both.sum(dim=0), d_gates.sum(dim=0), d_recurrent.sum(dim=0), d_hidden.sum(dim=0),
            d_mean.sum(dim=0), d_expected.sum(dim=1),
        )  # fmt: skip
        return None, None, None, None, None, *(one.to(own) for one in made)
