"""One word and then the end: a classifier, as search sees it. So n-best lists, beams and ensembles work as for any decoder.

>>> from xattend.search.greedy import Greedy
>>> label = Label(2, 6)
>>> _ = label.output.weight.data.copy_(torch.tensor([[0.0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [0, 1]]))
>>> best = Greedy().search(label, memory_of(torch.tensor([[0.0, 9.0]])))[0][0]
>>> best.tokens, best.finished
([5], True)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from xattend.errors import UserError
from xattend.types import EOS, SPECIALS, Memory, Padded, State, Step

NEVER = -1e4  # a logit that no softmax sees


class Label(nn.Module):
    """From a state to one of the target's words; the marks that no row has as its word are never chosen."""

    def __init__(self, size: int, vocabulary: int) -> None:
        super().__init__()
        self.output = nn.Linear(size, vocabulary)
        nn.init.zeros_(self.output.bias)
        never = torch.zeros(vocabulary)
        never[: len(SPECIALS)] = NEVER
        end = torch.full((vocabulary,), NEVER)
        end[EOS] = 0.0
        self.never: Tensor
        self.end: Tensor
        self.register_buffer("never", never, persistent=False)
        self.register_buffer("end", end, persistent=False)

    def forward(self, states_BD: Tensor) -> Tensor:
        """logits_BV"""
        logits_BV: Tensor = self.output(states_BD) + self.never
        return logits_BV

    def start(self, memory: Memory) -> State:
        logits_BV = self(memory.summary_BD)
        return State((), (logits_BV, torch.zeros(len(logits_BV), dtype=torch.bool)))

    def step(self, token_B: Tensor, state: State) -> Step:
        logits_BV, written_B = state.moving
        now_BV = torch.where(written_B[:, None], self.end, logits_BV)
        nowhere = now_BV.new_zeros(len(now_BV), 1, 1) if state.looks else None
        return Step(now_BV, state.then((logits_BV, torch.ones_like(written_B))), nowhere)


def memory_of(states_BD: Tensor) -> Memory:
    """A state as a memory of one position, for search."""
    return Memory(states_BD[:, None], torch.ones(len(states_BD), 1, dtype=torch.bool), states_BD, (1,))


def labels_of(target: Padded | None) -> Tensor:
    """The one word of each target: labels_B."""
    assert target is not None
    if target.values.shape[1] != 3 or not bool(target.mask_BS.all()):
        raise UserError("this system writes one unit a row, and some target has more or none: give each row one label (data.target.unit = \"word\" for long ones)")
    return target.values[:, 1]


def label_scores(logits_BV: Tensor, target: Padded | None) -> list[list[float]]:
    """Log-probability of each given label, and of the end, which is certain."""
    logs_BV = logits_BV.float().log_softmax(dim=1)
    return [[log, 0.0] for log in logs_BV.gather(1, labels_of(target)[:, None]).squeeze(1).tolist()]
