"""One question to a model, one trace document for an answer: what the page of `xattend view` asks, and what Python can ask as well.

    ask(model, {"text": "Main ghar ja raha hoon", "beam": 5, "nbest": 3, "tree": True, "rows": {"3": [1, 0, 0, 0, 0, 0]}})

text | picture   what is read; a picture (or film) is its file in base64, `question` goes with it for a model that is asked about pictures
beam, nbest      width of the beam, outputs in the answer; besides, settings of the search by their names (length_penalty, ...)
prefix           how the output must begin: a text, or tokens as a trace names them
rows, masked     attention edited: step -> weights, positions never looked at (attention/edited.py)
modes, tree      whether to add the same output read with sampled and argmax attention, and the beam's tree

Whatever is wrong with a question is a UserError of one line. The document is that of docs/trace.md.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pydantic

from xattend import registry
from xattend.data.fields.asked import Asked
from xattend.data.fields.film import Film
from xattend.data.fields.media import Media
from xattend.data.readers.base import Row
from xattend.editing import modes
from xattend.errors import UserError, suggestion
from xattend.model import Model
from xattend.report.complete import complete
from xattend.report.trace_json import trace_to_json
from xattend.search.base import Search
from xattend.search.prefix import Beginning
from xattend.search.tree import watched
from xattend.types import Trace

LONGEST = 2_000  # units of a source: what a page can draw, and a model read while somebody waits
WIDEST = 100  # beams
EXACT = 100_000  # weights up to which they are sent as they are, for editing
EXAMPLES = 6


class Request(pydantic.BaseModel):
    """A question, its types checked. What is not named here is a setting of the search."""

    model_config = pydantic.ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    text: str | None = None
    picture: str | None = None
    question: str | None = None
    beam: Annotated[int, pydantic.Field(ge=1, le=WIDEST)] | None = None
    nbest: Annotated[int, pydantic.Field(ge=1, le=WIDEST)] | None = None
    prefix: str | list[str] = ""
    rows: dict[Annotated[str, pydantic.Field(pattern="^[0-9]{1,6}$")], list[float]] = {}
    masked: list[int] = []
    modes: bool = False
    tree: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})


def read_json(body: bytes) -> dict[str, Any]:
    """The object that a body holds; a UserError if it holds none, or what JSON and texts cannot have: NaN, half a character.

    >>> read_json(b'{"text": "Oslo"}')
    {'text': 'Oslo'}
    """

    def finite(word: str) -> float:
        if not math.isfinite(value := float(word)):
            _refuse_number(word)
        return value

    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_refuse_number, parse_float=finite)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise UserError("the request is not valid UTF-8, or has half of a character (a lone surrogate)") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"the request is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise UserError("the request must be a JSON object")
    return found


def _refuse_number(word: str) -> NoReturn:
    raise UserError(f"the request has a number that is none: {word[:40]}")


def ask(model: Model, given: Mapping[str, Any]) -> dict[str, Any]:
    """The trace document of a model's answer."""
    try:
        request = Request(**given)
    except pydantic.ValidationError as error:
        raise UserError(registry.first_mistake(error, "the request").message) from None
    except TypeError as error:
        raise UserError(f"the request cannot be read: {error}") from None
    with _input(model, request) as (text, name):
        try:
            return _answer(model, request, text, name)
        except UserError as error:
            raise UserError(error.message.replace(f"{text.rpartition('|')[0] or text}: ", "")) from None


def _answer(model: Model, request: Request, text: str, name: str) -> dict[str, Any]:
    edited = model.edited(prefix=request.prefix, rows={int(step): row for step, row in request.rows.items()}, masked=request.masked)
    search = searching_with(model, request)
    searching, tree = watched(search) if request.tree else (search, None)
    if edited.prefix:
        searching = Beginning(searching, edited.prefix)
    (found,) = edited.here().predict_rows([Row(text, None, "input", 1)], searching, attention=model.looks)
    trace = replace(complete(edited, found, text, search), source_text=name)
    if isinstance(model.source, Media):
        trace = replace(trace, media=name if request.picture is None else None)
    if len(trace.source_tokens) != trace.weights_THS.shape[2]:  # positions that are no units of the source have no names
        trace = replace(trace, source_tokens=[])
    if tree is not None and found.hypothesis is not None:
        trace = replace(trace, tree=tree.to_json(model.target, found.hypothesis))
    if edited.prefix or request.rows or request.masked:
        prefix = model.target.symbols(edited.prefix)
        trace = replace(trace, edits={"prefix": prefix, "rows": request.rows, "masked": sorted({*request.masked})})
    ways = {}
    if request.modes and model.looks and found.hypothesis is not None:
        ways = modes(edited, text, found.hypothesis)
        ways.pop("soft")  # the trace itself
        trace = replace(trace, modes={way: read.weights_THS for way, read in ways.items()})
    document = trace_to_json(trace, exact=_size(trace) <= EXACT)
    for way, read in ways.items():
        document["modes"][way]["logprobs"] = read.logprobs
    return document


def _size(trace: Trace) -> int:
    return int(trace.weights_THS.size) * (1 + len(trace.modes))


def searching_with(model: Model, request: Request) -> Search:
    """The model's search with the settings of a request."""
    own = model.recipe.part("search")[0]
    kind = own if request.beam is None or "size" in registry.settings(registry.find("search", own)) else "beam"
    known = {*registry.settings(registry.find("search", kind))} - {"size", "nbest"}
    for key in request.settings:
        if key not in known:
            raise UserError(f"there is nothing called '{key}' in a request, nor in search '{kind}': {suggestion(key, [*Request.model_fields, *known])}")
    if request.nbest is not None and request.nbest > 1 and "nbest" not in registry.settings(registry.find("search", kind)):
        raise UserError(f"search '{kind}' gives one output: ask for nbest = 1, or give a beam")
    return model.search(kind=kind, beam=request.beam, nbest=request.nbest, **request.settings)


@contextmanager
def _input(model: Model, request: Request) -> Iterator[tuple[str, str]]:
    """The row's text for the model, and what to call it; an uploaded picture lies in a file while it is read."""
    asked = isinstance(model.source, Asked)
    if request.question is not None and not asked:
        raise UserError("this model is not asked about pictures: take 'question' out")
    if asked and not (request.question or "").strip() and request.picture is not None:
        raise UserError("this model is asked about a picture: give a 'question', too")
    if (request.text is None) == (request.picture is None):
        raise UserError("give one of 'text' and 'picture'")
    if request.picture is not None:
        if not isinstance(model.source, Media):
            raise UserError("this model reads text, not pictures")
        with tempfile.TemporaryDirectory(prefix="xattend-view-") as folder:
            file = Path(folder) / "picture"
            file.write_bytes(_bytes(request.picture))
            yield (f"{file}|{_asking(request)}", _asking(request)) if asked else (str(file), "")
        return
    text = request.text or ""
    if isinstance(model.source, Media):
        text = f"{text}|{_asking(request)}" if asked and request.question is not None else text
        task, colon, _ = text.partition(":")
        if not colon or task not in registry.names("task"):  # a name of a file is not taken from a page
            raise UserError("this model reads pictures: give one as 'picture', or what an embedded task draws, as in 'scenes:...'")
    elif model.source is not None:
        if model.source.blank(text):
            raise UserError("there is nothing to read in the text")
        if (units := len(model.source.encode(text))) > LONGEST:
            raise UserError(f"the text has {units} units, more than the {LONGEST} that are shown here: give a part of it")
    yield text, text


def _asking(request: Request) -> str:
    return " ".join((request.question or "").replace("|", " ").split())


def _bytes(picture: str) -> bytes:
    try:
        found = base64.b64decode(picture, validate=True)
    except (binascii.Error, ValueError):
        raise UserError("the picture is not valid base64") from None
    if not found:
        raise UserError("the picture's file is empty")
    return found


# --- what there is to ask


def describe(model: Model, name: str) -> dict[str, Any]:
    """What a page must know of a model: how it is asked, and which settings its search has. Examples take their time: None at first."""
    source, about = model.source, model.recipe.about
    own, given = model.recipe.part("search")
    kind = own if "size" in registry.settings(registry.find("search", own)) else "beam"
    given = given if kind == own else {}
    return {
        "name": name, "title": about.title, "paper": about.paper, "looks": model.looks,
        "kind": "film" if isinstance(source, Film) else "picture" if isinstance(source, Media) else "text",
        "asked": isinstance(source, Asked), "source": "the beginning of a text" if source is None else _described(source),
        "target": _described(model.target), "search": {"kind": kind, "settings": _settings(kind, given)}, "examples": None,
    }  # fmt: skip


def _described(field: Any) -> str:
    unit = field.settings.get("unit")
    return f"{field.registered_name} ({unit}s)" if unit else str(field.registered_name)


def _settings(kind: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those settings of a search that are a number, a yes or no, or one of a few words."""
    found = []
    for one in registry.settings(registry.find("search", kind)).values():
        schema = pydantic.TypeAdapter(one.type).json_schema()
        value = given.get(one.name, None if one.required else one.default)
        if "enum" in schema or schema.get("type") in ("integer", "number", "boolean"):
            least = schema.get("minimum", schema.get("exclusiveMinimum"))
            if "exclusiveMinimum" in schema and schema["type"] == "integer":
                least = schema["exclusiveMinimum"] + 1
            found.append({
                "name": one.name, "help": one.help, "type": "choice" if "enum" in schema else schema["type"], "value": value, "choices": schema.get("enum"),
                "minimum": least, "maximum": schema.get("maximum"),
            })  # fmt: skip
    return found


def examples(model: Model) -> list[str]:
    """A few inputs that the model has not been trained on, if an embedded task says which; else none."""
    task = model.recipe.section("data").get("task")
    if not task or model.source is None:
        return []
    settings = dict(task)
    try:
        rows = registry.build("task", settings.pop("kind"), **settings).splits()["test"]
        return [source for source, _ in islice(rows, EXAMPLES)]
    except UserError:  # the task's own data is not installed: the model works without
        return []
