"""xattend itself, timed as its peers are: its own batches, update and search.

JOB.json and the answer are described in benchmarks/README.md.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from importlib import metadata
from itertools import cycle
from pathlib import Path
from typing import Any

INSTALL: list[list[str]] = []  # runs in the project's own environment
JOBS = [
    "quality gru", "train gru", "train transformer", "train letters",
    "decode gru", "decode transformer", "decode letters", "int8 gru", "int8 transformer",
    "first gru", "first transformer", "first letters",
]  # fmt: skip

JOB = json.loads(Path(sys.argv[1]).read_text("utf-8"))
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(JOB["threads"])

import torch  # noqa: E402

from xattend import recipe as recipes  # noqa: E402
from xattend.data.corpus import Data, prepare  # noqa: E402
from xattend.model import Model  # noqa: E402
from xattend.run import Run  # noqa: E402
from xattend.systems import System, assemble  # noqa: E402
from xattend.training.distributed import Group  # noqa: E402
from xattend.training.optimisers.adam import Adam  # noqa: E402
from xattend.training.standing import Standing  # noqa: E402
from xattend.training.stream import Stream  # noqa: E402
from xattend.training.update import Updater  # noqa: E402
from xattend.training.weights import to_bytes, weights_of  # noqa: E402

SENTENCES = """
[data]
train = {{ source = "{corpus}/train.source", target = "{corpus}/train.target" }}
source = {{ unit = "word" }}
target = {{ unit = "word", share = "source" }}  # one vocabulary, as the peers have
"""
# yoyodyne's sizes
LETTERS = """
[data]
train = "{corpus}/letters.train.tsv"
source = {{ unit = "word" }}
target = {{ unit = "word" }}
[encoder]
kind = "birnn"
cell = "lstm"
size = 512
embedding = 128
dropout = 0.1
[attention]
kind = "concat"
size = 512
[decoder]
kind = "rnn"
cell = "lstm"
size = 512
embedding = 128
attend = "before"
readout = "state"
dropout = 0.1
"""
GRU = SENTENCES + """
[encoder]
kind = "birnn"
size = 256
embedding = 256
dropout = 0.1
[attention]
kind = "additive"
size = 512
[decoder]
kind = "rnn"
size = 512
embedding = 256
attend = "before"
readout = "luong"
dropout = 0.1
"""
TRANSFORMER = SENTENCES + """
[encoder]
kind = "transformer"
size = 256
layers = 3
heads = 4
inner = 1024
[attention]
kind = "multi-head"
heads = 4
[decoder]
kind = "transformer"
size = 256
layers = 3
heads = 4
inner = 1024
"""
MODELS = {"gru": GRU, "transformer": TRANSFORMER, "letters": LETTERS}


def main() -> None:
    torch.set_num_threads(JOB["threads"])
    torch.manual_seed(1)
    answer = {"train": train, "decode": decode, "first": first, "quality": quality}[JOB["job"]]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**answer, "peak_mb": round(peak), "version": metadata.version("xattend")}))


def quality() -> dict[str, Any]:
    """`xattend train translate` until `bleu` is reached on validation; a line of quality.jsonl at every validation."""
    work, file = Path(JOB["work"]), Path(JOB["work"]) / "run" / "metrics.jsonl"
    shutil.rmtree(work / "run", ignore_errors=True)
    command = [sys.executable, "-m", "xattend", "train", JOB["recipe"], "--data", JOB["data"], "--out", str(work / "run"),
               "-s", f"training.threads={JOB['threads']}", "-s", "training.validate_rows=1014"]  # fmt: skip
    training, seen = subprocess.Popen(command, stdout=sys.stderr), 0
    try:
        while training.poll() is None:
            time.sleep(1)
            lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
            points = [line for line in lines if line.get("event") == "validation"]
            for point in points[seen:]:
                with (work / "quality.jsonl").open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"updates": point["step"], "bleu": point["validation_bleu-tok"]}) + "\n")
            seen = len(points)
            if any(point["validation_bleu-tok"] >= JOB["bleu"] for point in points):
                break
    finally:
        training.terminate()
        training.wait()
    return {}


def build() -> tuple[recipes.Recipe, Data, System]:
    if "recipe" in JOB:
        recipe = recipes.load(JOB["recipe"]).resolve()
        data = prepare(recipe, Path(JOB["work"]) / "cache", root=Path(JOB["work"]), data_dir=Path(JOB["data"]))
        return recipe, data, assemble(recipe, data.source, data.target)
    batch = f"sentences = {JOB['sentences']}\ntokens = 1000000" if "sentences" in JOB else f"tokens = {JOB.get('tokens', 4096)}"
    text = MODELS[JOB["model"]].format(corpus=JOB["corpus"]) + f"[training]\nsteps = 1\n{batch}\n"
    recipe = recipes.parse(text, "bench.toml").resolve()
    data = prepare(recipe, Path(JOB["work"]) / "cache", root=Path(JOB["work"]))
    return recipe, data, assemble(recipe, data.source, data.target)


def train() -> dict[str, Any]:
    recipe, data, system = build()
    stream = Stream(data.splits["train"], recipe.training, Group(), Standing())
    updater = Updater(system, Adam(system.parameters(), lr=1e-3), Group(), accumulate=1, clip=1.0, normalise="tokens")
    stream.open(lambda line: None)
    system.train()
    tokens = updates = examples = 0
    began = 0.0
    for number in range(sys.maxsize):
        if number == 3:
            began = time.perf_counter()
        outcome = updater.update(stream.next()[1])
        stream.advance(lambda line: None)
        if number >= 3:
            tokens, examples, updates = tokens + outcome.own.tokens, examples + outcome.own.sentences, updates + 1
            if time.perf_counter() - began > JOB["seconds"]:
                break
    seconds = time.perf_counter() - began
    return {
        "value": tokens / seconds, "unit": "target tokens/s", "tokens": tokens, "seconds": seconds, "updates": updates,
        "examples_per_second": examples / seconds, "parameters": sum(p.numel() for p in system.parameters()), "note": "",
    }  # fmt: skip


def model() -> Model:
    recipe, data, system = build()
    assert data.source is not None
    return Model(recipe, data.source, data.target, system)


def test_sentences() -> list[str]:
    if JOB["model"] == "letters":
        return [line.split("\t")[0] for line in (Path(JOB["corpus"]) / "letters.test.tsv").read_text("utf-8").splitlines()]
    return (Path(JOB["corpus"]) / "test.source").read_text("utf-8").splitlines()


def decode() -> dict[str, Any]:
    found = model()
    if JOB.get("int8"):
        found.to_int8()
    search = found.search(beam=JOB["beam"], min_length=JOB["length"], max_length=JOB["length"])
    texts = sorted(test_sentences(), key=lambda text: len(text.split()))
    batches = [texts[i : i + JOB["batch"]] for i in range(0, len(texts) - JOB["batch"] + 1, JOB["batch"])]
    turn = cycle(batches[:: max(1, len(batches) // 16)])  # short and long ones alike, however few there is time for
    answer(found, next(turn), search)
    sentences = written = 0
    began = time.perf_counter()
    while time.perf_counter() - began < JOB["seconds"]:
        for prediction in answer(found, next(turn), search):
            sentences, written = sentences + 1, written + len(prediction.tokens)
    seconds = time.perf_counter() - began
    return {
        "value": sentences / seconds, "unit": "sentences/s", "sentences": sentences, "seconds": seconds,
        "mean_length": written / sentences, "note": "",
    }  # fmt: skip


def answer(found: Model, texts: list[str], search: Any) -> list[Any]:
    from xattend.data.readers.base import Row

    return list(found.predict_rows((Row(text, None, "text", number) for number, text in enumerate(texts, 1)), search))


def first() -> dict[str, Any]:
    recipe, data, system = build()
    folder = Path(JOB["work"]) / "run"
    fields = {side: field.to_json() for side, field in zip(("source", "target"), data.fields, strict=True) if field}
    run = Run.create(folder, recipe=recipe.dump(), fields=fields, fingerprint=data.fingerprint, overwrite=True)
    run.publish(to_bytes(weights_of(system)))
    began = time.perf_counter()
    command = [sys.executable, "-m", "xattend", "predict", str(folder), test_sentences()[0], "--beam", "1"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return {"value": time.perf_counter() - began, "unit": "s", "note": "xattend predict"}


if __name__ == "__main__":
    main()
