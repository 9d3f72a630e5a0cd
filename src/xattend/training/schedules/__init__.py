"""Schedules: what the base learning rate is multiplied by at each update. One file each; the contract is in base.py."""

from xattend.training.schedules.base import Schedule

__all__ = ["Schedule"]
