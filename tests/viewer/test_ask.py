"""Questions and their answers, without a host: documents that hold what was asked for, and one line for what is wrong."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.viewer import models
from tests.viewer.models import SENTENCE
from xattend.data.tasks.moving_digits import MovingDigits
from xattend.data.tasks.questions import Questions
from xattend.data.tasks.scenes import Scenes
from xattend.editing import modes
from xattend.errors import UserError
from xattend.report.trace_json import read_trace
from xattend.viewer.ask import ask, describe, examples, read_json

THERE = [0, 0, 1, 0, 0, 0, 0]  # a look at "vahan" alone


def picture(width: int = 40, height: int = 30, kind: str = "PNG", frames: int = 1) -> str:
    draw, file = np.random.default_rng(1), io.BytesIO()
    every = [Image.fromarray(draw.integers(0, 255, (height, width, 3), dtype=np.uint8)) for _ in range(frames)]
    every[0].save(file, kind, **({"save_all": True, "append_images": every[1:]} if frames > 1 else {}))
    return base64.b64encode(file.getvalue()).decode()


def test_an_answer_is_what_the_model_predicts() -> None:
    model = models.hindi()
    document = ask(model, {"text": SENTENCE, "beam": 5, "nbest": 3})
    expected = model.predict(SENTENCE, beam=5, nbest=3, attention=True)
    trace = read_trace(json.loads(json.dumps(document, allow_nan=False)))
    assert document["target"]["text"] == expected.text == "I am eating bread there"
    assert trace.source_tokens == [*SENTENCE.split(), "</s>"]
    assert trace.target_tokens == [*expected.text.split(), "</s>"]
    assert expected.trace is not None
    np.testing.assert_allclose(trace.weights_THS, expected.trace.weights_THS, atol=1e-6)
    assert [one["text"] for one in document["nbest"]] == [text for text, _ in expected.nbest]
    assert document["search"]["kind"] == "beam"
    assert document["search"]["size"] == 5
    assert document["tree"] is None
    assert "modes" not in document
    assert "edits" not in document


def test_tree_and_modes_are_of_the_same_answer() -> None:
    model = models.hindi()
    document = ask(model, {"text": SENTENCE, "beam": 3, "nbest": 2, "tree": True, "modes": True})
    best = [node["token"] for node in document["tree"]["nodes"] if node["best"]]
    assert best == ["<s>", *document["target"]["tokens"]]
    assert len(document["tree"]["nodes"]) > 3 * len(best)
    trace = read_trace(document)
    assert set(trace.modes) == {"sampled", "argmax"}
    for way, weights_THS in trace.modes.items():
        assert set(np.unique(weights_THS)) == {0.0, 1.0}
        assert len(document["modes"][way]["logprobs"]) == len(trace.target_tokens)
    assert (trace.modes["argmax"].argmax(axis=2) == trace.weights_THS.argmax(axis=2)).all()


def test_soft_is_the_model_itself() -> None:
    model = models.hindi()
    found = model.predict(SENTENCE, attention=True)
    assert found.hypothesis is not None
    assert found.trace is not None
    ways = modes(model, SENTENCE, found.hypothesis)
    np.testing.assert_allclose(ways["soft"].weights_THS, found.trace.weights_THS, atol=1e-5)
    np.testing.assert_allclose(ways["soft"].logprobs, found.hypothesis.token_logprobs, atol=1e-4)


def test_watching_changes_no_answer() -> None:
    model = models.hindi()
    plain, watched = (ask(model, {"text": SENTENCE, "beam": 4, "nbest": 4, "tree": tree, "modes": tree}) for tree in (False, True))
    assert [plain[key] for key in ("target", "nbest", "source")] == [watched[key] for key in ("target", "nbest", "source")]


def test_the_lectures_rows_give_the_lectures_sentence() -> None:
    model, text = models.hindi(), "Main ghar ja raha hoon"
    rows = {"0": [1, 0, 0, 0, 0, 0], "1": [0, 0, 0, 0, 1, 0], "2": [0, 0, 0.5, 0.5, 0, 0], "3": [0, 1, 0, 0, 0, 0]}
    assert ask(model, {"text": text})["target"]["text"] == "I am going home"
    document = ask(model, {"text": text, "rows": rows})
    assert document["target"]["text"] == "I am going home"
    np.testing.assert_allclose(read_trace(document).weights_THS[:4, 0], [rows[str(step)] for step in range(4)], atol=1e-6)
    assert document["edits"] == {"prefix": [], "rows": rows, "masked": []}


def test_a_look_elsewhere_writes_another_word() -> None:
    document = ask(models.hindi(), {"text": SENTENCE, "rows": {"3": THERE}, "tree": True, "modes": True})
    assert document["target"]["text"] == "I am eating there"  # step 3 wrote "bread" before
    assert read_trace(document).weights_THS[3, 0].tolist() == THERE
    for way in ("sampled", "argmax"):
        assert read_trace(document).modes[way][3, 0].tolist() == THERE


def test_a_hidden_word_is_not_translated() -> None:
    model = models.hindi()
    for place, said in ((1, "I am eating there"), (2, "I am eating bread")):
        document = ask(model, {"text": SENTENCE, "masked": [place]})
        assert document["target"]["text"] == said
        assert (read_trace(document).weights_THS[:, :, place] == 0).all()
        assert document["edits"]["masked"] == [place]


def test_outputs_begin_as_they_are_told() -> None:
    model = models.hindi()
    for prefix in ("they were", ["they", "were"], ["they were"]):
        document = ask(model, {"text": SENTENCE, "prefix": prefix, "beam": 4, "nbest": 3, "tree": True})
        assert document["target"]["text"] == "they were eating bread there"
        assert all(one["text"].startswith("they were") for one in document["nbest"])
        assert document["edits"]["prefix"] == ["they", "were"]
    assert model.predict(SENTENCE).text == "I am eating bread there"
    assert model.edited(prefix="they").edited(masked=[2]).predict(SENTENCE).text.startswith("they")
    with pytest.raises(UserError, match="begin with 'elephants'"):
        ask(model, {"text": SENTENCE, "prefix": ["they", "elephants"]})


def test_settings_of_the_search() -> None:
    model = models.hindi()
    document = ask(model, {"text": SENTENCE, "beam": 3, "length_penalty": 0, "penalty": "gnmt", "max_length": 2})
    assert {key: document["search"][key] for key in ("size", "length_penalty", "penalty")} == {"size": 3, "length_penalty": 0.0, "penalty": "gnmt"}
    assert len(document["target"]["tokens"]) == 2
    assert ask(model, {"text": SENTENCE, "beam": 1, "length_penalty": 0.5, "tree": True})["search"]["size"] == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "one of 'text' and 'picture'"), ({"text": "a", "picture": "b"}, "one of"), ({"text": "  "}, "nothing to read"),
    ({"text": 3}, "'text'"), ({"text": "a", "beam": "5"}, "'beam"), ({"text": "a", "beam": 0}, "'beam"), ({"text": "a", "beam": True}, "'beam"),
    ({"text": "a", "beam": 10**9}, "'beam"), ({"text": "a", "beam": 2, "nbest": 3}, "nbest 3 is more"), ({"text": "a", "rows": [1]}, "'rows'"),
    ({"text": "a", "rows": {"x": [1, 0]}}, "rows"), ({"text": "a", "rows": {"0": [1]}}, "1 weights, and the source 2 positions"),
    ({"text": "a", "rows": {"0": [-1, 2]}}, "negative"), ({"text": "a", "rows": {"0": [0, 0]}}, "no weight above 0"),
    ({"text": "a", "rows": {"0": ["x", 0]}}, "rows"), ({"text": "a", "rows": {"0": [float("nan"), 1]}}, "finite"),
    ({"text": "a", "masked": [9]}, "position 9"), ({"text": "a", "masked": [0, 1]}, "every position"), ({"text": "a", "masked": "0"}, "'masked'"),
    ({"text": "a", "length_penlty": 1}, "did you mean 'length_penalty'"), ({"text": "a", "length_penalty": -1}, "length_penalty"),
    ({"text": "a", "length_penalty": "1"}, "length_penalty"), ({"text": "a", "prefix": 5}, "prefix"), ({"text": "a", "prefix": ["</s>"]}, "begin with"),
    ({"text": "a", "question": "b"}, "not asked"), ({"picture": "aaaa"}, "reads text"), ({"text": "a " * 2001}, "2001 units"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG, ids=[f"{number}-{said.split()[0]}" for number, (_, said) in enumerate(WRONG)])
def test_what_is_wrong_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        ask(models.hindi(), given)


BROKEN = [b"", b"{", b"[]", b"5", b"\xff", b'{"text": "\\ud800"}', b'{"rows": {"0": [NaN]}}', b'{"a": Infinity}', b'{"a": 1e999}', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"]


@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
def test_bodies_that_are_no_questions(body: bytes) -> None:
    with pytest.raises(UserError, match="the request"):
        read_json(body)


def test_a_picture_is_read_by_the_field() -> None:
    model = models.caption()
    document = ask(model, {"picture": picture(), "masked": [0], "rows": {"1": [0] * 15 + [2]}, "tree": True, "modes": True, "min_length": 2})
    assert document["kind"] == "picture"
    assert document["source"]["grid"] == [4, 4]
    trace = read_trace(document)
    assert trace.pixels is not None
    assert trace.pixels.shape == (32, 32, 3)
    assert (trace.weights_THS[:, :, 0] == 0).all()
    assert trace.weights_THS[1, 0, 15] == 1
    assert "xattend-view" not in json.dumps(document)
    source, _ = next(Scenes(rows=20).splits()["train"])
    assert ask(model, {"text": source})["source"]["text"] == source


def test_a_picture_with_a_question_and_a_film() -> None:
    document = ask(models.asked(), {"picture": picture(kind="JPEG"), "question": "is it | red?"})
    assert document["source"]["text"] == "is it red?"
    assert document["heads"] == ["hop 1", "hop 2"]
    source, _ = next(Questions(rows=20).splits()["train"])
    assert ask(models.asked(), {"text": source})["kind"] == "picture"
    with pytest.raises(UserError, match="question"):
        ask(models.asked(), {"picture": picture()})
    document = ask(models.film(), {"picture": picture(kind="GIF", frames=5)})
    assert (document["kind"], document["source"]["media"]["frames"]) == ("film", 4)
    source, _ = next(MovingDigits(rows=20).splits()["train"])
    assert ask(models.film(), {"text": source})["kind"] == "film"


BAD_PICTURES = {
    "no base64": ("?!", "base64"), "empty": ("", "empty"), "text": (base64.b64encode(b"hello, world").decode(), "not a picture"),
    "cut off": (picture(200, 200)[:40_000], "cut off or damaged"), "a bomb": (picture(4000, 400), "max_pixels"), "tiny": (picture(2, 2), "too small"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PICTURES)
def test_bad_pictures_are_said(name: str) -> None:
    data, said = BAD_PICTURES[name]
    with pytest.raises(UserError, match=said) as error:
        ask(models.caption(), {"picture": data})
    assert "/" not in str(error.value).replace("max_pixels", "")


@pytest.mark.parametrize("text", ["/etc/passwd", "../photo.png", "photo.png", "scenes:nonsense", "C:\\photo.png"])
def test_a_page_cannot_name_files(text: str) -> None:
    with pytest.raises(UserError):
        ask(models.caption(), {"text": text})


def test_models_are_described() -> None:
    said = describe(models.hindi(), "mine")
    assert (said["name"], said["kind"], said["looks"], said["asked"]) == ("mine", "text", True, False)
    assert len(examples(models.hindi())) == 6
    assert all(len(text.split()) >= 4 for text in examples(models.hindi()))
    settings = {one["name"]: one for one in said["search"]["settings"]}
    assert settings["size"] == {
        "name": "size", "help": "hypotheses kept at every step", "type": "integer", "value": 5, "choices": None, "minimum": 1, "maximum": None,
    }  # fmt: skip
    assert settings["penalty"]["choices"] == ["average", "gnmt", "none"]
    assert (settings["length_penalty"]["type"], settings["length_penalty"]["minimum"]) == ("number", 0)
    json.dumps(said, allow_nan=False)
    assert describe(models.asked(), "q")["asked"]
    assert describe(models.film(), "f")["kind"] == "film"
