"""Which source word belongs to which target word: alignments read off attention, and how good they are.

Pharaoh format: `0-0 1-2`, source-target, counted from 0. In gold alignments `-` is a sure link, and `?` (or `p`) one
that is only possible. Och & Ney 2003, with A the links found, S the sure and P (which includes S) the possible ones:

    precision = |A and P| / |A|    recall = |A and S| / |S|    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)

Two alignments A and B of which neither is the truth agree by F1 = 2 |A and B| / (|A| + |B|).

>>> parse_pharaoh("1-2 0-0 2?2").possible == {(0, 0), (1, 2), (2, 2)}
True
>>> format_pharaoh({(1, 2), (0, 0)})
'0-0 1-2'
>>> sorted(hard_alignment(np.array([[0.1, 0.9], [0.6, 0.4]])))
[(0, 1), (1, 0)]

Shape suffixes: T target, S source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError

Links = set[tuple[int, int]]  # (source position, target position)


@dataclass(frozen=True)
class Gold:
    """A reference alignment; every sure link is possible, too."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]

    def must_fit(self, sources: int, targets: int) -> None:
        """A UserError if a link is outside of a sentence pair with so many words."""
        for source, target in sorted(self.possible):
            for side, place, count in (("source", source, sources), ("target", target, targets)):
                if place >= count:
                    raise UserError(
                        f"link {source}-{target}: the {side} side of this row has {count} words, counted from 0 to {count - 1}"
                    )


@dataclass(frozen=True)
class AlignmentScore:
    """Of a whole corpus: links are summed before the ratios are taken."""

    precision: float
    recall: float
    error_rate: float


def parse_pharaoh(text: str) -> Gold:
    """One line of links."""
    sure, possible = set(), set()
    for word in text.split():
        found = re.fullmatch(r"(\d+)([-?p])(\d+)", word, re.ASCII)
        if found is None:
            raise UserError(f"'{word}' is not a link: write source-target, as in 0-0 1-2, or 1?3 if only possible")
        link = (int(found[1]), int(found[3]))
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def read_gold(file: Path) -> list[Gold]:
    """A file of links, a line a row; an empty line is a row without links."""
    gold = []
    for number, line in lines(file):
        if isinstance(line, BadRow):
            raise UserError(line.message, file=file, line=number)
        try:
            gold.append(parse_pharaoh(line))
        except UserError as error:
            raise error.at(file, number) from None
    return gold


def format_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links in order of the source."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def hard_alignment(
    weights_TS: np.ndarray[Any, Any], *, eos: Literal["keep", "skip", "unaligned"] = "keep"
) -> Links:
    """Each target word linked to the source position it looked at most; a row of zeros gets no link.

    The rows are the target words: leave the row that wrote EOS out. `eos` is about the last source column:
    keep        it is a word like any other (there is no EOS in the source)
    skip        it is EOS, and the others compete without it
    unaligned   it is EOS, and a target word that looks at it most has no link
    """
    if weights_TS.shape[0] == 0 or weights_TS.shape[1] <= (eos == "skip"):
        return set()
    weights_TS = weights_TS[:, :-1] if eos == "skip" else weights_TS
    last = weights_TS.shape[1] - 1
    links = set()
    for target, (source, weight) in enumerate(zip(weights_TS.argmax(axis=1).tolist(), weights_TS.max(axis=1).tolist())):
        if weight > 0 and not (eos == "unaligned" and source == last):
            links.add((source, target))
    return links


def alignment_error_rate(found: Sequence[Links], gold: Sequence[Gold]) -> AlignmentScore:
    """Och & Ney's three numbers over a corpus."""
    if len(found) != len(gold):
        raise UserError(f"{len(found)} alignments, but {len(gold)} reference alignments")
    links = sum(len(a) for a in found)
    sure = sum(len(g.sure) for g in gold)
    in_sure = sum(len(a & g.sure) for a, g in zip(found, gold))
    in_possible = sum(len(a & (g.possible | g.sure)) for a, g in zip(found, gold))
    if links + sure == 0:
        raise UserError("neither the alignments nor the references have a link: there is nothing to score")
    return AlignmentScore(
        in_possible / links if links else 1.0, in_sure / sure if sure else 1.0,
        1 - (in_sure + in_possible) / (links + sure),
    )  # fmt: skip


def agreement(found: Sequence[Links], other: Sequence[Links]) -> float:
    """F1 of the links of two aligners over a corpus; 1 if neither has any."""
    both = sum(len(a & b) for a, b in zip(found, other, strict=True))
    links = sum(map(len, found)) + sum(map(len, other))
    return 2 * both / links if links else 1.0
