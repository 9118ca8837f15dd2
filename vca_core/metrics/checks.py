"""What a frame of margins must hold before it is audited."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.records import LABELS, SchemaError

RECORD = ("model", "dataset", "interface", "wording", "sample_id")
"""Columns that name a record, where they are there."""


def require_columns(frame: pd.DataFrame, columns: Sequence[str], hint: str = "") -> None:
    """Raise SchemaError naming the first of `columns` that `frame` lacks."""
    for column in columns:
        if column not in frame.columns:
            got = ", ".join(f"`{name}`" for name in frame.columns)
            raise SchemaError(f"Column `{column}` is missing, got {got or 'none'}.{hint}")


def finite_margin(margins: pd.DataFrame, context: str) -> np.ndarray:
    """Margins of a context as float64, shape (n,), in nats.

    Raises
    ------
    SchemaError
        If the column is missing or not numeric, or a margin is not finite; names the sample.
    """
    column = f"margin_{context}"
    require_columns(margins, (column,), f" Score the context {context!r} first.")
    series = margins[column]
    is_number = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    if not is_number and series.notna().any():
        raise SchemaError(f"`{column}` must hold numbers in nats, got dtype {series.dtype}.")
    values = series.to_numpy(dtype=float, na_value=np.nan)
    bad = ~np.isfinite(values)
    if bad.any():
        first = margins.iloc[int(bad.argmax())]
        same = (margins[["model", "dataset"]] == first[["model", "dataset"]]).all(axis=1).to_numpy()
        raise SchemaError(
            f"`{column}` must be finite, got {values[bad.argmax()]} for sample_id "
            f"{first['sample_id']!r} (model {first['model']!r}, {(bad & same).sum()} of "
            f"{same.sum()} rows)."
        )
    return values


def optional_margin(run: pd.DataFrame, context: str) -> np.ndarray:
    """Margins of a context, in nats; NaN in a run where it was not scored at all.

    Raises
    ------
    SchemaError
        If the context was scored for some records of the run and not for others.
    """
    column = f"margin_{context}"
    if column not in run.columns or run[column].isna().all():
        return np.full(len(run), np.nan)
    return finite_margin(run, context)


def check_unique(margins: pd.DataFrame) -> None:
    """Raise SchemaError if a record stands twice."""
    key = [c for c in RECORD if c in margins.columns]
    twice = margins.duplicated(key, keep=False).to_numpy()
    if twice.any():
        first = margins[twice].iloc[0]
        raise SchemaError(
            f"A record must stand once per ({', '.join(key)}), got sample_id "
            f"{first['sample_id']!r} (model {first['model']!r}) more than once; "
            f"{twice.sum()} rows repeat."
        )


def correct_decisions(margins: pd.DataFrame, says_yes: np.ndarray) -> pd.array:
    """Whether each decision meets its label; NA where there is no label."""
    if "label" not in margins.columns:
        return pd.array([pd.NA] * len(margins), dtype="boolean")
    label = margins["label"].astype(object)
    known = label.notna().to_numpy()
    wrong = known & ~label.isin(LABELS).to_numpy()
    if wrong.any():
        first = margins.iloc[int(wrong.argmax())]
        raise SchemaError(
            f"`label` must be 'yes', 'no' or null, got {first['label']!r} for sample_id "
            f"{first['sample_id']!r} (model {first['model']!r})."
        )
    correct = pd.array(says_yes == (label == "yes").to_numpy(), dtype="boolean")
    correct[~known] = pd.NA
    return correct
