"""The last layers of a pretrained network, trained on with the rest of the model; the layers before them stay frozen.

    a = tail(b)        state_i = W a_i + c        summary = the mean of the states

b is what the backbone gives at an early stage, computed once before training (field `image` with that `stage`); tail is a copy of the
layers behind it. So the network's last part learns what captions need, at the cost of that part alone. The lecture: "the CNN is
pretrained, only its last layers are updated".

The tail's weights are the run's own once it is trained.

>>> registry.settings(Tail)["backbone"].default, Tail.reads
('efficientnet-lite0', 'vectors')
"""

from __future__ import annotations

from typing import Annotated

from torch import nn

from xattend import registry
from xattend.backbones.base import Backbone
from xattend.encoders.base import Encoder, masked_mean
from xattend.errors import UserError
from xattend.layers import places
from xattend.layers.dropout import Dropout
from xattend.registry import Named, register
from xattend.types import Memory, Padded, Space


@register("encoder", "tail")
class Tail(Encoder):
    """A backbone's layers behind the stage that the data holds, and a linear layer."""

    reads = "vectors"

    def __init__(
        self, space: Space, *,
        backbone: Annotated[str, Named("backbone"), "the network whose features the data holds"] = "efficientnet-lite0",
        size: Annotated[int, "width of the states"] = 512,
        positions: Annotated[places.Kind, "where a place lies, added to its state"] = "none",
        dropout: Annotated[float, "on the states"] = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        whole: Backbone = registry.build("backbone", backbone)
        _, last = whole.stage(None)
        stages = [name for name, stage in whole.stages.items() if (stage.grid, (stage.width,)) == (space.grid, space.features)]
        if not stages:
            raise UserError(f"the source is not what backbone '{backbone}' gives at any stage: set data.source.backbone = \"{backbone}\"")
        assert space.grid is not None
        self.size = size
        self.before = space.grid
        self.grid = last.grid
        self.tail = whole.tail(stages[0])
        self.project = nn.Linear(last.width, size)
        self.places = places.Places(positions, last.grid, size)
        self.dropout = Dropout(dropout)

    def forward(self, source: Padded) -> Memory:
        batch = len(source.values)
        map_BDHW = self.tail(source.values.transpose(1, 2).reshape(batch, -1, *self.before))
        states_BSD = self.places(self.project(map_BDHW.flatten(2).transpose(1, 2)))
        mask_BS = source.mask_BS[:, :1].expand(-1, states_BSD.shape[1])
        return Memory(self.dropout(states_BSD), mask_BS, self.dropout(masked_mean(states_BSD, mask_BS)), self.grid)
