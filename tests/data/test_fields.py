"""Text fields: what goes in comes out, and no text is ever taken for a special."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from xattend import registry
from xattend.data.fields.base import from_json
from xattend.data.fields.text import Text
from xattend.errors import UserError
from xattend.types import BOS, EOS, PAD, SPECIALS, UNK

TEXTS = ["the cat sat on the mat", "the dog  sat", " odd   spaces ", "a literal </s> and <s> , <unk> <pad>", "▁ and ␣"] * 3
UNITS = ["character", "byte", "word", "bpe"]
ALPHABET = sorted(set("".join(TEXTS)))


def fitted(unit: str, **more) -> Text:
    field = Text(unit=unit, **({"size": 90} if unit == "bpe" else {}), **more)
    field.fit(TEXTS)
    return field


FIELDS = {unit: fitted(unit) for unit in UNITS}


@pytest.mark.parametrize("unit", ["character", "byte", "bpe"])
@given(text=st.text(ALPHABET, max_size=40))
@limits(max_examples=60, deadline=None)
def test_round_trip_within_the_alphabet(unit, text):
    field = FIELDS[unit]
    ids = field.encode(text)
    assert field.decode([BOS, *ids, EOS, PAD]) == field.normalise(text)
    assert all(id >= len(SPECIALS) for id in ids)
    assert len(field.symbols(ids)) == len(ids) == len(field.words(ids))


@given(text=st.text(max_size=40))
@limits(max_examples=60, deadline=None)
def test_bytes_know_every_text(text):
    field = FIELDS["byte"]
    assert field.decode(field.encode(text)) == unicodedata.normalize("NFC", text)


@given(words=st.lists(st.sampled_from(sorted({w for t in TEXTS for w in t.split()}))))
@limits(max_examples=60, deadline=None)
def test_words_round_trip(words):
    field = FIELDS["word"]
    assert field.decode(field.encode("  ".join(words))) == " ".join(words)


@pytest.mark.parametrize("unit", UNITS)
def test_a_literal_special_is_only_text(unit):
    field = FIELDS[unit]
    for text in ("</s>", "<s>", "<unk>", "<pad>"):
        ids = field.encode(f"the {text}")
        assert not {PAD, UNK, BOS, EOS} & set(ids)
        assert field.decode(ids) == f"the {text}"


@pytest.mark.parametrize("unit", ["character", "word", "bpe"])
def test_what_was_never_seen_is_unknown(unit):
    field = FIELDS[unit]
    ids = field.encode("the 犬")
    assert ids.count(UNK) == 1
    assert field.decode(ids) == "the <unk>"
    assert "<unk>" in field.symbols(ids)


def test_the_order_of_the_vocabulary_is_by_count_then_text():
    field = Text(unit="word")
    field.fit(["b a c", "c d b", "b"])  # b 3, c 2, a 1, d 1
    assert field.to_json()["vocabulary"] == ["b", "c", "a", "d"]
    assert field.encode("a b c d e") == [6, 4, 5, 7, UNK]
    assert field.space.vocabulary == 8


def test_size_and_min_count():
    for limit in ({"size": 6}, {"min_count": 2}):
        field = Text(unit="word", **limit)
        field.fit(["b a c", "c d b", "b"])
        assert field.to_json()["vocabulary"] == ["b", "c"]


def test_bpe_never_exceeds_its_size_and_cuts_the_alphabet_by_frequency():
    field = Text(unit="bpe", size=9)
    field.fit(["aaaa bbb cc de"])  # a 4, b 3, space 3, c 2, and d, e once each: five fit, four are chosen without a tie
    assert field.space.vocabulary <= 9
    assert field.encode("abc").count(UNK) == 0
    assert field.encode("de").count(UNK) == 2
    rare = Text(unit="bpe", size=50, min_count=2)
    rare.fit(["aaaa bbb cc de"])
    assert rare.encode("d").count(UNK) == 1


def test_lower_and_composition():
    field = Text(lower=True)
    field.fit(["Cafe\u0301"])
    assert field.decode(field.encode("CAFÉ")) == "café"
    assert len(field.encode("Cafe\u0301")) == 4
    assert field.raw("Cafe\u0301") == "Café"
    assert len(fitted("byte", nfc=False).encode("e\u0301")) == 3


def test_spaces_at_the_end_are_no_word() -> None:
    field = fitted("bpe")
    assert set(field.words(field.encode("the cat "))) == {0, 1}
    assert set(field.words(field.encode("the cat"))) == {0, 1}
    assert set(field.words(field.encode(" "))) == {0}


def test_korean_syllables_are_taken_apart_and_put_together_again() -> None:
    field = Text(unit="character", decompose=True)
    field.fit(["한글", "글한"])
    ids = field.encode("한")
    assert field.symbols(ids) == ["\u1112", "\u1161", "\u11ab"]  # h, a, n
    assert field.decode(ids) == "한"
    assert field.raw("한") == "한"  # what outputs are compared with


def test_separator_of_words():
    field = Text(unit="word", separator="|")
    field.fit(["a b|c"])
    assert field.symbols(field.encode("c|a b")) == ["c", "a b"]
    assert field.decode(field.encode("c||a b")) == "c|a b"


def test_settings_that_mean_nothing_are_refused():
    for wrong in ({"unit": "byte", "size": 100}, {"unit": "bpe", "separator": "|"}, {"unit": "word", "separator": ""}):
        with pytest.raises(UserError):
            Text(**wrong)
    for key, value in {"size": 4, "min_count": 0, "max_length": 0, "share": "target", "unit": "letters"}.items():
        with pytest.raises(UserError):
            registry.validate("field", "text", {key: value})


@pytest.mark.parametrize("unit", UNITS)
def test_json_round_trip(unit):
    field = FIELDS[unit]
    again = from_json(json.loads(json.dumps(field.to_json())))
    assert again.to_json() == field.to_json() == fitted(unit).to_json()
    assert again.space == field.space
    for text in TEXTS:
        assert again.encode(text) == field.encode(text) == field.encode_many([text])[0]


def test_a_damaged_description_is_a_users_error():
    good = FIELDS["bpe"].to_json()
    wrong = [{}, {**good, "kind": "texts"}, {**good, "settings": {"unit": "x"}}, {**good, "merges": [["q", "zz"]]}]
    for damaged in [*wrong, {k: v for k, v in good.items() if k != "vocabulary"}]:
        with pytest.raises(UserError):
            from_json(damaged)
    with pytest.raises(UserError):
        from_json({**FIELDS["word"].to_json(), "vocabulary": ["a", "a"]})


def test_bpe_is_the_same_in_another_process_and_with_one_thread():
    code = (
        "import hashlib, json; from xattend.data.fields.text import Text; f = Text(unit='bpe', size=120);"
        "f.fit([f'{n * 7919 % 1009} words {n % 13}{n % 7}x' for n in range(2000)]);"
        "found = hashlib.sha256(json.dumps(f.to_json()).encode()).hexdigest()"
    )
    here: dict[str, str] = {}
    exec(code, here)
    alone = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    other = subprocess.run([sys.executable, "-c", code + "; print(found)"], env=alone, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == here["found"]


@pytest.mark.parametrize("unit", UNITS)
def test_pieces_are_the_symbols_but_never_unknown(unit):
    field = FIELDS[unit]
    for text in ("the  cat 犬 on é", "mat", ""):
        ids, pieces = field.encode(text), field.pieces(text)
        assert len(pieces) == len(ids)
        assert all(id == UNK or shown == piece for id, shown, piece in zip(ids, field.symbols(ids), pieces, strict=True))
        assert field.join(pieces) == (" ".join(text.split()) if unit == "word" else text)
    assert field.join(field.symbols(field.encode("the cat sat"))) == "the cat sat"


def test_words_of_subwords():
    field = fitted("bpe")
    for text in ("the cat", "  the  cat ", "dog sat on the mat", "</s> cats"):
        ids = field.encode(text)
        spelt: dict[int, str] = {}
        for id, word in zip(ids, field.words(ids), strict=True):
            spelt[word] = spelt.get(word, "") + field.decode([4, id])[len(field.decode([4])) :]
        assert [word for word in (s.strip() for s in spelt.values()) if word] == text.split()
    assert field.words([*field.encode("the cat"), EOS])[-1] == 2
    assert FIELDS["character"].words([5, 6, 7]) == FIELDS["word"].words([7, 7, 8]) == [0, 1, 2]


def test_bytes_that_are_no_text_are_replaced():
    assert FIELDS["byte"].decode([0xFF + 4, ord("a") + 4, EOS]) == "\ufffda"
    assert FIELDS["byte"].symbols([ord("a") + 4, ord(" ") + 4, 0xFF + 4]) == ["a", "<20>", "<ff>"]


def test_collate():
    values, mask, *_ = Text.collate([np.array([5, 6, 7], np.int32), np.array([8], np.int32)])
    assert values.tolist() == [[5, 6, 7], [8, PAD, PAD]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    assert str(values.dtype) == "torch.int64"
    assert Text.collate([]).values.shape == (0, 0)


def test_encoding_before_fitting_is_refused():
    with pytest.raises(ValueError, match="fit"):
        Text().encode("a")


def test_a_generator_can_be_fitted_too():
    for unit in UNITS:
        field = Text(unit=unit, **({"size": 90} if unit == "bpe" else {}))
        field.fit(text for text in TEXTS)
        assert field.to_json() == FIELDS[unit].to_json()


def test_plain_words_alone() -> None:
    field = Text(unit="word", plain=True)
    field.fit(["A dog's ball , on the - grass ."])
    assert field.raw("The DOG's 'ball' , on_the grass .") == "the dog's ball on the grass"
    assert field.decode(field.encode("A Dog's ball!")) == "a dog's ball"


def test_what_the_data_writes_for_an_unknown_word_is_unknown():
    field = Text(unit="word", unknown="<UNK>")
    field.fit(["the <UNK> sat", "<UNK> <UNK> the"])
    assert field.encode("the <UNK> sat dog") == [4, UNK, 5, UNK]
    assert field.space.vocabulary == 6
    assert from_json(field.to_json()).encode("<UNK> sat") == [UNK, 5]
    lower = Text(unit="word", unknown="<UNK>", lower=True)  # found in whatever form the field reads it
    lower.fit(["the <UNK>"])
    assert lower.encode("The <UNK>") == [4, UNK]
    for wrong in ({"unit": "bpe", "unknown": "<UNK>"}, {"unit": "word", "unknown": "two words"}, {"unit": "word", "unknown": ""}):
        with pytest.raises(UserError, match="unknown"):
            Text(**wrong)
