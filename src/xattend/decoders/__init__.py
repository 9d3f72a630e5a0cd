"""Decoders: a memory goes in, a sequence comes out, one token after the other."""

from xattend.decoders.base import Decoder
from xattend.decoders.rnn import RNN
from xattend.decoders.transformer import Transformer

__all__ = ["RNN", "Decoder", "Transformer"]
