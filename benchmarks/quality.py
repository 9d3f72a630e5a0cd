"""Time to quality: minutes until greedy search reaches a validation BLEU on Multi30k, xattend beside OpenNMT-py and JoeyNMT.

    python benchmarks/quality.py --data DIR [--bleu 33] [--only ours,joey] [--pace]

Each toolkit trains an attention GRU of the same sizes with the settings it recommends itself (ours: the recipe `translate`), and
its validation BLEU (tokenised, pieces joined) is written down as it goes. Minutes are updates until the BLEU is reached times the
seconds of an update. The updates do not depend on what else the machine does; the seconds are measured apart with `--pace`, in
turn, on an idle machine. Trainings write runs/bench/quality/NAME/quality.jsonl; `--pace` reads them and writes results/quality.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import HERE, ROOT, Peer, install, peers

SENTENCES = 64  # what both peers recommend
EVERY = 225  # updates: half a pass of 64 sentences


def job(name: str, chosen: argparse.Namespace, folder: str = "quality", **more: Any) -> dict[str, Any]:
    work = chosen.work / folder / name
    work.mkdir(parents=True, exist_ok=True)
    corpus = chosen.work / "multi30k"
    sizes = {"recipe": "translate"} if name == "ours" else {"sentences": SENTENCES}
    return {"model": "gru", "corpus": str(corpus), "work": str(work), "every": EVERY, "bleu": chosen.bleu, "dropout": 0.2,
            "data": str(chosen.data.resolve()), "threads": chosen.threads, "seconds": chosen.seconds, **sizes, **more}  # fmt: skip


def run(peer: Peer, order: dict[str, Any]) -> dict[str, Any]:
    file = Path(order["work"]) / "job.json"
    file.write_text(json.dumps(order), "utf-8")
    with (Path(order["work"]) / "log").open("a", encoding="utf-8") as log:
        command = [str(peer.python), str(HERE / "peers" / f"{peer.name}.py"), str(file)]
        answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=log, text=True).stdout.splitlines()[-1])
    return answer


def curve(order: dict[str, Any]) -> list[dict[str, float]]:
    file = Path(order["work"]) / "quality.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with multi30k/tok")
    parser.add_argument("--bleu", type=float, default=33.0)
    parser.add_argument("--only", default="ours,opennmt,joey")
    parser.add_argument("--pace", action="store_true", help="measure seconds an update and write the table; trainings are there")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "bench")
    chosen = parser.parse_args()
    chosen.work = chosen.work.resolve()
    subprocess.run([sys.executable, str(HERE / "corpus.py"), str(chosen.work / "multi30k"), "--data", str(chosen.data)], check=True)
    found = peers(chosen.only.split(","))
    for peer in found:
        install(peer, chosen.work / "envs")
    if not chosen.pace:
        for peer in found:
            (chosen.work / "quality" / peer.name / "quality.jsonl").unlink(missing_ok=True)
            order = job(peer.name, chosen, job="quality")
            run(peer, order)
            print(peer.name, json.dumps(curve(order)), flush=True)
        return
    pace: dict[str, list[float]] = {peer.name: [] for peer in found}
    for _ in range(chosen.rounds):
        for peer in found:
            timed = run(peer, job(peer.name, chosen, "pace", job="train"))
            pace[peer.name].append(timed["seconds"] / timed["updates"])
    table: dict[str, Any] = {}
    for peer in found:
        points = curve(job(peer.name, chosen))
        reached = next((point["updates"] for point in points if point["bleu"] >= chosen.bleu), None)
        seconds = statistics.median(pace[peer.name])
        until = reached or (points[-1]["updates"] if points else 0)
        table[peer.name] = {"reached": reached is not None, "updates": until, "seconds_an_update": seconds,
                            "minutes": until * seconds / 60, "curve": points}  # fmt: skip
        print(f"{peer.name:8} {'' if reached else '>'}{until:6,} updates x {seconds:.3f} s = {until * seconds / 60:5.1f} minutes")
    (ROOT / "results" / "quality.json").write_text(json.dumps({"bleu": chosen.bleu, **table}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
