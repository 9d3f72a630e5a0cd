"""One question to a model, one trace document for an answer: what the page of `xattend view` asks, and what Python can ask as well.

    ask(model, {"text": "Main ghar ja raha hoon", "beam": 5, "nbest": 3, "tree": True, "rows": {"3": [1, 0, 0, 0, 0, 0]}})

text | picture   what is read (given.py); a picture (or film) is its file in base64, and so is a `sound`; `question` goes with a picture or
     | sound     a story for a model that is asked about it
beam, nbest      width of the beam, outputs in the answer; besides, settings of the search by their names (length_penalty, ...)
bias, seed       of a model that writes with a pen: how neat, and which sample
prefix           how the output must begin: a text, or tokens as a trace names them
rows, masked     attention edited: step -> weights, positions never looked at (attention/edited.py)
modes, tree      whether to add the same output read with sampled and argmax attention, and the beam's tree, where there are such

Whatever is wrong with a question is a UserError of one line. The document is that of docs/trace.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, NoReturn

import pydantic

from xattend import registry
from xattend.data.fields.asked import Asked
from xattend.data.fields.media import Media
from xattend.data.readers.base import Row
from xattend.decoders.base import Decoder
from xattend.editing import modes
from xattend.errors import UserError, suggestion
from xattend.model import Model
from xattend.report.complete import complete, has_trace
from xattend.report.trace_json import trace_to_json
from xattend.search.base import Search
from xattend.search.prefix import Beginning
from xattend.search.tree import watched
from xattend.systems.machine import Machine
from xattend.systems.seq2seq import Seq2Seq
from xattend.systems.write import Write
from xattend.types import Trace
from xattend.viewer.given import Given, given, is_made, is_story, reads

WIDEST = 100  # beams
EXACT = 100_000  # weights up to which they are sent as they are, for editing
EXAMPLES = 6
PEN = ("bias", "seed")  # settings of the system `write` that a question may change


class Request(pydantic.BaseModel):
    """A question, its types checked. What is not named here is a setting of the search, or of the pen."""

    model_config = pydantic.ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    text: str | None = None
    picture: str | None = None
    sound: str | None = None
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


def ask(model: Model, question: Mapping[str, Any]) -> dict[str, Any]:
    """The trace document of a model's answer."""
    try:
        request = Request(**question)
    except pydantic.ValidationError as error:
        raise UserError(registry.first_mistake(error, "the request").message) from None
    except TypeError as error:
        raise UserError(f"the request cannot be read: {error}") from None
    with given(model, request.text, {"picture": request.picture, "sound": request.sound}, request.question) as row:
        try:
            return _answer(model, request, row)
        except UserError as error:
            named = row.file or row.text.rpartition("|")[0] or row.text
            said = error.message.replace(f"{named}: ", "")
            raise UserError(said if row.file is None else said.replace(row.file, "the file")) from None


def searches(model: Model) -> bool:
    """Whether there is something to search: a machine decides each bit by itself, and what is painted or drawn is no text."""
    return model.system.writes and not isinstance(model.system, Machine)


def editable(model: Model) -> bool:
    """Whether a hand can be laid on it: it has a decoder, whose beginnings and looks can be given."""
    return isinstance(getattr(model.system, "decoder", None), Decoder)


def _answer(model: Model, request: Request, row: Given) -> dict[str, Any]:
    if (request.prefix or request.rows or request.masked) and not editable(model):
        raise UserError("this model has no decoder to lay a hand on: take 'prefix', 'rows' and 'masked' out")
    model = held(model, request)
    edited = model.edited(prefix=request.prefix, rows={int(step): weights for step, weights in request.rows.items()}, masked=request.masked)
    search = searching_with(model, request)
    searching, tree = watched(search) if request.tree and searches(model) else (search, None)
    if edited.prefix:
        searching = Beginning(searching, edited.prefix)
    (found,) = edited.here().predict_rows([Row(row.text, None, "input", 1)], searching, attention=has_trace(model))
    trace = replace(complete(edited, found, row.text, search if searches(model) else None), source_text=row.name)
    if isinstance(model.source, Media):
        trace = replace(trace, media=row.name if row.file is None else None)
    if len(trace.source_tokens) != trace.weights_THS.shape[2]:  # positions that are no units of the source have no names
        trace = replace(trace, source_tokens=[])
    if tree is not None and found.hypothesis is not None:
        trace = replace(trace, tree=tree.to_json(model.target, found.hypothesis))
    if edited.prefix or request.rows or request.masked:
        prefix = model.target.symbols(edited.prefix)
        trace = replace(trace, edits={"prefix": prefix, "rows": request.rows, "masked": sorted({*request.masked})})
    ways = {}
    if request.modes and model.looks and isinstance(model.system, Seq2Seq) and found.hypothesis is not None and not trace.notes:
        ways = modes(edited, row.text, found.hypothesis)
        ways.pop("soft")  # the trace itself
        trace = replace(trace, modes={way: read.weights_THS for way, read in ways.items()})
    document = trace_to_json(trace, exact=_size(trace) <= EXACT)
    for way, read in ways.items():
        document["modes"][way]["logprobs"] = read.logprobs
    return document


def _size(trace: Trace) -> int:
    return int(trace.weights_THS.size) * (1 + len(trace.modes))


def held(model: Model, request: Request) -> Model:
    """The model with the pen's settings of a request, if it has a pen. The model itself stays as it is."""
    if not isinstance(model.system, Write):
        return model
    known, changed = registry.settings(Write), copy(model.system)
    for key, value in request.settings.items():
        if key not in PEN:
            known_words = suggestion(key, [*Request.model_fields, *PEN])
            raise UserError(f"there is nothing called '{key}' in a request, nor in the pen: {known_words}")
        try:
            setattr(changed, key, pydantic.TypeAdapter(known[key].type).validate_python(value, strict=True))
        except pydantic.ValidationError as error:
            raise UserError(f"'{key}' of the pen: {error.errors()[0]['msg']}") from None
    if not 0 <= changed.seed < 1 << 63:
        raise UserError("'seed' of the pen: a number from 0 on, below 2^63")
    found = copy(model)
    found.system = changed
    return found


def searching_with(model: Model, request: Request) -> Search:
    """The model's search with the settings of a request."""
    if not model.system.writes:
        if request.beam is not None or request.nbest is not None:
            raise UserError("this model writes no text, and there is nothing to search: take 'beam' and 'nbest' out")
        if request.settings and not isinstance(model.system, Write):
            key = next(iter(request.settings))
            raise UserError(f"there is nothing called '{key}' in a request: {suggestion(key, [*Request.model_fields])}")
        return model.search()
    own = model.recipe.part("search")[0]
    kind = own if request.beam is None or "size" in registry.settings(registry.find("search", own)) else "beam"
    known = {*registry.settings(registry.find("search", kind))} - {"size", "nbest"}
    for key in request.settings:
        if key not in known:
            raise UserError(f"there is nothing called '{key}' in a request, nor in search '{kind}': {suggestion(key, [*Request.model_fields, *known])}")
    if request.nbest is not None and request.nbest > 1 and "nbest" not in registry.settings(registry.find("search", kind)):
        raise UserError(f"search '{kind}' gives one output: ask for nbest = 1, or give a beam")
    return model.search(kind=kind, beam=request.beam, nbest=request.nbest, **request.settings)


# --- what there is to ask


def describe(model: Model, name: str) -> dict[str, Any]:
    """What a page must know of a model: how it is asked, and which settings its search has. Examples take their time: None at first."""
    source, about = model.source, model.recipe.about
    return {
        "name": name, "title": about.title, "paper": about.paper, "looks": model.looks, "kind": reads(model),
        "asked": isinstance(source, Asked), "story": is_story(model), "edits": editable(model),
        "source": "the beginning of a text" if source is None else _described(source),
        "target": _described(model.target), "search": _search(model), "examples": None,
    }  # fmt: skip


def _search(model: Model) -> dict[str, Any]:
    """The search, or the pen, and those of its settings that a page can show."""
    if isinstance(model.system, Write):
        return {"kind": "pen", "settings": _settings("system", "write", {key: getattr(model.system, key) for key in PEN}, PEN)}
    own, set_by_recipe = model.recipe.part("search")
    if not searches(model):
        return {"kind": own, "settings": []}
    kind = own if "size" in registry.settings(registry.find("search", own)) else "beam"
    return {"kind": kind, "settings": _settings("search", kind, set_by_recipe if kind == own else {})}


def _described(field: Any) -> str:
    unit = field.settings.get("unit")
    return f"{field.registered_name} ({unit}s)" if unit else str(field.registered_name)


def _settings(section: str, kind: str, given: Mapping[str, Any], names: tuple[str, ...] | None = None) -> list[dict[str, Any]]:
    """Those settings of a part (`names`: some of them) that are a number, a yes or no, or one of a few words."""
    found = []
    for one in registry.settings(registry.find(section, kind)).values():
        if names is not None and one.name not in names:
            continue
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
        texts = [source for source, _ in islice(rows, EXAMPLES)]
        return [text for text in texts if not isinstance(model.source, Media) or is_made(text)]  # files are not named by a page
    except UserError:  # the task's own data is not installed: the model works without
        return []
