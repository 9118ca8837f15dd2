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
from vca_core.scenes.datasets import DERIVED

SYSTEM = {"queries_system": "Look at the question and answer it."}
"""System message of a data set that asks what a message changes; none of the families sends it."""


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
        Scene data sets, or the sets of further statements about ``queries``; empty takes those
        with a shipped manifest that `load_margins` takes.
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
    chosen = list(datasets) or shipped_datasets(scores_dir)
    unknown = [name for name in chosen if name not in (*DATASETS, *DERIVED)]
    if unknown:
        known = [*DATASETS, *DERIVED]
        raise SchemaError(f"Live pages score the scene data sets {known}, got {unknown}.")
    place = str(resolve(checkpoint)) if resolve(checkpoint).is_dir() else checkpoint
    own = load_backend(place, device=device)
    model = own.checkpoint
    for name in chosen:
        backend = own
        if name in SYSTEM:
            backend = load_backend(place, device=device, system=SYSTEM[name])
        manifest = _built_manifest(name, out_dir / "scenes", resolve(scores_dir))
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


def shipped_datasets(scores_dir: str | Path) -> list[str]:
    """Scene data sets with a manifest below a scores folder, without the special ones."""
    return [
        name
        for name in DATASETS
        if name not in SPECIAL and (resolve(scores_dir) / name / "manifest.jsonl").is_file()
    ]


def _built_manifest(name: str, scenes: Path, root: Path) -> Path:
    """Manifest of a data set beside its pictures, which are drawn unless they are current."""
    built = "queries" if name in DERIVED else name
    shipped = root / built / "manifest.jsonl"
    manifest = scenes / built / "manifest.jsonl"
    current = manifest.is_file() and (
        not shipped.is_file() or manifest.read_bytes() == shipped.read_bytes()
    )
    if not current:
        build_scenes(built, scenes, expected=shipped)
    return manifest if name == built else manifest.with_name(f"{name}.jsonl")


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
    extra: Sequence[str] = (),
    contexts: Sequence[str] = PRIMARY,
    interface: str = "yes_no",
    join: bool = False,
) -> pd.DataFrame:
    """Load what a page's parameters ask for; relative folders start at the project root.

    Parameters
    ----------
    source : {"cached", "live"}
        Read `scores_dir`, or score `checkpoint` first.
    checkpoint, scores_dir, live_dir, device, limit, datasets, contexts, interface
        As in `score_and_load`.
    extra : sequence of str
        Special data sets to read besides `datasets`: a live model is scored on them, cached
        scores are read where there are any.
    models : sequence of str
        Which models to show; empty shows all.
    join : bool
        For pages that compare models: put the cached models beside the live one, cut to the
        samples that it has. A cached model of the live one's name gives way to it.

    Returns
    -------
    DataFrame, as `vca_core.cache.load_margins` gives it

    Raises
    ------
    SchemaError
        If ``source`` is neither "cached" nor "live", or a name is unknown.
    """
    if source == "cached":
        return load_margins(
            scores_dir,
            interface=interface,
            models=models,
            datasets=datasets,
            extra=extra,
            contexts=contexts,
        )
    if source != "live":
        raise SchemaError(f"`source` must be 'cached' or 'live', got {source!r}.")
    live = score_and_load(
        checkpoint,
        live_dir=live_dir,
        scores_dir=scores_dir,
        datasets=[*(datasets or shipped_datasets(scores_dir)), *extra],
        contexts=contexts,
        interface=interface,
        device=device,
        limit=limit,
    )
    name = live["model"].iloc[0]
    if not join or list(models) == [name]:
        return live
    cached = load_margins(
        scores_dir,
        interface=interface,
        models=[model for model in models if model != name],
        datasets=list(live["dataset"].unique()),
        contexts=contexts,
    )
    key = ["dataset", "wording", "sample_id"]
    shared = cached[key].merge(live[key].drop_duplicates(), how="left", indicator=True)
    kept = (shared["_merge"] == "both").to_numpy() & (cached["model"] != name).to_numpy()
    return pd.concat([live, cached[kept]], ignore_index=True)
