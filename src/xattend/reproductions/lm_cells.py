"""Character language models by cell, and how far back their gradients reach (the lecture's vanishing gradients).

For a trained model, |d loss_T / d h_{T-k}| is measured for lags k, averaged over rows: what an error at the end of a text tells the state
k characters before. A plain recurrent network's falls exponentially; gates keep it up. No paper prints figures for these rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xattend.registry import register
from xattend.report.plot import Plot
from xattend.reproductions.base import Outcome, Plan, Reproduction, Summary

if TYPE_CHECKING:
    from xattend.trial import Trial

CELLS = ("sigma-rnn", "tanh-rnn", "sigma-gru", "gru-reset-before", "gru", "sigma-lstm", "lstm")
LAGS = (0, 1, 2, 5, 10, 20, 40)
ROWS = 64


def gradient_against_lag(trial: Trial) -> dict[int, float]:
    """The norm at each lag over that at lag 0, the geometric mean of some test rows that are long enough."""
    import torch
    from torch.nn import functional as F

    from xattend.decoders.rnn import RNN

    decoder, split = getattr(trial.model().system, "decoder", None), trial.data.splits["test"]
    assert isinstance(decoder, RNN)
    rows = [row for row in range(len(split)) if split.lengths[row, 1] > LAGS[-1] + 2][:ROWS]
    ids_BT = torch.stack([torch.from_numpy(split.ids["target"][row][: LAGS[-1] + 3].copy()).long() for row in rows])
    cell: Any = decoder.stack.cells[0]
    state, states = cell.start(len(rows)), []
    with torch.enable_grad():
        for projected_BG in cell.project(decoder.embedding(ids_BT[:, :-1])).unbind(dim=1):
            state = tuple(part.requires_grad_() if not part.requires_grad else part for part in cell.advance(projected_BG, state))
            states.append(state[0])
        logits_BV = decoder.output(decoder.readout(states[-1], states[-1][:, :0], states[-1][:, :0]))
        loss = F.cross_entropy(logits_BV, ids_BT[:, -1], reduction="sum")
        found = torch.autograd.grad(loss, [states[len(states) - 1 - lag] for lag in LAGS])
    logs = [gradient_BD.norm(dim=1).clamp(min=1e-30).log().mean().item() for gradient_BD in found]
    return {lag: math.exp(value - logs[0]) for lag, value in zip(LAGS, logs, strict=True)}


@register("reproduction", "lm-cells")
class LmCells(Reproduction):
    """Bits a character of the best cell; all cells and their gradients in the figures."""

    system, paper = "character language model, 256 units", "the lecture's RNN language model"
    metric, higher_is_better = "bits a character of the LSTM (test)", False

    def plans(self) -> list[Plan]:
        return [Plan(cell, "lm", (f"decoder.cell={cell}", "training.epochs=5.0", "training.precision=bfloat16")) for cell in CELLS]

    def summary(self, found: Mapping[str, Outcome]) -> Summary:
        bits = {cell: one.test["bits_per_character"] for cell, one in found.items()}
        lags = {cell: gradient_against_lag(one.trial) for cell, one in found.items()}
        return Summary(bits["lstm"], {"bits_per_character": bits, "gradient_against_lag": lags})

    def plots(self, found: Mapping[str, Outcome], figures: Mapping[str, Any]) -> dict[str, Plot]:
        lines = {cell: [(float(lag), norm) for lag, norm in norms.items()] for cell, norms in figures["gradient_against_lag"].items()}
        plot = Plot("How far back the gradient reaches", "characters back", "gradient norm, 1 at the end", lines, log_y=True)
        return {"gradients": plot, **super().plots(found, figures)}
