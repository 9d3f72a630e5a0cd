"""Parquet tables, read a few thousand rows at a time. The sides are the columns 'source' and 'target' unless
`columns` names or numbers others. Needs pyarrow: pip install 'xattend[parquet]'."""

from __future__ import annotations

from collections.abc import Iterator

from xattend.data.readers.base import Pair, Reader
from xattend.data.readers.lines import BadRow
from xattend.errors import UserError
from xattend.registry import register


@register("reader", "parquet")
class Parquet(Reader):
    """.parquet; a row's line is its number in the table, from 1."""

    suffixes = (".parquet",)

    def pairs(self) -> Iterator[tuple[int, Pair | BadRow]]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise UserError("reading .parquet needs pyarrow: pip install 'xattend[parquet]'", file=self.file) from None
        number = 0
        try:
            with parquet.ParquetFile(self.file, memory_map=True) as table:
                names = list(table.schema_arrow.names)
                source = self.column("source", names)
                wanted = self.needs_target or "target" in (self.columns or {}) or "target" in names
                target = self.column("target", names) if wanted else None
                for name in filter(None, (source, target)):
                    self._check_type(name, table.schema_arrow.field(name).type)
                for part in table.iter_batches(batch_size=4096, columns=[source] if target is None else [source, target]):
                    sources = part.column(source).to_pylist()
                    targets = [None] * len(sources) if target is None else part.column(target).to_pylist()
                    for left, right in zip(sources, targets, strict=True):
                        number += 1
                        if left is None or (target is not None and right is None):
                            side = "source" if left is None else "target"
                            yield number, BadRow("an empty side", f"the {side} side is null")
                        else:
                            yield number, (left, right)
        except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
            raise UserError(f"not a readable parquet file: {str(error).splitlines()[0]}", file=self.file, line=number + 1) from None

    def _check_type(self, name: str, kind: object) -> None:
        import pyarrow

        if isinstance(kind, pyarrow.DictionaryType):
            kind = kind.value_type
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
            raise UserError(f"column '{name}' is not text but {kind}: choose another with data.columns", file=self.file)
