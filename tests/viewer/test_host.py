"""The host: it answers its own page on this machine, refuses everybody else, and lives through whatever it is sent."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import COPY, TINY, trained
from tests.viewer import models
from tests.viewer.models import SENTENCE
from xattend.errors import UserError
from xattend.viewer.host import LIMIT, Host


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host([("hindi", models.hindi()), ("pictures", models.caption())]) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


class Said:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(host: Host, method: str, path: str, body: bytes | None = None, **headers: str) -> Said:
    line = http.client.HTTPConnection("127.0.0.1", host.server_port, timeout=30)
    try:
        line.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return Said(line.getresponse())
    finally:
        line.close()


def predict(host: Host, question: Any, **headers: str) -> Said:
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    return send(host, "POST", "/api/predict", body, **{"Content_Type": "application/json", **headers})


def raw(host: Host, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", host.server_port), timeout=10) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


def test_the_page_and_its_files(host: Host) -> None:
    page = send(host, "GET", "/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.body == send(host, "GET", "/page.html").body
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for name in ("render.js", "views/index.js", "page.js", "style.css", "page.css"):
        found = send(host, "GET", f"/{name}?x=1")
        assert found.status == 200, name
        assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert send(host, "HEAD", "/").body == b""


def test_the_page_has_nothing_inline_and_nothing_foreign(host: Host) -> None:
    text = send(host, "GET", "/").body.decode()
    assert "style=" not in text
    assert "http" not in text
    assert " on" not in "".join(part for part in text.split("<") if "=" in part and not part.startswith("meta"))
    for name in ("page.js", "page-ask.js", "page-edit.js", "page.css"):
        source = host.files[name].read_text("utf-8")
        assert "innerHTML" not in source
        assert "http:" not in source
        assert "https:" not in source
        assert "eval" not in source


@pytest.mark.parametrize("path", ["/../host.py", "/static/page.js", "/%2e%2e/host.py", "//etc/passwd", "/views/../page.js", "/views", "/etc/passwd", "/page.html/", "/api", "/a\\b"])
def test_no_other_file_is_served(host: Host, path: str) -> None:
    found = send(host, "GET", path)
    assert found.status == 404
    assert set(found.json) == {"error"}


def test_models(host: Host) -> None:
    found = send(host, "GET", "/api/models")
    assert [(one["name"], one["kind"]) for one in found.json] == [("hindi", "text"), ("pictures", "picture")]
    while any(one["examples"] is None for one in found.json):  # they come when they are found
        time.sleep(0.05)
        found = send(host, "GET", "/api/models")
    assert len(found.json[0]["examples"]) == 6


def test_a_question(host: Host) -> None:
    found = predict(host, {"model": 0, "text": SENTENCE, "masked": [1]}, Origin=host.url.rstrip("/"), Sec_Fetch_Site="same-origin")
    assert found.status == 200
    assert found.json["target"]["text"] == "I am eating there"
    assert found.json["format"] == "xattend-trace"


def test_several_at_once_do_not_mix(host: Host) -> None:
    questions = [{"text": SENTENCE, "masked": [1]}, {"text": SENTENCE}, {"text": "main ghar ja raha hoon"}, {"text": SENTENCE, "prefix": "they"}]
    expected = [predict(host, question).json for question in questions]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda question: predict(host, question).json, questions * 4))
    assert found == expected * 4


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Host": "127.0.0.1:1"}, {"Host": "localhost.evil.example:80"}, {"Origin": "http://evil.example"},
    {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
])  # fmt: skip
def test_foreign_pages_are_refused(host: Host, headers: dict[str, str]) -> None:
    assert predict(host, {"text": SENTENCE}, **headers).status == 403
    if "Sec_Fetch_Site" not in headers:
        assert send(host, "GET", "/api/models", **headers).status == 403
    assert "Access-Control-Allow-Origin" not in predict(host, {"text": SENTENCE}, **headers).headers


def test_a_form_of_another_page_is_refused(host: Host) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert predict(host, {"text": SENTENCE}, Content_Type=kind).status == 415
    assert send(host, "OPTIONS", "/api/predict", Origin="http://evil.example").status in (403, 501)


WRONG: list[Any] = [
    b"", b"{", b"[]", b"\xff\xfe", b'{"text": "\\ud800"}', b'{"text": "a", "rows": {"0": [NaN]}}', b"[" * 50_000, {"model": 7, "text": "a"}, {"model": "0", "text": "a"},
    {"model": True, "text": "a"}, {"text": ["a"]}, {"text": "a", "beam": 1.5}, {"text": "a", "colour": 1}, {"text": "a", "masked": [10**30]},
    {"model": 1, "picture": "%%%"}, {"model": 1, "picture": "R0lGODlh"}, {"model": 1, "text": "/etc/passwd"}, {"text": "a", "prefix": "\x00"},
]  # fmt: skip


@pytest.mark.parametrize("question", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_one_line(host: Host, question: Any) -> None:
    found = predict(host, question)
    assert found.status == 400, found.body
    assert set(found.json) == {"error"}
    assert "\n" not in found.json["error"]
    assert "Traceback" not in found.json["error"]
    assert len(found.json["error"]) <= 400


def test_too_much_is_not_read(host: Host) -> None:
    head = f"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1:{host.server_port}\r\nContent-Type: application/json\r\n"
    assert b" 413 " in raw(host, f"{head}Content-Length: {LIMIT + 1}\r\n\r\n".encode())
    assert b" 400 " in raw(host, f"{head}\r\n".encode())
    assert b" 400 " in raw(host, f"{head}Content-Length: -5\r\n\r\n".encode())
    assert b" 400 " in raw(host, f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".encode())
    assert b" 400 " in raw(host, f"{head}Content-Length: 50\r\n\r\n{{".encode())
    assert b" 403 " in raw(host, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{host.server_port}\r\nHost: evil.example\r\n\r\n".encode())
    for rubbish in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b""):
        raw(host, rubbish)
    assert predict(host, {"text": SENTENCE}).status == 200


def test_a_mistake_of_ours_is_one_line_too(host: Host, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("xattend.viewer.host.ask", fails)
    found = predict(host, {"text": "a"})
    assert found.status == 500
    assert found.json["error"].endswith("RuntimeError: two lines")
    assert "Traceback" not in capfd.readouterr().err


def test_only_this_machine(host: Host) -> None:
    assert host.server_address[0] == "127.0.0.1"
    with pytest.raises(UserError, match="cannot be used"):
        Host([], host.server_port)


def test_the_command_stops_cleanly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    run = trained(tmp_path, COPY + TINY.replace("steps = 120", "steps = 1"), "copy")
    words = [sys.executable, "-m", "xattend", "view", str(run), str(run), "--no-browser"]
    with subprocess.Popen(words, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        http.client.HTTPConnection("127.0.0.1", port, timeout=20).request("GET", "/")
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        try:
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()  # nothing to do if it has stopped
    assert running.returncode == 0
    assert out.strip() == "stopped"
    assert err == ""
