"""The bundler: modules in the order of their imports, and no convention broken unseen."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from xattend.viewer import STATIC, files
from xattend.viewer.bundle import Unfit, joined, script, style

ONE = 'import { two } from "./b/two.js";\nexport const one = two + 1;\n'
TWO = 'import { three } from "../three.js";\nexport const two = three - 1;\n'


def test_each_module_stands_after_those_it_needs() -> None:
    found = joined({"one.js": ONE, "b/two.js": TWO, "three.js": "export const three = 3;\n", "other.js": "let unused = 1;\n"}, "one.js")
    assert re.findall(r"^// (\S+)", found, flags=re.MULTILINE) == ["three.js", "b/two.js", "one.js"]
    assert "import" not in found
    assert "export" not in found
    assert "unused" not in found


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ('import { a as b } from "./x.js";', "of its own"), ('import a from "./x.js";', "of its own"), ('import * as a from "./x.js";', "of its own"),
        ('import { a } from "https://x.org/x.js";', "of its own"), ('import { a } from "x.js";', "of its own"), ('import "./x.js";', "of its own"),
        ('import { a } from "./x.js"; a();', "of its own"), ('import { lacking } from "./x.js";', "exports no lacking"),
        ('import { a } from "./gone.js";', "no module gone.js"), ("export default 1;", "export function"), ("export { a };", "export function"),
        ("  export const b = 1;", "export function"), ("export let b = 1;", "export function"), ("const a = 2;", "taken by"),
        ("function a() {}", "taken by"), ("const { b, c } = d;", "one name at a time"), ("var b = 1;", "one name at a time"),
        ("e.innerHTML = t;", "innerHTML"), ("eval(t);", "eval"), ("new Function(t);", "new Function"), ("document.write(t);", "document.write"),
        ('await import("./x.js");', "import"), ('e.setAttribute("style", t);', "style"), ('e.setAttribute("onclick", t);', "onclick"),
        ('const t = "</script>";', "</script"), ('const t = "<!--";', "<!--"),
    ],
)  # fmt: skip
def test_what_breaks_a_convention_is_refused(module: str, said: str) -> None:
    first = 'import { a } from "./x.js";\n' if said == "taken by" else ""
    with pytest.raises(Unfit, match=re.escape(said)):
        joined({"main.js": first + module + "\n", "x.js": "export const a = 1;\n"}, "main.js")


def test_circles_are_refused() -> None:
    with pytest.raises(Unfit, match=re.escape("a.js -> b.js -> a.js")):
        joined({"a.js": 'import { b } from "./b.js";\nexport const a = 1;\n', "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n'}, "a.js")


def test_the_viewer_keeps_the_conventions(tmp_path: Path) -> None:
    found = script()
    assert {f"views/{path.name}" for path in (STATIC / "views").glob("*.js")} <= set(re.findall(r"^// (\S+\.js)$", found, flags=re.MULTILINE))
    assert style()
    assert all(len(path.read_text("utf-8").splitlines()) < 300 for path in files().values())
    node = shutil.which("node")
    if node:  # a second reader of the script; browsers read it in test_browser.py
        (tmp_path / "script.js").write_text(found, encoding="utf-8")
        subprocess.run([node, "--check", str(tmp_path / "script.js")], check=True)


def test_colours_rise_evenly_in_lightness_for_everyone() -> None:
    text = (STATIC / "colour.js").read_text("utf-8")
    anchors = np.array([[int(level) for level in row] for row in re.findall(r"^  \[(\d+), (\d+), (\d+)\],$", text, flags=re.MULTILINE)]) / 255
    assert len(anchors) == 7
    linear = np.where(anchors <= 0.04045, anchors / 12.92, ((anchors + 0.055) / 1.055) ** 2.4)
    # Machado et al. 2009, severity 1: nothing, protanopia, deuteranopia, tritanopia
    seen = [
        np.eye(3),
        np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
        np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
        np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
    ]
    for eyes in seen:
        luminance = np.clip(linear @ eyes.T, 0, 1) @ np.array([0.2126, 0.7152, 0.0722])
        lightness = 116 * np.cbrt(luminance) - 16
        assert np.diff(lightness).min() > 9, lightness
