"""Times Hugging Face transformers: a Marian model made from a configuration, trained by its Trainer, decoded by generate.

    python huggingface.py JOB.json

3+3 layers, width 256, feed-forward 1024, 4 heads, one table of embeddings for source, target and output.
It differs from the others: transformers has no token budget, so that the batches are made here (rows in the order of their
lengths, as many as fit, counted with padding, batches shuffled) and handed to the Trainer through the method its
documentation says to override; with a number of rows instead, the Trainer groups rows by length itself. Decoding goes from
text to text through a word-level tokenizer, in the order of the file, for generate does not sort.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

INSTALL = [["transformers==5.22.2", "accelerate==1.15.0"]]
JOBS = ["train transformer", "decode transformer", "first transformer"]
WARM_UP = 3
LENGTH = 30  # of the first translation, for its job names none
EOS, UNK, PAD = "</s>", "<unk>", "<pad>"

# There is no command line any more: the least a user writes to translate one sentence with a saved model.
FIRST = """
import sys
from transformers import AutoTokenizer, MarianMTModel
folder, length, text = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tokenizer, model = AutoTokenizer.from_pretrained(folder), MarianMTModel.from_pretrained(folder)
written = model.generate(**tokenizer([text], return_tensors="pt"), min_new_tokens=length, max_new_tokens=length)
print(tokenizer.decode(written[0], skip_special_tokens=True), flush=True)
"""


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def lines(job: dict[str, Any], name: str) -> list[str]:
    return Path(job["corpus"], name).read_text("utf-8").splitlines()


def tokenizer_of(job: dict[str, Any]) -> Any:
    """Of ready-made tokens: it only splits at spaces and adds the end."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    kinds = [EOS, UNK, *(token for token in lines(job, "vocabulary") if token not in (EOS, UNK, PAD)), PAD]
    words = Tokenizer(models.WordLevel({token: index for index, token in enumerate(kinds)}, unk_token=UNK))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(single=f"$A {EOS}", special_tokens=[(EOS, 0)])
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token=EOS, unk_token=UNK, pad_token=PAD)


def model_of(tokenizer: Any) -> Any:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=256,
        encoder_layers=3,
        decoder_layers=3,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        dropout=0.1,
        scale_embedding=True,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=None,  # it would make the last token an end
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    return MarianMTModel(config)


class TokenBatches:
    """Row numbers of batches whose targets, padding included, are at most `budget` tokens."""

    def __init__(self, rows: list[dict[str, list[int]]], budget: int) -> None:
        order = sorted(range(len(rows)), key=lambda i: (len(rows[i]["labels"]), len(rows[i]["input_ids"])))
        self.batches: list[list[int]] = [[]]
        for index in order:
            if (len(self.batches[-1]) + 1) * len(rows[index]["labels"]) > budget and self.batches[-1]:
                self.batches.append([])
            self.batches[-1].append(index)
        self.random = random.Random(1)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        self.random.shuffle(self.batches)
        return iter(self.batches)


def train(job: dict[str, Any]) -> dict[str, Any]:
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainerCallback, TrainingArguments

    tokenizer = tokenizer_of(job)
    model = model_of(tokenizer)
    sides = [tokenizer(lines(job, f"train.{side}"))["input_ids"] for side in ("source", "target")]
    rows = [{"input_ids": source, "attention_mask": [1] * len(source), "labels": target} for source, target in zip(*sides, strict=True)]

    class Timed(Trainer):
        """Counts what it trains on."""

        tokens = examples = 0

        def get_train_dataloader(self) -> DataLoader:
            if "tokens" not in job:
                return super().get_train_dataloader()
            batches = TokenBatches(rows, job["tokens"])
            return self.accelerator.prepare(DataLoader(rows, batch_sampler=batches, collate_fn=self.data_collator))

        def training_step(self, model: Any, inputs: dict[str, Any], *rest: Any) -> Any:
            self.tokens += int((inputs["labels"] != -100).sum())
            self.examples += len(inputs["labels"])
            return super().training_step(model, inputs, *rest)

    class Clock(TrainerCallback):
        start = seconds = 0.0
        updates = 0

        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if state.global_step <= WARM_UP:
                trainer.tokens = trainer.examples = 0
                self.start = time.perf_counter()
                return
            self.seconds = time.perf_counter() - self.start
            self.updates = state.global_step - WARM_UP
            control.should_training_stop = self.seconds >= job["seconds"]

    settings = TrainingArguments(
        output_dir=job["work"],
        per_device_train_batch_size=job.get("sentences", 1),
        train_sampling_strategy="group_by_length",
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        max_grad_norm=1.0,
        max_steps=1_000_000,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        seed=1,
    )
    clock = Clock()
    collator = DataCollatorForSeq2Seq(tokenizer, model=model)
    trainer = Timed(model, settings, data_collator=collator, train_dataset=rows, processing_class=tokenizer, callbacks=[clock])
    trainer.train()
    batching = "batches made here, sorted, budget of target tokens with padding" if "tokens" in job else "Trainer's group_by_length"
    return {
        "value": trainer.tokens / clock.seconds,
        "unit": "target tokens/s",
        "examples_per_second": trainer.examples / clock.seconds,
        "tokens": trainer.tokens,
        "seconds": clock.seconds,
        "updates": clock.updates,
        "parameters": model.num_parameters(only_trainable=True),
        "peak_mb": peak_mb(),
        "note": f"Trainer, {settings.optim.value} without weight decay, {batching}",
    }


def decode(job: dict[str, Any]) -> dict[str, Any]:
    tokenizer = tokenizer_of(job)
    model = model_of(tokenizer).eval()
    texts, size, length = lines(job, "test.source"), job["batch"], job["length"]
    batches = [texts[i : i + size] for i in range(0, len(texts) - size + 1, size)]

    def translate(batch: list[str]) -> None:
        inputs = tokenizer(batch, padding=True, return_tensors="pt")
        written = model.generate(**inputs, num_beams=job["beam"], do_sample=False, min_new_tokens=length, max_new_tokens=length)
        tokenizer.batch_decode(written, skip_special_tokens=True)
        if written.shape != (len(batch), 1 + length):  # it begins with the decoder's start
            raise RuntimeError(f"outputs are not of {length} tokens")
        if (written[:, 1:] == tokenizer.eos_token_id).any():
            raise RuntimeError("an output ended early")

    translate(batches[0])
    sentences, start = 0, time.perf_counter()
    for batch in cycle(batches):
        translate(batch)
        sentences += len(batch)
        seconds = time.perf_counter() - start
        if seconds >= job["seconds"]:
            break
    return {
        "value": sentences / seconds,
        "unit": "sentences/s",
        "sentences": sentences,
        "seconds": seconds,
        "mean_length": length,
        "parameters": model.num_parameters(only_trainable=True),
        "peak_mb": peak_mb(),
        "note": "generate, text to text, in the order of the file",
    }


def first(job: dict[str, Any]) -> dict[str, Any]:
    """A new Python that runs FIRST, until it has written the translation."""
    folder = Path(job["work"], "first")
    tokenizer = tokenizer_of(job)
    tokenizer.save_pretrained(folder)
    model_of(tokenizer).save_pretrained(folder)
    command = [sys.executable, "-c", FIRST, str(folder), str(LENGTH), lines(job, "test.source")[0]]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        written = process.stdout.readline()
        seconds = time.perf_counter() - start
    if process.returncode or not written:
        raise SystemExit(f"the script left with {process.returncode}")
    return {
        "value": seconds,
        "unit": "s",
        "until_exit": time.perf_counter() - start,
        "note": "a script of five lines: import, load, generate, print",
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if f"{job['job']} {job['model']}" not in JOBS:
        raise SystemExit(f"transformers has no job {job['job']} {job['model']}")
    if job.get("int8"):
        raise SystemExit("transformers has no int8 here")
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever transformers says goes to stderr
    os.environ.update(OMP_NUM_THREADS=str(job["threads"]), MKL_NUM_THREADS=str(job["threads"]), HF_HUB_OFFLINE="1")
    Path(job["work"]).mkdir(parents=True, exist_ok=True)

    import torch

    torch.set_num_threads(job["threads"])
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    result = {"train": train, "decode": decode, "first": first}[job["job"]](job)
    version = importlib.metadata.version("transformers")
    print(json.dumps({**result, "version": version}), file=answer, flush=True)


if __name__ == "__main__":
    main()
