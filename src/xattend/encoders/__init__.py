"""Encoders: a source goes in, a memory comes out; one file an encoder."""

from xattend.encoders.base import Encoder
from xattend.encoders.convolutional import Convolutional
from xattend.encoders.embedding import Embedding
from xattend.encoders.ladder import Ladder
from xattend.encoders.rnn import RNN, BiRNN
from xattend.encoders.transformer import Transformer

__all__ = ["RNN", "BiRNN", "Convolutional", "Embedding", "Encoder", "Ladder", "Transformer"]
