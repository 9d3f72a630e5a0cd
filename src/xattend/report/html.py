"""One HTML file that holds all it needs: the viewer's modules as one script, its style sheet, and data as JSON that no browser runs.

The page may run this one script and use this one style sheet, known by their hashes, and load nothing from anywhere
(Content-Security-Policy). Texts are escaped here, and reach the page as text nodes there.

>>> text("a <b> \\x00 \\ud800")
'a &lt;b&gt; ␀ �'
>>> as_json({"token": "</script>"})
'{"token":"\\\\u003c/script\\\\u003e"}'
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from xattend.report.trace_json import trace_to_json
from xattend.types import Trace
from xattend.viewer import bundle

if TYPE_CHECKING:
    from xattend.answer import Answer

FRAME = 620  # pixels: height of a notebook's frame
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def text(given: object) -> str:
    """Any text, safe between tags and in attributes: control characters by their pictures, lone surrogates as U+FFFD."""

    def seen(match: re.Match[str]) -> str:
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"

    return escape(_UNSEEN.sub(seen, str(given)), quote=True)


def as_json(value: Any) -> str:
    """JSON that can stand inside an element: pure ASCII, and nothing in it looks like a tag."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def digest(content: str) -> str:
    """How a policy names an element's content.

    >>> digest("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}'"


def policy(script: str, style: str) -> str:
    """Nothing but this script, this style sheet, and pictures that they make themselves."""
    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def page(title: str, body: str, blocks: Mapping[str, Any], *, kind: str = "") -> str:
    """A whole page. `body` is markup made of escaped texts; `blocks` are values by the name under which the viewer finds them."""
    script, style = "\n" + bundle.script(), "\n" + bundle.style()
    data = "\n".join(f'<script type="application/json" id="data-{text(name)}">{as_json(value)}</script>' for name, value in blocks.items())
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy(script, style))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">', '<meta name="referrer" content="no-referrer">',
        f"<title>{text(title)}</title>", f"<style>{style}</style>", "</head>",
        f'<body class="xa-page{" " + kind if kind else ""}">', body, data, f"<script>{script}</script>", "</body>", "</html>", "",
    ])  # fmt: skip


def trace_place(block: str, *, view: str | None = None, texts: bool = True, switch: bool = False) -> str:
    """Where the viewer draws the trace of a block."""
    first = f' data-view="{text(view)}"' if view else ""
    return f'<div class="xa-trace" data-json="{text(block)}"{first} data-texts="{str(texts).lower()}" data-switch="{str(switch).lower()}"></div>'


def standalone(trace: Trace, title: str = "attention") -> str:
    """A page with one trace."""
    return page(title, trace_place("trace", switch=True), {"trace": trace_to_json(trace)}, kind="xa-frame-page")


def frame(trace: Trace) -> str:
    """The same inside a frame of a notebook, which gives it no way to the notebook's own page."""
    inner = escape(standalone(trace), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{inner}" title="where the model looked" '
        f'width="100%" height="{FRAME}" frameborder="0"></iframe>'
    )


def of_answer(found: Answer) -> Trace:
    """An answer's trace with what the answer itself knows: without its model, heads have numbers, and a picture is not shown."""
    from dataclasses import replace

    import numpy as np

    best = found.hypothesis
    written = [*found.tokens, *["</s>"] * found.finished]
    trace = found.trace or Trace([], written, np.zeros((len(written), 0, 0), dtype=np.float32), (0,))
    listed = [
        {"text": said, "score": score, "logprob": one.logprob, "tokens": [], "logprobs": []}
        for (said, score), one in zip(found.nbest, found.hypotheses)
    ]
    own = trace.kind not in ("glimpse", "canvas", "machine", "strokes")  # steps of the others are no words, and have no probabilities
    logprobs = list(best.token_logprobs) if best and own and not trace.logprobs else trace.logprobs
    return replace(
        trace, source_text=trace.source_text or trace.media or "", target_text=found.text, logprobs=logprobs, nbest=trace.nbest or listed
    )  # fmt: skip


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Numbers to the right, words to the left, each in its own direction."""

    def cell(value: object) -> str:
        if value is None:
            return '<td class="xa-number">–</td>'
        if isinstance(value, (int, float)):
            return f'<td class="xa-number">{f"{value:.4f}" if isinstance(value, float) else f"{value:,}"}</td>'
        return f'<td><bdi dir="auto">{text(value)}</bdi></td>'

    head = "".join(f'<th scope="col">{text(name)}</th>' for name in columns)
    body = "\n".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    said = f"<caption>{text(caption)}</caption>" if caption else ""
    return f'<table class="xa-table">{said}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
