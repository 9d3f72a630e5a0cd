"""Which extensions of a beam's beginnings are kept: the likeliest, in plain beam search.

Beam search (beam.py) makes a step, asks here, and carries out what it is told. A rule of another kind is a class like
`Likeliest` in a file of its own: diverse.py keeps groups apart, constrained.py deals places out by what is still to be
written. A rule lives for one search; it is told which beginnings went on (`follow`), so that it can keep what it knows
of each.

Two beginnings, of log-probabilities -1 and -2, may go on with 4, 5 or the end (3). Three of the four candidates do not
end; of those that may end only the first two count.

>>> scores_NV = torch.tensor([[-9, -9, -9, -2, -1, -3.0], [-9, -9, -9, -0.5, -4, -0.6]])
>>> kept = Likeliest().choose(scores_NV, torch.tensor([[-1.0, -2.0]]))
>>> kept.token_BC.tolist(), kept.parent_BC.tolist(), kept.alive_BK.tolist()
([[4, 3, 5, 3]], [[0, 1, 1, 0]], [[0, 2]])

Shape suffixes: B sentences in the batch, K beams, C = 2K candidates, N = B x K, M = candidates of all K, V vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xattend.types import EOS


class Candidates(NamedTuple):
    """Extensions of each sentence's beginnings. Those among the first K that end are finished; `alive_BK` go on.

    total_BC    log-probability of the whole
    own_BC      of its last token
    parent_BC   which of the K it extends
    token_BC    by which token
    alive_BK    places among the C
    """

    total_BC: Tensor
    own_BC: Tensor
    parent_BC: Tensor
    token_BC: Tensor
    alive_BK: Tensor


class Likeliest:
    """The 2K likeliest extensions; of these the K likeliest that do not end go on."""

    def choose(self, scores_NV: Tensor, logprob_BK: Tensor) -> Candidates:
        """`scores_NV` has -inf where a token may not come next."""
        batch, size = logprob_BK.shape
        # the best of each beginning first: the best of the sentence are among them
        each_NC, word_NC = scores_NV.topk(min(2 * size, scores_NV.shape[1]), dim=1)
        each_BM, word_BM = each_NC.view(batch, -1), word_NC.view(batch, -1)
        total_BM = (logprob_BK.view(-1, 1) + each_NC).view_as(each_BM)
        total_BC, choice_BC = total_BM.topk(2 * size, dim=1)
        token_BC = word_BM.gather(1, choice_BC)
        alive_BK = (token_BC == EOS).to(torch.uint8).argsort(dim=1, stable=True)[:, :size]
        return Candidates(total_BC, each_BM.gather(1, choice_BC), choice_BC // each_NC.shape[1], token_BC, alive_BK)

    def whole(self, logprob_BK: Tensor) -> Tensor:
        """Which beginnings may be the answer if nothing finished within the limit."""
        return logprob_BK.isfinite()

    def follow(self, stay: Tensor, parent_BK: Tensor, token_BK: Tensor) -> None:
        """Sentences `stay` of those chosen for go on, each with these extensions of its beginnings."""
