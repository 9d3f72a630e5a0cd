"""The attention GRU that a user would write from a tutorial: one step of the decoder after the other, in plain torch.

Rows are sorted by length, so that its batches have as little padding as ours. The scores come from [state ; source
states] through one layer, as tutorials have it, at every step.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

INSTALL: list[list[str]] = []  # torch alone: runs in the project's environment, without the project
JOBS = ["train gru", "greedy gru"]

JOB = json.loads(Path(sys.argv[1]).read_text("utf-8"))
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(JOB["threads"])

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

PAD, BOS, EOS, UNK = 0, 1, 2, 3
CORPUS = Path(JOB["corpus"])
WORDS = {word: i + 4 for i, word in enumerate((CORPUS / "vocabulary").read_text("utf-8").split("\n")[:-1])}


class Plain(nn.Module):
    """Embeddings 256, bidirectional GRU 2 x 256, decoder 512, attention 512."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.source, self.target = (nn.Embedding(vocabulary, 256, padding_idx=PAD) for _ in range(2))
        self.dropout = nn.Dropout(0.1)
        self.encoder = nn.GRU(256, 256, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(512, 512)
        self.cell = nn.GRUCell(256 + 512, 512)
        self.align = nn.Linear(1024, 512)
        self.v = nn.Linear(512, 1, bias=False)
        self.mix = nn.Linear(1024, 512)
        self.out = nn.Linear(512, vocabulary)

    def read(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mask = x != PAD
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.source(x)), mask.sum(dim=1), batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        return states, mask, torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))

    def step(self, token: Tensor, h: Tensor, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([h[:, None].expand(-1, states.shape[1], -1), states], dim=-1)
        scores = self.v(torch.tanh(self.align(both))).squeeze(-1).masked_fill(~mask, -1e9)
        context = (scores.softmax(dim=-1)[:, None] @ states).squeeze(1)
        h = self.cell(torch.cat([self.dropout(self.target(token)), context], dim=-1), h)
        return self.out(torch.tanh(self.mix(torch.cat([h, context], dim=-1)))), h


def read_ids(name: str) -> list[list[int]]:
    return [[WORDS.get(word, UNK) for word in line.split()] for line in (CORPUS / name).read_text("utf-8").splitlines()]


def pad(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def batches() -> list[list[tuple[list[int], list[int]]]]:
    """Of like length, shuffled."""
    pairs = [([*a, EOS], [BOS, *b, EOS]) for a, b in zip(read_ids("train.source"), read_ids("train.target"), strict=True)]
    pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
    found: list[list[tuple[list[int], list[int]]]] = [[]]
    for pair in pairs:
        longest = max(len(side) for one in [*found[-1], pair] for side in one)
        full = len(found[-1]) == JOB["sentences"] if "sentences" in JOB else (len(found[-1]) + 1) * longest > JOB["tokens"]
        if full:
            found.append([])
        found[-1].append(pair)
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(1)).tolist()
    return [found[i] for i in order]


def train() -> dict[str, Any]:
    model = Plain(len(WORDS) + 4)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD)
    tokens = updates = 0
    began = 0.0
    for number, rows in enumerate(cycle(batches())):
        if number == 3:
            began, tokens, updates = time.perf_counter(), 0, 0
        x, y = pad([a for a, _ in rows]), pad([b for _, b in rows])
        states, mask, h = model.read(x)
        logits = []
        for t in range(y.shape[1] - 1):
            scores, h = model.step(y[:, t], h, states, mask)
            logits.append(scores)
        loss = loss_of(torch.stack(logits, dim=1).flatten(0, 1), y[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        loss.item()
        tokens, updates = tokens + int((y[:, 1:] != PAD).sum()), updates + 1
        if number > 3 and time.perf_counter() - began > JOB["seconds"]:
            break
    seconds = time.perf_counter() - began
    return {
        "value": tokens / seconds, "unit": "target tokens/s", "tokens": tokens, "seconds": seconds, "updates": updates,
        "parameters": sum(p.numel() for p in model.parameters()), "note": "",
    }  # fmt: skip


@torch.inference_mode()
def decode() -> dict[str, Any]:
    model = Plain(len(WORDS) + 4).eval()
    sources = sorted(([*ids, EOS] for ids in read_ids("test.source")), key=len)
    size = JOB["batch"]
    parts = [sources[i : i + size] for i in range(0, len(sources) - size + 1, size)]
    sentences, began = 0, 0.0
    for number, rows in enumerate(cycle(parts[:: max(1, len(parts) // 16)])):
        if number == 1:
            sentences, began = 0, time.perf_counter()
        states, mask, h = model.read(pad(rows))
        token = torch.full((len(rows),), BOS)
        for _ in range(JOB["length"]):
            scores, h = model.step(token, h, states, mask)
            scores[:, EOS] = -torch.inf
            token = scores.argmax(dim=1)
        sentences += len(rows)
        if number > 1 and time.perf_counter() - began > JOB["seconds"]:
            break
    seconds = time.perf_counter() - began
    return {"value": sentences / seconds, "unit": "sentences/s", "sentences": sentences, "seconds": seconds, "mean_length": JOB["length"], "note": ""}


def main() -> None:
    torch.set_num_threads(JOB["threads"])
    torch.manual_seed(1)
    answer = {"train": train, "decode": decode}[JOB["job"]]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**answer, "peak_mb": round(peak), "version": torch.__version__}))


if __name__ == "__main__":
    main()
