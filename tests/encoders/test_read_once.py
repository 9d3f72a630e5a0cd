"""Rows of a batch that have the same picture: it is read once, and nobody can tell."""

from __future__ import annotations

import torch

from xattend.encoders.asked import Asked
from xattend.encoders.base import read_once
from xattend.encoders.cnn import CNN
from xattend.types import Batch, Padded, Space, first_of


def pictures(*names: int) -> Padded:
    torch.manual_seed(0)
    drawn = torch.rand(5, 1, 3, 16, 16)
    return Padded(drawn[list(names)], torch.ones(len(names), 1).bool(), first_B=first_of(names))


class Counting(CNN):
    """Knows how many pictures it read."""

    read = 0

    def forward(self, source):
        self.read += len(source.values)
        return super().forward(source)


def test_same_memory_and_gradient_as_reading_each_row():
    source = pictures(3, 1, 3, 3, 0)
    encoder = Counting(Space(features=(3, 16, 16)), size=4, widths=[8], strides=[2])
    once = read_once(encoder, source)
    assert encoder.read == 3
    each = encoder(source)
    torch.testing.assert_close(once.states_BSD, each.states_BSD)
    torch.testing.assert_close(once.summary_BD, each.summary_BD)
    assert once.mask_BS.equal(each.mask_BS)
    weight = encoder.project.weight
    (of_once,) = torch.autograd.grad(once.states_BSD.square().sum(), weight)
    (of_each,) = torch.autograd.grad(each.states_BSD.square().sum(), weight)
    torch.testing.assert_close(of_once, of_each)


def test_questions_make_rows_different_and_the_picture_is_still_read_once():
    question = Padded(torch.tensor([[4, 5], [5, 4], [6, 6]]), torch.ones(3, 2).bool())
    source = pictures(2, 2, 1)._replace(beside=question)
    encoder = Asked(Space(features=(3, 16, 16), beside=Space(vocabulary=9)), picture={"kind": "cnn", "size": 4})
    counting = Counting(Space(features=(3, 16, 16)), size=4)
    counting.load_state_dict(encoder.picture.state_dict())
    encoder.picture = counting
    memory = read_once(encoder, source)
    assert counting.read == 2
    each = encoder(source._replace(first_B=None))
    torch.testing.assert_close(memory.states_BSD, each.states_BSD)
    torch.testing.assert_close(memory.summary_BD, each.summary_BD)
    assert not torch.allclose(memory.summary_BD[0], memory.summary_BD[1])


def test_a_share_of_a_batch_knows_its_own_first_rows():
    source = pictures(3, 1, 3, 1)
    share = Batch(source, None, (0, 1, 2, 3)).part(slice(2, None)).source
    assert share is not None
    assert share.first_B is not None
    assert share.first_B.tolist() == [0, 1]
