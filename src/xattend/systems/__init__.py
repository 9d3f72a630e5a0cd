"""Systems: one short file for each system of the lectures, assembled from parts or one of its own."""

from xattend.systems.base import System
from xattend.systems.language_model import LanguageModel
from xattend.systems.parts import Parts, assemble
from xattend.systems.seq2seq import Seq2Seq

__all__ = ["LanguageModel", "Parts", "Seq2Seq", "System", "assemble"]
