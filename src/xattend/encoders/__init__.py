"""Encoders: a source goes in, a memory comes out; one file an encoder."""

from xattend.encoders.asked import Asked
from xattend.encoders.base import Encoder
from xattend.encoders.cnn import CNN
from xattend.encoders.convolutional import Convolutional
from xattend.encoders.dense import Dense
from xattend.encoders.embedding import Embedding
from xattend.encoders.facts import Facts
from xattend.encoders.film import Clip, Frames, FramesAndClip
from xattend.encoders.glimpses import Glimpses
from xattend.encoders.grid import Grid
from xattend.encoders.hierarchical import Hierarchical
from xattend.encoders.ladder import Ladder
from xattend.encoders.listen import Listen
from xattend.encoders.rnn import RNN, BiRNN
from xattend.encoders.sentences import Sentences
from xattend.encoders.tail import Tail
from xattend.encoders.transformer import Transformer

__all__ = [
    "CNN", "RNN", "Asked", "BiRNN", "Clip", "Convolutional", "Dense", "Embedding", "Encoder", "Facts", "Frames", "FramesAndClip", "Glimpses", "Grid", "Hierarchical", "Ladder",
    "Listen", "Sentences", "Tail", "Transformer",
]  # fmt: skip
