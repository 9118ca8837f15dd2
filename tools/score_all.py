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
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from vca_core.cache import read_scores, scores_path, update_manifest
from vca_core.cache.verify import covered_files
from vca_core.live import SYSTEM
from vca_core.records import INTERFACES, SchemaError, read_manifest
from vca_core.run import PRIMARY, Progress, score_manifest
from vca_core.scenes import DATASETS, build_scenes
from vca_core.scenes.datasets import DERIVED

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "cached_scores"
MODELS = ("mini-qwen", "mini-internvl", "mini-llava", "mini-ministral")
EVERY = (*PRIMARY, "mean_color", "mismatch", "relation_erased", "irrelevant_erased")
TOLERANCE = 1e-3
"""Nats. Another machine's float32 sums differ by about 1e-5; a changed prompt by far more."""
KEYS = ["dataset", "interface", "model", "sample_id", "context", "wording"]
FACTS = ["margin", "label", "prompt_sha256", "image_sha256"]


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
    Run("queries_system", "yes_no", PRIMARY, "queries", SYSTEM["queries_system"]),
    Run("factorial", "yes_no", PRIMARY, "factorial"),
    Run("neutral", "yes_no", ("original",), "neutral"),
    Run("edits", "yes_no", ("original",), "edits"),
)


def manifest_of(run: Run, scenes: Path) -> Path:
    """Manifest of a run beside its pictures."""
    name = f"{run.dataset}.jsonl" if run.dataset in DERIVED else "manifest.jsonl"
    return scenes / run.folder / name


def build(scenes: Path, commit: bool) -> None:
    """Draw the data sets whose pictures are missing or stale; to commit, all of them."""
    for name in DATASETS:
        shipped, built = COMMITTED / name / "manifest.jsonl", scenes / name / "manifest.jsonl"
        if commit or not built.is_file() or built.read_bytes() != shipped.read_bytes():
            print(f"Drawing {name}", flush=True)
            build_scenes(name, scenes, expected=None if commit else shipped)


def clear(scenes: Path, models: list[str]) -> None:
    """Take the manifests over into `cached_scores/`, and drop the scores that will be made anew."""
    for run in RUNS:
        target = COMMITTED / run.dataset
        target.mkdir(exist_ok=True)
        shutil.copy(manifest_of(run, scenes), target / "manifest.jsonl")
        for model in models:
            path = scores_path(COMMITTED, run.dataset, run.interface, model)
            for old in path.parent.glob(f"{model}.*"):
                old.unlink()
    shutil.copy(scenes / "edits" / "geometry.csv", COMMITTED / "edits" / "geometry.csv")
    update_manifest(COMMITTED, covered_files(COMMITTED))


def score_model(model: str, scenes: Path, out: Path, limit: int, command: str) -> str:
    """Score one model on everything, in a process with one thread."""
    import torch

    from vca_core.backends import load_backend

    torch.set_num_threads(1)
    started, rows, done = time.monotonic(), 0, 0
    for dataset, own in groupby(RUNS, key=attrgetter("dataset")):
        runs = list(own)
        backend = load_backend(str(ROOT / "models" / model), system=runs[0].system)
        manifest = manifest_of(runs[0], scenes)
        outcomes = score_manifest(
            read_manifest(manifest),
            backend,
            model=model,
            contexts=runs[0].contexts,
            interface=[run.interface for run in runs],
            out_dir=out,
            image_dir=manifest.parent,
            limit=limit,
            command=command,
            progress=Progress(say=lambda text: print(f"{model}: {text}", flush=True)),
        )
        done += len(runs)
        rows += sum(outcome.scored for outcome in outcomes)
        print(
            f"{model} {done}/{len(RUNS)}: {dataset}, {sum(o.scored for o in outcomes)} rows "
            f"({sum(o.forwards for o in outcomes)} probes), {time.monotonic() - started:.0f} s "
            "so far",
            flush=True,
        )
        for outcome in outcomes:
            if outcome.errors:
                raise SchemaError(f"{model} on {dataset}: error rows, {dict(outcome.errors)}.")
    return f"{model}: {rows} rows in {(time.monotonic() - started) / 60:.1f} min"


def compare(out: Path, models: list[str], whole: bool = True) -> pd.DataFrame:
    """List rows that differ: margin by more than `TOLERANCE`, label, prompt or picture, or missing.

    Parameters
    ----------
    out : path
        Root of the new scores.
    models : list of str
    whole : bool
        Whether committed rows without a new one are differences too.
    """
    differences, worst, compared = [], 0.0, 0
    for model in models:
        for run in RUNS:
            new, old = (
                read_scores(scores_path(root, run.dataset, run.interface, model))[[*KEYS, *FACTS]]
                for root in (out, COMMITTED)
            )
            how = "outer" if whole else "left"
            both = new.merge(old, on=KEYS, how=how, suffixes=("", "_committed"), indicator=True)
            moved = (both["margin"] - both["margin_committed"]).abs()
            same = moved <= TOLERANCE
            for fact in FACTS[1:]:
                a, b = both[fact], both[f"{fact}_committed"]
                same &= (a == b) | (a.isna() & b.isna())
            worst, compared = max(worst, moved.max()), compared + len(both)
            differences.append(both[~same])
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
    if args.commit:
        clear(scenes, models)
    out = COMMITTED if args.commit else args.out
    command = "tools/score_all.py --commit" if args.commit else "make live"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(score_model, m, scenes, out, args.limit, command) for m in models]
        try:
            for job in as_completed(jobs):
                print(job.result(), flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    print(f"All in {(time.monotonic() - started) / 60:.1f} min")
    if args.commit:
        return
    path = out / "differences.csv"
    path.unlink(missing_ok=True)
    differences = compare(out, models, whole=not args.limit)
    if len(differences):
        differences.to_csv(path, index=False)
        raise SystemExit(f"{len(differences)} rows differ, see {path}")


if __name__ == "__main__":
    main()
