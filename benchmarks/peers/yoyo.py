"""Times yoyodyne: its attentive LSTM at the sizes it takes by default, through its own Lightning loops.

    python yoyo.py JOB.json

Sizes are the package's defaults (embeddings of 128 shared by both sides, one-layer bidirectional LSTM of 512 each way,
one-layer LSTM decoder of 512, MLP attention of 512, batches of 32 rows); only dropout is ours, 0.1 for its 0.2.
It differs from the others: it has no token budget and no length buckets (rows are shuffled), a worker process reads the
rows, its prediction loop writes every answer to a file, and it cannot forbid the end of a word, so that the output
layer's bias does.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

INSTALL = [
    ["--no-deps", "yoyodyne==0.5.27"],  # by itself, for it asks for torchvision and torchaudio and uses neither
    ["jsonargparse[signatures]", "lightning>=2.6", "maxwell", "numpy>=2", "omegaconf", "PyYAML", "rich>=15", "torchmetrics", "wandb"],
]
JOBS = ["train letters", "decode letters", "first letters"]
WARM_UP = 3
LENGTH = 30  # of the first translation, for its job names none
ROWS_A_SECOND = 2_000  # to have ready for decoding: more than it can do
SIZES = "embeddings 128, encoder LSTM 1 x 512 both ways, decoder LSTM 1 x 512, MLP attention 512, dropout 0.1, Adam 1e-3"


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def rows_of(job: dict[str, Any], **paths: str) -> Any:
    """The data module; it makes the index of symbols if it is given rows to train on, else reads that."""
    from yoyodyne import data

    return data.DataModule(model_dir=job["work"], source_sep=" ", target_sep=" ", **paths)


def model_of(rows: Any, length: int, beam: int = 1) -> Any:
    """As the command line makes it, which takes both numbers of symbols from the rows."""
    from yoyodyne import models

    return models.SoftAttentionLSTMModel(
        source_encoder=models.modules.LSTMEncoder(dropout=0.1),
        decoder_dropout=0.1,
        beam_width=beam,
        max_target_length=length,
        target_vocab_size=rows.target_vocab_size,
        vocab_size=rows.vocab_size,
    )


def trainer_of(job: dict[str, Any], callbacks: list[Any]) -> Any:
    from yoyodyne import trainers

    return trainers.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=-1,
        gradient_clip_val=1.0,
        limit_val_batches=0,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=job["work"],
        callbacks=callbacks,
    )


def train(job: dict[str, Any]) -> dict[str, Any]:
    from lightning.pytorch import callbacks
    from yoyodyne import special

    if "sentences" not in job:
        raise SystemExit('yoyodyne has no token budget: say "sentences"')

    class Clock(callbacks.Callback):
        updates = tokens = examples = 0
        start = seconds = 0.0

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            self.updates += 1
            if self.updates <= WARM_UP:
                self.start = time.perf_counter()
                return
            self.seconds = time.perf_counter() - self.start
            self.tokens += int((batch.target.tensor != special.PAD_IDX).sum())  # with the end, which stands in every row
            self.examples += len(batch)
            trainer.should_stop = self.seconds >= job["seconds"]

    rows = rows_of(job, train=str(Path(job["corpus"], "letters.train.tsv")), batch_size=job["sentences"])
    model = model_of(rows, rows.max_target_length)
    clock = Clock()
    trainer_of(job, [clock]).fit(model, datamodule=rows)
    return {
        "value": clock.tokens / clock.seconds,
        "unit": "target tokens/s",
        "examples_per_second": clock.examples / clock.seconds,
        "tokens": clock.tokens,
        "seconds": clock.seconds,
        "updates": clock.updates - WARM_UP,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mb": peak_mb(),
        "note": f"{SIZES}; shuffled rows without length buckets; memory without that of the process that reads",
    }


def decode(job: dict[str, Any]) -> dict[str, Any]:
    from lightning.pytorch import callbacks
    from yoyodyne import special
    from yoyodyne.callbacks import PredictionWriter

    batch_size, length = job["batch"], job["length"]

    class Clock(callbacks.Callback):
        sentences = 0
        start = seconds = 0.0

        def on_predict_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int, loader: int = 0) -> None:
            written = outputs[0][:, 0, 1:] if job["beam"] > 1 else outputs  # a beam begins with the start symbol
            if written.shape[1] != length or (written == special.END_IDX).any():
                raise RuntimeError(f"outputs are not of {length} symbols")
            if index == 0:
                self.start = time.perf_counter()
                return
            self.seconds = time.perf_counter() - self.start
            self.sentences += len(batch)
            if self.seconds >= job["seconds"]:
                raise StopIteration  # the loop has no other way to be stopped: it takes this for the end of the rows

    rows_of(job, train=str(Path(job["corpus"], "letters.train.tsv")))
    lines = Path(job["corpus"], "letters.test.tsv").read_text("utf-8").splitlines(keepends=True)
    batches = 2 + int(job["seconds"] * ROWS_A_SECOND) // batch_size
    many = Path(job["work"], "predict.tsv")
    many.write_text("".join(islice(cycle(lines), batches * batch_size)), "utf-8")
    rows = rows_of(job, predict=str(many), target_col=0, batch_size=batch_size)
    model = model_of(rows, length, job["beam"])
    never_end(model.classifier.bias)
    clock = Clock()
    writer = PredictionWriter(str(Path(job["work"], "predicted.txt")), target_sep=" ")
    trainer_of(job, [writer, clock]).predict(model, datamodule=rows)
    return {
        "value": clock.sentences / clock.seconds,
        "unit": "sentences/s",
        "sentences": clock.sentences,
        "seconds": clock.seconds,
        "mean_length": length,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_mb": peak_mb(),
        "note": f"{SIZES}; rows in the order of the file; writing them out is in the time",
    }


def never_end(bias: Any) -> None:
    """There is no shortest length to set, so that the end of a word is made too improbable to be written."""
    from yoyodyne import special

    bias.data[special.END_IDX] = -1e9


def checkpoint(job: dict[str, Any], model: dict[str, Any]) -> Path:
    """Of a model after one update, made by yoyodyne's own command, for it reads no other."""
    import torch
    from yoyodyne.cli.main import python_interface

    work = Path(job["work"])
    made, settings = work / "first.ckpt", work / "fit.yaml"
    (work / "step.ckpt").unlink(missing_ok=True)  # else the new one gets another name
    settings.write_text(
        json.dumps(
            {
                "trainer": {"accelerator": "cpu", "max_steps": 1, "logger": False, "default_root_dir": str(work)},
                "model": model,
                "data": {
                    "model_dir": str(work),
                    "train": str(Path(job["corpus"], "letters.train.tsv")),
                    "source_sep": " ",
                    "target_sep": " ",
                    "max_target_length": LENGTH,
                },
                "checkpoint": {"dirpath": str(work), "filename": "step", "every_n_train_steps": 1},
            }
        ),
        "utf-8",
    )
    python_interface(["fit", "--config", str(settings)])
    state = torch.load(work / "step.ckpt", weights_only=True)
    never_end(state["state_dict"]["classifier.bias"])
    torch.save(state, made)
    return made


def first(job: dict[str, Any]) -> dict[str, Any]:
    """`yoyodyne predict` on one word, until its answer stands in the file."""
    work = Path(job["work"])
    model = {
        "class_path": "yoyodyne.models.SoftAttentionLSTMModel",
        "init_args": {
            "source_encoder": {"class_path": "yoyodyne.models.modules.LSTMEncoder", "init_args": {"dropout": 0.1}},
            "decoder_dropout": 0.1,
        },
    }
    weights = checkpoint(job, model)
    word, answer, settings = work / "word.tsv", work / "answer.txt", work / "predict.yaml"
    with Path(job["corpus"], "letters.test.tsv").open(encoding="utf-8") as lines:
        word.write_text(next(lines), "utf-8")
    answer.unlink(missing_ok=True)
    data = {
        "model_dir": str(work),
        "predict": str(word),
        "source_sep": " ",
        "target_sep": " ",
        "target_col": 0,
        "max_target_length": LENGTH,
    }
    settings.write_text(
        json.dumps({"trainer": {"accelerator": "cpu"}, "model": model, "data": data, "prediction": {"path": str(answer)}}), "utf-8"
    )
    command = [str(Path(sys.executable).with_name("yoyodyne")), "predict", "--config", str(settings), "--ckpt_path", str(weights)]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=work) as process:
        running = True
        while not (answer.exists() and answer.stat().st_size):
            if not running:
                raise SystemExit(f"yoyodyne predict wrote nothing and left with {process.returncode}")
            running = process.poll() is None  # asked before the last look at the file
            time.sleep(0.002)
        seconds = time.perf_counter() - start
    return {
        "value": seconds,
        "unit": "s",
        "until_exit": time.perf_counter() - start,
        "note": f"yoyodyne predict on one word; {SIZES}",
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if f"{job['job']} {job['model']}" not in JOBS:
        raise SystemExit(f"yoyodyne has no job {job['job']} {job['model']}")
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever yoyodyne and its subprocesses say goes to stderr
    os.environ.update(OMP_NUM_THREADS=str(job["threads"]), MKL_NUM_THREADS=str(job["threads"]), WANDB_MODE="disabled")
    Path(job["work"]).mkdir(parents=True, exist_ok=True)

    import torch

    torch.set_num_threads(job["threads"])
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    result = {"train": train, "decode": decode, "first": first}[job["job"]](job)
    version = importlib.metadata.version("yoyodyne")
    print(json.dumps({**result, "version": version}), file=answer, flush=True)


if __name__ == "__main__":
    main()
