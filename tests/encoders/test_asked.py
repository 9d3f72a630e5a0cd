"""The encoder of a picture with a question, against its two halves; and settings of parts inside a part."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from xattend import recipe, registry
from xattend.encoders import CNN, Asked
from xattend.errors import UserError
from xattend.types import Padded, Space

SPACE = Space(features=(3, 8, 8), beside=Space(vocabulary=9))
PICTURE = {"kind": "cnn", "size": 6, "widths": [8], "strides": [4]}


def source() -> Padded:
    asked = Padded(torch.randint(4, 9, (2, 5)), torch.ones(2, 5, dtype=torch.bool))
    return Padded(torch.rand(2, 1, 3, 8, 8), torch.ones(2, 1, dtype=torch.bool), asked)


def test_places_are_the_pictures_and_the_summary_is_the_questions() -> None:
    encoder = Asked(SPACE, picture=PICTURE, question={"kind": "rnn", "size": 5}).eval()
    given = source()
    memory, picture, question = encoder(given), encoder.picture(given), encoder.question(given.beside)
    assert torch.equal(memory.states_BSD, picture.states_BSD)
    assert memory.grid == (2, 2)
    torch.testing.assert_close(memory.summary_BD, encoder.project(question.summary_BD))
    other = encoder(given._replace(values=torch.rand(2, 1, 3, 8, 8)))
    assert torch.equal(other.summary_BD, memory.summary_BD)  # the picture is seen through attention alone


def test_a_summary_of_both_sees_the_picture() -> None:
    encoder = Asked(SPACE, picture=PICTURE, question={"kind": "rnn", "size": 5}, summary="both").eval()
    given = source()
    memory, mean = encoder(given), encoder.picture(given).states_BSD.mean(dim=1)
    joined = torch.cat([encoder.question(given.beside).summary_BD, mean], dim=-1)
    assert encoder.both is not None
    inner, outer = encoder.both[0], encoder.project
    wanted = F.linear(F.linear(joined, inner.weight, inner.bias).clamp(min=0), outer.weight, outer.bias)
    torch.testing.assert_close(memory.summary_BD, wanted)


def test_a_picture_without_a_question_is_refused() -> None:
    with pytest.raises(UserError, match=r"data\.source\.kind"):
        Asked(Space(features=(3, 8, 8)))


def test_pooled_rows_keep_the_largest_of_each_column() -> None:
    kept = CNN(Space(features=(1, 8, 12)), size=4, widths=[8], strides=[2]).eval()
    pooled = CNN(Space(features=(1, 8, 12)), size=4, widths=[8], strides=[2], rows="pool").eval()
    pooled.load_state_dict(kept.state_dict())
    given = Padded(torch.rand(2, 1, 1, 8, 12), torch.ones(2, 1, dtype=torch.bool))
    maps = kept.blocks(given.values[:, 0] * 2 - 1)
    memory = pooled(given)
    assert memory.grid == (1, 6)
    torch.testing.assert_close(memory.states_BSD, kept.project(maps.max(dim=2).values.transpose(1, 2)))


def test_a_part_inside_a_part_has_settings_of_its_own() -> None:
    text = '[data]\ntask = "questions"\n[encoder]\nkind = "asked"\npicture = { kind = "cnn", size = 8 }\n[decoder]\nkind = "hops"\n'
    found = recipe.parse(text, "mine.toml", ["encoder.question.size=7"]).resolve()
    encoder = found.section("encoder")
    assert encoder["picture"]["size"] == 8
    assert encoder["picture"]["norm"] == "group"  # filled in
    assert encoder["question"] == {**registry.validate("encoder", "rnn", {}), "size": 7, "kind": "rnn"}
    assert recipe.parse(found.dump(), "saved.toml").resolve().sections == found.sections


@pytest.mark.parametrize(
    ("picture", "said"),
    [('{ kind = "cnn", sizes = 8 }', "encoder 'cnn' has no setting 'sizes'"), ("{ kind = 8 }", "'kind' is the name of a part"), ('"cn"', "no encoder called 'cn'")],
)
def test_its_mistakes_are_placed(picture: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        recipe.parse(f'[data]\ntask = "questions"\n[encoder]\nkind = "asked"\npicture = {picture}\n', "mine.toml").resolve()
    assert caught.value.line == 5
