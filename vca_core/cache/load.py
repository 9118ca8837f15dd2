"""Wide margins: one row per statement, one column per context."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from vca_core.cache.files import names_in, read_scores, resolve, scores_files
from vca_core.cache.wide import CARRIED, INDEX, LeftOut, to_wide
from vca_core.records import CONTEXTS, INTERFACES, NotScoredError, SchemaError

SPECIAL = (
    "factorial", "neutral", "edits", "queries_inverse", "queries_wordings", "queries_system",
)  # fmt: skip
"""Data sets built for one question; they are read only where they are named."""


def load_margins(
    scores_dir: str | Path,
    *,
    interface: str = "yes_no",
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
    extra: Sequence[str] = (),
    contexts: Sequence[str] | None = None,
    incomplete: str = "refuse",
) -> pd.DataFrame:
    """Read scores files and pivot them to margins.

    Parameters
    ----------
    scores_dir : path
        Root of a scores cache.
    interface : {"yes_no", "true_false"}
    models, datasets : sequence of str
        Which to read; empty reads all models, and all data sets but the `SPECIAL` ones (those too
        where nothing else is there).
    extra : sequence of str
        Data sets to read besides, where there are scores of them.
    contexts : sequence of str, optional
        Contexts each sample must have. Default: all those that its file holds.
    incomplete : {"refuse", "drop"}
        What to do with a sample whose context is missing or failed: stop and name them, or leave
        them out and print ids and count to the error stream.

    Returns
    -------
    DataFrame, one row per (model, dataset, interface, wording, sample_id)
        The sample's fields and ``margin_<context>`` in nats (mean over continuation tokens). A
        context that another data set lacks altogether is NaN there.

    Raises
    ------
    FileNotFoundError
        If there is no folder, or no scores in it.
    NotScoredError
        If a named model, data set, interface or context was never scored.
    SchemaError
        If a name is unknown, a file breaks the schema, or a sample is incomplete.
    """
    check_asked(interface, contexts or (), incomplete)
    root = resolve(scores_dir)
    wide = [
        _pivot(_normalise(read_scores(path)), path, contexts, incomplete)
        for path in select_files(root, interface, models, datasets, extra)
    ]
    joined = pd.concat(wide, ignore_index=True)
    if joined.empty:
        raise SchemaError(f"No sample below {root} has all contexts {list(contexts or CONTEXTS)}.")
    margins = [f"margin_{c}" for c in CONTEXTS if f"margin_{c}" in joined]
    return joined[[*INDEX, *CARRIED, *margins]]


def check_asked(interface: str, contexts: Sequence[str], incomplete: str) -> None:
    """Raise SchemaError naming a choice that there is not."""
    if incomplete not in ("refuse", "drop"):
        raise SchemaError(f"`incomplete` must be 'refuse' or 'drop', got {incomplete!r}.")
    if interface not in INTERFACES:
        raise SchemaError(f"Unknown interface {interface!r}; expected one of {list(INTERFACES)}.")
    for context in contexts:
        if context not in CONTEXTS:
            raise SchemaError(f"Unknown context {context!r}; expected one of {list(CONTEXTS)}.")


def select_files(
    root: Path,
    interface: str,
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
    extra: Sequence[str] = (),
) -> list[Path]:
    """Find the scores files that `load_margins` reads, sorted; raises as it does."""
    paths = [p for p in scores_files(root) if p.parent.name == interface]
    if not paths:
        text = f"No {interface} scores below {root}.{_unfinished(root)}"
        raise NotScoredError(text) if scores_files(root) else FileNotFoundError(text)
    if not datasets:
        paths = [
            p for p in paths if p.parent.parent.name not in SPECIAL or p.parent.parent.name in extra
        ] or paths
    named = {path: names_in(path) for path in paths}
    _refuse_unknown("models", models, [model for model, _ in named.values()], interface)
    _refuse_unknown("datasets", datasets, [dataset for _, dataset in named.values()], interface)
    chosen = [
        path
        for path, (model, dataset) in named.items()
        if (not models or model in models) and (not datasets or dataset in (*datasets, *extra))
    ]
    if not chosen:
        raise FileNotFoundError(
            f"No {interface} scores of models {list(models)} on data sets {list(datasets)} "
            f"below {root}."
        )
    return chosen


def _unfinished(root: Path) -> str:
    journals = sorted(p.name for p in root.glob("*/*/*.journal.jsonl"))
    return f" Unfinished runs are there ({journals}): resume them with `vca score`." * bool(
        journals
    )


def _normalise(frame: pd.DataFrame) -> pd.DataFrame:
    text = frame.select_dtypes(exclude="number").columns
    return frame.assign(**{c: frame[c].astype(object).where(frame[c].notna(), None) for c in text})


def _refuse_unknown(
    what: str, asked: Sequence[str], there: Sequence[str | None], interface: str
) -> None:
    have = sorted({name for name in there if name is not None})
    unknown = [name for name in asked if name not in have]
    if unknown:
        raise NotScoredError(
            f"There are no {interface} scores of {what} {unknown} here; there are {have}."
        )


def _pivot(
    frame: pd.DataFrame, path: Path, contexts: Sequence[str] | None, incomplete: str
) -> pd.DataFrame:
    needed = list(contexts or (c for c in CONTEXTS if (frame["context"] == c).any()))
    left_out = LeftOut(path, needed)
    wide = left_out.complete(to_wide(frame, path, needed))
    settle(left_out, incomplete)
    return wide


def settle(left_out: LeftOut, incomplete: str) -> None:
    """Refuse incomplete samples, or say on the error stream that they were left out."""
    if incomplete == "refuse":
        left_out.refuse()
    elif left_out.n_lost:
        print(f"Left out: {left_out.message()}.", file=sys.stderr)
