"""Encoders: a source goes in, a memory comes out; one file an encoder."""

from xattend.encoders.asked import Asked
from xattend.encoders.base import Encoder
from xattend.encoders.cnn import CNN
from xattend.encoders.convolutional import Convolutional
from xattend.encoders.embedding import Embedding
from xattend.encoders.film import Clip, Frames, FramesAndClip
from xattend.encoders.grid import Grid
from xattend.encoders.ladder import Ladder
from xattend.encoders.rnn import RNN, BiRNN
from xattend.encoders.tail import Tail
from xattend.encoders.transformer import Transformer

__all__ = ["CNN", "RNN", "Asked", "BiRNN", "Clip", "Convolutional", "Embedding", "Encoder", "Frames", "FramesAndClip", "Grid", "Ladder", "Tail", "Transformer"]
