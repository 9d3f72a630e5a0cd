"""Times xattend and its peers on this machine and writes a table: `make bench`, or with other arguments

    python benchmarks/bench.py [--data DIR] [--rounds 3] [--seconds 15] [--only ours,joey] [--rows "train gru"]

Every toolkit has its own environment under runs/bench/envs. All are timed on the same rows, with the same number of
threads, one process at a time, in turn: round after round, so that a machine that slows down slows all of them. The
table has medians, and each peer's ratio to xattend. A peer that cannot be installed or fails stands in it with the reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
TORCH = "torch==2.13.0"
CONSTRAINTS = ROOT / "constraints.txt"

# title, the job, what a larger value means
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("train gru, 4,096 tokens", {"job": "train", "model": "gru", "tokens": 4096}),
    ("train gru, 80 sentences", {"job": "train", "model": "gru", "sentences": 80}),
    ("train gru, 16 sentences", {"job": "train", "model": "gru", "sentences": 16}),
    ("train transformer, 4,096 tokens", {"job": "train", "model": "transformer", "tokens": 4096}),
    ("train letters, 32 words", {"job": "train", "model": "letters", "sentences": 32}),
    *[
        (f"{'int8' if int8 else 'decode'} {model}, {'greedy' if beam == 1 else f'beam {beam}'}, batch {batch}",
         {"job": "decode", "model": model, "beam": beam, "batch": batch, "length": 30, "int8": int8})
        for int8 in (False, True) for model in ("gru", "transformer") for beam in (1, 5) for batch in (1, 64)
    ],
    ("decode letters, greedy, batch 1", {"job": "decode", "model": "letters", "beam": 1, "batch": 1, "length": 12}),
    ("decode letters, greedy, batch 64", {"job": "decode", "model": "letters", "beam": 1, "batch": 64, "length": 12}),
    ("first prediction, gru", {"job": "first", "model": "gru"}),
    ("first prediction, transformer", {"job": "first", "model": "transformer"}),
    ("first prediction, letters", {"job": "first", "model": "letters"}),
]  # fmt: skip


@dataclass
class Peer:
    """A toolkit: the file that times it, and the Python it runs in."""

    name: str
    install: list[list[str]]
    jobs: set[str]
    python: Path = Path(sys.executable)
    broken: str = ""
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def can(self, job: dict[str, Any]) -> bool:
        kind = "int8" if job.get("int8") else job["job"]
        greedy_only = job.get("beam") == 1 and not job.get("int8") and f"greedy {job['model']}" in self.jobs
        return greedy_only or f"{kind} {job['model']}" in self.jobs


def peers(only: list[str]) -> list[Peer]:
    """Every file in benchmarks/peers, xattend first. Its constants are read, not run: it needs the toolkit to be run."""
    found = []
    for file in sorted((HERE / "peers").glob("*.py"), key=lambda file: (file.stem != "ours", file.stem)):
        literals: dict[str, Any] = {}
        for node in ast.parse(file.read_text("utf-8")).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    if name in ("INSTALL", "JOBS"):
                        literals[name] = ast.literal_eval(value)
        if not only or file.stem in only:
            found.append(Peer(file.stem, literals["INSTALL"], set(literals["JOBS"])))
    return found


def install(peer: Peer, envs: Path) -> None:
    """Makes the peer's environment, unless it is there and complete."""
    if not peer.install:
        return
    home = envs / peer.name
    peer.python, done = home / "bin" / "python", home / "installed.json"
    if done.exists() and json.loads(done.read_text("utf-8")) == peer.install:
        return
    print(f"installing {peer.name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    for arguments in [[TORCH], *peer.install]:
        command = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(CONSTRAINTS), *arguments]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if ran.returncode:
            lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")] or ran.stderr.splitlines()
            peer.broken = f"cannot be installed: {lines[0] if lines else ran.returncode}"
            print(f"{peer.name} {peer.broken}")
            return
    done.write_text(json.dumps(peer.install), "utf-8")


def measure(peer: Peer, title: str, job: dict[str, Any], work: Path) -> None:
    """One process, one figure."""
    scratch = work / "scratch" / peer.name / job["model"]
    scratch.mkdir(parents=True, exist_ok=True)
    file = scratch / "job.json"
    file.write_text(json.dumps({**job, "work": str(scratch)}), "utf-8")
    log = scratch / "log"
    with log.open("a", encoding="utf-8") as stderr:
        command = [str(peer.python), str(HERE / "peers" / f"{peer.name}.py"), str(file)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        answer = json.loads(ran.stdout.strip().splitlines()[-1]) if ran.returncode == 0 else {}
    except (ValueError, IndexError):
        answer = {}
    if "value" not in answer:
        last = log.read_text("utf-8").strip().splitlines()
        answer = {"failed": last[-1] if last else f"exit code {ran.returncode}"}
    said = f"{answer['value']:,.1f} {answer['unit']}" if "value" in answer else f"failed: {answer['failed']}"
    print(f"{time.strftime('%H:%M:%S')}  {title}  {peer.name}: {said}", flush=True)
    peer.results.setdefault(title, []).append(answer)


def median(peer: Peer, title: str, what: str = "value") -> float | None:
    values = [answer[what] for answer in peer.results.get(title, []) if what in answer]
    return statistics.median(values) if values else None


def table(found: list[Peer], rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Medians; behind each peer's, how many times better xattend's is."""
    lines = ["| | " + " | ".join(peer.name for peer in found) + " |", "|---" * (len(found) + 1) + "|"]
    for title, job in rows:
        mine = median(found[0], title) if found[0].name == "ours" else None
        cells = []
        for peer in found:
            value = median(peer, title)
            tried = peer.results.get(title)
            if value is None:
                cells.append("failed" if tried else "not installed" if peer.broken and peer.can(job) else "")
                continue
            better = (value / mine if job["job"] == "first" else mine / value) if mine and peer.name != "ours" else None
            cells.append(f"{value:,.1f}" + (f" ({better:.2f}x)" if better else ""))
        unit = next((a["unit"] for peer in found for a in peer.results.get(title, []) if "unit" in a), "")
        lines.append(f"| {title} ({unit}) | " + " | ".join(cells) + " |")
        peaks = [median(peer, title, "peak_mb") for peer in found]
        if job["job"] == "train":
            lines.append(f"| {title}: peak memory (MB) | " + " | ".join("" if peak is None else f"{peak:,.0f}" for peak in peaks) + " |")
    return "\n".join(lines)


def remarks(found: list[Peer]) -> list[str]:
    """Versions, what differs, what failed."""
    lines = []
    for peer in found:
        answers = [answer for tries in peer.results.values() for answer in tries]
        version = next((answer["version"] for answer in answers if "version" in answer), "")
        lines.append(f"- **{peer.name}** {version} {peer.broken}".rstrip())
        for note in sorted({f"{title}: {a.get('note') or a.get('failed')}" for title, tries in peer.results.items() for a in tries if a.get("note") or a.get("failed")}):
            lines.append(f"  - {note}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with multi30k/tok; without it the sentences are made up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each training; decoding takes half of it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="peers, with commas between")
    parser.add_argument("--rows", action="append", default=[], help="only rows whose title has this in it; repeat for more")
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "bench")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "bench", help="writes OUT.json and OUT.md")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    corpus = work / ("multi30k" if chosen.data else "made-up")
    command = [sys.executable, str(HERE / "corpus.py"), str(corpus), *(["--data", str(chosen.data)] if chosen.data else [])]
    rows_said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    found = peers([name for name in chosen.only.split(",") if name])
    for peer in found:
        install(peer, work / "envs")
    rows = [(title, job) for title, job in ROWS if not chosen.rows or any(part in title for part in chosen.rows)]
    for number in range(chosen.rounds):
        for title, job in rows:
            seconds = chosen.seconds / (2 if job["job"] == "decode" else 1)
            whole = {**job, "corpus": str(corpus), "threads": chosen.threads, "seconds": seconds}
            for peer in found:
                if peer.can(job) and not peer.broken:
                    measure(peer, title, whole, work)
        head = f"Rows: {corpus.name}, {rows_said}. Rounds: {number + 1}. Threads: {chosen.threads}. Machine: {platform.machine()}, {TORCH}."
        text = "\n".join([head, "", table(found, rows), "", *remarks(found), ""])
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.with_suffix(".md").write_text(text, "utf-8")
        raw = {peer.name: {"broken": peer.broken, "results": peer.results} for peer in found}
        chosen.out.with_suffix(".json").write_text(json.dumps(raw, indent=1), "utf-8")
    print(chosen.out.with_suffix(".md").read_text("utf-8"))


if __name__ == "__main__":
    main()
