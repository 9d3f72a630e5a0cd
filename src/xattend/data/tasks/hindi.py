"""Small Hindi sentences into English, word by word: `main ghar ja raha hoon` -> `I am going home`, the lecture's example of attention.

A sentence says who does what, on request to what and where, now or then. English has one order of words; Hindi may put the parts of the
sentence in any (its verb, aspect and auxiliary stay together), so the place of a word says little and the word all. The auxiliary
agrees with who acts, and so does `raha`; English was and were agree with the word before them. What a sentence says is in one split only, in
whatever order it is said.

>>> task = Hindi(rows=100)
>>> [task.say(Said("main", "ja", where="ghar"), order) for order in ([0, 2, 3], [3, 0, 2])]
['main ghar ja raha hoon', 'ja raha hoon main ghar']
>>> english(Said("main", "ja", where="ghar")), english(Said("ve", "kha", "roti", "vahan", past=True))
('I am going home', 'they were eating bread there')
>>> Hindi(rows=100, script="devanagari").say(Said("main", "ja", where="ghar"), [0, 2, 3])
'मैं घर जा रहा हूँ'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pydantic

from xattend.data.tasks.base import Task, deal, split_sizes
from xattend.data.tasks.sequences import Seed
from xattend.registry import register

# who: English, raha, the auxiliary now and then, and the English one
WHO = {
    "main": ("I", "raha", "hoon", "tha", "am", "was"), "tum": ("you", "rahe", "ho", "the", "are", "were"),
    "vah": ("he", "raha", "hai", "tha", "is", "was"), "hum": ("we", "rahe", "hain", "the", "are", "were"),
    "ve": ("they", "rahe", "hain", "the", "are", "were"),
}  # fmt: skip
WHAT = {
    "roti": "bread", "chawal": "rice", "phal": "fruit", "paani": "water", "chai": "tea", "doodh": "milk", "kitaaben": "books",
    "khat": "letters", "gaane": "songs",
}  # fmt: skip
EAT, DRINK, READ = ["roti", "chawal", "phal"], ["paani", "chai", "doodh"], ["kitaaben", "khat"]
# verb: English, and what it may be done to
VERBS: dict[str, tuple[str, list[str]]] = {
    "ja": ("going", []), "aa": ("coming", []), "so": ("sleeping", []), "khel": ("playing", []), "kha": ("eating", EAT), "pi": ("drinking", DRINK),
    "padh": ("reading", READ), "likh": ("writing", [*READ, "gaane"]), "gaa": ("singing", ["gaane"]), "bech": ("selling", list(WHAT)),
    "la": ("bringing", list(WHAT)),
}  # fmt: skip
WHERE = {
    "ghar": "home", "yahan": "here", "vahan": "there", "bahar": "outside", "andar": "inside", "upar": "upstairs", "neeche": "downstairs",
}  # fmt: skip
DEVANAGARI = {
    "main": "मैं", "tum": "तुम", "vah": "वह", "hum": "हम", "ve": "वे", "raha": "रहा", "rahe": "रहे", "hoon": "हूँ", "ho": "हो", "hai": "है", "hain": "हैं",
    "tha": "था", "the": "थे", "roti": "रोटी", "chawal": "चावल", "phal": "फल", "paani": "पानी", "chai": "चाय", "doodh": "दूध", "kitaaben": "किताबें",
    "khat": "ख़त", "gaane": "गाने", "ja": "जा", "aa": "आ", "so": "सो", "khel": "खेल", "kha": "खा", "pi": "पी", "padh": "पढ़", "likh": "लिख", "gaa": "गा",
    "bech": "बेच", "la": "ला", "ghar": "घर", "yahan": "यहाँ", "vahan": "वहाँ", "bahar": "बाहर", "andar": "अंदर", "upar": "ऊपर", "neeche": "नीचे",
}  # fmt: skip


class Said(NamedTuple):
    """What a sentence says, by its Hindi words."""

    who: str
    verb: str
    what: str | None = None
    where: str | None = None
    past: bool = False


def english(said: Said) -> str:
    """Who, auxiliary, verb, what, where."""
    who = WHO[said.who]
    words = [who[0], who[5 if said.past else 4], VERBS[said.verb][0]]
    return " ".join([*words, *([WHAT[said.what]] if said.what else []), *([WHERE[said.where]] if said.where else [])])


@register("task", "hindi")
class Hindi(Task):
    """Who does what where, in any order."""

    source: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word", "lower": True}
    target: ClassVar[dict[str, Any]] = {"kind": "text", "unit": "word"}

    def __init__(
        self, *,
        script: Annotated[Literal["latin", "devanagari"], "how the Hindi side is written"] = "latin",
        rows: Annotated[int, pydantic.Field(ge=1, le=10_000), "rows to train on; a tenth as many (10 to 1000) each to validate and test"] = 3_000,
        seed: Seed = 1,
    ) -> None:  # fmt: skip
        self.script, self.seed = script, seed
        self.sizes = split_sizes(rows)

    def say(self, said: Said, order: Sequence[int]) -> str:
        """The Hindi sentence; `order` is that of its parts: 0 who, 1 what, 2 where, 3 verb, raha and auxiliary."""
        _, aspect, now, then, *_ = WHO[said.who]
        parts: list[list[str | None]] = [[said.who], [said.what], [said.where], [said.verb, aspect, then if said.past else now]]
        words = [word for part in order for word in parts[part] if word]
        return " ".join(words if self.script == "latin" else [DEVANAGARI[word] for word in words])

    def splits(self) -> dict[str, Iterator[tuple[str, str]]]:
        return deal(self.sizes, self._rows())

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        draw = Random(self.seed)
        while True:
            verb = draw.choice(list(VERBS))
            what = draw.choice([None, *VERBS[verb][1]])
            said = Said(draw.choice(list(WHO)), verb, what, draw.choice([None, *WHERE]), draw.random() < 0.5)
            order = [0, 1, 2, 3]
            draw.shuffle(order)
            source, target = self.say(said, order), english(said)
            yield source, target, target
