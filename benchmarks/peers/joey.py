"""JoeyNMT 2.3.0, timed through its own TrainManager, its own predict() and its own command line.

    python joey.py JOB.json

What differs from the others: it does not put sentences of one length together, so its batches are shuffled and hold much padding;
it attends after the recurrent step and feeds the attention back in (Luong's order, Bahdanau's scores); when it translates, every step
projects the keys again (recurrent) or runs over the whole prefix again (Transformer).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# its own list asks for pylint, pytest, datasets and an old protobuf, and leaves importlib_metadata out: this is what it imports
INSTALL = [
    ["--no-deps", "joeynmt==2.3.0"],
    ["importlib_metadata", "matplotlib", "numpy", "packaging", "pandas", "plotly", "pyyaml", "sacrebleu", "sentencepiece", "subword-nmt",
     "tensorboard", "tqdm"],
]
JOBS = ["quality gru", "train gru", "train transformer", "decode gru", "decode transformer", "first gru", "first transformer"]

WARM_UP = 3
STARTS = 3
NEVER = 10**9
# of configs/iwslt_deen_bahdanau.yaml, where a validation is an epoch: here it is half of one
RECOMMENDED = {"patience": 1, "decrease_factor": 0.5, "learning_rate_min": 5e-5, "early_stopping_metric": "ppl", "keep_best_ckpts": 1}


def side(model: str, hidden: int) -> dict[str, Any]:
    """The options that its encoder and its decoder have in common."""
    embeddings = {"embedding_dim": 256, "scale": model == "transformer", "dropout": 0.1}
    if model == "transformer":
        kind = {"type": "transformer", "num_layers": 3, "num_heads": 4, "hidden_size": 256, "ff_size": 1024, "layer_norm": "pre"}
    else:
        kind = {"type": "recurrent", "rnn_type": "gru", "num_layers": 1, "hidden_size": hidden}
    return {**kind, "embeddings": embeddings, "dropout": 0.1}


def configuration(job: dict[str, Any]) -> dict[str, Any]:
    """As its YAML file would have it; what is not named keeps its default, such as embeddings that are not tied."""
    if job["model"] not in ("gru", "transformer"):
        raise ValueError(f"no model {job['model']!r} here")
    corpus = Path(job["corpus"])
    decoder = side(job["model"], 512)
    if job["model"] == "gru":
        decoder |= {"attention": "bahdanau", "init_hidden": "bridge", "input_feeding": True, "hidden_dropout": job.get("dropout", 0.1)}
    making = job["job"] not in ("train", "quality")  # one small update writes the checkpoint that the other jobs read
    words = {"level": "word", "voc_file": str(corpus / "vocabulary")}
    return {
        "name": "bench",
        "model_dir": str(Path(job["work"]) / "joey"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(corpus / ("validation" if making else "train")),
            "dev": str(corpus / "validation"),
            "dataset_type": "plain",
            "src": {"lang": "source", **words},
            "trg": {"lang": "target", **words},
        },
        "testing": {
            "beam_size": job.get("beam", 1),
            "batch_size": job.get("batch", 1),
            "batch_type": "sentence",
            "max_output_length": job.get("length", 30),
        },
        "training": {
            "optimizer": "adam",
            "learning_rate": 0.001,
            "clip_grad_norm": 1.0,
            "scheduling": "plateau",  # it insists on a schedule; this one moves only after a validation
            "batch_type": "token" if "tokens" in job else "sentence",
            "batch_size": job.get("tokens") or job.get("sentences", 8),
            "epochs": NEVER,
            "updates": 1 if making else NEVER,
            "validation_freq": job.get("every", 100 * NEVER),
            "logging_freq": job.get("every", 100),
            **RECOMMENDED,
        },
        "model": {"encoder": side(job["model"], 256), "decoder": decoder},
    }


class Timed:
    """Its batches, until the time is up. It asks for the next one when the update before is done, so that is where the clock is read."""

    def __init__(self, batches: Any, trainer: Any, seconds: float) -> None:
        self.batches, self.batch_sampler = batches, batches.batch_sampler
        self.trainer, self.seconds = trainer, seconds
        self.updates = self.tokens = 0
        self.start = self.passed = 0.0

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            yield batch
            self.updates += 1
            if self.updates == WARM_UP:
                self.start = time.perf_counter()
            elif self.updates > WARM_UP:
                self.tokens += batch.ntokens
                self.passed = time.perf_counter() - self.start
                if self.passed >= self.seconds:
                    self.trainer.stats.is_max_update = True  # else it would begin another epoch
                    return


def manager(job: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Its trainer, its training rows and its validation rows."""
    import torch
    from joeynmt import builders
    from joeynmt.config import parse_global_args, set_validation_args
    from joeynmt.helpers import make_model_dir
    from joeynmt.prediction import prepare
    from joeynmt.training import TrainManager

    def plateau(*args: Any, verbose: bool = False, **options: Any) -> Any:
        """The scheduler of today's torch no longer takes the `verbose` that it passes."""
        return torch.optim.lr_scheduler.ReduceLROnPlateau(*args, **options)

    builders.ReduceLROnPlateau = plateau
    settings = configuration(job)
    make_model_dir(Path(settings["model_dir"]), overwrite=True)
    torch.manual_seed(1)
    args = parse_global_args(settings, rank=0, mode="train")
    model, rows, validation, _ = prepare(args, rank=0, mode="train")
    trainer = TrainManager(
        rank=0, model=model, model_dir=args.model_dir, device=args.device, autocast=args.autocast, seed=args.seed,
        train_args=args.train, dev_args=set_validation_args(args.test),
    )  # fmt: skip
    return trainer, rows, validation


def quality(job: dict[str, Any]) -> dict[str, Any]:
    """Trains until `bleu` is reached, as its own configuration for Bahdanau's model does it (Adam .001, 64 sentences, dropout .2 in
    the decoder, the rate halved when perplexity stalls), and writes a line of quality.jsonl at every validation (its own greedy search)."""
    import sacrebleu

    trainer, rows, validation = manager(job)
    references = [" ".join(line.split()).replace(" ##", "") for line in (Path(job["corpus"]) / "validation.target").open(encoding="utf-8")]
    validate = trainer._validate

    def scored(rows: Any) -> None:
        validate(rows)
        written = (trainer.model_dir / f"{trainer.stats.steps}.hyps").read_text("utf-8").split("\n")[: len(references)]
        found = sacrebleu.corpus_bleu([line.replace(" ##", "") for line in written], [references], tokenize="none").score
        with (Path(job["work"]) / "quality.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"updates": trainer.stats.steps, "bleu": found}) + "\n")
        trainer.stats.is_max_update |= found >= job["bleu"]

    trainer._validate = scored
    trainer.train_and_validate(rows, validation)
    return {}


def train(job: dict[str, Any]) -> dict[str, Any]:
    trainer, rows, validation = manager(job)
    timed: list[Timed] = []
    make_iter = rows.make_iter

    def watched(**options: Any) -> Timed:
        timed.append(Timed(make_iter(**options), trainer, job["seconds"]))
        return timed[-1]

    rows.make_iter = watched
    trainer._save_checkpoint = lambda new_best, score: None  # it saves whenever it stops; that is not training
    trainer.train_and_validate(rows, validation)
    run = timed[0]
    budget = "the budget counts padding and the longer side" if "tokens" in job else "fixed rows"
    return {
        "value": run.tokens / run.passed,
        "unit": "target tokens/s",
        "tokens": run.tokens,
        "seconds": run.passed,
        "updates": run.updates - WARM_UP,
        "parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "note": f"{budget}; shuffled, no length buckets (it has none); embeddings not tied (default)",
    }


def make(job: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of its own, after one update on eight rows."""
    trainer, rows, validation = manager(job)
    trainer.train_and_validate(rows, validation)
    return {}


def made(job: dict[str, Any]) -> dict[str, Any]:
    """Writes a checkpoint in a process of its own, to keep its memory out of the peak, and returns the configuration to read it with."""
    order = Path(job["work"]) / "make.json"
    order.write_text(json.dumps({**job, "job": "make"}), "utf-8")
    done = subprocess.run([sys.executable, __file__, str(order)], stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"no checkpoint: {done.stderr.strip().splitlines()[-1]}")
    return configuration(job)


def decode(job: dict[str, Any]) -> dict[str, Any]:
    if job.get("int8"):
        raise ValueError("it has no int8")
    settings = made(job)
    from joeynmt import prediction
    from joeynmt.config import parse_global_args
    from joeynmt.hub_interface import TranslatorHubInterface

    args = parse_global_args(settings, rank=0, mode="translate")
    model, _, _, stream = prediction.prepare(args, rank=0, mode="translate")
    translator = TranslatorHubInterface(model, stream, args)
    search = prediction.search
    shapes: list[tuple[int, int]] = []

    @functools.wraps(search)
    def forced(**options: Any) -> Any:
        """predict() reads `min_output_length` but does not hand it to its search, which does understand it."""
        found = search(min_output_length=job["length"], **options)
        shapes.append(found[0].shape)
        return found

    prediction.search = forced
    sentences = (Path(job["corpus"]) / "test.source").read_text("utf-8").split("\n")[:-1]
    batches = [sentences[i : i + job["batch"]] for i in range(0, len(sentences), job["batch"])]
    translator.translate(batches[0])
    shapes.clear()
    start, passed = time.perf_counter(), 0.0
    for batch in itertools.cycle(batches):
        translator.translate(batch)
        passed = time.perf_counter() - start
        if passed >= job["seconds"]:
            break
    count = sum(rows for rows, _ in shapes)
    return {
        "value": count / passed,
        "unit": "sentences/s",
        "sentences": count,
        "seconds": passed,
        "mean_length": sum(rows * columns for rows, columns in shapes) / count,
        "note": "text in, text out; in the order of the file, not sorted by length",
    }


def first(job: dict[str, Any]) -> dict[str, Any]:
    settings = made(job)
    work = Path(job["work"])
    (work / "joey.yaml").write_text(json.dumps(settings), "utf-8")
    (work / "one").write_text((Path(job["corpus"]) / "test.source").read_text("utf-8").split("\n")[0] + "\n", "utf-8")
    command = [sys.executable, "-u", "-m", "joeynmt", "translate", str(work / "joey.yaml")]
    taken = []
    for _ in range(STARTS):
        with (work / "one").open("rb") as stdin:
            start = time.perf_counter()
            process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, cwd=work)
            line = process.stdout.readline() if process.stdout else b""
            taken.append(time.perf_counter() - start)
        if process.wait() or not line.strip():
            raise RuntimeError("`joeynmt translate` wrote nothing")
    return {
        "value": statistics.median(taken),
        "unit": "s",
        "starts": taken,
        "note": f"median of {STARTS} starts of `python -m joeynmt translate`, one sentence, greedy, at most 30 tokens; "
        "its checkpoint holds Adam's state too",
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(job["work"]).mkdir(parents=True, exist_ok=True)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(job["threads"])
    import torch

    torch.set_num_threads(job["threads"])
    torch.set_num_interop_threads(1)
    with contextlib.redirect_stdout(sys.stderr):
        result = {"train": train, "make": make, "decode": decode, "first": first, "quality": quality}[job["job"]](job)
    if job["job"] != "first":  # there, the work is done in other processes
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result["version"] = importlib.metadata.version("joeynmt")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
