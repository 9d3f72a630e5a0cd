"""Products in bfloat16 (`training.precision`): on processors with instructions for it twice as fast, with weights and sums in float32.

torch's autocast chooses per operation: products take bfloat16, what is added up over many positions stays float32. Loops with a backward
of their own are not single operations; they say with `in_float32` that they keep to float32.

>>> with products_in("bfloat16"):
...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
torch.bfloat16
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")


def products_in(precision: str) -> AbstractContextManager[Any]:
    """Within it, products are computed in this precision: float32 or bfloat16."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16")


def at_hand(precision: str) -> str:
    """What a precision that was asked for comes to on this machine: without instructions for it, bfloat16 is several times slower than float32."""
    return "float32" if precision == "bfloat16" and not _has_bfloat16() else precision


@cache
def _has_bfloat16() -> bool:
    """True where nothing is known: on other processors than x86, and with a torch that cannot say."""
    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    told = [bool(known[name]) for name in ("avx512_bf16", "amx_bf16") if name in known]
    return any(told) or not told


def of_products() -> torch.dtype | None:
    """What products should be computed in here, if not in their factors' own type."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def in_float32(forward: Callable[..., Result]) -> Callable[..., Result]:
    """Around the `forward` of an autograd function: its tensors and products are float32, whatever was asked for outside."""

    @wraps(forward)
    def inside(ctx: Any, *given: Any) -> Result:
        if of_products() is None:
            return forward(ctx, *given)
        with torch.autocast("cpu", enabled=False):
            return forward(ctx, *[one.float() if isinstance(one, Tensor) and one.is_floating_point() else one for one in given])

    return inside


def product(x_NI: Tensor, factor_IO: Tensor, plus: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """x_NI factor_IO + plus, in x's own type; the product itself in that of the factor, a weight that a loop has converted once.

    >>> product(torch.ones(1, 2), torch.ones(2, 3).bfloat16(), torch.ones(3)).tolist()
    [[3.0, 3.0, 3.0]]
    """
    if x_NI.dtype is factor_IO.dtype:
        return torch.mm(x_NI, factor_IO, out=out) if plus is None else torch.addmm(plus, x_NI, factor_IO, out=out)
    made_NO = torch.mm(x_NI.to(factor_IO.dtype), factor_IO).to(x_NI.dtype)  # converted before it is added to: torch is slow with two types
    if plus is None:
        return made_NO if out is None else out.copy_(made_NO)
    return made_NO.add_(plus) if out is None else torch.add(made_NO, plus, out=out)
