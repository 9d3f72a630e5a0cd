"""A trace as plain data, for files and for the viewer. `version` says what the fields mean (see types.Trace).

>>> trace_to_json(Trace(["a"], ["b"], np.ones((1, 1, 1), dtype=np.float32), (1,)))["weights"]
[[[1.0]]]

Shape suffixes: T target, H heads, S source.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xattend.types import Trace


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Lists, numbers and texts only; weights (target x head x source) are rounded to 6 decimals."""
    return {
        "version": trace.version,
        "source_tokens": list(trace.source_tokens),
        "target_tokens": list(trace.target_tokens),
        "grid": list(trace.grid),
        "media": trace.media,
        "weights": np.round(trace.weights_THS.astype(np.float64), 6).tolist(),
    }
