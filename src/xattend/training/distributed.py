"""Several processes that train one model: `torchrun --nproc-per-node 2 -m xattend train ...`.

Every process takes each global batch's rows by stride and adds up the gradient of its *summed* loss; one sum over the
processes, of gradients and counts together, and a division by the global count then give the gradient of one process
on the whole batch. What is said between processes besides is JSON: torch's own object calls use pickle.

>>> one = Group()
>>> one.first, one.share([5, 6, 7]), one.tell({"stop": False})
(True, [5, 6, 7], {'stop': False})
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

BUCKET = 1 << 23  # numbers in one message: 32 MB of float32


class Group:
    """The processes of one training; alone, it is a group of one and says nothing to anybody."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world

    @property
    def first(self) -> bool:
        """Whether this process saves and prints."""
        return self.rank == 0

    def share(self, rows: Sequence[Any]) -> Sequence[Any]:
        """This process's rows of a global batch; may be empty."""
        return rows[self.rank :: self.world]

    def add_up(self, tensors: list[Tensor]) -> None:
        """Each tensor becomes its sum over all processes. They travel flat, in buckets: few messages, bounded memory."""
        if self.world == 1:
            return
        bucket: list[Tensor] = []
        for tensor in [*tensors, None]:
            if tensor is None or sum(t.numel() for t in bucket) + tensor.numel() > BUCKET:
                if bucket:
                    flat = torch.cat([t.reshape(-1) for t in bucket])
                    dist.all_reduce(flat)
                    for part, t in zip(torch.split(flat, [t.numel() for t in bucket]), bucket, strict=True):
                        t.copy_(part.view_as(t))
                bucket = []
            if tensor is not None:
                bucket.append(tensor)

    def copy_first(self, tensors: list[Tensor]) -> None:
        """Each tensor becomes that of the first process."""
        if self.world > 1:
            for tensor in tensors:
                held = tensor.contiguous()
                dist.broadcast(held, src=0)
                tensor.copy_(held)

    def tell(self, value: Any) -> Any:
        """What the first process says, in every process. `value` is JSON; the others' own is ignored."""
        if self.world == 1:
            return value
        return self._spoken(value, by=0)

    def gather(self, value: Any) -> list[Any]:
        """What every process says, in every process, by rank."""
        if self.world == 1:
            return [value]
        return [self._spoken(value, by=rank) for rank in range(self.world)]

    def _spoken(self, value: Any, by: int) -> Any:
        said = torch.tensor(list(json.dumps(value).encode()) if self.rank == by else [], dtype=torch.uint8)
        size = torch.tensor([len(said)])
        dist.broadcast(size, src=by)
        if self.rank != by:
            said = torch.empty(int(size), dtype=torch.uint8)
        dist.broadcast(said, src=by)
        return json.loads(bytes(said.tolist()))


@contextlib.contextmanager
def joined() -> Iterator[Group]:
    """The group that torchrun (or anything else that sets RANK and WORLD_SIZE) started, or a group of one."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or not dist.is_available():
        yield Group()
        return
    ours = not dist.is_initialized()
    if ours:
        # long, because the first process may validate or save for a while as the others wait
        dist.init_process_group("gloo", timeout=datetime.timedelta(hours=6))
    try:
        yield Group(dist.get_rank(), dist.get_world_size())
    finally:
        if ours:
            dist.destroy_process_group()
