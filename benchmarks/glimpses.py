"""Training steps a second of RAM and DRAW, beside the loops that a reader of the papers would write in PyTorch.

    python benchmarks/glimpses.py --seconds 10 --threads 2

Both sides do the same: the same sizes, batch, looks and losses, Adam, from pictures that are in memory. `plain` is how public code writes them in
PyTorch. RAM: the batch is padded once a scale, and patches are cut out of one picture after the other, as in public repositories of
recurrent visual attention. DRAW: an LSTMCell each way, filter banks as the paper prints them: exponentials, divided by their
sum, one filter bank and one product for each of x and its error. Prints one JSON object; the two sides take turns, and the median of three rounds
counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BATCH = 128
SIZES = {"ram 28": (28, 8, 1, 6), "ram 60": (60, 12, 3, 8)}  # picture, patch, scales, looks
DRAW = {"steps": 12, "read": 5, "write": 8, "size": 256, "code": 48}


class PlainRAM(nn.Module):
    """One picture after the other."""

    def __init__(self, side: int, patch: int, scales: int, looks: int) -> None:
        super().__init__()
        self.patch, self.scales, self.looks = patch, scales, looks
        self.what, self.where = nn.Linear(patch * patch * scales, 128), nn.Linear(2, 128)
        self.what2, self.where2 = nn.Linear(128, 256), nn.Linear(128, 256)
        self.input, self.recurrent = nn.Linear(256, 256), nn.Linear(256, 256)
        self.locator = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2), nn.Tanh())
        self.baseline, self.output = nn.Linear(256, 1), nn.Linear(256, 10)

    def glimpse(self, pictures: Tensor, places: Tensor) -> Tensor:
        found = []
        for scale in range(self.scales):
            width = self.patch * 2**scale
            corners = ((places + 1) / 2 * pictures.shape[2]).long()
            patches = []
            for picture, low, high in zip(F.pad(pictures, (width // 2,) * 4), corners, corners + width):
                patches.append(picture[:, low[1] : high[1], low[0] : high[0]])
            stacked = torch.stack(patches)
            found.append(F.avg_pool2d(stacked, 2**scale) if scale else stacked)
        return torch.cat([patch.flatten(1) for patch in found], dim=1)

    def forward(self, pictures: Tensor, labels: Tensor) -> Tensor:
        batch = len(pictures)
        state, place = torch.zeros(batch, 256), 2 * torch.rand(batch, 2) - 1
        log_pis, baselines = [], []
        for look in range(self.looks):
            seen = self.what2(F.relu(self.what(self.glimpse(pictures, place)))) + self.where2(F.relu(self.where(place)))
            state = F.relu(self.input(F.relu(seen)) + self.recurrent(state))
            if look + 1 < self.looks:
                mean = self.locator(state.detach())
                drawn = torch.distributions.Normal(mean, 0.1).sample().detach()
                log_pis.append(torch.distributions.Normal(mean, 0.1).log_prob(drawn).sum(dim=1))
                baselines.append(self.baseline(state.detach()).squeeze(1))
                place = drawn.clamp(-1, 1)
        logits = self.output(state)
        reward = (logits.argmax(dim=1) == labels).float()
        log_pi, baseline = torch.stack(log_pis), torch.stack(baselines)
        return F.cross_entropy(logits, labels) + ((reward - baseline) ** 2).sum(0).mean() - (log_pi * (reward - baseline.detach())).sum(0).mean()


class PlainDRAW(nn.Module):
    """The paper's equations, one after the other."""

    def __init__(self, side: int = 28) -> None:
        super().__init__()
        self.side, size, code = side, DRAW["size"], DRAW["code"]
        self.encoder = nn.LSTMCell(2 * DRAW["read"] ** 2 + size, size)
        self.decoder = nn.LSTMCell(code, size)
        self.mean, self.log_std = nn.Linear(size, code), nn.Linear(size, code)
        self.place_read, self.place_write = nn.Linear(size, 5), nn.Linear(size, 5)
        self.stroke = nn.Linear(size, DRAW["write"] ** 2)

    def filters(self, numbers: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
        gx, gy, log_variance, log_stride, log_intensity = numbers.chunk(5, dim=1)
        gx, gy = (self.side + 1) / 2 * (gx + 1), (self.side + 1) / 2 * (gy + 1)
        stride = (self.side - 1) / (n - 1) * torch.exp(log_stride)
        steps, pixels = torch.arange(1, n + 1) - n / 2 - 0.5, torch.arange(1, self.side + 1)
        banks = []
        for g in (gx, gy):
            means = (g + steps * stride).unsqueeze(2)
            bank = torch.exp(-((pixels - means) ** 2) / (2 * torch.exp(log_variance).unsqueeze(2)))
            banks.append(bank / (bank.sum(dim=2, keepdim=True) + 1e-8))
        return banks[0], banks[1], torch.exp(log_intensity)

    def read(self, picture: Tensor, missing: Tensor, state: Tensor) -> Tensor:
        x, y, intensity = self.filters(self.place_read(state), DRAW["read"])
        seen = [torch.bmm(torch.bmm(y, part), x.transpose(1, 2)).flatten(1) * intensity for part in (picture, missing)]
        return torch.cat(seen, dim=1)

    def forward(self, pictures: Tensor, labels: Tensor) -> Tensor:
        batch, size = len(pictures), DRAW["size"]
        picture = pictures[:, 0]
        canvas, code_price = torch.zeros(batch, self.side, self.side), torch.zeros(batch)
        encoder = decoder = (torch.zeros(batch, size), torch.zeros(batch, size))
        for _ in range(DRAW["steps"]):
            missing = picture - torch.sigmoid(canvas)
            encoder = self.encoder(torch.cat([self.read(picture, missing, decoder[0]), decoder[0]], dim=1), encoder)
            mean, log_std = self.mean(encoder[0]), self.log_std(encoder[0])
            code = mean + torch.exp(log_std) * torch.randn_like(mean)
            code_price = code_price + 0.5 * (mean**2 + torch.exp(log_std) ** 2 - 2 * log_std - 1).sum(dim=1)
            decoder = self.decoder(code, decoder)
            x, y, intensity = self.filters(self.place_write(decoder[0]), DRAW["write"])
            stroke = self.stroke(decoder[0]).view(batch, DRAW["write"], DRAW["write"])
            canvas = canvas + torch.bmm(torch.bmm(y.transpose(1, 2), stroke), x) / intensity.unsqueeze(2)
        return F.binary_cross_entropy_with_logits(canvas, picture, reduction="sum") / batch + code_price.mean()


def plain(model: nn.Module, pictures: Tensor, labels: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        loss = model(pictures, labels)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimiser.step()

    return step


def ours(system: dict[str, object], side: int, pictures: Tensor, labels: Tensor, precision: str) -> Callable[[], None]:
    """The system in xattend's own update."""
    from xattend import registry
    from xattend.data.fields.placed import Placed
    from xattend.data.fields.text import Text
    from xattend.recipe import Recipe
    from xattend.systems import assemble
    from xattend.training.distributed import Group
    from xattend.training.update import Updater
    from xattend.types import BOS, EOS, Batch, Padded

    text = Text(unit="character")
    text.fit(["0123456789"])
    recipe = Recipe({"data": {"task": "digits"}, "system": system}, "bench.toml").resolve()
    model = assemble(recipe, Placed(size=side), text).train()
    optimiser = registry.build("optimiser", "adam", list(model.parameters()), lr=1e-3)
    updater = Updater(model, optimiser, Group(), accumulate=1, clip=5.0, normalise="sentences", precision=precision)
    target = torch.stack([torch.full_like(labels, BOS), labels + 4, torch.full_like(labels, EOS)], dim=1)
    batch = Batch(Padded(pictures[:, None], torch.ones(BATCH, 1).bool()), Padded(target, torch.ones(BATCH, 3).bool()), tuple(range(BATCH)))

    def step() -> None:
        updater.update(batch)

    return step


def rate(step: Callable[[], None], seconds: float, clock: Callable[[], float]) -> float:
    for _ in range(3):
        step()
    done, began = 0, clock()
    while (passed := clock() - began) < seconds:
        step()
        done += 1
    return done / passed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="of our products (training.precision); the plain loop's are float32")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU seconds instead of those of the clock: for a busy machine, with --threads 1")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    clock = time.process_time if given.cpu_time else time.perf_counter
    torch.manual_seed(1)
    labels, sides = torch.randint(10, (BATCH,)), {}
    for name, (side, patch, scales, looks) in SIZES.items():
        pictures = torch.rand(BATCH, 1, side, side)
        system = {"kind": "ram", "glimpse": {"kind": "retina", "size": patch, "scales": scales}, "looks": looks}
        sides[name] = ours(system, side, pictures, labels, given.precision), plain(PlainRAM(side, patch, scales, looks), pictures, labels)
    pictures = (torch.rand(BATCH, 1, 28, 28) > 0.8).float()
    windows = {key: {"kind": "gaussian", "size": DRAW[key]} for key in ("read", "write")}
    system = {"kind": "draw", "steps": DRAW["steps"], "size": DRAW["size"], "code": DRAW["code"], **windows}
    sides["draw"] = ours(system, 28, pictures, labels, given.precision), plain(PlainDRAW(), pictures, labels)
    found: dict[str, dict[str, float]] = {}
    for name, pair in sides.items():
        rounds = [[rate(step, given.seconds, clock) for step in pair] for _ in range(3)]
        mine, plainly = (statistics.median(each) for each in zip(*rounds))
        found[name] = {"steps_per_second": round(mine, 2), "plain": round(plainly, 2), "times": round(mine / plainly, 2)}
    print(json.dumps({"threads": given.threads, "batch": BATCH, "precision": given.precision, "clock": "cpu" if given.cpu_time else "wall", **found}, indent=1))


if __name__ == "__main__":
    main()
