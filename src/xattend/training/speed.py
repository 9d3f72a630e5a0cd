"""How fast a system trains on this machine, what part of the machine that is, and where the rest of the time goes.

The yardstick is a large product of matrices, timed here and now. Only products count as work: two operations for each
multiplication and addition, forward and backward, as torch's own counter sees them; kernels it cannot look into (torch's
LSTM) are counted by their shapes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from xattend.training.update import Updater
from xattend.types import Batch

# kind of work <- how the names of torch's operations begin
KINDS = {
    "products": ("mm", "addmm", "bmm", "baddbmm", "_scaled_dot_product", "mkldnn_rnn", "linear", "_fused_sdp"),
    "optimiser": ("_fused_adam", "_foreach", "_fused_sgd", "_fused_adagrad", "linalg_vector_norm"),
    "copies": ("copy_", "cat", "clone", "contiguous", "index", "gather", "embedding", "scatter", "stack", "slice", "narrow", "empty", "zero_", "fill_", "select"),
}


@dataclass(frozen=True)
class Speed:
    """tokens_per_second   of the target, end marks included
    flops_per_token     of products, forward and backward, per real target token
    fraction            of the machine's product speed
    shares              of the time, by kind of work; "rest" is Python and whatever torch's profiler does not see
    loading             share of the time spent on making batches
    """

    tokens_per_second: float
    flops_per_token: float
    fraction: float
    shares: dict[str, float]
    loading: float


def product_speed(seconds: float = 1.0, size: int = 2048) -> float:
    """Operations a second of a large product in float32, the best of what fits into the time."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    torch.mm(a, b)
    best, began = 0.0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best


def _recurrent_flops(input_shape: Any, w_x_shape: Any, w_h_shape: Any, *rest: Any, **named: Any) -> int:
    """Of torch's recurrent kernel, forward: every step multiplies the input and the state by all gates' weights."""
    time_steps, rows, _ = input_shape
    return int(2 * time_steps * rows * (w_x_shape[0] * w_x_shape[1] + w_h_shape[0] * w_h_shape[1]))


def _recurrent_backward_flops(*shapes: Any, **named: Any) -> int:
    return 2 * _recurrent_flops(*shapes, **named)


_UNSEEN = {
    torch.ops.aten.mkldnn_rnn_layer: _recurrent_flops,
    torch.ops.aten.mkldnn_rnn_layer_backward: _recurrent_backward_flops,
}


def count_flops(updater: Updater, batch: Batch) -> int:
    """Of the products in one update."""
    counter = FlopCounterMode(display=False, custom_mapping=_UNSEEN)  # type: ignore[no-untyped-call]
    with counter:
        updater.update(batch)
    return int(counter.get_total_flops())


def measure(updater: Updater, batches: list[Batch], loaded: Iterator[Any], *, seconds: float, peak: float) -> Speed:
    """Trains the updater's system for a moment: give one that is not needed afterwards.

    batches  a fair sample, in memory
    loaded   the same work as they are really loaded, to time the loading
    peak     see `product_speed`
    """
    flops = sum(count_flops(updater, batch) for batch in batches)
    tokens = sum(updater.update(batch).own.tokens for batch in batches)
    done, passed, began = 0, 0.0, time.perf_counter()
    for batch in cycle(batches):
        done += updater.update(batch).own.tokens
        passed = time.perf_counter() - began
        if passed > seconds:
            break
    shares = _shares(updater, batches)
    began = time.perf_counter()
    count = sum(1 for _ in zip(range(len(batches)), loaded))
    loading = (time.perf_counter() - began) / max(1, count)
    each = passed * tokens / done / len(batches)  # seconds of an update
    rate = done / passed
    return Speed(rate, flops / tokens, rate * flops / tokens / peak, shares, loading / (loading + each))


def _shares(updater: Updater, batches: list[Batch]) -> dict[str, float]:
    began = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for batch in batches:
            updater.update(batch)
        passed = time.perf_counter() - began
    spent = dict.fromkeys([*KINDS, "elementwise"], 0.0)
    for event in seen.key_averages():
        name = event.key.removeprefix("aten::")
        if not event.key.startswith("aten::"):
            continue
        kind = next((kind for kind, starts in KINDS.items() if name.startswith(starts)), "elementwise")
        spent[kind] += event.self_cpu_time_total / 1e6
    shares = {kind: value / passed for kind, value in spent.items()}
    return {**shares, "rest": max(0.0, 1 - sum(shares.values()))}

