"""Metrics: how good outputs are, and whether one system is better than another."""

from xattend.metrics.base import Metric, score_all

__all__ = ["Metric", "score_all"]
