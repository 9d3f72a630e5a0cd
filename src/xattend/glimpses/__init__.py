"""Glimpses: windows into a picture, for reading and for writing; one file a kind."""

from xattend.glimpses.base import Glimpse
from xattend.glimpses.gaussian import Gaussian
from xattend.glimpses.retina import Retina
from xattend.glimpses.whole import Whole

__all__ = ["Gaussian", "Glimpse", "Retina", "Whole"]
