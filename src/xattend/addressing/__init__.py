"""Addressing: how the heads of a machine with a memory find the slots that they read and write. One file a link of the chain."""

from xattend.addressing.base import Addressing, Seen

__all__ = ["Addressing", "Seen"]
