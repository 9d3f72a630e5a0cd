"""Windows against loops over their formulas, hand-worked numbers, and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from xattend import registry
from xattend.encoders.glimpses import Glimpses
from xattend.glimpses import Gaussian, Glimpse, Retina, Whole, fused
from xattend.types import Space

NAMES = registry.names("glimpse")


def built(name: str, channels: int = 2) -> Glimpse:
    settings = {"size": 3} if name != "whole" else {}
    found: Glimpse = registry.build("glimpse", name, Space(features=(channels, 7, 9)), **settings)
    return found


def interpolated(picture_HW: np.ndarray, y: float, x: float) -> float:
    """Between the four nearest pixels; nothing outside. Pixel (0, 0) has its centre at 0, 0."""
    total = 0.0
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < picture_HW.shape[0] and 0 <= column < picture_HW.shape[1]:
                total += (1 - abs(y - row)) * (1 - abs(x - column)) * picture_HW[row, column]
    return total


@pytest.mark.parametrize("where", [(0.0, 0.0), (-1.0, -1.0), (0.37, -0.81), (1.0, 0.2), (-0.999, 1.0)])
def test_the_retina_is_the_mean_of_interpolated_blocks(where: tuple[float, float]) -> None:
    torch.manual_seed(1)
    picture = torch.rand(1, 1, 11, 14, dtype=torch.float64)
    retina = Retina(Space(features=(1, 11, 14)), size=3, scales=3).double()
    found = retina.read(retina.bind(picture), torch.tensor([where], dtype=torch.float64))[0].tolist()
    centre_x, centre_y = (where[0] + 1) / 2 * 14 - 0.5, (where[1] + 1) / 2 * 11 - 0.5
    wanted = []
    for k in (1, 2, 4):
        for row in range(3):
            for column in range(3):
                y, x = centre_y + (row - 1) * k, centre_x + (column - 1) * k
                block = [interpolated(picture[0, 0].numpy(), y + i - (k - 1) / 2, x + j - (k - 1) / 2) for i in range(k) for j in range(k)]
                wanted.append(sum(block) / k**2)
    assert found == pytest.approx(wanted, abs=1e-9)


def test_a_retina_far_outside_sees_nothing() -> None:
    retina = Retina(Space(features=(2, 7, 9)), size=3, scales=3)
    far = torch.tensor([[50.0, 0.0], [0.0, -50.0], [-1e9, 1e9], [3.5, 3.5]])
    assert not bool(retina.read(retina.bind(torch.ones(4, 2, 7, 9)), far).any())


def test_a_retina_between_four_pixels_is_a_plain_crop() -> None:
    picture = torch.rand(2, 3, 8, 8)
    retina = Retina(Space(features=(3, 8, 8)), size=4)
    patch = retina.read(retina.bind(picture), torch.tensor([[0.0, 0.0], [-0.5, 0.5]])).view(2, 3, 4, 4)
    torch.testing.assert_close(patch[0], picture[0, :, 2:6, 2:6])
    torch.testing.assert_close(patch[1], picture[1, :, 4:8, 0:4])


def filters_by_loops(window: Gaussian, where: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Equations 19 to 26, pixels and filters counted from 1."""
    width, height, n = window.width, window.height, window.side
    gx, gy = (width + 1) / 2 * (where[0] + 1), (height + 1) / 2 * (where[1] + 1)
    delta = (max(width, height) - 1) / (n - 1) * math.exp(where[3])
    both = []
    for g, pixels in ((gx, width), (gy, height)):
        rows = np.zeros((n, pixels))
        for i in range(1, n + 1):
            mean = g + (i - n / 2 - 0.5) * delta
            for a in range(1, pixels + 1):
                rows[i - 1, a - 1] = math.exp(-((a - mean) ** 2) / (2 * math.exp(where[2])))
        both.append(rows / rows.sum(axis=1, keepdims=True))
    return both[0], both[1]


def test_the_filter_bank_is_the_formula() -> None:
    torch.manual_seed(2)
    window = Gaussian(Space(features=(2, 7, 9)), size=4).double()
    picture, where = torch.rand(1, 2, 7, 9, dtype=torch.float64), [0.3, -0.2, 0.1, -0.7, 0.4]
    x, y = filters_by_loops(window, where)
    placed = torch.tensor([where], dtype=torch.float64)
    wanted = np.stack([math.exp(0.4) * y @ picture[0, c].numpy() @ x.T for c in range(2)], axis=1)  # rows, channels, columns
    np.testing.assert_allclose(window.read(window.bind(picture), placed)[0].view(4, 2, 4), wanted, atol=1e-9)
    patch = torch.rand(1, 4, 2, 4, dtype=torch.float64)
    wanted = np.stack([math.exp(-0.4) * y.T @ patch[0, :, c].numpy() @ x for c in range(2)])
    np.testing.assert_allclose(window.write(patch.flatten(1), placed)[0], wanted, atol=1e-9)


def test_five_zeros_are_the_whole_picture_and_a_far_window_sees_its_edge() -> None:
    window = Gaussian(Space(features=(1, 5, 5)), size=5)
    assert window.boxes(torch.zeros(1, 5))[0, 0].tolist() == pytest.approx([0.0, 0.0, 1.0, 1.0])
    x_NnW, _ = window.filters(torch.tensor([[90.0, 0.0, -8.0, -3.0, 0.0]]))
    assert x_NnW[0, :, -1].tolist() == pytest.approx([1.0] * 5)  # exponentials alone would be 0 / 0


@pytest.mark.parametrize("seed", range(3))
def test_the_filter_bank_against_finite_differences(seed: int) -> None:
    torch.manual_seed(seed)
    window = Gaussian(Space(features=(2, 5, 6)), size=3).double()
    where = (0.5 * torch.randn(2, 5, dtype=torch.float64)).requires_grad_()
    picture = torch.rand(2, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    patch = torch.rand(2, window.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p, w: window.read(window.bind(p), w), (picture, where))
    assert torch.autograd.gradcheck(window.write, (patch, where))


@pytest.mark.parametrize("channels", [1, 2])
def test_the_window_with_its_own_backward_is_the_window(channels: int) -> None:
    """Values and gradients of reading and writing against autograd through Gaussian; one width and one stride are cut."""
    torch.manual_seed(5)
    window = Gaussian(Space(features=(channels, 6, 6)), size=3).double()
    assert fused.fits(window)
    assert not fused.fits(Gaussian(Space(features=(1, 6, 7))))
    where = 0.5 * torch.randn(4, 5, dtype=torch.float64)
    where[0, 2], where[1, 3] = 9.0, -9.0
    where.requires_grad_()
    picture = torch.rand(4, channels, 6, 6, dtype=torch.float64, requires_grad=True)
    patch = torch.rand(4, window.size, dtype=torch.float64, requires_grad=True)
    bound = window.bind(picture)
    wanted, d_patch = window.read(bound, where), torch.rand(4, window.size, dtype=torch.float64)
    with torch.no_grad():
        through = fused.bank(window, where)
        found, rows = fused.read(through, bound)
        d_where, d_last = fused.unread(d_patch, through, bound, rows, found, (channels - 1) * 6)
    torch.testing.assert_close(found, wanted)
    d_wanted, d_picture = torch.autograd.grad(wanted, [where, picture], d_patch)
    torch.testing.assert_close(d_where, d_wanted)
    torch.testing.assert_close(d_last, d_picture[:, -1])
    assert not bool(d_where[0, 2])
    wanted, d_canvas = window.write(patch, where), torch.rand(4, channels, 6, 6, dtype=torch.float64)
    with torch.no_grad():
        canvas = torch.ones(4, 6, channels * 6, dtype=torch.float64)
        kept = fused.write(through, patch, canvas)
        d_found, d_where = fused.unwrite(window.bind(d_canvas).contiguous(), through, *kept)
    torch.testing.assert_close(canvas, window.bind(wanted) + 1)
    torch.testing.assert_close((d_found, d_where), torch.autograd.grad(wanted, [patch, where], d_canvas))


@pytest.mark.parametrize("name", ["gaussian", "whole"])
def test_writing_is_reading_backwards(name: str) -> None:
    """<write(w), x> = <w, read(x)> at intensity 1."""
    torch.manual_seed(3)
    window = built(name).double()
    where = torch.randn(2, window.numbers, dtype=torch.float64)
    where[:, 4:] = 0
    picture, patch = torch.rand(2, 2, 7, 9, dtype=torch.float64), torch.rand(2, window.size, dtype=torch.float64)
    torch.testing.assert_close((window.write(patch, where) * picture).sum(), (patch * window.read(window.bind(picture), where)).sum())


@pytest.mark.parametrize("name", NAMES)
class TestEveryGlimpse:
    def where(self, window: Glimpse, count: int) -> Tensor:
        torch.manual_seed(4)
        return 0.4 * torch.randn(count, window.numbers)

    def test_its_sizes_are_what_it_says(self, name: str) -> None:
        window = built(name)
        where = self.where(window, 3)
        assert window.read(window.bind(torch.rand(3, 2, 7, 9)), where).shape == (3, window.size)
        boxes = window.boxes(where)
        assert boxes.shape[::2] == (3, 4)
        assert bool((boxes[..., :2] < boxes[..., 2:]).all())

    def test_copies_of_a_picture_are_that_picture(self, name: str) -> None:
        window, picture = built(name), torch.rand(3, 2, 7, 9)
        where = self.where(window, 6)
        copied = window.read(window.bind(picture), where)
        torch.testing.assert_close(copied, window.read(window.bind(picture.repeat_interleave(2, dim=0)), where))

    def test_its_light_sums_to_one_and_is_where_it_reads(self, name: str) -> None:
        """A picture that is white in one pixel is seen as brightly as that pixel is lit."""
        window = built(name, channels=1)
        where = self.where(window, 1)
        where[:, 4:] = 0
        light = window.light(where)
        assert float(light.sum()) == pytest.approx(1.0, abs=1e-5)
        for row, column in ((3, 4), (0, 0), (6, 8)):
            picture = torch.zeros(1, 1, 7, 9)
            picture[0, 0, row, column] = 1.0
            seen = float(window.read(window.bind(picture), where).mean())
            assert seen == pytest.approx(float(light[0, row, column]), abs=1e-5)


def test_a_retina_has_no_gradient_for_where() -> None:
    retina = Retina(Space(features=(1, 8, 8)))
    assert not retina.read(retina.bind(torch.rand(1, 1, 8, 8)), torch.zeros(1, 2, requires_grad=True)).requires_grad
    assert retina.hard
    assert not Gaussian(Space(features=(1, 8, 8))).hard
    assert not Whole.hard


def test_boxes_of_a_retina() -> None:
    boxes = Retina(Space(features=(1, 20, 40)), size=4, scales=2).boxes(torch.tensor([[0.0, -1.0]]))
    torch.testing.assert_close(boxes, torch.tensor([[[0.45, -0.1, 0.55, 0.1], [0.4, -0.2, 0.6, 0.2]]]))


def test_a_soft_window_stays_where_it_has_a_gradient() -> None:
    """Whatever the state asks for, the centre is in the picture, and the filters are neither a point nor all one."""
    encoder = Glimpses(Space(features=(1, 60, 60)), size=8, glimpse={"kind": "gaussian", "size": 12})
    assert encoder.place is not None
    with torch.no_grad():
        encoder.place.weight.mul_(1e5)
    where_NP = encoder.where(torch.randn(200, 8))
    assert (where_NP[:, :2].abs() <= 1).all()
    boxes_N4 = encoder.window.boxes(where_NP)[:, 0]
    assert ((boxes_N4[:, 2] - boxes_N4[:, 0]).min() * 60 > 12 / 4).item()  # at least a quarter of a pixel a filter
    widths_N = where_NP[:, 2].mul(0.5).exp()
    assert widths_N.min() > 0.5
    assert widths_N.max() < 15
    start_NP = encoder.where(torch.zeros(1, 8))
    left, top, right, bottom = encoder.window.boxes(start_NP)[0, 0].tolist()
    assert left < 0.01 < 0.99 < right
    assert top < 0.01 < 0.99 < bottom
    light_HW = encoder.window.light(start_NP)[0]
    assert light_HW.min() > light_HW.max() / 4  # no pixel between two filters is lost
