"""Score all mini models on all scene data sets from scratch, and compare with what is committed.

Called by `make live`: two processes, one model each at a time. Pictures and new scores go below
`live_scores/`; an interrupted run goes on where it stopped. Rows whose margin moves by more than
`TOLERANCE` are listed in `live_scores/differences.csv`, and the exit status is 1.

`--commit` writes the scores to `cached_scores/` instead (after the models or scenes changed).
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from vca_core.cache import read_scores, scores_path, update_manifest
from vca_core.cache.verify import covered_files
from vca_core.records import INTERFACES, read_manifest
from vca_core.run import PRIMARY, Progress, score_manifest
from vca_core.scenes import DATASETS, build_scenes
from vca_core.scenes.datasets import DERIVED

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "cached_scores"
MODELS = ("mini-qwen", "mini-internvl", "mini-llava", "mini-ministral")
EVERY = (*PRIMARY, "mean_color", "mismatch", "relation_erased", "irrelevant_erased")
NEUTRAL_SYSTEM = "Look at the question and answer it."
"""System message of `queries_system`; none of the families sends it by itself."""
TOLERANCE = 1e-3
"""Nats. Another machine's float32 sums differ by about 1e-5; a changed prompt by far more."""
BATCH_SIZE = 32


class Run(NamedTuple):
    """One scores file to make for each model."""

    dataset: str
    interface: str
    contexts: tuple[str, ...]
    folder: str
    """Data set whose folder holds the pictures."""
    system: str | None = None


RUNS = (
    *(Run(name, surface, EVERY, name) for name in ("pairs", "queries") for surface in INTERFACES),
    *(Run("queries_inverse", surface, PRIMARY, "queries") for surface in INTERFACES),
    Run("queries_wordings", "yes_no", PRIMARY, "queries"),
    Run("queries_system", "yes_no", PRIMARY, "queries", NEUTRAL_SYSTEM),
    Run("factorial", "yes_no", PRIMARY, "factorial"),
    Run("neutral", "yes_no", ("original",), "neutral"),
    Run("edits", "yes_no", ("original",), "edits"),
)


def manifest_of(run: Run, scenes: Path) -> Path:
    """Manifest of a run beside its pictures."""
    name = f"{run.dataset}.jsonl" if run.dataset in DERIVED else "manifest.jsonl"
    return scenes / run.folder / name


def build(scenes: Path, commit: bool) -> None:
    """Draw the pictures that are not there; to commit, take the manifests over."""
    for name in DATASETS:
        if not (scenes / name / "manifest.jsonl").is_file():
            print(f"Drawing {name}", flush=True)
            shipped = COMMITTED / name / "manifest.jsonl"
            build_scenes(name, scenes, expected=None if commit else shipped)
    for run in RUNS if commit else ():
        target = COMMITTED / run.dataset
        target.mkdir(exist_ok=True)
        shutil.copy(manifest_of(run, scenes), target / "manifest.jsonl")
    if commit:
        shutil.copy(scenes / "edits" / "geometry.csv", COMMITTED / "edits" / "geometry.csv")
        update_manifest(COMMITTED, covered_files(COMMITTED))


def score_model(model: str, scenes: Path, out: Path, limit: int) -> str:
    """Score one model on everything, in a process with one thread."""
    import torch

    from vca_core.backends import load_backend

    torch.set_num_threads(1)
    started, rows = time.monotonic(), 0
    for number, run in enumerate(RUNS, start=1):
        backend = load_backend(str(ROOT / "models" / model), system=run.system)
        manifest = manifest_of(run, scenes)
        outcome = score_manifest(
            read_manifest(manifest),
            backend,
            model=model,
            contexts=run.contexts,
            interface=run.interface,
            out_dir=out,
            image_dir=manifest.parent,
            batch_size=BATCH_SIZE,
            limit=limit,
            command="make live",
            progress=Progress(say=lambda text: print(f"{model}: {text}", flush=True)),
        )
        rows += outcome.scored
        print(
            f"{model} {number}/{len(RUNS)}: {run.dataset} {run.interface}, {outcome.scored} rows "
            f"({outcome.forwards} probes), {outcome.errors.total()} errors, "
            f"{time.monotonic() - started:.0f} s so far",
            flush=True,
        )
    return f"{model}: {rows} rows in {(time.monotonic() - started) / 60:.1f} min"


def compare(out: Path, models: list[str]) -> pd.DataFrame:
    """List rows whose new margin differs by more than `TOLERANCE`, or that are not committed."""
    keys = ["dataset", "interface", "model", "sample_id", "context", "wording"]
    differences, worst, compared = [], 0.0, 0
    for model in models:
        for run in RUNS:
            new, old = (
                read_scores(scores_path(root, run.dataset, run.interface, model))[[*keys, "margin"]]
                for root in (out, COMMITTED)
            )
            both = new.merge(old, on=keys, how="left", suffixes=("", "_committed"))
            moved = (both.margin - both.margin_committed).abs()
            worst, compared = max(worst, moved.max()), compared + len(both)
            differences.append(both[~(moved <= TOLERANCE)])
    print(f"{compared} rows compared; largest difference of a margin {worst:.2e} nats")
    return pd.concat(differences)


def main() -> None:
    """Build, score, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument("--out", type=Path, default=ROOT / "live_scores")
    parser.add_argument("--limit", type=int, default=0, help="groups per data set; 0: all")
    parser.add_argument("--commit", action="store_true", help="write to cached_scores/")
    args = parser.parse_args()
    models = args.models or list(MODELS)
    if unknown := set(models) - set(MODELS):
        parser.error(f"unknown models {sorted(unknown)}; expected of {list(MODELS)}")
    started = time.monotonic()
    scenes = args.out / "scenes"
    build(scenes, args.commit)
    out = COMMITTED if args.commit else args.out
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        jobs = [pool.submit(score_model, model, scenes, out, args.limit) for model in models]
        for job in as_completed(jobs):
            print(job.result(), flush=True)
    print(f"All in {(time.monotonic() - started) / 60:.1f} min")
    if args.commit:
        return
    differences = compare(out, models)
    if len(differences):
        path = out / "differences.csv"
        differences.to_csv(path, index=False)
        raise SystemExit(f"{len(differences)} rows differ by more than {TOLERANCE} nats: {path}")


if __name__ == "__main__":
    main()
