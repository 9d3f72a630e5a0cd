"""Dialogues: what was said so far, turn by turn, with | between the turns.

    hello , this is ada | hello ada , how are you ? | fine , and you ?

Each turn is a sentence of `values_BSW`, as in a story (story.py), and there is no question: what is written is the next turn.

>>> field = Turns()
>>> field.fit(["hello ada | hello , how are you"])
>>> batch = field.read(["how are you | hello ada"])
>>> batch.values.shape, field.names(batch)
(torch.Size([1, 2, 3]), [['how are you', 'hello ada']])
"""

from __future__ import annotations

from typing import Annotated, Any

import pydantic

from xattend.data.fields.story import Story, Told
from xattend.data.readers.lines import BadRow
from xattend.registry import register

BETWEEN = "|"


@register("field", "turns")
class Turns(Story):
    """A side of rows that are dialogues."""

    def __init__(
        self,
        *,
        words: Annotated[dict[str, Any] | None, "how turns are read, settings of a text field; by default as words"] = None,
        last: Annotated[Annotated[int, pydantic.Field(ge=1)] | None, "only so many turns are kept; the others are counted"] = None,
    ) -> None:
        super().__init__(words={"unit": "word"} if words is None else words, last=last)

    def split(self, text: str) -> Told:
        return Told([turn.strip() for turn in text.split(BETWEEN)], "", [])

    def together(self, sentences: list[str], question: str) -> str:
        return f" {BETWEEN} ".join(sentences)

    def check(self, text: str) -> None:
        if not all(turn.strip() for turn in text.split(BETWEEN)):
            raise BadRow("an empty turn", f"a turn is empty: write what was said, with {BETWEEN} between the turns")
