"""A recurrent cell: one step, and the same step unrolled over a sequence.

Shapes: B batch, T steps, D width, G gates x size.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from xattend import tree
from xattend.cells.gates import Gates

CellState = tuple[Tensor, ...]  # each [B, size]; the first is the cell's output


class Cell(nn.Module):
    """A subclass says how many `gates` it has, how many tensors its state has (`parts`), and writes `advance`.

    The products with the inputs do not wait for the recurrence, so `unroll` makes them for all steps at once.
    Where the maths is that of a fused torch kernel, the subclass overrides `fused` and the loop is not used.
    """

    gates: ClassVar[int] = 1
    parts: ClassVar[int] = 1

    def __init__(
        self, input_size: int, size: int, *,
        layer_norm: Annotated[bool, "normalise both halves of the gates (Ba et al. 2016)"] = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.input = nn.Linear(input_size, self.gates * size)
        self.recurrent = nn.Linear(size, self.gates * size)
        self.input_norm = nn.LayerNorm(self.gates * size) if layer_norm else None
        self.recurrent_norm = nn.LayerNorm(self.gates * size) if layer_norm else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot for the inputs, orthogonal for each gate's recurrence, zero biases."""
        nn.init.xavier_uniform_(self.input.weight)
        for gate in self.recurrent.weight.chunk(self.gates):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.input.bias)
        nn.init.zeros_(self.recurrent.bias)

    def start(self, batch: int) -> CellState:
        return tuple(self.input.weight.new_zeros(batch, self.size) for _ in range(self.parts))

    def project(self, input_BD: Tensor) -> Tensor:
        """The inputs' half of the gates: the part that needs no recurrence. Any leading axes."""
        gates_BG: Tensor = self.input(input_BD).to(self.input.weight.dtype)  # whatever products are made in, states are not
        if self.input_norm is not None:
            gates_BG = self.input_norm(gates_BG)
        return gates_BG

    def recur(self, output_BD: Tensor) -> Tensor:
        """The recurrent half of the gates."""
        gates_BG: Tensor = self.recurrent(output_BD).to(self.recurrent.weight.dtype)
        if self.recurrent_norm is not None:
            gates_BG = self.recurrent_norm(gates_BG)
        return gates_BG

    def advance(self, projected_BG: Tensor, state: CellState) -> CellState:
        """One step from already projected inputs: the cell's equations."""
        raise NotImplementedError

    def forward(self, input_BD: Tensor, state: CellState) -> CellState:
        return self.advance(self.project(input_BD), state)

    def fused(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState] | None:
        """The whole sequence in one kernel, if torch has one with this cell's maths. The state may be that after the
        last step, mask or no mask, where the output is the whole state."""
        return None

    def fused_gates(self) -> type[Gates] | None:
        """This cell's gates with their own backward, if they are written (cells/gates.py)."""
        return None

    def kernel_weights(self) -> list[Tensor]:
        """In the order torch's kernels want them."""
        return [self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias]

    def unroll(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None = None) -> tuple[Tensor, CellState]:
        """All steps: outputs_BTD and the state after each row's last real step (the very last if no mask is given).

        Padding stands on the right, so it never changes a real position; with a mask, the state stops there too.
        """
        plain = self.input_norm is None and inputs_BTD.shape[1] > 0
        done = self.fused(inputs_BTD, state, mask_BT) if plain else None
        if done is None:
            return self._loop(inputs_BTD, state, mask_BT)
        outputs_BTD, last = done
        if mask_BT is not None and self.parts == 1:  # the output is the whole state: read it off at each row's last real step
            index_B11 = (mask_BT.sum(dim=1) - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, self.size)
            empty_B = ~mask_BT.any(dim=1)
            last = (torch.where(empty_B[:, None], state[0], outputs_BTD.gather(1, index_B11).squeeze(1)),)
        return outputs_BTD, last

    def _loop(self, inputs_BTD: Tensor, state: CellState, mask_BT: Tensor | None) -> tuple[Tensor, CellState]:
        outputs = []
        for t, projected_BG in enumerate(self.project(inputs_BTD).unbind(dim=1)):
            new = self.advance(projected_BG, state)
            state = new if mask_BT is None else tree.where(mask_BT[:, t], new, state)
            outputs.append(state[0])
        if not outputs:
            return inputs_BTD.new_zeros(len(inputs_BTD), 0, self.size), state
        return torch.stack(outputs, dim=1), state
