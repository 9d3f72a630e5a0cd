"""Attention mechanisms: one file a mechanism, the base class masks and normalises."""

from xattend.attention.additive import Additive
from xattend.attention.base import Attention, Bound
from xattend.attention.concat import Concat
from xattend.attention.coverage import AlignmentRNN, Coverage
from xattend.attention.dot import Bilinear, Dot, ScaledDot
from xattend.attention.hard import Hard
from xattend.attention.hybrid import Hybrid
from xattend.attention.local import LocalM, LocalP
from xattend.attention.location import Location
from xattend.attention.monotonic import Monotonic
from xattend.attention.multi_head import MultiHead
from xattend.attention.neighbourhood import Neighbourhood
from xattend.attention.none import EveryStep, NoAttention
from xattend.attention.oracle import Oracle
from xattend.attention.uniform import Uniform
from xattend.attention.window import Window

__all__ = [
    "Additive", "AlignmentRNN", "Attention", "Bilinear", "Bound", "Concat", "Coverage", "Dot", "EveryStep", "Hard", "Hybrid",
    "LocalM", "LocalP", "Location", "Monotonic", "MultiHead", "Neighbourhood", "NoAttention", "Oracle", "ScaledDot", "Uniform",
    "Window",
]  # fmt: skip
