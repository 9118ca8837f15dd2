"""Compare our scoring loop with lmms-eval's `llava_hf` and glance's generic backend.

Examples, from the project's root:

    python -m benchmarks.peers setup
    python -m benchmarks.peers run --items 16 --repeats 3

``setup`` makes each tool its own environment below ``_build/peers`` (6 GB each, some minutes).
``run`` draws scenes, builds the checkpoint, and lets the tools score the same statements in turn:
ours, theirs, theirs, ours, … It writes seconds and memory to ``peers.csv`` and how far the margins
agree to ``peers_margins.csv``. Neither tool can score a prompt without a picture on this
checkpoint, so the contexts are original and blank, for all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks import checkpoint, peer_margins
from vca_core import measurements
from vca_core.metrics import peer_ratios
from vca_core.probes import build_probes
from vca_core.records import VERBALIZERS, read_manifest
from vca_core.scenes import build_scenes

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "_build" / "peers"
CONTEXTS = ("original", "blank")
SURFACES = (("yes_no",), ("yes_no", "true_false"))
"""One answer interface, and both: what shares a picture grows."""
OURS, EXACT = "vca_core", "vca_core --exact"
COLUMNS = list(measurements.COLUMNS["peers"])
TINY = 4
"""The tiny checkpoint gets this many times the pictures, or its runs are over in a blink."""


class Peer(NamedTuple):
    """A compared tool: its distribution, and the driver that runs it."""

    requirement: str
    driver: str


PEERS = {
    "lmms-eval": Peer("lmms_eval==0.7.3", "peer_lmms_eval"),
    "glance": Peer("glance-vlm==0.3.1", "peer_glance"),
}


def python_of(tool: str) -> Path:
    """Interpreter of a tool's own environment, or this one for ours."""
    return BUILD / tool / "bin" / "python" if tool in PEERS else Path(sys.executable)


def setup() -> None:
    """Make an environment for each tool from its pinned requirements; one that is there stays."""
    for tool, peer in PEERS.items():
        done = BUILD / tool / "requirements.txt"
        wanted = (HERE / f"requirements-{tool}.txt").read_text("utf-8") + peer.requirement
        if done.exists() and done.read_text("utf-8") == wanted:
            print(f"{tool}: already there")
            continue
        subprocess.run([sys.executable, "-m", "venv", "--clear", BUILD / tool], check=True)
        pip = [python_of(tool), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "-r", HERE / f"requirements-{tool}.txt"], check=True)
        subprocess.run([*pip, "--no-deps", peer.requirement], check=True)
        done.write_text(wanted, "utf-8")
        print(f"{tool}: {peer.requirement} in {BUILD / tool}")


def make_tasks(folder: str | Path, pictures: int, surfaces: tuple[str, ...], threads: int) -> dict:
    """Draw the first pictures of the set ``pairs`` and list what is asked about them."""
    manifest = build_scenes("pairs", BUILD / "scenes" / str(pictures), limit=pictures)
    samples = read_manifest(manifest)
    rows = [
        {
            "id": probe.sample.sample_id,
            "context": probe.context,
            "interface": surface,
            "image": probe.sample.image,
            "text": probe.text,
            "yes": VERBALIZERS[surface][0],
            "no": VERBALIZERS[surface][1],
        }
        for surface in surfaces
        for probe in build_probes(samples, CONTEXTS, surface)
    ]
    return {
        "checkpoint": str(folder),
        "images": str(manifest.parent),
        "threads": threads,
        "rows": rows,
    }


def run_tool(tool: str, tasks: dict) -> tuple[dict, pd.DataFrame]:
    """Run a driver in a process of its own: facts of the run, and one answer per row."""
    if not python_of(tool).exists():
        raise SystemExit(f"{tool} has no environment: run `python -m benchmarks.peers setup`.")
    given, answers = BUILD / "tasks.json", BUILD / "answers.jsonl"
    given.write_text(json.dumps({**tasks, "exact": tool == EXACT}), "utf-8")
    driver = PEERS[tool].driver if tool in PEERS else "peer_ours"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(tasks["threads"]))
    done = subprocess.run(
        [python_of(tool), "-m", f"benchmarks.{driver}", given, answers],
        cwd=ROOT,
        env={**os.environ, **threads, "HF_HUB_OFFLINE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{tool} failed:\n{done.stderr[-3000:]}")
    facts, *rows = map(json.loads, answers.read_text("utf-8").splitlines())
    return facts, pd.DataFrame(rows)


def compare(
    model: str, tasks: dict, data: str, context_set: str, repeats: int
) -> tuple[list[dict], pd.DataFrame]:
    """Let all tools score the tasks in turn: rows of the results file, and of the margins'."""
    rows, last = [], {}
    _, exact = run_tool(EXACT, tasks)
    for repeat in range(repeats):
        for tool in (OURS, *PEERS):
            facts, last[tool] = run_tool(tool, tasks)
            rows.append(
                {"part": "peers", "tool": tool, "model": model, "data": data}
                | {"context_set": context_set, "repeat": repeat}
                | {k: facts[k] for k in ("version", "n_item_contexts", "seconds", "peak_bytes")}
                | {"note": f"torch {facts['torch']}, transformers {facts['transformers']}, "
                   f"{tasks['threads']} threads"}
            )  # fmt: skip
            print(f"  {model}, {context_set}: {tool} {facts['seconds']:.1f} s", flush=True)
    margins = peer_margins.agreement(tasks, exact, last)
    return rows, margins.assign(model=model, data=data, context_set=context_set)


def run(items: int, repeats: int, threads: int, out: Path) -> None:
    """Run all comparisons, print them, and write both files."""
    larger = checkpoint.build(BUILD / "llava-14m")
    models = {"mini-llava": (checkpoint.SOURCE, TINY * items), "llava-14m": (larger, items)}
    rows, margins = [], []
    for model, (folder, pictures) in models.items():
        for surfaces in SURFACES:
            context_set = f"{'+'.join(CONTEXTS)} x {'+'.join(surfaces)}"
            tasks = make_tasks(folder, pictures, surfaces, threads)
            data = f"pairs ({pictures} pictures)"
            own, agreed = compare(model, tasks, data, context_set, repeats)
            rows += own
            margins.append(agreed)
    results, agreement = pd.DataFrame(rows)[COLUMNS], pd.concat(margins, ignore_index=True)
    # Decisions under one interface were scored again with those under both: they count once.
    once = ["model", "data", "tool", "context", "interface"]
    agreement = agreement.drop_duplicates(once, keep="last", ignore_index=True)
    out.mkdir(parents=True, exist_ok=True)
    results.to_csv(out / "peers.csv", index=False)
    agreement.to_csv(out / "peers_margins.csv", index=False)
    with pd.option_context("display.width", 200, "display.max_columns", 30):
        print(peer_ratios(results).round(2).to_string(index=False))
        print(agreement.round(6).to_string(index=False))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["setup", "run"])
    parser.add_argument("--items", type=int, default=16, help="pictures, each with two statements")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of all tools")
    parser.add_argument("--threads", type=int, default=2, help="of each tool")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of both files")
    given = parser.parse_args()
    if given.command == "setup":
        setup()
    else:
        run(given.items, given.repeats, given.threads, given.out)


if __name__ == "__main__":
    main()
