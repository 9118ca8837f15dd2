"""Two audits of the same samples, record by record: who stands beside whom."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.records import SchemaError

KEYS = ("model", "dataset", "wording", "sample_id")
"""Columns that tell the records of one answer surface apart; ``wording`` where both have it."""
FACTS = ("label", "pair_id", "polarity")
"""What a sample is, whichever surface it is asked through."""


def match_records(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    on: Sequence[str] = KEYS,
    incomplete: str = "refuse",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the records of two frames side by side.

    Parameters
    ----------
    first, second : DataFrame
        One row per value of the columns `on`; ``wording`` counts where both frames have it.
    on : sequence of str
        What a record and its match share.
    incomplete : {"refuse", "drop"}
        What to do with a record that only one frame has: stop and name it, or leave such records
        out and print ids and count to the error stream.

    Returns
    -------
    first, second : DataFrame
        The same records in the order and with the index of `first`.

    Raises
    ------
    SchemaError
        If a column is missing, a record stands twice in a frame or in one frame alone, the frames
        share no record, or the two give a sample another ``label``, ``pair_id`` or ``polarity``.
    """
    if incomplete not in ("refuse", "drop"):
        raise SchemaError(f"`incomplete` must be 'refuse' or 'drop', got {incomplete!r}.")
    both = first.columns.intersection(second.columns)
    on = [column for column in on if column != "wording" or column in both]
    place = _places(first, second, on)
    _check_once(first, "first", on)
    alone = np.setdiff1d(np.arange(len(second)), place)
    lost = [("first", first[place < 0]), ("second", second.iloc[alone])]
    if any(len(frame) for _, frame in lost):
        _handle_lost(lost, on, incomplete)
    if len(first) and not (place >= 0).any():
        raise SchemaError(f"The two frames must share a record, got none with the same {on}.")
    first = first[place >= 0]
    second = second.iloc[place[place >= 0]].set_axis(first.index)
    _check_facts(first, second)
    return first, second


def matches(records: pd.DataFrame, reference: pd.DataFrame, *, on: Sequence[str]) -> pd.DataFrame:
    """Find the row of `reference` for each record, many to one.

    Returns
    -------
    DataFrame
        Rows of `reference`, in the order and with the index of `records`.

    Raises
    ------
    SchemaError
        If a column is missing, a record has no row in `reference` or more than one, or the two
        give a sample another ``label``, ``pair_id`` or ``polarity``.
    """
    place = _places(records, reference, on)
    if (place < 0).any():
        _handle_lost([("first", records[place < 0])], on, "refuse")
    found = reference.iloc[place].set_axis(records.index)
    _check_facts(records, found)
    return found


def _places(records: pd.DataFrame, reference: pd.DataFrame, on: Sequence[str]) -> np.ndarray:
    """Position in `reference` of each record, shape (n,); -1 where it is not there."""
    require_columns(records, on)
    require_columns(reference, on)
    _check_once(reference, "second", on)
    where = pd.Series(np.arange(len(reference)), pd.MultiIndex.from_frame(reference[list(on)]))
    keys = pd.MultiIndex.from_frame(records[list(on)])
    return where.reindex(keys, fill_value=-1).to_numpy()


def _check_once(frame: pd.DataFrame, name: str, on: Sequence[str]) -> None:
    twice = frame.duplicated(list(on), keep=False).to_numpy()
    if twice.any():
        raise SchemaError(
            f"A record must stand once per ({', '.join(on)}) in the {name} frame, got "
            f"{_named(frame[twice].iloc[0])} more than once ({twice.sum()} rows); select one "
            "`interface` and the records to compare, or match `on` more columns."
        )


def _named(record: pd.Series) -> str:
    keys = ["sample_id", *(c for c in ("model", "dataset", "wording") if c in record)]
    name, *rest = [f"{key} {record[key]!r}" for key in keys]
    return f"{name} ({', '.join(rest)})"


def _handle_lost(
    lost: Sequence[tuple[str, pd.DataFrame]], on: Sequence[str], incomplete: str
) -> None:
    counts = ", ".join(f"{len(frame)} in the {name} frame alone" for name, frame in lost)
    shown = [_named(row) for _, frame in lost for _, row in frame.head(3).iterrows()]
    text = f"records without a match on ({', '.join(on)}): {counts}; {', '.join(shown)}"
    if incomplete == "refuse":
        raise SchemaError(
            f"Both frames must hold the same records, got {text}. Score the rest, or leave them "
            "out with incomplete='drop'."
        )
    print(f"Left out {text}.", file=sys.stderr)


def _check_facts(first: pd.DataFrame, second: pd.DataFrame) -> None:
    for fact in FACTS:
        if fact not in first.columns or fact not in second.columns:
            continue
        one, other = first[fact].astype(object), second[fact].astype(object)
        differ = (one.notna() & other.notna() & (one != other)).to_numpy()
        if differ.any():
            which = int(differ.argmax())
            raise SchemaError(
                f"`{fact}` of a sample must be the same on both sides, got {one.iloc[which]!r} and "
                f"{other.iloc[which]!r} for {_named(first.iloc[which])} ({differ.sum()} of "
                f"{len(first)} rows)."
            )
