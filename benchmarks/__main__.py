"""Measure everything that page 09 shows, and print it against the project's aims.

Example, from the project's root (about half an hour on two quiet cores, 12 GB for the other tools):

    python -m benchmarks

Runs `benchmarks.cost`, `benchmarks.peers` (each tool in an environment of its own, made at the
first run), `benchmarks.analysis_scale` and `benchmarks.bench_bootstrap` one after the other; each
prints its own ratios. With --only one or some of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pandas as pd

from vca_core import tables
from vca_core.measurements import read_measurements
from vca_core.metrics import (
    aims_met,
    analysis_figures,
    bootstrap_ratios,
    cost_ratios,
    judge,
    peer_ratios,
)

HERE = Path(__file__).parent
SCRIPTS = ("cost", "peers", "analysis", "bootstrap")


def commands(name: str, out: Path) -> list[list[str]]:
    """Command lines, without the interpreter, that make the files of one script."""
    return {
        "cost": [["-m", "benchmarks.cost", "--out", str(out)]],
        "peers": [
            ["-m", "benchmarks.peers", "setup"],
            ["-m", "benchmarks.peers", "run", "--out", str(out)],
        ],
        "analysis": [["-m", "benchmarks.analysis_scale", "--out", str(out / "analysis.csv")]],
        "bootstrap": [["-m", "benchmarks.bench_bootstrap", "--out", str(out / "bootstrap.csv")]],
    }[name]


def aims(out: Path) -> pd.DataFrame:
    """Set what was measured, in whichever run, against the aims."""
    found = read_measurements(out)
    ratios = (cost_ratios(found.cost), peer_ratios(found.peers), bootstrap_ratios(found.bootstrap))
    judged = [judge(frame) for frame in ratios]
    return tables.aims_table(aims_met(*judged, analysis_figures(found.analysis)))


def main() -> None:
    """Run the scripts and print the aims."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=SCRIPTS)
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the files")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        print(f"\n{name}", flush=True)
        for command in commands(name, given.out):
            subprocess.run([sys.executable, *command], check=True, cwd=HERE.parent)
    print(f"\nOf all that is in {given.out}:\n{aims(given.out).to_string(index=False)}")


if __name__ == "__main__":
    main()
