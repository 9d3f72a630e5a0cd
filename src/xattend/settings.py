"""Settings that every recipe may have, whatever its parts: [about], [data] and [training].

>>> TrainingSettings(epochs=3.0).tokens
4096
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic


class Settings(pydantic.BaseModel):
    """No key is ignored, and no value is taken for one of another type."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid")


class About(Settings):
    """What `xattend recipes` prints."""

    title: Annotated[str, "one line"] = ""
    paper: Annotated[str, "whose system it is"] = ""
    task: Annotated[str, "what it learns"] = ""
    minutes: Annotated[float, "how long it takes on 2 cores; an estimate as long as the result has no figure"] = 0.0
    result: Annotated[str, "what it reaches, measured"] = ""


Fraction = Annotated[float, pydantic.Field(ge=0.0, le=0.5)]
Pair = Annotated[list[str], pydantic.Field(min_length=2, max_length=2)]


class DataSettings(Settings):
    """Where rows come from and how their two sides are read."""

    task: Annotated[str | dict[str, Any] | None, "an embedded task: a name, or { kind = name, setting = value }"] = None
    train: Annotated[str | dict[str, str] | None, "a .tsv, .jsonl, .dict or .parquet file (.gz and .zip too), or { source = file, target = file }"] = None
    more: Annotated[str | dict[str, Any] | None, "an embedded task whose training rows are added to those of train"] = None
    validation: Annotated[str | dict[str, str] | None, "the same, for validation"] = None
    test: Annotated[str | dict[str, str] | None, "the same, for the final figure"] = None
    rows: Annotated[Annotated[int, pydantic.Field(gt=0)] | None, "train on the first so many rows alone; by default on all"] = None
    split: Annotated[dict[Literal["validation", "test"], Fraction] | None, "shares of train to hold out, by a hash of the source side"] = None
    columns: Annotated[dict[Literal["source", "target"], int | str] | None, "which columns; numbers from 1, or names"] = None
    format: Annotated[str | None, "how the files are laid out: scan, cmudict, flickr8k, coco, ...; by default their suffix says"] = None
    folder: Annotated[str | None, "folder that pictures named in rows lie in; by default the recipe's, then --data"] = None
    mirrored: Annotated[list[Pair] | None, "train on every row a second time, its picture mirrored; pairs of words that change places in its target"] = None
    source: Annotated[dict[str, Any] | None, "how the source side is read: a field"] = None
    target: Annotated[dict[str, Any] | None, "how the target side is read: a field"] = None
    bad_rows: Annotated[Literal["stop", "skip"], "what to do with a row that cannot be read; skipped rows are counted and said"] = "stop"


class TrainingSettings(Settings):
    """How long, how much at a time, and what to keep."""

    tokens: Annotated[int, pydantic.Field(gt=0), "budget of a batch: its rows times its longest side, in tokens"] = 4096
    sentences: Annotated[int | None, "at most so many rows in a batch"] = None
    together: Annotated[int, pydantic.Field(ge=1), "rows that stay in one batch, in the order of the data: those about one picture, which is then read once"] = 1
    accumulate: Annotated[int, pydantic.Field(gt=0), "micro-batches an update is split into"] = 1
    steps: Annotated[int | None, "stop after so many updates"] = None
    epochs: Annotated[float | None, "stop after so many passes over the data"] = None
    minutes: Annotated[float | None, "stop after so much wall-clock time"] = None
    start: Annotated[str | None, "a run to begin with: its weights, and its vocabularies"] = None
    start_parts: Annotated[Annotated[list[str], pydantic.Field(min_length=1)] | None, "take over the weights of these parts alone, as [\"encoder\"]; by default of all"] = None
    frozen: Annotated[Annotated[list[str], pydantic.Field(min_length=1)] | None, "parts whose weights stay as they are at the beginning, as [\"encoder\"]"] = None
    seed: Annotated[int, "of weights, order and dropout"] = 1
    clip: Annotated[float, pydantic.Field(ge=0), "largest gradient norm; 0 = no clipping"] = 1.0
    normalise: Annotated[Literal["tokens", "sentences"], "what the summed loss is divided by"] = "tokens"
    validate_every: Annotated[int | None, "updates between validations; by default once a pass over the data"] = None
    validate_rows: Annotated[int, pydantic.Field(gt=0), "validation rows decoded for the metric (the loss uses all)"] = 500
    metric: Annotated[str, "what early stopping and the best model go by: loss, or a metric's name"] = "loss"
    patience: Annotated[int | None, "stop after so many validations without a better metric"] = None
    target: Annotated[float | None, "stop once the metric is as good as this"] = None
    save_every: Annotated[int, pydantic.Field(gt=0), "updates between saved states"] = 500
    log_every: Annotated[int, pydantic.Field(gt=0), "updates between lines of metrics.jsonl"] = 50
    average: Annotated[int, pydantic.Field(ge=0), "average the weights of the last so many validations at the end"] = 0
    ema: Annotated[float, pydantic.Field(ge=0, lt=1), "decay of an exponential moving average of the weights; 0 = none"] = 0.0
    nan_limit: Annotated[int, pydantic.Field(gt=0), "stop after so many updates in a row whose loss or gradient is not finite"] = 10
    workers: Annotated[int, pydantic.Field(ge=0), "processes that prepare batches"] = 0
    precision: Annotated[Literal["float32", "bfloat16"], "of products in training; bfloat16 is faster on processors with instructions for it, and float32 is taken, and said, on those without"] = "float32"
    threads: Annotated[int | None, "threads of torch; by default all cores"] = None


FIXED: dict[str, type[Settings]] = {"about": About, "data": DataSettings, "training": TrainingSettings}
