"""`xattend init`: looks at the user's data and writes a commented recipe that needs no editing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xattend.cli import options
from xattend.errors import UserError

if TYPE_CHECKING:
    from xattend.data.inspect import Summary
    from xattend.data.readers.base import Place

HELD_OUT = 1000  # rows at most, to validate and to test on, each
FEWEST = 10  # rows that a recipe is written for
# rows up to which so many minutes are enough, for short strings and for sentences
MINUTES = {
    "strings": ((30_000, 3.0), (100_000, 10.0), (1_000_000, 30.0)),
    "sentences": ((10_000, 15.0), (50_000, 40.0), (300_000, 120.0)),
}
LONGEST = {"strings": 120.0, "sentences": 480.0}


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", type=click.Path(path_type=Path), metavar="FILE", help="The target side, if DATA is the source side of parallel text.")
@options.columns
@click.option("--out", type=click.Path(path_type=Path), metavar="R.toml", help="Where to write the recipe. Default: DATA's name + .toml, here.")
@click.option("--force", is_flag=True, help="Overwrite the recipe that is there.")
def command(data: Path, target: Path | None, columns: dict[str, int | str] | None, out: Path | None, force: bool) -> None:
    """Look at DATA and write a commented recipe for it.

    DATA is a .tsv, .jsonl or .parquet file with source and target (.gz too), or the source side of two parallel text
    files. A file with one side gives a language model. Where the source side names sounds or pictures, or tells stories that end with a
    question, the recipe is one for those.

    \b
    xattend init names.tsv
    xattend init train.en --target train.de --out mt.toml
    """
    from xattend import recipe as recipes
    from xattend.cli.annotate import annotate
    from xattend.data.inspect import inspect
    from xattend.run import write_atomic

    name = data.name.removesuffix(".gz")
    out = out or Path(Path(name).stem + ".toml")
    if out.exists() and not force:
        raise UserError("is there already: choose another --out, or give --force", file=out)
    place: Place = str(data) if target is None else {"source": str(data), "target": str(target)}
    summary = inspect(place, columns)
    if summary.rows < FEWEST:
        why = "".join(f"; {line}" for line in summary.report.lines())
        raise UserError(f"only {summary.rows} usable row{'s' * (summary.rows != 1)}: a recipe needs at least {FEWEST}{why}", file=data)
    sections = _sections(summary, place, columns, out.parent)
    text = annotate(sections, f"# Written by `xattend init` for {' '.join(data.name.split())}: {summary.rows} rows. Lines that begin with # are defaults.")
    recipes.parse(text, str(out)).resolve()
    write_atomic(out, text.encode())
    for line in summary.lines():
        click.echo(line)
    what = "a language model, as the data has one side only" if summary.target is None else f"{_unit(sections, 'source')} to {_unit(sections, 'target')}"
    click.echo(f"{out}: {what}; {sections['training']['minutes']:g} minutes; goes by {sections['training']['metric']}")
    click.echo(f"next: xattend check {out}   xattend train {out} --out runs/{out.stem}")


def _unit(sections: dict[str, dict[str, Any]], side: str) -> str:
    field = sections["data"][side]
    plain = {"sound": "sounds", "image": "pictures", "story": "stories"}.get(field["kind"])
    return plain or {"character": "characters", "word": "words", "bpe": "subwords"}[field["unit"]]


def _sections(summary: Summary, place: Place, columns: dict[str, int | str] | None, folder: Path) -> dict[str, dict[str, Any]]:
    """The whole recipe: parts and their sizes as in the shipped recipe for this sort of data, the rest from what was seen."""
    fields = summary.suggest()
    if summary.kind != "text":
        return _of_media(summary, place, columns, folder)
    if summary.target is None:
        model, metric, fields = "lm", "loss", {"target": fields["source"]}
    elif "bpe" in (fields["source"]["unit"], fields["target"]["unit"]):
        model, metric = "translate", "bleu"
    elif fields["target"]["unit"] == "word":
        model, metric = "pronounce", "per"
    else:
        model, metric = "transliterate", "cer"
    sections = _shipped(model)
    if "share" in sections["data"].get("target", {}) and fields["source"] == fields["target"] and _one_script(summary):
        fields["target"]["share"] = "source"
    short = all(field["unit"] != "bpe" for field in fields.values())
    sort = "strings" if short else "sentences"
    data: dict[str, Any] = {"train": _relative(place, folder)}
    split = _shares(summary.rows, place, columns, one_sided=summary.target is None)
    if split:
        data["split"] = split
    if columns is not None:
        data["columns"] = columns
    data |= fields
    if summary.report.skipped:
        data["bad_rows"] = "skip"
    training = {
        **sections.get("training", {}),
        "minutes": next((minutes for most, minutes in MINUTES[sort] if summary.rows <= most), LONGEST[sort]),
        "metric": metric if split else "loss",
    }
    # once a pass over the data would be all the time for small data, and hardly ever for large
    training.setdefault("validate_every", 200 if short else 500)
    search = sections.get("search", {}) if model == "lm" else {"kind": "beam", **sections.get("search", {}), "size": 5}
    return {"data": data, **{k: v for k, v in sections.items() if k not in ("data", "training", "search")}, "training": training, "search": search}


def _of_media(summary: Summary, place: Place, columns: dict[str, int | str] | None, folder: Path) -> dict[str, dict[str, Any]]:
    """The recipe for rows that name sounds or pictures, or that are stories with a question: a shipped one with the user's rows."""
    assert summary.target is not None
    words = summary.target.suggest(summary.rows)["unit"] != "character"
    model, metric = {"sound": ("spell", "cer"), "image": ("caption", "bleu-4") if words else ("read", "cer"), "story": ("memn2n", "exact")}[summary.kind]
    sections = _shipped(model)
    source = {**sections["data"].get("source", {}), "kind": summary.kind}
    data: dict[str, Any] = {"train": _relative(place, folder)}
    if summary.kind != "story":
        data |= _where(summary.source.first, place, folder)
    if summary.kind == "sound":
        source["rate"] = _rate(summary.source.first, place)
    if summary.kind == "image" and "size" not in source:
        source["size"] = [64, 64]
    unit = "word" if summary.kind == "story" or (summary.kind == "image" and words) else "character"
    split = _shares(summary.rows, place, columns, one_sided=False)
    data |= {"split": split} if split else {}
    data |= {"columns": columns} if columns is not None else {}
    data |= {"source": source, "target": {"kind": "text", "unit": unit}}
    data |= {"bad_rows": "skip"} if summary.report.skipped else {}
    training = {key: value for key, value in sections["training"].items() if key not in ("epochs", "steps")}
    minutes = next((minutes for most, minutes in MINUTES["sentences"] if summary.rows <= most), LONGEST["sentences"])
    training |= {"minutes": minutes, "metric": metric if split else "loss"}
    return {"data": data, **{key: values for key, values in sections.items() if key not in ("data", "training")}, "training": training}


def _base(name: str, place: Place) -> Path | None:
    """Where the files lie that rows name, judged by the first: beside the rows, or here."""
    beside = Path(place).parent if isinstance(place, str) else Path(place["source"]).parent
    return next((base for base in (beside, Path()) if _file(base, name).is_file()), None)


def _file(base: Path, name: str) -> Path:
    """Of several with + between the first."""
    return base / name if (base / name).is_file() else base / name.partition("+")[0]


def _where(name: str, place: Place, folder: Path) -> dict[str, str]:
    """data.folder, if the files are not where the recipe is."""
    base = _base(name, place)
    if base is None:
        click.echo(f"xattend: warning: {name} is neither beside the rows nor here: set data.folder in the recipe", err=True)
    return {} if base is None or base.resolve() == folder.resolve() else {"folder": os.path.relpath(base, folder)}


def _rate(name: str, place: Place) -> int:
    """Samples a second to read sounds at: the first one's own, and no more than speech needs."""
    from xattend.data import sounds
    from xattend.data.readers.lines import BadRow

    base = _base(name, place)
    try:
        return 16_000 if base is None else min(16_000, sounds.header(_file(base, name), float("inf")).rate)
    except BadRow as bad:
        raise UserError(bad.message) from None


def _shipped(name: str) -> dict[str, dict[str, Any]]:
    """The sections of a shipped recipe."""
    from xattend import recipe as recipes

    sections = {section: dict(values) for section, values in recipes.load(name).sections.items()}
    return {"data": {}, **{section: values for section, values in sections.items() if section != "about"}}


def _one_script(summary: Summary) -> bool:
    """Whether the two sides use much the same characters, so that one vocabulary serves both."""
    assert summary.target is not None
    left, right = summary.source.alphabet, summary.target.alphabet
    return len(left & right) >= 0.5 * len(left | right)


def _relative(place: Place, folder: Path) -> Place:
    """Files as seen from the recipe's folder, where a recipe's files are looked for; one of XATTEND_DATA keeps its name."""

    def seen(file: str) -> str:
        return os.path.relpath(file, folder) if os.path.exists(file) else file

    return {side: seen(file) for side, file in place.items()} if isinstance(place, dict) else seen(place)


def _shares(rows: int, place: Place, columns: dict[str, int | str] | None, *, one_sided: bool) -> dict[str, float]:
    """What to hold out: a twentieth each, fewer of large data. Rows are dealt out by a hash of their source, so small
    data is looked at to see that both shares get some; nothing is held out if they cannot."""
    from xattend.data.readers.base import open_reader
    from xattend.data.tasks.base import share
    from xattend.data.wanted import one_side, split_key

    usual = min(0.05, float(f"{HELD_OUT / rows:.2g}"))
    if rows * usual >= 50:
        return {"validation": usual, "test": usual}
    reader = open_reader(place, columns, needs_target=False, bad_rows="skip")
    places = [share(split_key(one_side(row) if one_sided else row.source)) for row in reader]
    for size in (usual, 0.1, 0.2, 0.3):
        tested, validated = sum(p < size for p in places), sum(size <= p < 2 * size for p in places)
        if min(tested, validated) >= 1 and tested + validated < len(places):
            return {"validation": size, "test": size}
    return {}
