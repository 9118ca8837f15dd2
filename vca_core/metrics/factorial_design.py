"""The evidence-source factorial's design: its states, its cells, and what every stem must hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, require_columns
from vca_core.records import LABELS, SchemaError

STATES = ("supports", "opposes", "absent")
"""What a source says of the queried relation: that it holds, that its opposite does, nothing."""
SPEAKING = STATES[:2]
GOLD = {"supports": "yes", "opposes": "no"}
"""The answer that a speaking source gives."""
CONFLICT_SQUARE = tuple((visual, text) for visual in SPEAKING for text in SPEAKING)
"""The four cells in which both sources speak, as (visual state, text state)."""
SOURCE_CELLS = (
    *((visual, "absent") for visual in SPEAKING),
    *(("absent", text) for text in SPEAKING),
)
"""The four cells in which one source speaks alone."""
STEM = ("model", "dataset", "interface", "wording", "stem_id")
"""Columns that name a group of cells, where they are there."""


def stem_columns(frame: pd.DataFrame) -> list[str]:
    """Columns of `frame` that name a group of cells."""
    return [column for column in STEM if column in frame.columns]


def check_design(margins: pd.DataFrame, needed: Sequence[tuple[str, str]]) -> None:
    """Check that every stem holds the cells it must, once each, with labels that fit.

    Parameters
    ----------
    margins : DataFrame
        ``model``, ``dataset``, ``sample_id``, ``stem_id``, ``visual_state``, ``text_state``;
        ``label`` where there is one.
    needed : sequence of (visual state, text state)
        Cells every stem must have, besides those that any other stem of its data set has.

    Raises
    ------
    SchemaError
        If a column is missing, a stem is not named, a state is unknown, a stem lacks a cell or has
        it twice, or a label contradicts sources that agree; names the stem and the model.
    """
    require_columns(
        margins, ("model", "dataset", "sample_id", "stem_id", "visual_state", "text_state")
    )
    _refuse(margins, margins["stem_id"].isna(), "`stem_id` must name a stem, got null")
    for column in ("visual_state", "text_state"):
        rule = f"`{column}` must be one of {list(STATES)}"
        _refuse(margins, ~margins[column].isin(STATES), rule, column)
    _check_once(margins)
    _check_complete(margins, needed)
    _check_labels(margins)


def _refuse(
    margins: pd.DataFrame, bad: pd.Series | np.ndarray, rule: str, column: str | None = None
) -> None:
    """Raise SchemaError for the first of the rows `bad`."""
    bad = np.asarray(bad, dtype=bool)
    if bad.any():
        row = margins[bad].iloc[0]
        got = f", got {row[column]!r}" if column else ""
        raise SchemaError(
            f"{rule}{got} for sample_id {row['sample_id']!r} (model {row['model']!r}, "
            f"{bad.sum()} of {len(margins)} rows)."
        )


def _check_once(margins: pd.DataFrame) -> None:
    cell = [*stem_columns(margins), "visual_state", "text_state"]
    twice = margins.duplicated(cell, keep=False)
    if twice.any():
        row = margins[twice].iloc[0]
        raise SchemaError(
            f"Each stem must have each of its cells once, got stem {row['stem_id']!r} with "
            f"{(row['visual_state'], row['text_state'])} more than once (model {row['model']!r}, "
            f"data set {row['dataset']!r}); give each group of cells its own `stem_id`."
        )


def _check_complete(margins: pd.DataFrame, needed: Sequence[tuple[str, str]]) -> None:
    key = stem_columns(margins)
    for dataset, part in margins.groupby("dataset", sort=False, dropna=False):
        found = set(zip(part["visual_state"], part["text_state"], strict=True)) | set(needed)
        sizes = part.groupby(key, sort=False, dropna=False)["sample_id"].transform("size")
        short = part[sizes < len(found)]
        if len(short):
            row = short.iloc[0]
            own = part[(part[key].astype(str) == row[key].astype(str)).all(axis=1)]
            has = set(zip(own["visual_state"], own["text_state"], strict=True))
            lacks = [(v, t) for v in STATES for t in STATES if (v, t) in found - has]
            raise SchemaError(
                f"Each stem must have each cell (visual state, text state) of its design, got stem "
                f"{row['stem_id']!r} without {', '.join(map(str, lacks))} (model {row['model']!r}, "
                f"data set {dataset!r}); score the missing cells or leave the stem out."
            )


def _check_labels(margins: pd.DataFrame) -> None:
    """Check labels where the picture speaks and the note says the same or nothing."""
    if "label" not in margins.columns:
        return
    label = margins["label"].astype(object)
    known = label.notna()
    rule = f"`label` must be one of {list(LABELS)} or null"
    _refuse(margins, known & ~label.isin(LABELS), rule, "label")
    visual, text = margins["visual_state"], margins["text_state"]
    agreed = visual.isin(SPEAKING) & ((text == visual) | (text == "absent"))
    wrong = known & agreed & (label != visual.map(GOLD))
    if wrong.any():
        row = margins[wrong].iloc[0]
        raise SchemaError(
            f"`label` must be {GOLD[row['visual_state']]!r} in the cell "
            f"{(row['visual_state'], row['text_state'])}, got {row['label']!r} for sample_id "
            f"{row['sample_id']!r} (stem {row['stem_id']!r}, model {row['model']!r})."
        )


def by_stem(margins: pd.DataFrame) -> pd.DataFrame:
    """One row per stem with its margins side by side, nats.

    Returns
    -------
    DataFrame
        The columns that name a stem, ``sample_id`` (the stem again), and one column per cell found,
        named by the pair (visual state, text state).
    """
    key = stem_columns(margins)
    tall = margins[[*key, "visual_state", "text_state"]].assign(
        margin=finite_margin(margins, "original")
    )
    stems = tall[key].drop_duplicates(ignore_index=True)
    for visual in STATES:
        for text in STATES:
            cell = tall[(tall["visual_state"] == visual) & (tall["text_state"] == text)]
            if len(cell):
                cell = cell.rename(columns={"margin": (visual, text)})
                stems = stems.merge(cell[[*key, (visual, text)]], how="left", on=key)
    return stems.assign(sample_id=stems["stem_id"])
