"""Kills `xattend train` with SIGKILL at random moments, resumes it each time, and compares the bytes it ends with.

    python benchmarks/kill_and_resume.py transliterate --kills 20 --workers 2 -s training.steps=600

One run is left alone, the other is killed: model.safetensors must be byte-identical. With the state saved every few
updates, many of the kills fall into a save.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# a limit in steps alone: with one in minutes, where a training ends depends on the clock
SETTINGS = ("training.save_every=5", "training.validate_every=100", "training.steps=600", "training.minutes=10000.0")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "xattend", "train", *words]


def digest(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def step_of(run: Path) -> int:
    """The last saved step."""
    pointer = run / "state" / "current.json"
    return int(json.loads(pointer.read_text())["current"]) if pointer.exists() else 0


def kill_and_resume(first: list[str], run: Path, kills: int, longest: float, draw: random.Random) -> int:
    """Starts, kills and resumes; gives how many processes were really killed at work."""
    killed, words = 0, first
    while killed < kills:
        process = subprocess.Popen(command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            process.wait(timeout=draw.uniform(0.5, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            print(f"  kill {killed}: saved step {step_of(run)}", flush=True)
        else:
            if process.returncode != 0:
                raise SystemExit(f"training failed: {process.stderr.read() if process.stderr else ''}")
            print("  it came to its end before the last kill: give it more steps", flush=True)
            break
        words = ["--resume", str(run)] if (run / "manifest.json").exists() else first
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    if done.returncode != 0 and "finished" not in done.stderr:
        raise SystemExit(f"the last resume failed: {done.stderr}")
    return killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("-s", dest="settings", action="append", default=[])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--longest", type=float, default=9.0, help="seconds after which a process is killed at the latest")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    words = [given.recipe]
    for setting in (*SETTINGS, f"training.workers={given.workers}", *given.settings):
        words += ["-s", setting]
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder) / "whole", Path(folder) / "broken"
        subprocess.run(command(*words, "--out", str(whole)), check=True, stdout=subprocess.DEVNULL)
        killed = kill_and_resume([*words, "--out", str(broken)], broken, given.kills, given.longest, random.Random(given.seed))
        same = digest(whole) == digest(broken)
        print(f"workers {given.workers}: {killed} kills, seed {given.seed}: {'byte-identical' if same else 'DIFFERENT'} {digest(broken)[:16]}")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
