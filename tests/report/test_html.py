"""Pages that hold all they need: what they say is escaped, what they run is known by its hash, what they weigh is bounded."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest

from tests.viewer import traces
from xattend.answer import Answer
from xattend.report.html import as_json, frame, page, standalone, table, text
from xattend.report.page import Example, Facts, report
from xattend.report.trace_json import read_trace
from xattend.types import Hypothesis, Trace


def elements(page: str, tag: str) -> list[tuple[str, str]]:
    """(attributes, content) of each, as a browser's reader finds them: an element ends at the first end tag."""
    return re.findall(rf"<{tag}\b([^>]*)>(.*?)</{tag}>", page, flags=re.DOTALL)


def test_every_hostile_text_is_escaped_and_comes_back() -> None:
    found = standalone(traces.hostile())
    found.encode("utf-8")  # no lone surrogate is left
    (attributes, data), (plain, _) = elements(found, "script")
    assert 'type="application/json"' in attributes
    assert plain == ""
    assert not re.search("[<>&\u2028\u2029\x00]", data)
    assert json.loads(data)["source"]["tokens"] == traces.HOSTILE
    assert read_trace(json.loads(data)).target_tokens == traces.HOSTILE
    assert text("\x00\x1f\x7f\x85\ud800<'\"&") == "␀␟␡\ufffd\ufffd&lt;&#x27;&quot;&amp;"
    assert "<b>" not in table(["<b>"], [["<b>", 1, 0.5, None]], "<b>")
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"x": float("nan")})


def test_the_policy_names_what_the_page_runs_and_nothing_else() -> None:
    found = page("a title", "<p>hello</p>", {"one": {"x": 1}})
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', found)[1])  # type: ignore[index]
    rules = {words[0]: words[1:] for words in (rule.split() for rule in policy.split(";"))}

    def hashed(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    (_, script), (_, style) = elements(found, "script")[-1], elements(found, "style")[0]
    assert rules == {
        "default-src": ["'none'"], "script-src": [hashed(script)], "style-src": [hashed(style)], "img-src": ["data:", "blob:"],
        "base-uri": ["'none'"], "form-action": ["'none'"],
    }  # fmt: skip
    assert found.index("Content-Security-Policy") < found.index("<style")  # a policy holds for what follows it
    outside = re.sub(r"<(script|style)\b.*?</\1>", "", found, flags=re.DOTALL)
    assert not re.search(r"\sstyle=|\son\w+=|<link|src=|https?:", outside)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script + style)


def test_a_notebook_gets_a_frame_of_its_own() -> None:
    trace = traces.hostile()
    shown = trace._repr_html_()
    assert shown == frame(trace)
    assert len(re.findall("<", shown)) == 2  # the frame's two tags: all else is inside its attribute
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert html.unescape(re.search('srcdoc="([^"]*)"', shown)[1]) == standalone(trace)  # type: ignore[index]


def test_an_answer_without_attention_shows_its_probabilities() -> None:
    best, second = Hypothesis([4, 5], -1.0, -1.2, [-0.4, -0.6, -0.2], finished=True), Hypothesis([4], -2.0, -2.0, [-2.0, 0.0], finished=True)
    found = Answer("a b", ["a", "b"], -1.0, -1.2, [("a b", -1.0), ("a", -2.0)], hypothesis=best, hypotheses=[best, second])
    data = json.loads(elements(html.unescape(found._repr_html_()), "script")[0][1])
    assert data["target"] == {"text": "a b", "tokens": ["a", "b", "</s>"], "logprobs": [-0.4, -0.6, -0.2]}
    assert [(one["text"], one["logprob"]) for one in data["nbest"]] == [("a b", -1.2), ("a", -2.0)]
    assert data["weights"]["shape"] == [3, 0, 0]


def test_48_heads_of_512_by_512_stay_below_15_megabytes() -> None:
    trace = traces.text(steps=512, heads=48, positions=512, nbest=[], logprobs=[])
    assert len(standalone(trace)) <= 15_000_000


def facts(**more: object) -> Facts:
    given: dict[str, object] = {
        "title": "<i>names</i>", "run": "runs/x", "card": [("what it is", "<u>a</u> model")], "limits": ["it is <small>"], "charts": [],
        "data": [["train", "source", 10, 1, 2, 3, 4]], "notes": ["1 row skipped"], "split": "test", "metrics": {"cer": 0.25, "bleu": None}, "measured": [],
        "examples": [Example(traces.text(), ["<ref>"], "cer 0.500")], "worst": [], "alignment": ["Left out."], "recipe": "[data]\ntask = \"<copy>\"\n", "unread": 2,
    }  # fmt: skip
    return Facts(**(given | more))  # type: ignore[arg-type]


def test_the_report_says_all_it_was_given_and_escapes_it() -> None:
    found = report(facts())
    outside = re.sub(r"<(script|style)\b.*?</\1>", "", found, flags=re.DOTALL)
    for said in ("<i>names</i>", "<u>a</u> model", "it is <small>", "<ref>", 'task = "<copy>"'):
        assert said not in outside
        assert html.escape(said) in outside
    for said in ("1 row skipped", "0.2500", "cer 0.500", "2 lines of metrics.jsonl could not be read", "wrote no curves", "There are none."):
        assert said in outside
    assert [json.loads(data) for attributes, data in elements(found, "script") if "data-curves" in attributes] == [[]]
    anchors = re.findall('href="#([^"]*)"', outside)
    assert len(anchors) == 8
    assert len(re.findall('id="', found)) == len(set(re.findall('id="([^"]*)"', found)))  # a name is given once
    assert set(anchors) <= set(re.findall('id="([^"]*)"', found))


def test_an_empty_trace_has_a_page() -> None:
    assert "<script" in standalone(Trace([], [], np.zeros((0, 1, 0), np.float32), (0,)))
