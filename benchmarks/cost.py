"""What an audit costs beside a plain accuracy run, and beside what the model must do anyway.

Example, from the project's root (about 15 minutes on two quiet cores):

    python -m benchmarks.cost --items 48 --repeats 3

For mini-llava and for a random checkpoint of 14 million parameters (`benchmarks.checkpoint`), on
pairs (two statements a picture) and on single statements: `accuracy` is the original picture
alone, one whole prompt a row, at the batch size that was fastest; `audit` is three contexts;
`bound` is the bare model over the distinct tokens of the audit. They take turns, each in a process
of its own. Then the audit of 1, 4 and 16 times the items. Writes ``cost.csv`` and ``machine.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import psutil

from benchmarks import checkpoint
from vca_core import measurements
from vca_core.metrics import cost_ratios
from vca_core.scenes import build_scenes

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "_build" / "cost"
DATA = {"pairs": "pairs", "single": "queries"}
"""Name of the data in the results, and of the scenes."""
TINY = 4
"""The tiny checkpoint gets this many times the items, or its runs are over in a blink."""
COLUMNS = list(measurements.COLUMNS["cost"])
BATCHES = (1, 2, 4, 8, 16, 32)
GROWTH = (1, 4, 16)


def measure(kind: str, folder: Path, manifest: Path, items: int, threads: int, **options) -> dict:
    """Run one measurement in a process of its own."""
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cost_run", kind, folder, manifest,
         f"--items={items}", *given],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def row(part: str, kind: str, model: str, data: str, repeat: int, found: dict, note: str) -> dict:
    """One row of the results file; also said on the screen."""
    print(f"  {part}: {model}, {data}, {kind} {note}: {found['seconds']:.2f} s", flush=True)
    contexts = "original" if kind == "accuracy" else "original+text_only+blank"
    own = {"part": part, "tool": kind, "version": version("vca-core"), "model": model,
           "data": data, "context_set": contexts, "repeat": repeat, "note": note}  # fmt: skip
    return own | found


def compare(model: str, folder: Path, data: str, items: int, repeats: int, threads: int,
            workers: int) -> list[dict]:  # fmt: skip
    """Find the fastest batch size of the plain run, then let the three kinds take turns."""
    manifest = BUILD / "scenes" / DATA[data] / "manifest.jsonl"
    rows = []
    for batch in BATCHES:
        found = measure("accuracy", folder, manifest, items, threads, batch=batch, workers=workers)
        rows.append(row("batch", "accuracy", model, data, 0, found, str(batch)))
    best = int(min(rows, key=lambda own: own["seconds"])["note"])
    for repeat in range(repeats):
        for kind in ("accuracy", "audit", "bound"):
            batch, note = (best, f"batch {best}") if kind == "accuracy" else (None, "")
            found = measure(kind, folder, manifest, items, threads, batch=batch, workers=workers)
            rows.append(row("cost", kind, model, data, repeat, found, note))
    return rows


def grow(model: str, folder: Path, items: int, threads: int, workers: int) -> list[dict]:
    """Measure the audit of pairs at growing numbers of items."""
    manifest = BUILD / "scenes" / DATA["pairs"] / "manifest.jsonl"
    rows = []
    for times in GROWTH:
        found = measure("audit", folder, manifest, times * items, threads, workers=workers)
        rows.append(row("growth", "audit", model, "pairs", 0, found, f"{times} times"))
    return rows


def machine(threads: int, workers: int) -> dict:
    """Name what the figures were measured on."""
    name = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text("utf-8").splitlines()
        name = next((ln.split(":")[1].strip() for ln in lines if "model name" in ln), name)
    packages = ("torch", "transformers", "numpy", "pandas", "scipy")
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "threads": threads,
        "workers": workers,
        "date": datetime.now(UTC).date().isoformat(),
        **{name: version(name) for name in packages},
    }


def main() -> None:
    """Run everything, print ratios and write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=48, help="statements (48)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of the three kinds (3)")
    parser.add_argument("--threads", type=int, default=2, help="of torch (2)")
    parser.add_argument("--workers", type=int, default=0, help="processes that read pictures (0)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the files")
    given = parser.parse_args()
    for scenes in DATA.values():
        if not (BUILD / "scenes" / scenes / "manifest.jsonl").exists():
            build_scenes(scenes, BUILD / "scenes")
    models = {"mini-llava": (checkpoint.SOURCE, TINY * given.items),
              "llava-14m": (checkpoint.build(BUILD / "llava-14m"), given.items)}  # fmt: skip
    rows = []
    for model, (folder, items) in models.items():
        for data in DATA:
            rows += compare(model, folder, data, items, given.repeats, given.threads,
                            given.workers)  # fmt: skip
        rows += grow(model, folder, items // 4, given.threads, given.workers)
    results = pd.DataFrame(rows)[COLUMNS]
    given.out.mkdir(parents=True, exist_ok=True)
    results.to_csv(given.out / "cost.csv", index=False)
    facts = machine(given.threads, given.workers)
    (given.out / "machine.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    with pd.option_context("display.width", 200, "display.max_columns", 30):
        print(cost_ratios(results).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
