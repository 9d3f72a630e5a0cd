"""The convolutional encoder by hand, against torch's convolutions, and against a plain reading of the paper's pyramid."""

from __future__ import annotations

from math import sqrt, tanh

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from xattend.encoders import Convolutional
from xattend.encoders.convolutional import Pyramid
from xattend.errors import UserError
from xattend.types import Padded, Space

WORDS = Space(vocabulary=20)


def pyramid(kernels: list[list[float]], tops: list[list[float]]) -> Pyramid:
    """One feature wide."""
    made = Pyramid(1, len(kernels) + 1)
    with torch.no_grad():
        for mine, given in zip([*made.kernels, *made.tops], kernels + tops, strict=True):
            mine.copy_(torch.tensor(given)[:, None])
    return made


def test_the_pyramid_by_hand() -> None:
    """K^2 = (1, 2), K^3 = (0.5, -1, 1), L^2 = (3, -1): rows of 1, 2, 3, 4 and 6 words."""
    made = pyramid([[1.0, 2.0], [0.5, -1.0, 1.0]], [[3.0, -1.0]])
    columns = torch.tensor([
        [0.3, 0.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.0, 0.0, 0.0, 0.0], [0.1, 0.2, -0.3, 0.0, 0.0, 0.0],
        [0.1, 0.2, -0.3, 0.4, 0.0, 0.0], [0.1, 0.2, -0.3, 0.4, 0.0, 0.5],
    ])[:, :, None]  # fmt: skip
    found = made(columns, torch.tensor([1, 2, 3, 4, 6])).squeeze(1).tolist()
    a, b, c, d, e = tanh(0.1 + 0.4), tanh(0.2 - 0.6), tanh(-0.3 + 0.8), tanh(0.4), tanh(1.0)  # K^2 of neighbours
    three = [tanh(0.5 * x - y + z) for x, y, z in ((a, b, c), (b, c, d), (c, d, e))]  # K^3 of those
    by_hand = [
        0.3,  # one word: its own vector
        a,  # two: K^2
        tanh(3 * a - b),  # three: K^2 leaves two columns, fewer than K^3 sees: L^2
        three[0],  # four: K^2, then K^3
        tanh(0.5 * three[0] - three[1] + three[2]),  # six: K^2, K^3, and K^3 again
    ]
    assert found == pytest.approx(by_hand, abs=1e-6)


def plain(made: Pyramid, columns_SD: Tensor) -> Tensor:
    """The same for one sentence, by torch's grouped convolution, level by level."""
    columns_DS, level = columns_SD.T, 0
    while columns_DS.shape[1] > 1:
        kernel_WD, left = made.kernels[min(level, len(made.kernels) - 1)], columns_DS.shape[1]
        if left < len(kernel_WD):
            kernel_WD = made.tops[left - 2]
        columns_DS = torch.tanh(F.conv1d(columns_DS, kernel_WD.T[:, None], groups=len(columns_DS)))
        level += 1
    return columns_DS[:, 0]


@pytest.mark.parametrize("widest", [2, 3, 5, 8])
def test_sentences_of_every_length_in_one_batch(widest: int) -> None:
    made, lengths = Pyramid(4, widest), torch.arange(1, 41)
    columns = torch.randn(40, 40, 4)  # padding is full of rubbish
    found = made(columns, lengths)
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(found[row], plain(made, columns[row, :length]))


def test_a_sentence_of_nothing_is_no_error() -> None:
    encoder = Convolutional(WORDS, size=4)
    memory = encoder(Padded(torch.zeros(2, 3, dtype=torch.long), torch.tensor([[True] * 3, [False] * 3])))
    assert memory.summary_BD[1].tolist() == [0.0] * 4


def test_without_layers_states_are_word_vectors_and_the_summary_is_the_papers() -> None:
    encoder = Convolutional(WORDS, size=6, layers=0, widest=4)
    read = Padded(torch.randint(4, 20, (2, 9)), torch.arange(9) < torch.tensor([[9], [5]]))
    memory = encoder(read)
    torch.testing.assert_close(memory.states_BSD[1, :5], encoder.embedding(read.values[1, :5]))
    torch.testing.assert_close(memory.summary_BD[1], plain(encoder.pyramid, encoder.embedding(read.values[1, :5])))


def test_a_gated_layer_is_torchs_convolution_and_gate() -> None:
    encoder = Convolutional(WORDS, size=6, layers=2, width=3)
    read = Padded(torch.randint(4, 20, (2, 7)), torch.arange(7) < torch.tensor([[7], [4]]))
    states = encoder(read).states_BSD
    for row, length in ((0, 7), (1, 4)):
        h = encoder.embedding(read.values[row, :length]).T[None]
        for layer in encoder.layers:
            weight = torch.unflatten(layer.weigh.weight, 1, (3, 6)).transpose(1, 2)  # out x in x place
            h = (h + F.glu(F.conv1d(h, weight, layer.weigh.bias, padding=1), dim=1)) * sqrt(0.5)
        torch.testing.assert_close(states[row, :length], h[0].T)
    assert not states[1, 4:].any()


def test_a_layer_sees_its_width_and_no_further() -> None:
    encoder = Convolutional(WORDS, size=6, layers=2, width=5)
    one = Padded(torch.randint(4, 20, (1, 12)), torch.ones(1, 12, dtype=torch.bool))
    other = Padded(one.values.clone(), one.mask_BS)
    other.values[0, 0] = (one.values[0, 0] - 3) % 16 + 4
    changed = (encoder(one).states_BSD - encoder(other).states_BSD).abs().sum(dim=-1)[0] > 1e-7
    assert changed.tolist() == [True] * 5 + [False] * 7  # two layers of two positions on each side


def test_an_even_width_is_refused() -> None:
    with pytest.raises(UserError, match=r"encoder\.width = 4"):
        Convolutional(WORDS, width=4)
