"""Tokens that may not come next because of what stands before them: repeated n-grams, and phrases that are ruled out.

With `no_repeat = n` no run of n tokens is written twice (Paulus et al. 2018 use n = 3 for summaries): a token is ruled out
if the last n - 1 tokens and it have been written before. A phrase in `never` is ruled out by ruling out its last token
wherever the tokens before it stand. Only tokens written so far are compared, so a beam that carries them along with its
hypotheses is right after every reordering.

After "4 5 6 4" the pair 4 5 would come a second time; 7 is ruled out everywhere, and "4 6" may not be written:

>>> scores_NV = torch.zeros(1, 9)
>>> rule_out(scores_NV, torch.tensor([[4, 5, 6, 4]]), no_repeat=2, never=((7,), (4, 6)))
>>> scores_NV[0].isinf().nonzero().squeeze(1).tolist()  # 0 is padding, which may never be written
[0, 5, 6, 7]

Shape suffixes: N rows at one step, T tokens written, W places where n tokens stand, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xattend.types import PAD

Phrase = tuple[int, ...]


def rule_out(scores_NV: Tensor, tokens_NT: Tensor, *, no_repeat: int, never: tuple[Phrase, ...]) -> None:
    """Puts -inf, in place, where a token would repeat an n-gram or end a phrase of `never`."""
    written = tokens_NT.shape[1]
    if 0 < no_repeat <= written:
        run_NWn = tokens_NT.unfold(1, no_repeat, 1)
        last_N1n = tokens_NT[:, None, written - no_repeat + 1 :]
        again_NW = (run_NWn[..., :-1] == last_N1n).all(dim=2)
        scores_NV.scatter_(1, run_NWn[..., -1].where(again_NW, PAD), -torch.inf)
    for *begins, ends in never:
        if len(begins) <= written:
            there_N = (tokens_NT[:, written - len(begins) :] == tokens_NT.new_tensor(begins)).all(dim=1)
            scores_NV[:, ends].masked_fill_(there_N, -torch.inf)


def holds(tokens: Phrase, phrase: Phrase) -> bool:
    """Whether a phrase stands somewhere in an output.

    >>> holds((4, 5, 6), (5, 6)), holds((4, 5, 6), (4, 6))
    (True, False)
    """
    return any(tokens[place : place + len(phrase)] == phrase for place in range(len(tokens) - len(phrase) + 1))
