"""Times CTranslate2: decoding by its C++ engine, in float32 or int8, of a Marian model converted from Hugging Face transformers.

    python ctranslate.py JOB.json

3+3 layers, width 256, feed-forward 1024, 4 heads, one table of embeddings for source, target and output; random weights.
It differs from the others: it cannot train; it is given many batches at a time, as its users do, and sorts them by length
itself; int8 quantises the same weights when it loads them. A process of its own converts the model, once, so that neither
torch nor transformers is in the memory that is measured.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

INSTALL = [["ctranslate2==4.8.4", "transformers==5.22.2"]]  # transformers only to convert
JOBS = ["decode transformer", "int8 transformer", "first transformer"]
BLOCK = 4  # batches a call
LENGTH = 30  # of the first translation, for its job names none
EOS, UNK, PAD = "</s>", "<unk>", "<pad>"

# It has no command line that translates: the least a user writes to translate one sentence.
FIRST = """
import sys
import ctranslate2
folder, length, threads, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
translator = ctranslate2.Translator(folder, intra_threads=threads)
options = {"beam_size": 1, "min_decoding_length": length, "max_decoding_length": length}
print(*translator.translate_batch([text.split() + ["</s>"]], **options)[0].hypotheses[0], flush=True)
"""


def lines(job: dict[str, Any], name: str) -> list[str]:
    return Path(job["corpus"], name).read_text("utf-8").splitlines()


def convert(job: dict[str, Any]) -> None:
    """Makes a random Marian model and lets CTranslate2's own converter read it."""
    import torch
    from ctranslate2.converters import TransformersConverter
    from tokenizers import Tokenizer, models
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    kinds = [EOS, UNK, *(token for token in lines(job, "vocabulary") if token not in (EOS, UNK, PAD)), PAD]
    words = Tokenizer(models.WordLevel({token: index for index, token in enumerate(kinds)}, unk_token=UNK))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=EOS, unk_token=UNK, pad_token=PAD)
    config = MarianConfig(
        vocab_size=len(kinds),
        d_model=256,
        encoder_layers=3,
        decoder_layers=3,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        scale_embedding=True,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    source = Path(job["work"], "transformers")
    tokenizer.save_pretrained(source)
    model = MarianMTModel(config)
    model.save_pretrained(source)
    made = TransformersConverter(str(source)).convert(str(source.with_name("converting")), quantization="float32", force=True)
    Path(made, "parameters").write_text(str(model.num_parameters(only_trainable=True)), "utf-8")


def converted(job: dict[str, Any]) -> Path:
    """The folder of the model of this vocabulary, which is made once."""
    digest = hashlib.sha256(Path(job["corpus"], "vocabulary").read_bytes()).hexdigest()
    made = Path(job["work"], f"converted-{digest[:12]}")
    if not made.exists():
        subprocess.run([sys.executable, __file__, sys.argv[1], "convert"], check=True)
        made.with_name("converting").rename(made)  # so that a half-made one is never taken for whole
    return made


def decode(job: dict[str, Any]) -> dict[str, Any]:
    folder = converted(job)

    import ctranslate2

    kind = "int8" if job.get("int8") else "float32"
    translator = ctranslate2.Translator(str(folder), "cpu", compute_type=kind, inter_threads=1, intra_threads=job["threads"])
    rows = [[*line.split(), EOS] for line in lines(job, "test.source")]
    size, length = job["batch"], job["length"]
    step = min(BLOCK, len(rows) // size) * size
    blocks = [rows[i : i + step] for i in range(0, len(rows) - step + 1, step)]

    def translate(block: list[list[str]]) -> None:
        results = translator.translate_batch(
            block, max_batch_size=size, beam_size=job["beam"], min_decoding_length=length, max_decoding_length=length
        )
        if any(len(result.hypotheses[0]) != length for result in results):
            raise RuntimeError(f"outputs are not of {length} tokens")

    translate(rows[:size])
    sentences, start = 0, time.perf_counter()
    for block in cycle(blocks):
        translate(block)
        sentences += len(block)
        seconds = time.perf_counter() - start
        if seconds >= job["seconds"]:
            break
    return {
        "value": sentences / seconds,
        "unit": "sentences/s",
        "sentences": sentences,
        "seconds": seconds,
        "mean_length": length,
        "parameters": int((folder / "parameters").read_text("utf-8")),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "note": f"{translator.compute_type}, tokens to tokens, {step // size} batches a call, sorted by CTranslate2",
    }


def first(job: dict[str, Any]) -> dict[str, Any]:
    """A new Python that runs FIRST, until it has written the translation."""
    command = [sys.executable, "-c", FIRST, str(converted(job)), str(LENGTH), str(job["threads"]), lines(job, "test.source")[0]]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        written = process.stdout.readline()
        seconds = time.perf_counter() - start
    if process.returncode or len(written.split()) != LENGTH:
        raise SystemExit(f"the script left with {process.returncode} and {len(written.split())} tokens")
    return {
        "value": seconds,
        "unit": "s",
        "until_exit": time.perf_counter() - start,
        "note": "a script of five lines: import, load, translate, print",
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if f"{job['job']} {job['model']}" not in JOBS:
        raise SystemExit(f"CTranslate2 has no job {job['job']} {job['model']}")
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the converter says goes to stderr
    os.environ.update(OMP_NUM_THREADS=str(job["threads"]), MKL_NUM_THREADS=str(job["threads"]), HF_HUB_OFFLINE="1")
    Path(job["work"]).mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["convert"]:
        convert(job)
        return
    result = {"decode": decode, "first": first}[job["job"]](job)
    version = importlib.metadata.version("ctranslate2")
    print(json.dumps({**result, "version": version}), file=answer, flush=True)


if __name__ == "__main__":
    main()
