"""Parallel text: line n of one file belongs to line n of the other. Without a target file there are no targets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow, lines
from xattend.errors import UserError
from xattend.registry import register


@register("reader", "parallel")
class Parallel(Reader):
    """Two text files, plain or .gz."""

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        if "target" not in self.files:
            if self.needs_target:
                raise UserError("parallel files need a 'target' file beside this one", file=self.file)
            for number, source in lines(self.file):
                yield number, source if isinstance(source, BadRow) else (source, None)
            return
        counts = [0, 0]
        for left, right in zip_longest(lines(self.file), lines(self.files["target"])):
            counts = [left[0] if left else counts[0], right[0] if right else counts[1]]
            if left is None or right is None:
                continue  # only counting: the rows so far were in step, but the files cannot be trusted
            if isinstance(left[1], BadRow):
                yield left[0], left[1]
            elif isinstance(right[1], BadRow):
                yield right[0], BadRow(right[1].reason, right[1].message, str(self.files["target"]))
            elif not right[1].strip():
                yield right[0], BadRow("an empty side", "the target side is empty", str(self.files["target"]))
            else:
                yield left[0], (left[1], right[1])
        if counts[0] != counts[1]:
            said = f"{counts[0]} lines, but {self.files['target']} has {counts[1]}: parallel files must match line by line"
            raise UserError(said, file=self.file, line=min(counts) + 1)
