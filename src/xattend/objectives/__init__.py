"""Objectives: what training maximises."""

from xattend.objectives.base import Objective
from xattend.objectives.cross_entropy import CrossEntropy
from xattend.objectives.sampled import Sampled
from xattend.objectives.scheduled_sampling import ScheduledSampling

__all__ = ["CrossEntropy", "Objective", "Sampled", "ScheduledSampling"]
