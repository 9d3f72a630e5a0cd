"""Questions to models that listen, draw, paint, look through windows, read stories and write into a memory: documents that a page can show."""

from __future__ import annotations

import base64
import io
import json
import math
import wave
from typing import Any

import numpy as np
import pytest

from tests.viewer import models
from tests.viewer.test_ask import picture
from xattend.errors import UserError
from xattend.model import Model
from xattend.report.trace_json import read_trace
from xattend.types import Trace
from xattend.viewer.ask import ask, describe
from xattend.viewer.given import told

DIGIT = "digits:3 serif 20000001"
STORY = "Ada walked to the cellar. Boris took the lamp."


def recording(seconds: float = 0.3, rate: int = 8000) -> str:
    """A tone, as a page uploads it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        times = np.arange(int(seconds * rate)) / rate
        sound.writeframes((12_000 * np.sin(2 * math.pi * 440 * times)).astype("<i2").tobytes())
    return base64.b64encode(file.getvalue()).decode()


def answered(model: Model, question: dict[str, Any]) -> Trace:
    """By way of JSON, as a page asks: with everything that it asks of any model."""
    return read_trace(json.loads(json.dumps(ask(model, {"tree": True, "modes": True, **question}), allow_nan=False)))


def test_a_sound_is_heard_as_it_was_given() -> None:
    trace = answered(models.listener(), {"sound": recording(0.3)})
    assert (trace.kind, trace.rate) == ("sound", 8000)
    assert trace.seconds == pytest.approx(0.3, abs=0.03)
    assert trace.samples_N is not None
    times = np.arange(2400) / 8000
    np.testing.assert_allclose(trace.samples_N, 12_000 / 32768 * np.sin(2 * math.pi * 440 * times), atol=1e-3)
    assert trace.pixels is not None
    assert trace.pixels.shape[0] == 40
    assert trace.source_text == ""
    made = answered(models.listener(), {"text": "spoken-digits:3 1 7"})
    assert made.samples_N is not None
    assert len(made.samples_N) > 1000


@pytest.mark.parametrize(("question", "said"), [
    ({"sound": "?!"}, "base64"), ({"sound": base64.b64encode(b"hello, world").decode()}, "not a sound"), ({"sound": recording(61)}, "max_seconds"),
    ({"picture": recording()}, "give one as 'sound'"), ({"text": "/etc/passwd"}, "give one as 'sound'"), ({"sound": recording(), "text": "a"}, "one of"),
])  # fmt: skip
def test_bad_sounds_are_said(question: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        ask(models.listener(), question)
    assert "xattend-view" not in str(error.value)


def test_a_text_is_drawn() -> None:
    first = answered(models.pen(), {"text": "some", "bias": 1.0, "seed": 2})
    assert first.kind == "strokes"
    assert first.points_T3 is not None
    assert first.weights_THS.shape[::2] == (len(first.target_tokens), 5)  # four letters and the end mark
    assert first.target_text.startswith(f"{len(first.points_T3):,} points")
    assert first.logprobs == []
    again, other = (answered(models.pen(), {"text": "some", "bias": 1.0, "seed": seed}).points_T3 for seed in (2, 3))
    assert np.array_equal(first.points_T3, again)  # type: ignore[arg-type]
    assert not np.array_equal(first.points_T3, other)  # type: ignore[arg-type]
    assert (models.pen().system.bias, models.pen().system.seed) == (0.0, 1), "the model stays as it is"
    assert [one["name"] for one in describe(models.pen(), "x")["search"]["settings"]] == ["bias", "seed"]


@pytest.mark.parametrize(("more", "said"), [
    ({"bias": -1.0}, "'bias'"), ({"seed": "1"}, "'seed'"), ({"seed": 1 << 70}, "'seed'"), ({"beam": 3}, "nothing to search"), ({"size": 3}, "nothing called 'size'"),
    ({"prefix": "1,1"}, "no decoder"), ({"text": "a" * 250}, "more than the 200"),
])  # fmt: skip
def test_what_a_pen_cannot_do(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        ask(models.pen(), {"text": "some", **more})


def test_a_story_and_its_question() -> None:
    trace = answered(models.stories(), {"text": STORY, "question": "Where is Ada?", "beam": 2, "nbest": 2})
    assert trace.kind == "memory"
    assert trace.source_text == f"{STORY} Where is Ada?"
    assert trace.source_tokens == ["Ada walked to the cellar.", "Boris took the lamp."]
    assert (trace.heads, trace.weights_THS.shape) == (["hop 1", "hop 2"], (2, 2, 2))
    assert len(trace.nbest) == 2
    together = answered(models.stories(), {"text": f"{STORY} Where is Ada?"})
    assert np.array_equal(together.weights_THS, trace.weights_THS)
    assert told("Ada fell\n\n  Boris  sat.\n", "Who fell") == "Ada fell. Boris sat. Who fell?"
    assert describe(models.stories(), "x")["story"]
    with pytest.raises(UserError, match="not a story"):
        ask(models.stories(), {"text": "Ada"})
    with pytest.raises(UserError, match="no decoder"):
        ask(models.stories(), {"text": STORY, "question": "Where is Ada?", "masked": [0]})


def test_a_memory_that_is_written() -> None:
    model, text = models.computer(), "0110 1101 copy . ."
    trace = answered(model, {"text": text})
    expected = model.predict(text, attention=True).trace
    assert expected is not None
    assert trace.kind == "machine"
    assert trace.heads == expected.heads
    assert trace.contents_TNM is not None
    assert trace.usage_TN is not None
    assert trace.contents_TNM.shape == (5, 4, 3)
    most = np.abs(expected.contents_TNM).max()  # type: ignore[arg-type]
    np.testing.assert_allclose(trace.contents_TNM, expected.contents_TNM, atol=most / 250)  # type: ignore[arg-type]
    np.testing.assert_allclose(trace.usage_TN, expected.usage_TN, atol=0.004)  # type: ignore[arg-type]
    assert trace.logprobs == []  # steps are no words of the answer: its probabilities stand in the n-best
    assert len(trace.nbest[0]["logprobs"]) == 3
    assert describe(model, "x")["search"]["settings"] == []


def test_windows_that_read() -> None:
    for question in ({"text": DIGIT}, {"picture": picture(28, 28)}):
        trace = answered(models.looker(), question)
        assert trace.kind == "glimpse"
        assert trace.boxes_TK4 is not None
        assert trace.boxes_TK4.shape == (3, 2, 4)  # three looks of two patches
        widths_TK = trace.boxes_TK4[:, :, 2] - trace.boxes_TK4[:, :, 0]
        np.testing.assert_allclose(widths_TK, [[4 / 28, 8 / 28]] * 3, atol=1e-5)
        assert trace.pixels is not None
        assert trace.pixels.shape == (28, 28, 3)
        assert trace.logprobs == []
        assert trace.nbest


@pytest.mark.parametrize("question", [None, "what is red"])
def test_words_that_look_through_windows(question: str | None) -> None:
    model = models.looker_that_writes(asked=question is not None)
    trace = answered(model, {"picture": picture(40, 40), **({} if question is None else {"question": question})})
    steps = len(trace.target_tokens)
    assert (trace.kind, trace.source_tokens, trace.grid) == ("picture", list("123456"), (6,))
    assert trace.weights_THS.shape[::2] == (steps, 6)
    assert trace.boxes_TK4 is not None
    assert trace.boxes_TK4.shape == (steps, 6, 4)
    assert len(trace.logprobs) == steps  # steps are words
    assert trace.pixels is not None
    assert trace.pixels.ndim == 3
    if question is None:
        masked = answered(model, {"picture": picture(40, 40), "masked": [0, 1]})
        assert not masked.weights_THS[:, :, :2].any()
        assert np.array_equal(masked.boxes_TK4[0], trace.boxes_TK4[0])  # type: ignore[index]  # no hand was laid on the looks


def test_windows_that_read_and_write() -> None:
    trace = answered(models.painter(), {"text": DIGIT})
    assert (trace.kind, trace.heads) == ("canvas", ["read", "write"])
    assert trace.boxes_TK4 is not None
    assert trace.boxes_TK4.shape == (3, 2, 4)
    assert trace.pixels is not None
    assert trace.seen is not None
    assert (trace.pixels.shape, trace.seen.shape) == ((3, 28, 28, 3), (28, 28, 3))
    assert np.array_equal(trace.seen, models.painter().source.shown(DIGIT))  # type: ignore[union-attr]
    assert "nats" in trace.target_text


def test_models_say_how_they_are_asked() -> None:
    kinds = {name: describe(model, name)["kind"] for name, model in (
        ("listener", models.listener()), ("pen", models.pen()), ("looker", models.looker()), ("painter", models.painter()), ("computer", models.computer()),
    )}  # fmt: skip
    assert kinds == {"listener": "sound", "pen": "text", "looker": "picture", "painter": "picture", "computer": "text"}
    assert not any(describe(model, "x")["edits"] for model in (models.pen(), models.looker(), models.painter(), models.computer(), models.stories()))
    assert describe(models.listener(), "x")["edits"]
    assert describe(models.listener(), "x")["search"]["settings"]
