"""Steps a second of the Turing machine and of the differentiable computer in training, beside a loop in the style of public code.

The plain machines below are written as one finds them: a module a head with its own layers, heads one after the other, the circular
convolution of each row by itself, slots of each row put back in order one row after the other. They share no code with xattend. Both sides
train on the same batches (forward, backward, Adam), in turn, and the median of the rounds counts, the first of them left out. `careful` is the same
loop without its loops over rows, as a patient user would write it: the ratio to it is the one to judge by.

    python benchmarks/memory_machines.py --threads 1 --rounds 7 [--cpu-time] [--machine ntm]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

CHAIN = ["content", "interpolation", "shift", "sharpen"]


class NTMHead(nn.Module):
    by_rows = True  # the convolution of each row by itself

    def __init__(self, size: int, width: int, write: bool) -> None:
        super().__init__()
        self.key, self.beta, self.gate = nn.Linear(size, width), nn.Linear(size, 1), nn.Linear(size, 1)
        self.shift, self.gamma = nn.Linear(size, 3), nn.Linear(size, 1)
        if write:
            self.erase, self.add = nn.Linear(size, width), nn.Linear(size, width)

    def address(self, h: Tensor, memory: Tensor, last: Tensor) -> Tensor:
        key, beta, gate = torch.tanh(self.key(h)), F.softplus(self.beta(h)), torch.sigmoid(self.gate(h))
        shift, gamma = F.softmax(self.shift(h), dim=1), 1 + F.softplus(self.gamma(h))
        content = F.softmax(beta * F.cosine_similarity(memory + 1e-16, key.unsqueeze(1) + 1e-16, dim=-1), dim=1)
        mixed = gate * content + (1 - gate) * last
        if not self.by_rows:
            moved = sum(shift[:, 2 - place, None] * torch.roll(mixed, 1 - place, dims=1) for place in range(3))
            sharp = (moved + 1e-16) ** gamma
            return sharp / sharp.sum(dim=1, keepdim=True)
        moved = torch.zeros_like(mixed)
        for row in range(len(h)):
            around = torch.cat([mixed[row, -1:], mixed[row], mixed[row, :1]])
            moved[row] = F.conv1d(around.view(1, 1, -1), shift[row].view(1, 1, -1)).view(-1)
        sharp = moved**gamma
        return sharp / (sharp.sum(dim=1, keepdim=True) + 1e-16)


class PlainNTM(nn.Module):
    def __init__(self, inputs: int, outputs: int, size: int, slots: int, width: int, reads: int) -> None:
        super().__init__()
        self.size, self.slots, self.width, self.reads = size, slots, width, reads
        self.controller = nn.LSTMCell(inputs + reads * width, size)
        self.read_heads = nn.ModuleList(NTMHead(size, width, False) for _ in range(reads))
        self.write_head = NTMHead(size, width, True)
        self.out = nn.Linear(size + reads * width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        rows = len(x)
        h = c = x.new_zeros(rows, self.size)
        memory = x.new_full((rows, self.slots, self.width), 1e-6)
        last = [F.one_hot(torch.zeros(rows, dtype=torch.long), self.slots).float() for _ in range(self.reads + 1)]
        vectors = [x.new_zeros(rows, self.width) for _ in range(self.reads)]
        written = []
        for t in range(x.shape[1]):
            h, c = self.controller(torch.cat([x[:, t], *vectors], dim=1), (h, c))
            head: Any = self.write_head
            last[0] = head.address(h, memory, last[0])
            erase, add = torch.sigmoid(head.erase(h)), torch.tanh(head.add(h))
            memory = memory * (1 - torch.matmul(last[0].unsqueeze(-1), erase.unsqueeze(1))) + torch.matmul(last[0].unsqueeze(-1), add.unsqueeze(1))
            for number, reader in enumerate(self.read_heads, 1):
                last[number] = reader.address(h, memory, last[number])  # type: ignore[operator]
                vectors[number - 1] = torch.matmul(last[number].unsqueeze(1), memory).squeeze(1)
            written.append(self.out(torch.cat([h, *vectors], dim=1)))
        return torch.stack(written, dim=1)


class PlainDNC(nn.Module):
    by_rows = True  # slots of each row put back in order by itself

    def __init__(self, inputs: int, outputs: int, size: int, slots: int, width: int, reads: int) -> None:
        super().__init__()
        self.size, self.slots, self.width, self.reads = size, slots, width, reads
        self.controller = nn.LSTMCell(inputs + reads * width, size)
        self.write_key, self.write_beta = nn.Linear(size, width), nn.Linear(size, 1)
        self.erase, self.add = nn.Linear(size, width), nn.Linear(size, width)
        self.allocation_gate, self.write_gate = nn.Linear(size, 1), nn.Linear(size, 1)
        self.keys = nn.ModuleList(nn.Linear(size, width) for _ in range(reads))
        self.betas = nn.ModuleList(nn.Linear(size, 1) for _ in range(reads))
        self.free = nn.ModuleList(nn.Linear(size, 1) for _ in range(reads))
        self.modes = nn.ModuleList(nn.Linear(size, 3) for _ in range(reads))
        self.out = nn.Linear(size + reads * width, outputs)

    def content(self, memory: Tensor, key: Tensor, beta: Tensor) -> Tensor:
        return F.softmax(beta * F.cosine_similarity(memory + 1e-16, key.unsqueeze(1) + 1e-16, dim=-1), dim=1)

    def allocate(self, usage: Tensor) -> Tensor:
        usage = 1e-6 + (1 - 1e-6) * usage
        ordered, places = torch.sort(usage, dim=1)
        before = torch.cumprod(torch.cat([torch.ones_like(ordered[:, :1]), ordered[:, :-1]], dim=1), dim=1)
        found, back = torch.zeros_like(usage), (1 - ordered) * before
        if not self.by_rows:
            return found.scatter(1, places, back)
        for row in range(len(usage)):
            found[row] = found[row].index_add(0, places[row], back[row])
        return found

    def forward(self, x: Tensor) -> Tensor:
        rows, slots = len(x), self.slots
        h = c = x.new_zeros(rows, self.size)
        memory, usage, links = x.new_zeros(rows, slots, self.width), x.new_zeros(rows, slots), x.new_zeros(rows, slots, slots)
        precedence = write = x.new_zeros(rows, slots)
        reading = [x.new_zeros(rows, slots) for _ in range(self.reads)]
        vectors = [x.new_zeros(rows, self.width) for _ in range(self.reads)]
        no_loops = 1 - torch.eye(slots).unsqueeze(0)
        written = []
        for t in range(x.shape[1]):
            h, c = self.controller(torch.cat([x[:, t], *vectors], dim=1), (h, c))
            kept = torch.ones_like(usage)
            for number in range(self.reads):
                kept = kept * (1 - torch.sigmoid(self.free[number](h)) * reading[number])
            usage = (usage + write - usage * write) * kept
            content = self.content(memory, torch.tanh(self.write_key(h)), 1 + F.softplus(self.write_beta(h)))
            gate = torch.sigmoid(self.allocation_gate(h))
            write = torch.sigmoid(self.write_gate(h)) * (gate * self.allocate(usage) + (1 - gate) * content)
            erase, add = torch.sigmoid(self.erase(h)), torch.tanh(self.add(h))
            memory = memory * (1 - torch.matmul(write.unsqueeze(-1), erase.unsqueeze(1))) + torch.matmul(write.unsqueeze(-1), add.unsqueeze(1))
            links = (1 - write.unsqueeze(2) - write.unsqueeze(1)) * links + torch.matmul(write.unsqueeze(2), precedence.unsqueeze(1))
            links = links * no_loops
            precedence = (1 - write.sum(dim=1, keepdim=True)) * precedence + write
            for number in range(self.reads):
                content = self.content(memory, torch.tanh(self.keys[number](h)), 1 + F.softplus(self.betas[number](h)))
                modes = F.softmax(self.modes[number](h), dim=1)
                back = torch.matmul(links.transpose(1, 2), reading[number].unsqueeze(-1)).squeeze(-1)
                on = torch.matmul(links, reading[number].unsqueeze(-1)).squeeze(-1)
                reading[number] = modes[:, :1] * back + modes[:, 1:2] * content + modes[:, 2:] * on
                vectors[number] = torch.matmul(reading[number].unsqueeze(1), memory).squeeze(1)
            written.append(self.out(torch.cat([h, *vectors], dim=1)))
        return torch.stack(written, dim=1)


def ours(kind: str, shape: dict[str, int]) -> nn.Module:
    from xattend import recipe
    from xattend.data.fields.bits import Bits
    from xattend.systems import assemble

    sections: dict[str, dict[str, Any]] = {
        "data": {"task": {"kind": "bits-copy"}}, "search": {"kind": "greedy"},
        "system": {"kind": "machine", **shape, **({} if kind == "ntm" else {"read": ["content", "links"], "write": ["content", "usage", "allocation"]})},
    }  # fmt: skip
    fields = Bits(), Bits()
    fields[0].fit(["01010101 copy ."])
    fields[1].fit(["01010101"])
    return assemble(recipe.Recipe(sections, "benchmark").resolve(), *fields)


def batch(rows: int, length: int) -> Any:
    from xattend.data.tasks.bits import Copy
    from xattend.systems.machine import drawn

    return drawn(Copy(min_length=length, max_length=length), np.random.default_rng(1), rows)


def trains(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)

    def update() -> None:
        optimiser.zero_grad(set_to_none=True)
        loss().backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return update


def main() -> None:
    parser = argparse.ArgumentParser(description="Steps a second of memory machines in training, beside a plain loop.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time, not the clock's: on a busy machine, with one thread")
    parser.add_argument("--machine", choices=["ntm", "dnc"], help="only this one")
    parser.add_argument("--rows", type=int, default=16, help="of a batch")
    parser.add_argument("--length", type=int, default=10, help="words to be copied: 2 x length + 1 steps")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    clock = time.process_time if given.cpu_time else time.perf_counter
    shapes = {
        ("ntm", "one read head"): {"size": 100, "slots": 128, "width": 20, "reads": 1},
        ("ntm", "four read heads"): {"size": 100, "slots": 128, "width": 20, "reads": 4},
        ("dnc", "four read heads"): {"size": 64, "slots": 16, "width": 16, "reads": 4},
        ("dnc", "one read head"): {"size": 64, "slots": 10, "width": 12, "reads": 1},
    }
    shapes = {each: shape for each, shape in shapes.items() if given.machine in (None, each[0])}
    rows = batch(given.rows, given.length)
    steps = rows.source.values.shape[1]
    for (kind, what), shape in shapes.items():
        torch.manual_seed(1)
        machine: Any = ours(kind, shape)
        machine.train().task = None  # both train on the rows given
        plain = (PlainNTM if kind == "ntm" else PlainDNC)(machine.source.channels, machine.target.channels, **shape)
        inputs, wanted = machine.source.vectors(rows.source.values), machine.target.vectors(rows.target.values[:, 1:-1])

        def of_plain(plain: nn.Module = plain, inputs: Tensor = inputs, wanted: Tensor = wanted) -> Tensor:
            return F.binary_cross_entropy_with_logits(plain(inputs)[:, -wanted.shape[1] :], wanted)

        def of_careful(of_plain: Callable[[], Tensor] = of_plain, plain: nn.Module = plain) -> Tensor:
            NTMHead.by_rows = PlainDNC.by_rows = False
            try:
                return of_plain()
            finally:
                NTMHead.by_rows = PlainDNC.by_rows = True

        updates = {"plain": trains(plain, of_plain), "careful": trains(plain, of_careful), "ours": trains(machine, lambda machine=machine: machine.loss(rows).total / 100)}
        times: dict[str, list[float]] = {name: [] for name in updates}
        for _ in range(given.rounds + 1):
            for name, update in updates.items():
                began = clock()
                update()
                times[name].append(clock() - began)
        found = {name: round(steps / statistics.median(each[1:]), 1) for name, each in times.items()}
        print(json.dumps({"machine": kind, "shape": what, "steps_per_second": found, "times": {name: round(found["ours"] / found[name], 2) for name in ("plain", "careful")}}), flush=True)


if __name__ == "__main__":
    main()
