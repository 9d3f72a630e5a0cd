"""Papers' numbers, and the trainings that reach for them: one file a reproduction. `xattend reproduce NAME` runs them."""

from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

__all__ = ["Outcome", "Plan", "Reproduction", "Summary"]
