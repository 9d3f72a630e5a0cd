"""OpenNMT-py 3.5.1, timed through its own Trainer and dynamic iterator, its own Translator and its own command line.

    python opennmt.py JOB.json

What differs from the others: it pools rows, sorts the pool by length and shuffles the batches; it drops a row whose source is in the
batch already; its recurrent decoder attends after the step and feeds the result back in, and projects the keys again at every step;
its Transformer has no biases in its projections and keeps keys and values between steps.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# without its servers, TensorBoard, CTranslate2, spaCy and fastText, which none of these jobs uses
INSTALL = [
    ["--no-deps", "OpenNMT-py==3.5.1"],
    ["configargparse", "numpy", "pyahocorasick", "pyonmttok", "pyyaml", "rapidfuzz", "regex", "sacrebleu", "sentencepiece"],
]
JOBS = ["quality gru", "train gru", "train transformer", "decode gru", "decode transformer", "first gru", "first transformer"]

WARM_UP = 3
STARTS = 3
NEVER = 10**9
MODELS = {
    "gru": "-encoder_type brnn -decoder_type rnn -rnn_type GRU -layers 1 -word_vec_size 256 -hidden_size 512 -global_attention mlp",
    # its documentation asks for Glorot's weights and positions whenever the model is a Transformer
    "transformer": "-encoder_type transformer -decoder_type transformer -layers 3 -word_vec_size 256 -hidden_size 256 -transformer_ff 1024"
    " -heads 4 -position_encoding -param_init 0 -param_init_glorot",
}


def train_options(job: dict[str, Any], split: str, *more: Any) -> argparse.Namespace:
    """As its command line would have them; what is not named keeps its default, such as embeddings that are not shared."""
    from onmt.bin.train import _get_parser
    from onmt.utils.logging import init_logger
    from onmt.utils.parse import ArgumentParser

    if job["model"] not in MODELS:
        raise ValueError(f"no model {job['model']!r} here")
    corpus = Path(job["corpus"])
    rows = {"path_src": str(corpus / f"{split}.source"), "path_tgt": str(corpus / f"{split}.target")}
    named = [
        "-data", json.dumps({"rows": rows}), "-src_vocab", corpus / "vocabulary", "-share_vocab", "-seed", 1,
        "-optim", "adam", "-learning_rate", 0.001, "-max_grad_norm", 1, "-dropout", 0.1, "-attention_dropout", 0.1,
        # its workers would be processes beside the two threads
        "-num_workers", 0, "-save_model", Path(job["work"]) / "onmt",
    ]  # fmt: skip
    words = [*MODELS[job["model"]].split(), *named, *more]
    options, _ = _get_parser().parse_known_args([str(word) for word in words])
    init_logger()
    ArgumentParser.validate_train_opts(options)
    ArgumentParser.update_model_opts(options)
    ArgumentParser.validate_model_opts(options)
    return options


class Timed:
    """Its batches, until the time is up. It asks for the next one when the update before is done, so that is where the clock is read."""

    def __init__(self, batches: Any, seconds: float) -> None:
        self.batches, self.seconds = batches, seconds
        self.updates = self.tokens = 0
        self.start = self.passed = 0.0

    def __iter__(self) -> Iterator[Any]:
        for batch, pool in self.batches:
            yield batch, pool
            self.updates += 1
            if self.updates == WARM_UP:
                self.start = time.perf_counter()
            elif self.updates > WARM_UP:
                self.tokens += int(batch["tgtlen"].sum()) - len(batch["tgtlen"])  # without <s>, with </s>
                self.passed = time.perf_counter() - self.start
                if self.passed >= self.seconds:
                    return


def train(job: dict[str, Any]) -> dict[str, Any]:
    from onmt.inputters.dynamic_iterator import build_dynamic_dataset_iter
    from onmt.model_builder import build_model
    from onmt.train_single import _init_train, configure_process
    from onmt.trainer import build_trainer
    from onmt.utils.optimizers import Optimizer

    kind, size = ("tokens", job["tokens"]) if "tokens" in job else ("sents", job["sentences"])
    with (Path(job["corpus"]) / "train.source").open("rb") as stream:
        count = sum(1 for _ in stream)
    # a pool of the default 262,144 rows would hold this corpus several times over, and it would drop the copies
    options = train_options(job, "train", "-batch_type", kind, "-batch_size", size, "-bucket_size", count)
    configure_process(options, -1)
    _, vocabularies, transforms = _init_train(options)
    model = build_model(options, options, vocabularies, None, -1)
    trainer = build_trainer(options, -1, model, vocabularies, Optimizer.from_opt(model, options))
    run = Timed(build_dynamic_dataset_iter(options, transforms, vocabularies), job["seconds"])
    trainer.train(run, train_steps=0, save_checkpoint_steps=0, valid_steps=NEVER)
    budget = "the budget counts padding and the longer side" if kind == "tokens" else "fixed rows"
    return {
        "value": run.tokens / run.passed,
        "unit": "target tokens/s",
        "tokens": run.tokens,
        "seconds": run.passed,
        "updates": run.updates - WARM_UP,
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "note": f"{budget}; one pool of all rows, sorted by length, batches shuffled; no worker processes; embeddings not shared (default)",
    }


def quality(job: dict[str, Any]) -> dict[str, Any]:
    """Trains until `bleu` is reached, with the rate its help recommends for Adam and its defaults (64 sentences, dropout .3, norm 5); every
    checkpoint is translated by its own command, greedily, and makes a line of quality.jsonl."""
    import sacrebleu

    work, corpus, seen = Path(job["work"]), Path(job["corpus"]), 0
    references = [" ".join(line.split()).replace(" ##", "") for line in (corpus / "validation.target").open(encoding="utf-8")]
    order = work / "learn.json"
    order.write_text(json.dumps({**job, "job": "learn"}), "utf-8")
    training = subprocess.Popen([sys.executable, __file__, str(order)], stdout=sys.stderr)
    try:
        while training.poll() is None:
            time.sleep(2)
            checkpoint = work / f"onmt_step_{seen + job['every']}.pt"
            if not checkpoint.exists():
                continue
            time.sleep(5)  # it writes it in place
            seen += job["every"]
            command = [sys.executable, "-m", "onmt.bin.translate", "-model", checkpoint, "-src", corpus / "validation.source"]
            subprocess.run([*command, "-output", work / "out", "-beam_size", "1", "-batch_size", "64"], check=True, stdout=sys.stderr)
            written = (work / "out").read_text("utf-8").split("\n")[: len(references)]
            found = sacrebleu.corpus_bleu([line.replace(" ##", "") for line in written], [references], tokenize="none").score
            with (work / "quality.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"updates": seen, "bleu": found}) + "\n")
            if found >= job["bleu"]:
                break
    finally:
        training.terminate()
    return {}


def learn(job: dict[str, Any]) -> dict[str, Any]:
    """The training of `quality`, in a process of its own."""
    from onmt.train_single import main as run

    with (Path(job["corpus"]) / "train.source").open("rb") as stream:
        count = sum(1 for _ in stream)
    more = ["-batch_size", job["sentences"], "-bucket_size", count, "-train_steps", NEVER, "-save_checkpoint_steps", job["every"]]
    run(train_options(job, "train", *more, "-keep_checkpoint", 3, "-dropout", 0.3, "-attention_dropout", 0.1, "-max_grad_norm", 5), -1)
    return {}


def make(job: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of its own, after one update on eight rows."""
    from onmt.train_single import main as run

    run(train_options(job, "validation", "-batch_size", 8, "-bucket_size", 8, "-train_steps", 1), -1)
    return {}


def made(job: dict[str, Any]) -> Path:
    """A checkpoint, written in a process of its own to keep its memory out of the peak."""
    order = Path(job["work"]) / "make.json"
    order.write_text(json.dumps({**job, "job": "make"}), "utf-8")
    done = subprocess.run([sys.executable, __file__, str(order)], stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"no checkpoint: {done.stderr.strip().splitlines()[-1]}")
    return Path(job["work"]) / "onmt_step_1.pt"


class Deck:
    """Its batches over and over, until the time is up."""

    bucket_size = NEVER  # after this many sentences it would sort and write what it has

    def __init__(self, batches: list[Any], seconds: float) -> None:
        self.batches, self.seconds = batches, seconds

    def __iter__(self) -> Iterator[Any]:
        start = time.perf_counter()
        for batch in itertools.cycle(self.batches):
            yield batch
            if time.perf_counter() - start >= self.seconds:
                return


def decode(job: dict[str, Any]) -> dict[str, Any]:
    if job.get("int8"):
        raise ValueError("its int8 option does nothing: it compares a word with torch.int8")
    model = made(job)
    from onmt.bin.translate import _get_parser
    from onmt.constants import CorpusTask
    from onmt.inference_engine import InferenceEnginePY
    from onmt.inputters.dynamic_iterator import build_dynamic_dataset_iter
    from onmt.utils.parse import ArgumentParser

    words = [
        "-model", model, "-src", Path(job["corpus"]) / "test.source", "-output", Path(job["work"]) / "out",
        "-beam_size", job["beam"], "-batch_size", job["batch"], "-batch_type", "sents",
        # the last one turns off its limit by the length of the source
        "-min_length", job["length"], "-max_length", job["length"], "-max_length_ratio", 0,
    ]  # fmt: skip
    options = _get_parser().parse_args([str(word) for word in words])
    ArgumentParser.validate_translate_opts(options)
    ArgumentParser._get_all_transform_translate(options)
    ArgumentParser._validate_transforms_opts(options)
    ArgumentParser.validate_translate_opts_dynamic(options)
    engine = InferenceEnginePY(options)
    batches = list(build_dynamic_dataset_iter(options, engine.transforms_cls, engine.vocabs, task=CorpusTask.INFER))
    # it goes from the shortest to the longest: a run that stops early would have seen the short ones only
    random.Random(1).shuffle(batches)
    engine.translator._translate(batches[:1])
    start = time.perf_counter()
    _, written = engine.translator._translate(Deck(batches, job["seconds"]))
    passed = time.perf_counter() - start
    return {
        "value": len(written) / passed,
        "unit": "sentences/s",
        "sentences": len(written),
        "seconds": passed,
        "mean_length": sum(len(best.split(" ")) for best, *_ in written) / len(written),
        "note": "batches of like length (it sorts by length), taken in random order; ids in, text out; greedy is beam search with 1",
    }


def first(job: dict[str, Any]) -> dict[str, Any]:
    work = Path(job["work"])
    out = work / "out"
    (work / "one").write_text((Path(job["corpus"]) / "test.source").read_text("utf-8").split("\n")[0] + "\n", "utf-8")
    command = [sys.executable, "-m", "onmt.bin.translate", "-model", made(job), "-src", work / "one", "-output", out]
    command += ["-beam_size", "1", "-max_length", "30"]
    taken = []
    for _ in range(STARTS):
        out.unlink(missing_ok=True)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=sys.stderr, cwd=work)
        while process.poll() is None and not (out.exists() and out.stat().st_size):
            time.sleep(0.002)
        taken.append(time.perf_counter() - start)
        if process.wait() or not out.stat().st_size:
            raise RuntimeError("`onmt_translate` wrote nothing")
    return {
        "value": statistics.median(taken),
        "unit": "s",
        "starts": taken,
        "note": f"median of {STARTS} starts of `onmt_translate`, one sentence, greedy, at most 30 tokens; spaCy and fastText are stubs, so "
        "the time to import them is missing; its checkpoint holds Adam's state too",
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    # it imports all of its transforms, and two of them spaCy and fastText, which no job here uses: empty modules will do,
    # in a folder so that its command line finds them too
    stubs = Path(job["work"]) / "stubs"
    stubs.mkdir(parents=True, exist_ok=True)
    for name in ("spacy", "fasttext"):
        (stubs / f"{name}.py").touch()
    sys.path.insert(0, str(stubs))
    os.environ["PYTHONPATH"] = str(stubs)
    # its checkpoints hold an argparse.Namespace, which today's torch.load refuses by default
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(job["threads"])
    import torch

    torch.set_num_threads(job["threads"])
    torch.set_num_interop_threads(1)
    with contextlib.redirect_stdout(sys.stderr):
        result = {"train": train, "make": make, "decode": decode, "first": first, "quality": quality, "learn": learn}[job["job"]](job)
    if job["job"] != "first":  # there, the work is done in other processes
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result["version"] = importlib.metadata.version("OpenNMT-py")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
