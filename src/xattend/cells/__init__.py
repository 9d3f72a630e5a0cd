"""Recurrent cells: one step of a recurrence, and the fused kernel for many where torch has one."""

from xattend.cells.base import Cell
from xattend.cells.feed_forward import FeedForward
from xattend.cells.gru import GRU, GRUResetBefore, SigmaGRU
from xattend.cells.lstm import LSTM, SigmaLSTM
from xattend.cells.relu import ReluRNN
from xattend.cells.rnn import SigmaRNN, TanhRNN
from xattend.cells.stack import Stack

__all__ = ["GRU", "LSTM", "Cell", "FeedForward", "GRUResetBefore", "ReluRNN", "SigmaGRU", "SigmaLSTM", "SigmaRNN", "Stack", "TanhRNN"]
