"""The rows that every toolkit is timed on, as plain text with a space between tokens, so that none has to cut words.

    python benchmarks/corpus.py FOLDER [--data DIR]

FOLDER/{train,validation,test}.{source,target}   Multi30k English-German under one BPE of 8,000 merges, if DIR has it; else
                                                  made-up sentences (the task `sentences`)
FOLDER/vocabulary                                 one token a line, both languages
FOLDER/letters.{train,test}.tsv                   made-up words, spelled and pronounced, with spaces between letters
"""

from __future__ import annotations

import argparse
import gzip
import random
from pathlib import Path

from xattend.data.tasks.sentences import Sentences

MULTI30K = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


def made_up() -> dict[str, list[tuple[list[str], list[str]]]]:
    return {split: [(a.split(), b.split()) for a, b in rows] for split, rows in Sentences().splits().items()}


def multi30k(folder: Path) -> dict[str, list[tuple[list[str], list[str]]]]:
    """Cut by one BPE for both languages, learnt by the library that xattend uses too."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = {}
    for split, name in MULTI30K.items():
        sides = []
        for language in ("en", "de"):
            with gzip.open(folder / "multi30k" / "tok" / f"{name}.lc.norm.tok.{language}.gz", "rt", encoding="utf-8") as stream:
                sides.append(stream.read().splitlines())
        texts[split] = list(zip(*sides, strict=True))
    bpe = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    bpe.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=8_000, special_tokens=["<unk>"], continuing_subword_prefix="##", show_progress=False)
    bpe.train_from_iterator((text for row in texts["train"] for text in row), trainer)
    return {split: [(bpe.encode(a).tokens, bpe.encode(b).tokens) for a, b in rows] for split, rows in texts.items()}


def letters(split: str, rows: int) -> list[tuple[list[str], list[str]]]:
    """Words of 3 to 12 letters; a letter's sound depends on the one after it."""
    random_ = random.Random(f"letters {split}")
    spelt = [random_.choices("abcdefghijklmnopqrstuvwxyz", k=random_.randint(3, 12)) for _ in range(rows)]
    return [(word, [a.upper() + str("aeiou".find(b) + 1) for a, b in zip(word, [*word[1:], "#"], strict=True)]) for word in spelt]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, help="a folder with multi30k/tok")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    rows = multi30k(chosen.data) if chosen.data else made_up()
    seen: set[str] = set()
    for split, pairs in rows.items():
        for side, name in enumerate(("source", "target")):
            text = "".join(" ".join(pair[side]) + "\n" for pair in pairs)
            (chosen.folder / f"{split}.{name}").write_text(text, "utf-8")
        if split == "train":
            seen.update(token for pair in pairs for side in pair for token in side)
    (chosen.folder / "vocabulary").write_text("".join(f"{token}\n" for token in sorted(seen)), "utf-8")
    for split, count in (("train", 20_000), ("test", 500)):
        text = "".join(" ".join(a) + "\t" + " ".join(b) + "\n" for a, b in letters(split, count))
        (chosen.folder / f"letters.{split}.tsv").write_text(text, "utf-8")
    tokens = [sum(len(pair[side]) for pair in rows["train"]) for side in (0, 1)]
    count = len(rows["train"])
    print(f"{count} rows, {tokens[0] / count:.1f} -> {tokens[1] / count:.1f} tokens in the mean, {len(seen)} kinds")


if __name__ == "__main__":
    main()
