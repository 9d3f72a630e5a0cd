"""The host of the page: the viewer's files and one way to ask a model, on this machine alone.

It listens on 127.0.0.1 and answers nobody else. A page from elsewhere that the user's browser has open cannot ask it either:

- the Host header must name this machine, so that no foreign name can be pointed at it (DNS rebinding);
- a request whose Origin or Sec-Fetch-Site says that another page made it is refused, and a question must be of type application/json,
  which no foreign page may send without asking first, and nobody answers that;
- files come from a list made at the start, never from a path.

Questions are answered one after the other: a model's threads use all cores as it is. What is wrong with a question is status 400 and
{"error": "one line"}.

    GET  /                  the page; its files by their names
    GET  /api/models        what there is to ask: viewer/ask.py, `describe`
    POST /api/predict       {"model": 0, ...} -> a trace document: viewer/ask.py, `ask`
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from xattend import registry
from xattend.errors import UserError
from xattend.model import Model
from xattend.viewer import TYPES, files
from xattend.viewer.ask import ask, describe, examples, read_json

LOCAL = "127.0.0.1"
LIMIT = 32 << 20  # bytes of a request
LINE = 400  # characters of what is said of a mistake
PAGE = "page.html"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "DENY",
}  # fmt: skip


class Refused(Exception):
    """A request that is not answered, and the status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Host(ThreadingHTTPServer):
    """Some models, open to the page. `with Host(...) as host: host.serve_forever()`."""

    daemon_threads = True

    def __init__(self, models: Sequence[tuple[str, Model]], port: int = 0) -> None:
        self.models = [model for _, model in models]
        self.described = [describe(model, name) for name, model in models]
        self.files = files()
        self.asking = threading.Lock()
        try:
            super().__init__((LOCAL, port), Handler)
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise UserError(f"port {port} cannot be used ({said}): leave --port out, and a free one is found") from None
        registry.names("task")  # imported before threads ask for them
        threading.Thread(target=self._find_examples, daemon=True).start()

    def _find_examples(self) -> None:
        """Beside the serving: a task that reads a large table to say its rows takes seconds."""
        for described, model in zip(self.described, self.models, strict=True):
            described["examples"] = examples(model)

    @property
    def names(self) -> tuple[str, ...]:
        """What a browser on this machine calls the host."""
        return tuple(f"{name}:{self.server_port}" for name in (LOCAL, "localhost"))

    @property
    def url(self) -> str:
        return f"http://{self.names[0]}/"

    def answer(self, body: bytes) -> dict[str, Any]:
        """The document that a question asks for."""
        given = read_json(body)
        number = given.pop("model", 0)
        if type(number) is not int or not 0 <= number < len(self.models):
            raise UserError(f"'model' must be a number from 0 to {len(self.models) - 1}")
        with self.asking:
            return ask(self.models[number], given)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke: one line at most, and none if the browser merely went away."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError)):
            print(f"xattend: a request failed: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Host
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "xattend", ""
    timeout = 60  # seconds that a silent connection is kept
    error_content_type: ClassVar[str] = "text/plain"  # type: ignore[misc]
    error_message_format = "%(message)s\n"

    def do_GET(self) -> None:
        self._do(self._get)

    def do_HEAD(self) -> None:
        self._do(self._get)

    def do_POST(self) -> None:
        self._do(self._post)

    def _do(self, act: Any) -> None:
        try:
            self._check()
            act()
        except Refused as error:
            self.close_connection = True  # its body, if any, was not read
            self._send(error.status, "application/json", _said(str(error)))
        except UserError as error:
            self._send(400, "application/json", _said(str(error)))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # a mistake of ours: the page is told in one line, and the host lives on
            print(f"xattend: a request failed: {type(error).__name__}: {error}", file=sys.stderr)
            self.close_connection = True
            self._send(500, "application/json", _said(f"something went wrong in here: {type(error).__name__}: {error}"))

    def _check(self) -> None:
        """Only pages of our own, on this machine."""
        if self.headers.get_all("Host") not in [[name] for name in self.server.names]:
            raise Refused(403, "this host is for this machine alone")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{name}" for name in self.server.names]:
            raise Refused(403, "this host answers its own page alone")
        if self.command == "POST" and self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "this host answers its own page alone")

    def _get(self) -> None:
        name = urlsplit(self.path).path.removeprefix("/") or PAGE
        if name == "api/models":
            self._send(200, "application/json", _json(self.server.described))
        elif (file := self.server.files.get(name)) is not None:
            self._send(200, f"{TYPES[file.suffix]}; charset=utf-8", file.read_bytes())
        else:
            raise Refused(404, "there is nothing of this name")

    def _post(self) -> None:
        if self.path != "/api/predict":
            raise Refused(404, "there is nothing of this name")
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "a question is of type application/json")
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal() and len(length) < 20):
            raise Refused(400, "a question needs its Content-Length")
        if int(length) > LIMIT:
            raise Refused(413, f"the request has {int(length) / 2**20:.1f} MB, more than {LIMIT >> 20}: give a smaller picture or text")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(400, "the request was cut off")
        self._send(200, "application/json", _json(self.server.answer(body)))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""


def _said(message: str) -> bytes:
    """A mistake as one line of bounded length."""
    line = " ".join(message.split())
    return _json({"error": line if len(line) <= LINE else f"{line[: LINE - 1]}…"})


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
