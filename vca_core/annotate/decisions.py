"""Read the annotators' decisions back through the key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.annotate.agreement import agreement, consensus
from vca_core.annotate.files import CRITERIA, Decisions, Key, KeySheet, read_file
from vca_core.records import SchemaError


class AuditReport(NamedTuple):
    """What an audit says: all answers, the outcome of each edit, and how far people agree."""

    decisions: pd.DataFrame
    consensus: pd.DataFrame
    agreement: pd.DataFrame


def import_sheets(
    key: str | Path,
    files: Sequence[str | Path],
    *,
    incomplete: bool = False,
    n_resamples: int = 5000,
    rng: np.random.Generator,
) -> AuditReport:
    """Consensus and agreement from the files that the sheets saved.

    Parameters
    ----------
    key : path
        ``key.json`` of `export_sheets`.
    files : sequence of path
        One decisions file a sheet.
    incomplete : bool
        Take what is there: sheets not yet back, items not in a file, questions not answered.
    n_resamples : int
        Of edits, for the intervals.
    rng : Generator

    Returns
    -------
    AuditReport
        ``decisions``: one row per (annotator, item, criterion) with ``edit_id``, ``showing`` and
        ``answer`` (null: none); ``consensus``: see `consensus`; ``agreement``: see `agreement`.

    Raises
    ------
    SchemaError
        If a file belongs to another key or to a sheet that another file gives already, names an
        unknown item or one twice; and, unless `incomplete`, if a sheet, an item or an answer is
        missing.
    """
    known = read_file(key, Key)
    sheets = {sheet.sheet: sheet for sheet in known.sheets}
    given: dict[str, str | Path] = {}
    frames = []
    for path in files:
        saved = read_file(path, Decisions)
        sheet = sheets.get(saved.sheet)
        if sheet is None:
            raise SchemaError(
                f"{path}: `sheet` must be one of this key ({known.key}), got {saved.sheet!r}."
            )
        if saved.sheet in given:
            raise SchemaError(
                f"{path}: each annotator counts once, got sheet {saved.sheet!r} also in "
                f"{given[saved.sheet]}."
            )
        given[saved.sheet] = path
        frames.append(_answers(path, saved, sheet, incomplete))
    absent = [sheet.file for name, sheet in sheets.items() if name not in given]
    if not frames or (absent and not incomplete):
        raise SchemaError(
            f"Every sheet of key {known.key} must be back, got none of {', '.join(absent)}; wait "
            "for it, or ask for an incomplete report."
        )
    decisions = pd.concat(frames, ignore_index=True)
    return AuditReport(
        decisions,
        consensus(decisions, len(sheets)),
        agreement(decisions, n_resamples=n_resamples, rng=rng),
    )


def _answers(path: str | Path, saved: Decisions, sheet: KeySheet, incomplete: bool) -> pd.DataFrame:
    """Answers of one file, one row per item of its sheet and criterion."""
    by_item = {decision.item: decision for decision in saved.decisions}
    for place, decision in enumerate(saved.decisions, start=1):
        if by_item[decision.item] is not decision:
            raise SchemaError(f"{path}, decision {place}: item {decision.item!r} stands twice.")
    unknown = sorted(by_item.keys() - {item.item for item in sheet.items})
    if unknown:
        raise SchemaError(
            f"{path}: sheet {sheet.sheet!r} has no item {unknown[0]!r} ({len(unknown)} unknown)."
        )
    rows = [
        (sheet.annotator, item.item, item.edit_id, item.showing, criterion, answer)
        for item in sheet.items
        for criterion in CRITERIA
        for answer in [getattr(by_item.get(item.item), criterion, None)]
    ]
    missing = [row for row in rows if row[-1] is None]
    if missing and not incomplete:
        raise SchemaError(
            f"{path}: every question needs an answer, got none to {len(missing)} of {len(rows)}, "
            f"first {missing[0][4]} of item {missing[0][1]!r}; let the annotator finish, or ask "
            "for an incomplete report."
        )
    columns = ["annotator", "item", "edit_id", "showing", "criterion", "answer"]
    return pd.DataFrame(rows, columns=columns).astype({"answer": "string"})
