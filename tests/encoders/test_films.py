"""Encoders of films against torch's own convolutions; and each learns what it is made for."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tests.systems import small
from xattend.data.fields.film import Film
from xattend.encoders import Clip, Frames, FramesAndClip
from xattend.errors import UserError
from xattend.layers.positions import sinusoids
from xattend.recipe import Recipe
from xattend.search.greedy import Greedy
from xattend.systems import assemble
from xattend.types import BOS, EOS, Batch, Padded, Space

SPACE = Space(features=(2, 8, 6))


def film(batch: int = 2, frames: int = 5) -> Padded:
    return Padded(torch.rand(batch, frames, 2, 8, 6), torch.ones(batch, frames, dtype=torch.bool))


def test_frames_is_a_network_over_each_frame() -> None:
    encoder, source = Frames(SPACE, size=4, widths=[8, 16], positions="none").eval(), film()
    network = encoder.networks[0]
    for frame in range(5):
        h = source.values[:, frame] * 2 - 1
        for block in network.blocks:
            h = F.conv2d(h, block.convolution.weight, None, 2, 1)
            h = torch.relu(F.group_norm(h, h.shape[1] // 8, block.norm.weight, block.norm.bias))
        wanted = network.project(h.flatten(2).max(dim=2).values)
        torch.testing.assert_close(encoder(source).states_BSD[:, frame], wanted)
    memory = encoder(source)
    torch.testing.assert_close(memory.summary_BD, memory.states_BSD.mean(dim=1))  # the mean frame (Venugopalan et al. 2015)


def test_all_places_side_by_side() -> None:
    encoder, source = Frames(SPACE, size=4, widths=[8], pool="none", positions="none").eval(), film()
    assert encoder.networks[0].project.in_features == 8 * 4 * 3
    mirrored = Padded(source.values.flip(-1), source.mask_BS)
    assert not torch.allclose(encoder(source).states_BSD, encoder(mirrored).states_BSD, atol=1e-3)


def test_clip_is_a_convolution_over_time_and_space() -> None:
    encoder, source = Clip(SPACE, size=4, widths=[8], positions="none").eval(), film()
    (network,), (block,) = encoder.networks, encoder.networks[0].blocks
    x_BCSHW = (source.values * 2 - 1).transpose(1, 2)
    h = F.conv3d(x_BCSHW, block.convolution.weight, None, (1, 2, 2), 1)
    for frame in range(5):
        normed = torch.relu(F.group_norm(h[:, :, frame], 1, block.norm.weight, block.norm.bias))
        torch.testing.assert_close(encoder(source).states_BSD[:, frame], network.project(normed.amax(dim=(2, 3))), atol=1e-5, rtol=1e-5)


def test_clip_sees_the_order_of_frames_and_frames_does_not() -> None:
    source = film()
    backwards = Padded(source.values.flip(1), source.mask_BS)
    alone, moving = (kind(SPACE, size=4, widths=[8], positions="none").eval() for kind in (Frames, Clip))
    torch.testing.assert_close(alone(source).states_BSD, alone(backwards).states_BSD.flip(1))
    assert not torch.allclose(moving(source).states_BSD, moving(backwards).states_BSD.flip(1), atol=1e-3)


def test_both_stand_side_by_side_and_positions_are_added() -> None:
    encoder, source = FramesAndClip(SPACE, size=4, widths=[8], clip_widths=[8, 8]).eval(), film()
    memory = encoder(source)
    joined = torch.cat([network(source) for network in encoder.networks], dim=-1)
    assert memory.states_BSD.shape == (2, 5, 8)
    torch.testing.assert_close(memory.states_BSD, joined + sinusoids(5, 8))
    torch.testing.assert_close(memory.summary_BD, joined.mean(dim=1))


def test_what_reads_films_reads_nothing_else() -> None:
    with pytest.raises(UserError, match="reads pictures"):
        Frames(Space(vocabulary=9))


def moving_dot(rows: int, generator: torch.Generator) -> Batch:
    """A square that goes right, then stays: `a b`; stays, then goes right: `b a`; goes left: `c c`."""
    values, target = torch.zeros(rows, 6, 1, 8, 8), []
    for row in range(rows):
        kind, y, x = int(torch.randint(3, (), generator=generator)), int(torch.randint(6, (), generator=generator)), 2
        path = [[x, x + 1, x + 2, x + 3, x + 3, x + 3], [x, x, x, x + 1, x + 2, x + 3], [x + 3, x + 2, x + 2, x + 1, x, x]][kind]
        for frame, place in enumerate(path):
            values[row, frame, 0, y : y + 2, place : place + 2] = 1
        target.append([BOS, *[(4, 5), (5, 4), (6, 6)][kind], EOS])
    return Batch(Padded(values, torch.ones(rows, 6, dtype=torch.bool)), small.padded(target), tuple(range(rows)))


def test_motion_in_its_order_is_learned_by_3d_convolutions_and_attention_over_time() -> None:
    sections = {
        "data": {"task": "copy"}, "encoder": {"kind": "clip", "size": 16, "widths": [8, 8]}, "attention": {"kind": "additive", "size": 16},
        "decoder": {"kind": "rnn", "cell": "lstm", "size": 32, "embedding": 8},
    }  # fmt: skip
    model = assemble(Recipe(sections, "t.toml").resolve(), Film(frames=6, size=8, grey=True), small.field())
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(80):
        loss = model.loss(moving_dot(32, generator))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
    rows = moving_dot(32, torch.Generator().manual_seed(2))
    found = model.eval().predict(rows, Greedy(), attention=True)
    right = [one.hypothesis.tokens == wanted[1:3] for one, wanted in zip(found, rows.target.values.tolist(), strict=True)]
    assert sum(right) >= 30
    assert found[0].trace.grid == (6,)
    assert found[0].trace.weights_THS.shape == (3, 1, 6)
