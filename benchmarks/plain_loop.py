"""The attention model a user would write by hand, for comparison: one step of the decoder after the other.

A bidirectional GRU reads characters, a GRU cell with additive attention writes them, Adam at 1e-3, batches of 64 rows.
It shares no code with xattend, so that neither its speed nor its quality borrows from the project.

    python benchmarks/plain_loop.py train.tsv test.tsv --minutes 2
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from torch import Tensor, nn

PAD, BOS, EOS, UNK = 0, 1, 2, 3


class Plain(nn.Module):
    def __init__(self, source: int, target: int, embedding: int, size: int) -> None:
        super().__init__()
        self.source = nn.Embedding(source, embedding, padding_idx=PAD)
        self.target = nn.Embedding(target, embedding, padding_idx=PAD)
        self.encoder = nn.GRU(embedding, size, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * size, 2 * size)
        self.cell = nn.GRUCell(embedding + 2 * size, 2 * size)
        self.align = nn.Linear(4 * size, size)
        self.v = nn.Linear(size, 1, bias=False)
        self.out = nn.Linear(4 * size, target)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = nn.utils.rnn.pack_padded_sequence(self.source(x), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        return states, torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))

    def step(self, token: Tensor, h: Tensor, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([h[:, None].expand(-1, states.shape[1], -1), states], dim=-1)
        scores = self.v(torch.tanh(self.align(both))).squeeze(-1).masked_fill(~mask, -1e9)
        context = (scores.softmax(dim=-1)[:, None] @ states).squeeze(1)
        h = self.cell(torch.cat([self.target(token), context], dim=-1), h)
        return self.out(torch.cat([h, context], dim=-1)), h


def read_pairs(file: Path) -> list[tuple[str, str]]:
    rows = (line.split("\t") for line in file.read_text("utf-8").splitlines())
    return [(row[0].lower(), row[1]) for row in rows]


def alphabet(texts: list[str]) -> dict[str, int]:
    return {c: i + 4 for i, c in enumerate(sorted(set("".join(texts))))}


def pad(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--embedding", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    random.seed(given.seed)
    train, test = read_pairs(given.train), read_pairs(given.test)
    left, right = alphabet([s for s, _ in train]), alphabet([t for _, t in train])
    back = {i: c for c, i in right.items()}
    rows = [([left[c] for c in s] + [EOS], [BOS] + [right[c] for c in t] + [EOS]) for s, t in train]
    model = Plain(len(left) + 4, len(right) + 4, given.embedding, given.size)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    start, tokens, epochs = time.monotonic(), 0, 0
    while time.monotonic() - start < given.minutes * 60:
        random.shuffle(rows)
        for i in range(0, len(rows), given.batch):
            if time.monotonic() - start >= given.minutes * 60:
                break
            x, y = pad([r[0] for r in rows[i : i + given.batch]]), pad([r[1] for r in rows[i : i + given.batch]])
            states, h = model.read(x, (x != PAD).sum(dim=1))
            loss = torch.zeros(())
            for t in range(y.shape[1] - 1):
                logits, h = model.step(y[:, t], h, states, x != PAD)
                loss = loss + nn.functional.cross_entropy(logits, y[:, t + 1], ignore_index=PAD, reduction="sum")
            count = int((y[:, 1:] != PAD).sum())
            optimiser.zero_grad()
            (loss / count).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            tokens += count
        epochs += 1
    seconds = time.monotonic() - start
    model.eval()
    edits = letters = exact = 0
    with torch.no_grad():
        for i in range(0, len(test), 256):
            part = test[i : i + 256]
            x = pad([[left.get(c, UNK) for c in s] + [EOS] for s, _ in part])
            states, h = model.read(x, (x != PAD).sum(dim=1))
            token, written = torch.full((len(part),), BOS), []
            for _ in range(60):
                logits, h = model.step(token, h, states, x != PAD)
                token = logits.argmax(dim=-1)
                written.append(token)
            for ids, (_, wanted) in zip(torch.stack(written, dim=1).tolist(), part, strict=True):
                ids = ids[: ids.index(EOS)] if EOS in ids else ids
                found = "".join(back.get(i, "") for i in ids)
                edits += distance(found, wanted)
                letters += len(wanted)
                exact += found == wanted
    print(json.dumps({
        "cer": round(edits / letters, 4), "exact": round(exact / len(test), 4), "minutes": round(seconds / 60, 2),
        "epochs": epochs, "tokens_per_second": round(tokens / seconds),
        "weights": sum(p.numel() for p in model.parameters()),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
