"""A plugin that turns the fast ways of training off: every recurrence step by step, the output layer whole, torch's own dropout.

    xattend train transliterate --plugin benchmarks/plain_path.py -s training.steps=600 --out runs/plain

For comparing quality: the fast ways must learn the same.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.cells import gru, lstm
from xattend.decoders.rnn import RNN
from xattend.layers.dropout import Dropout
from xattend.objectives import cross_entropy
from xattend.types import Memory


def hidden(self: RNN, memory: Memory, tokens_BT: Tensor) -> Tensor:
    return self.one_by_one(self.dropout(self.embedding(tokens_BT)), self.start(memory))


def no_kernel(*_: object) -> None:
    return None


def dropout(self: Dropout, x: Tensor) -> Tensor:
    return F.dropout(x, self.probability, self.training)


def likelihood(hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor, labels_N: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    logs_NV = torch.log_softmax(F.linear(hidden_ND, weight_VD, bias_V), dim=-1)
    nll = -logs_NV.gather(1, labels_N[:, None]).sum()
    return (1 - smoothing) * nll - smoothing * logs_NV.mean(dim=1).sum(), nll


RNN.hidden = hidden  # type: ignore[method-assign]
gru.GRU.fused = lstm.LSTM.fused = no_kernel  # type: ignore[method-assign,assignment]
Dropout.forward = dropout  # type: ignore[method-assign]
cross_entropy.chunked_likelihood = likelihood  # type: ignore[attr-defined,assignment]
