"""Linear layers with weights of 8 bits, for prediction: faster on a CPU, and a little less exact.

    y = scale_x scale_o (q_x . q_o) + b       q_o: a row of weights, scaled to -127..127 by its own largest;
                                              q_x: the inputs, scaled by what comes in (7 bits: no overflow on any x86)

Only products asked of the layer itself become 8-bit. What reads `weight` (kernels over whole sequences, lookup tables
tied to the output) sees the float weights, which stay.

>>> layer = nn.Linear(64, 32)
>>> x = torch.randn(5, 64)
>>> exact, rough = layer(x), Int8Linear(layer)(x)
>>> bool((exact - rough).abs().max() < 0.1 * exact.std())
True
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from xattend.errors import UserError


class Int8Linear(nn.Linear):
    """Stands in for a trained nn.Linear, and shares its parameters."""

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self.packed = _pack(layer.weight.detach().float(), None if layer.bias is None else layer.bias.detach().float())

    def forward(self, input: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic(input, self.packed, True)
        return product


def _pack(weight_OI: Tensor, bias_O: Tensor | None) -> Any:
    scale_O = weight_OI.abs().amax(dim=1).clamp(min=1e-12) / 127
    whole_OI = (weight_OI / scale_O[:, None]).round().to(torch.int8)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch means to move these to another package one day; it has no other way yet
            zero_O = torch.zeros(len(scale_O), dtype=torch.long)
            quantised_OI = torch._make_per_channel_quantized_tensor(whole_OI, scale_O.double(), zero_O, 0)
            return torch.ops.quantized.linear_prepack(quantised_OI, bias_O)
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        raise UserError(f"this build of torch has no 8-bit products for this machine: {str(error).splitlines()[0]}") from None


def to_int8(module: nn.Module) -> int:
    """Exchanges every linear layer inside for its 8-bit form; how many there were."""
    count = 0
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Int8Linear(child))
            count += 1
        else:
            count += to_int8(child)
    return count
