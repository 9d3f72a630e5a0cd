"""A recogniser without a decoder: an encoder says at each position which label it hears, or none, and CTC sums over the ways (Graves et al. 2006).

    y_t = softmax(W h_t + b);   p(l | x) = sum over paths of prod_t y^t_{pi_t}             (lattices/ctc.py)

Labels do not depend on each other. Search goes through lattices/prefixes.py: `greedy`, `beam` (a prefix beam), `exact` (prefix search) and the
others, and `best-path`. Where it looked is gamma, CTC's posterior alignment. A row with more labels than positions for them (repeats need a
blank between) has no probability: it is left out of the loss, and counted in the log as `impossible`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor, nn

from xattend.encoders.base import Encoder, read_once
from xattend.lattices.ctc import forced, forward_backward, posterior
from xattend.lattices.loss import ctc_loss, labels_of
from xattend.lattices.prefixes import PrefixSteps
from xattend.layers.dropout import Dropout
from xattend.objectives.base import as_loss
from xattend.registry import register
from xattend.search.base import Search
from xattend.systems.answers import heard, prediction
from xattend.systems.base import System
from xattend.systems.parts import Parts
from xattend.types import BOS, EOS, Batch, Loss, Memory, Prediction, Trace

NEVER = -1e4  # a logit that no softmax sees


@register("system", "ctc")
class CTC(System):
    """An encoder and an output layer."""

    uses = ("encoder",)
    looks = True

    def __init__(
        self, parts: Parts, *,
        dropout: Annotated[float, "on what the output layer reads"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        assert parts.source is not None
        self.source, self.target = parts.source, parts.target
        self.encoder: Encoder = parts.build("encoder", parts.source.space)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(self.encoder.size, parts.target.space.symbols())
        never_V = torch.zeros(parts.target.space.symbols())
        never_V[[BOS, EOS]] = NEVER  # no frame is a mark of beginning or end
        self.never_V: Tensor
        self.register_buffer("never_V", never_V, persistent=False)

    def hear(self, batch: Batch) -> Memory:
        """log y as the states of a memory."""
        assert batch.source is not None
        memory = read_once(self.encoder, batch.source)
        log_y_BSV = (self.output(self.dropout(memory.states_BSD)).float() + self.never_V).log_softmax(dim=-1)
        return replace(memory, states_BSD=log_y_BSV, carry=None)

    def loss(self, batch: Batch) -> Loss:
        assert batch.target is not None
        memory = self.hear(batch)
        total, impossible = ctc_loss(memory.states_BSD, memory.mask_BS, batch.target)
        loss = as_loss(total, total, batch.target)
        return replace(loss, parts={**loss.parts, "impossible": float(impossible)}) if impossible else loss

    @torch.inference_mode()
    def predict(self, batch: Batch, search: Search, *, attention: bool = False) -> list[Prediction]:
        assert batch.source is not None
        memory = self.hear(batch)
        found = search.search(PrefixSteps(), memory)
        names = self.source.names(batch.source)
        answers = []
        for row, hypotheses in enumerate(found):
            frames = int(memory.mask_BS[row].sum())
            tokens = heard(None if names is None else names[row], frames)
            one = prediction(hypotheses, self.target, tokens, (frames,))
            if attention:
                best = hypotheses[0]
                labels_1U = torch.tensor([best.tokens], dtype=torch.long)
                weights_1UT = posterior(memory.states_BSD[row : row + 1, :frames], torch.tensor([frames]), labels_1U, torch.tensor([len(best.tokens)]))
                weights_UT = weights_1UT[0] if best.finished else weights_1UT[0, :-1]
                written = self.target.symbols([*best.tokens, EOS] if best.finished else best.tokens)
                one = replace(one, trace=Trace(tokens, written, weights_UT[:, None].numpy(), (frames,)))
            answers.append(one)
        return answers

    @torch.inference_mode()
    def score(self, batch: Batch) -> list[list[float]]:
        """Log-probability of each label given those before it: what PrefixSteps gives along the target. They sum to log p(l | x)."""
        assert batch.target is not None
        memory, steps = self.hear(batch), PrefixSteps()
        state = replace(steps.start(memory), looks=False)
        columns = []
        for t in range(batch.target.values.shape[1] - 1):
            step = steps.step(batch.target.values[:, t], state)
            state = step.state
            columns.append(step.logits_BV.gather(1, batch.target.values[:, t + 1 : t + 2]).squeeze(1))
        logs_BT = torch.stack(columns, dim=1)
        return [row[: length - 1] for row, length in zip(logs_BT.tolist(), batch.target.lengths_B.tolist(), strict=True)]

    @torch.inference_mode()
    def align(self, batch: Batch) -> list[Tensor]:
        assert batch.target is not None
        memory = self.hear(batch)
        labels_BU, count_B = labels_of(batch.target)
        frames_B = memory.mask_BS.sum(dim=1)
        weights_BUT = posterior(memory.states_BSD, frames_B, labels_BU, count_B)
        rows = zip(weights_BUT, count_B.tolist(), frames_B.tolist(), strict=True)
        return [weights_UT[: count + 1, None, :frames] for weights_UT, count, frames in rows]

    @torch.inference_mode()
    def spans(self, batch: Batch) -> list[list[tuple[int, int]] | None]:
        """Forced alignment: of each label of a given target its first position, and the one behind its last, on the likeliest path."""
        assert batch.target is not None
        memory = self.hear(batch)
        labels_BU, count_B = labels_of(batch.target)
        rows = zip(memory.states_BSD, memory.mask_BS.sum(dim=1).tolist(), labels_BU.tolist(), count_B.tolist(), strict=True)
        return [forced(log_y_SV[:frames], labels[:count]) for log_y_SV, frames, labels, count in rows]

    @torch.inference_mode()
    def log_probability(self, batch: Batch) -> Tensor:
        """log p(l | x) of each given target, by our own forward pass: log_prob_B."""
        assert batch.target is not None
        memory = self.hear(batch)
        return forward_backward(memory.states_BSD, memory.mask_BS.sum(dim=1), *labels_of(batch.target)).log_prob_B
