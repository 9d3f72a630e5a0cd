"""Objectives: what training maximises."""

from xattend.objectives.base import Objective
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.objectives.doubly_stochastic import DoublyStochastic
from xattend.objectives.expected_score import ExpectedScore
from xattend.objectives.paths import log_marginal
from xattend.objectives.r_drop import RDrop
from xattend.objectives.sampled import Sampled
from xattend.objectives.scheduled_sampling import ScheduledSampling
from xattend.objectives.variational import LowerBound
from xattend.objectives.with_ctc import WithCTC

__all__ = [
    "CrossEntropy", "DoublyStochastic", "ExpectedScore", "LowerBound", "Objective", "RDrop", "Sampled", "ScheduledSampling", "WithCTC", "log_marginal",
]  # fmt: skip
