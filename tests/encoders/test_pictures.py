"""Encoders of pictures and of features, against torch's own layers and numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tests.backbones.tiny import Tiny
from xattend.encoders import CNN, Grid, Tail
from xattend.errors import UserError
from xattend.layers.ground import contrasted
from xattend.layers.places import Places, on_grid
from xattend.layers.positions import sinusoids
from xattend.types import Padded, Space


def pictures(count: int, *shape: int) -> Padded:
    return Padded(torch.rand(count, 1, *shape), torch.ones(count, 1, dtype=torch.bool))


def test_cnn_is_convolutions_row_by_row() -> None:
    encoder = CNN(Space(features=(1, 6, 9)), size=4, widths=[8, 16], strides=[2, [1, 3]], depth=1).eval()
    source = pictures(2, 1, 6, 9)
    first, second = (block[0] for block in encoder.blocks)
    h = source.values[:, 0] * 2 - 1
    for block, stride in zip(encoder.blocks, [(2, 2), (1, 3)], strict=True):
        h = F.conv2d(h, block[0].weight, None, stride, 1)
        groups = h.shape[1] // 8
        h = torch.relu(F.group_norm(h, groups, block[1].weight, block[1].bias))
    assert (first.stride, second.stride) == ((2, 2), (1, 3))
    memory = encoder(source)
    assert memory.grid == tuple(h.shape[2:]) == (3, 2)
    wanted = encoder.project(h[:, :, 1, 0])  # row 1, column 0: the third place
    torch.testing.assert_close(memory.states_BSD[:, 2], wanted)
    torch.testing.assert_close(memory.summary_BD, memory.states_BSD.mean(dim=1))


def test_columns_are_read_from_left_to_right_by_an_lstm() -> None:
    encoder = CNN(Space(features=(1, 6, 8)), size=4, widths=[8], strides=[2], summary="columns").eval()
    source = pictures(2, 1, 6, 8)
    map_BCHW = encoder.blocks(source.values[:, 0] * 2 - 1)
    assert encoder.reader is not None
    state = encoder.reader.start(2)
    for column in range(4):
        read_BD, state = encoder.reader(map_BCHW[..., column].amax(dim=2), state)
    memory = encoder(source)
    torch.testing.assert_close(memory.summary_BD, read_BD)
    mean = CNN(Space(features=(1, 6, 8)), size=4, widths=[8], strides=[2]).eval()
    mean.load_state_dict({name: value for name, value in encoder.state_dict().items() if not name.startswith("reader")})
    torch.testing.assert_close(memory.states_BSD, mean(source).states_BSD)  # the places are what they were


def test_the_largest_value_of_each_channel_is_a_summary() -> None:
    encoder = CNN(Space(features=(1, 6, 8)), size=4, widths=[8], strides=[2], summary="largest").eval()
    source = pictures(2, 1, 6, 8)
    map_BCHW = encoder.blocks(source.values[:, 0] * 2 - 1)
    assert encoder.whole is not None
    torch.testing.assert_close(encoder(source).summary_BD, encoder.whole(map_BCHW.flatten(2).max(dim=2).values))


def test_columns_of_a_films_padding_are_not_read() -> None:
    encoder = CNN(Space(features=(1, 6, 8)), size=4, widths=[8], strides=[2], summary="columns").eval()
    frames = torch.rand(1, 3, 1, 6, 8)
    two = encoder(Padded(frames[:, :2], torch.ones(1, 2, dtype=torch.bool)))
    padded = encoder(Padded(frames, torch.tensor([[True, True, False]])))
    torch.testing.assert_close(padded.summary_BD, two.summary_BD)


def test_even_contrast_makes_faint_and_light_pictures_alike() -> None:
    encoder = CNN(Space(features=(1, 8, 8)), size=4, widths=[8], strides=[2], contrast="even").eval()
    source = pictures(2, 1, 8, 8)
    faint = Padded(source.values * 0.3 + 0.6, source.mask_BS)
    torch.testing.assert_close(encoder(faint).states_BSD, encoder(source).states_BSD, atol=2e-2, rtol=1e-3)
    kept = CNN(Space(features=(1, 8, 8)), size=4, widths=[8], strides=[2]).eval()
    kept.load_state_dict(encoder.state_dict())
    values = source.values - source.values.flatten(2).median(dim=2).values[..., None, None, None]
    values = values / (values.flatten(2).std(dim=2)[..., None, None, None] + 1e-3)
    torch.testing.assert_close(encoder(source).states_BSD, kept(Padded((values + 1) / 2, source.mask_BS)).states_BSD, atol=1e-5, rtol=1e-4)
    flat = Padded(torch.full((1, 1, 1, 8, 8), 0.7), torch.ones(1, 1, dtype=torch.bool))
    assert bool(encoder(flat).states_BSD.isfinite().all())


def test_even_contrast_makes_the_ground_zero_whatever_lies_on_it() -> None:
    encoder = CNN(Space(features=(3, 8, 8)), size=4, widths=[8], strides=[1], contrast="even", norm="none").eval()
    ground = torch.tensor([0.9, 0.5, 0.2])[:, None, None].expand(3, 8, 8)
    one, other = ground.clone(), ground.clone()
    one[:, 0, 0], other[:, 0, 0], other[:, 1, 0] = 0.0, torch.tensor([0.1, 1.0, 0.3]), 1.0
    states = encoder(Padded(torch.stack([one, other])[:, None], torch.ones(2, 1, dtype=torch.bool))).states_BSD
    torch.testing.assert_close(states[0, -1], states[1, -1])
    assert not torch.allclose(states[0, 0], states[1, 0])


def test_norm_scale_is_a_groups_root_mean_square_and_leaves_an_empty_ground_alone() -> None:
    encoder = CNN(Space(features=(3, 8, 8)), size=4, widths=[16], strides=[1], norm="scale").eval()
    convolution, norm = encoder.blocks[0][0], encoder.blocks[0][1]
    map_NCHW = convolution(torch.randn(2, 3, 8, 8))
    groups = map_NCHW.view(2, 2, -1)
    by_hand = (groups / (groups.square().mean(dim=2, keepdim=True) + 1e-3).sqrt()).view_as(map_NCHW)
    torch.testing.assert_close(norm(map_NCHW), by_hand)
    things = torch.zeros(2, 3, 8, 8)
    things[0, :, 0, 0], things[1, 1, 1, 1] = 3.0, -7.0
    seen = norm(convolution(things))
    torch.testing.assert_close(seen[:, :, 5:, 5:], torch.zeros(2, 16, 3, 3))


def test_norm_scales_own_gradient_is_that_of_the_formula() -> None:
    from xattend.layers.scale_norm import _Scaled

    torch.manual_seed(1)
    given = [torch.randn(2, 4, 3, 3, dtype=torch.float64), torch.rand(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)]
    assert torch.autograd.gradcheck(lambda *of: _Scaled.apply(*of, 2), [one.requires_grad_() for one in given])
    assert _Scaled.apply(given[0].bfloat16(), given[1].float(), given[2].float(), 2).dtype is torch.bfloat16  # what convolutions gave, they get


def test_ink_is_bright_whatever_it_is_written_with() -> None:
    ground = torch.full((1, 1, 6, 10), 0.5)
    ground[..., ::2] += 0.01
    light, dark = ground.clone(), ground.clone()
    light[..., 2:4, 2:8], dark[..., 2:4, 2:8] = 0.9, 0.1
    for picture in (light, dark):
        seen = contrasted(picture, "ink")
        assert seen[..., 2:4, 2:8].min() > seen[..., :2, :].abs().max()
    assert contrasted(dark, "even")[..., 2:4, 2:8].max() < 0


@pytest.mark.parametrize(("strides", "off"), [([2, 2, 2], 0.5), ([2, 2], 0.5), ([3, 1], 0.0), ([2, [2, 1], 2, 1], 0.5)])
def test_what_a_place_sees_lies_around_it(strides: list[int | list[int]], off: float) -> None:
    encoder = CNN(Space(features=(1, 96, 96)), size=4, widths=[4] * len(strides), strides=strides, depth=2, norm="none", fields="centred")  # type: ignore[arg-type]
    for layer in encoder.modules():  # so that no rectifier hides a pixel
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.constant_(layer.weight, 0.1)
    values = torch.ones(1, 1, 1, 96, 96, requires_grad=True)
    row, column = (side // 2 for side in encoder.grid)
    encoder(Padded(values, torch.ones(1, 1, dtype=torch.bool))).states_BSD[0, row * encoder.grid[1] + column].sum().backward()
    assert values.grad is not None
    seen = values.grad[0, 0, 0] != 0
    for place, line, places in ((row, seen.any(dim=1), encoder.grid[0]), (column, seen.any(dim=0), encoder.grid[1])):
        pixels, cell = line.nonzero().flatten().tolist(), 96 // places
        assert pixels[0] > 0
        assert pixels[-1] < 95
        assert abs((pixels[0] + pixels[-1]) / 2 - (place * cell + (cell - 1) / 2)) <= off


def test_places_that_show_the_ground_alone_are_left_out() -> None:
    encoder = CNN(Space(features=(1, 8, 8)), size=4, widths=[8], strides=[2], contrast="even", figure=0.5).eval()
    values = torch.full((2, 1, 1, 8, 8), 0.5)
    values[0, 0, 0, 2:4, 4:7] = 1.0  # all of one place, half of the next; the second picture is empty
    memory = encoder(Padded(values, torch.ones(2, 1, dtype=torch.bool)))
    assert memory.mask_BS[0].nonzero().flatten().tolist() == [6, 7]
    assert bool(memory.mask_BS[1].all())
    torch.testing.assert_close(memory.summary_BD[0], memory.states_BSD[0, 6:8].mean(dim=0))
    with pytest.raises(UserError, match="needs to know the ground"):
        CNN(Space(features=(1, 8, 8)), figure=0.5)


def test_a_picture_does_not_depend_on_its_batch_in_training_either() -> None:
    encoder = CNN(Space(features=(3, 8, 8)), size=4, widths=[8], strides=[2]).train()
    source = pictures(3, 3, 8, 8)
    together = encoder(source).states_BSD[1]
    alone = encoder(Padded(source.values[1:2], source.mask_BS[1:2])).states_BSD[0]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_cnn_settings_that_do_not_fit() -> None:
    with pytest.raises(UserError, match=r"2 blocks and encoder\.strides 1"):
        CNN(Space(features=(3, 8, 8)), widths=[8, 8], strides=[2])
    with pytest.raises(UserError, match=r"2 blocks and encoder\.depth 1"):
        CNN(Space(features=(3, 8, 8)), widths=[8, 8], strides=[2, 2], depth=[1])
    with pytest.raises(UserError, match="reads pictures"):
        CNN(Space(vocabulary=9))


def test_grid_projects_and_its_summary_is_the_projected_mean() -> None:
    encoder = Grid(Space(features=(6,), grid=(2, 3)), size=4).eval()
    source = Padded(torch.rand(2, 6, 6), torch.ones(2, 6, dtype=torch.bool))
    memory = encoder(source)
    torch.testing.assert_close(memory.states_BSD, encoder.project(source.values))
    torch.testing.assert_close(memory.summary_BD, encoder.project(source.values.mean(dim=1)))
    assert memory.grid == (2, 3)
    with pytest.raises(UserError, match="reads feature vectors"):
        Grid(Space(features=(3, 8, 8)))
    with pytest.raises(UserError, match="places that lie on a grid"):
        Grid(Space(features=(6,)), size=8, positions="learned")


def test_tail_is_the_rest_of_the_network_and_learns() -> None:
    backbone = Tiny()
    stage = backbone.stages["middle"]
    encoder = Tail(Space(features=(stage.width,), grid=stage.grid), backbone="tiny-for-tests", size=4)
    pixels = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
    early, late = backbone.features(pixels, "middle").clone(), backbone.features(pixels, "last").clone()
    memory = encoder.eval()(Padded(early, torch.ones(2, 16, dtype=torch.bool)))
    torch.testing.assert_close(memory.states_BSD, encoder.project(late), atol=1e-5, rtol=1e-5)
    assert memory.grid == (2, 2)
    assert memory.mask_BS.tolist() == [[True] * 4] * 2
    memory.states_BSD.sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in encoder.tail.parameters())
    assert all(weight.grad is None for weight in backbone.network.parameters())
    with pytest.raises(UserError, match="not what backbone 'tiny-for-tests' gives at any stage"):
        Tail(Space(features=(7,), grid=(4, 4)), backbone="tiny-for-tests")


def test_places_in_two_dimensions() -> None:
    table = on_grid((3, 4), 8)
    rows, columns = sinusoids(3, 4), sinusoids(4, 4)
    for y in range(3):
        for x in range(4):
            torch.testing.assert_close(table[4 * y + x], torch.cat([rows[y], columns[x]]))
    states = torch.zeros(1, 24, 8)  # a film of two frames: the same places twice
    found = Places("sinusoidal", (3, 4), 8)(states)
    assert found[0, :12].equal(table)
    assert found[0, 12:].equal(table)
    assert Places("none", None, 6)(torch.ones(1, 5, 6)).equal(torch.ones(1, 5, 6))
    with pytest.raises(UserError, match="that 4 divides"):
        Places("sinusoidal", (3, 4), 6)
