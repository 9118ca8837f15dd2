"""Score what is missing, then load: what a notebook calls for ``source="live"``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from vca_core.cache import load_margins
from vca_core.cache.files import ROOT, resolve
from vca_core.cache.load import SPECIAL
from vca_core.records import SchemaError, read_manifest
from vca_core.run import PRIMARY, Progress, score_manifest
from vca_core.scenes import DATASETS, build_scenes


def score_and_load(
    checkpoint: str,
    *,
    live_dir: str | Path = "live_scores",
    scores_dir: str | Path = "cached_scores",
    datasets: Sequence[str] = (),
    contexts: Sequence[str] = PRIMARY,
    interface: str = "yes_no",
    device: str = "cpu",
    limit: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Score a checkpoint on scene data sets where scores are missing, and load its margins.

    Parameters
    ----------
    checkpoint : str
        Folder (relative ones start at the project root) or hub name.
    live_dir : path
        Root of the new scores; the pictures are rebuilt below its ``scenes``.
    scores_dir : path
        Where the data sets' shipped manifests lie, as ``<dataset>/manifest.jsonl``.
    datasets : sequence of str
        Scene data sets; empty takes those with a shipped manifest that `load_margins` takes.
    contexts, interface, device, limit
        As in `vca_core.run.score_manifest`.

    Returns
    -------
    DataFrame, as `vca_core.cache.load_margins` gives it
    """
    from vca_core.backends import load_backend

    if not checkpoint:
        raise SchemaError("source='live' needs `checkpoint`: a checkpoint folder or a hub name.")
    out_dir = _project_path(live_dir)
    shipped = {name: resolve(scores_dir) / name / "manifest.jsonl" for name in DATASETS}
    chosen = list(datasets) or [
        name for name, path in shipped.items() if path.is_file() and name not in SPECIAL
    ]
    unknown = [name for name in chosen if name not in DATASETS]
    if unknown:
        raise SchemaError(f"Live pages score the scene data sets {list(DATASETS)}, got {unknown}.")
    backend = load_backend(str(resolve(checkpoint)) if resolve(checkpoint).is_dir() else checkpoint,
                           device=device)  # fmt: skip
    model = backend.checkpoint
    for name in chosen:
        manifest = out_dir / "scenes" / name / "manifest.jsonl"
        stale = (
            shipped[name].is_file()
            and manifest.is_file()
            and (manifest.read_bytes() != shipped[name].read_bytes())
        )
        if stale or not manifest.is_file():
            manifest = build_scenes(name, out_dir / "scenes", expected=shipped[name])
        score_manifest(
            read_manifest(manifest),
            backend,
            model=model,
            contexts=contexts,
            interface=interface,
            out_dir=out_dir,
            image_dir=manifest.parent,
            limit=limit,
            progress=progress,
        )
    return load_margins(
        out_dir, interface=interface, models=[model], datasets=chosen, contexts=contexts
    )


def _project_path(path: str | Path) -> Path:
    path = Path(path).expanduser()
    return path if path.is_absolute() else ROOT / path


def load_source(
    source: str,
    *,
    checkpoint: str = "",
    scores_dir: str | Path = "cached_scores",
    live_dir: str | Path = "live_scores",
    device: str = "cpu",
    limit: int = 0,
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
    contexts: Sequence[str] = PRIMARY,
    interface: str = "yes_no",
) -> pd.DataFrame:
    """Load what a page's parameters ask for; relative folders start at the project root.

    Raises
    ------
    SchemaError
        If ``source`` is neither "cached" nor "live", or a name is unknown.
    """
    if source == "cached":
        return load_margins(
            scores_dir, interface=interface, models=models, datasets=datasets, contexts=contexts
        )
    if source == "live":
        return score_and_load(
            checkpoint,
            live_dir=live_dir,
            scores_dir=scores_dir,
            datasets=datasets,
            contexts=contexts,
            interface=interface,
            device=device,
            limit=limit,
        )
    raise SchemaError(f"`source` must be 'cached' or 'live', got {source!r}.")
