"""Backbones: networks trained elsewhere, frozen, that make features of pictures. One file a network."""

from xattend.backbones.base import Backbone, Stage

__all__ = ["Backbone", "Stage"]
