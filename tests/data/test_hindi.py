"""The task `hindi`: what a sentence says is in one split only, and every word has both spellings."""

from __future__ import annotations

from xattend.data.tasks.hindi import DEVANAGARI, VERBS, WHAT, WHERE, WHO, Hindi, Said, english


def test_meanings_are_in_one_split_only() -> None:
    said = {split: {target for _, target in rows} for split, rows in Hindi().splits().items()}
    assert not said["train"] & said["validation"]
    assert not said["train"] & said["test"]
    assert not said["validation"] & said["test"]


def test_both_scripts_say_the_same() -> None:
    latin, devanagari = (list(Hindi(rows=200, script=script).splits()["train"]) for script in ("latin", "devanagari"))
    assert [target for _, target in latin] == [target for _, target in devanagari]
    for (one, _), (other, _) in zip(latin, devanagari, strict=True):
        assert [DEVANAGARI[word] for word in one.split()] == other.split()
    assert len({*DEVANAGARI.values()}) == len(DEVANAGARI)
    assert {*WHO, *WHAT, *WHERE, *VERBS} <= {*DEVANAGARI}


def test_agreement() -> None:
    task = Hindi()
    assert task.say(Said("tum", "kha", "roti", past=True), [1, 0, 2, 3]) == "roti tum kha rahe the"
    assert english(Said("tum", "kha", "roti", past=True)) == "you were eating bread"
    assert english(Said("vah", "so")) == "he is sleeping"
