"""Published tables as they are shown beside computed ones: as printed, folded, labelled."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vca_core.published import load_reference, published_table
from vca_core.tables.core import HEADINGS, NONE
from vca_core.tables.myst import MystTable, to_myst
from vca_core.tables.published_words import cell_words

_RANGE = 'A range is written "low to high".'
_INTERVAL = "Brackets hold a 95 % interval."


def published_view(table: str, columns: Mapping[str, str], name: str, note: str = "") -> MystTable:
    """Show a published table, folded under a heading that says whose values these are.

    Parameters
    ----------
    table : str
        As in `vca_core.published.published_table`.
    columns : mapping of str
        Column to heading, in order; what isn't named is left out. A column ``x`` that comes with
        ``x_low`` and ``x_high`` (``value`` with ``low`` and ``high``) is shown with its interval.
        A table of quantities has the columns of `text_table`, whatever is named.
    name : str
        Target of ``{numref}``, as in "tab-published-relation".
    note : str
        Added to the caption.

    Returns
    -------
    MystTable
        Numbers as printed in the paper, with the paper's own models and data.
    """
    frame = published_table(table, as_text=True)
    if "quantity" in frame:
        shown, units = text_table(table), ""
    else:
        rows = frame.to_dict("records")
        shown = pd.DataFrame(
            {
                HEADINGS.get(column, heading): [_text(row, column) for row in rows]
                for column, heading in columns.items()
            }
        )
        units = f"In {frame.attrs['units']}." if frame.attrs["units"] != "categorical" else ""
    place = table if _is_numbered(table) else "running text"
    about = f"Published, not computed here: {place} of the paper. {frame.attrs['caption']}."
    caption = f"{about} {units} {_marks(shown)} {note}"
    return to_myst(shown, caption, name, folded=f"Published values: {place}")


def text_table(table: str) -> pd.DataFrame:
    """Show numbers that the paper quotes in its running text, as printed, each with its unit.

    Parameters
    ----------
    table : str
        A table of `vca_core.published.published_table` with a column ``quantity``.

    Returns
    -------
    DataFrame of text, one row per quantity
        "Quantity", "Value" ("Range" where all are ranges) and "Unit"; "Interval" is the kind of
        the interval where the paper says one. What a table beside it has is left out.
    """
    words = load_reference("words.json")[table]
    frame = published_table(table, as_text=True)
    rows = [row for row in frame.to_dict("records") if words[row["quantity"]]]
    shown = pd.DataFrame([words[row["quantity"]] for row in rows], columns=["Quantity", "Unit"])
    shown.insert(1, "Value" if "value" in frame else "Range", [_text(row, "value") for row in rows])
    if "ci_kind" in frame:
        shown["Interval"] = [NONE if pd.isna(row["ci_kind"]) else row["ci_kind"] for row in rows]
    return shown


def _is_numbered(table: str) -> bool:
    return table[0] == "T" and table[1:].isdigit()


def _marks(shown: pd.DataFrame) -> str:
    """Say what is a range and what an interval, where there are any."""
    cells = " ".join(shown.astype(str).to_numpy().ravel())
    ranges = [column for column in ("Value", "Range") if column in shown]
    is_range = any(shown[column].str.contains(" to ").any() for column in ranges)
    return f"{_RANGE if is_range else ''} {_INTERVAL if '[' in cells else ''}".strip()


def _text(row: dict, column: str) -> str:
    """Write a cell: words, a range, or a number with its interval, its whole or its share."""
    stem = "" if column == "value" else f"{column}_"
    low, high = row.get(f"{stem}low"), row.get(f"{stem}high")
    has_ends = low is not None and not pd.isna(low)
    value = cell_words(column, row.get(column))
    if value is None or pd.isna(value):
        return f"{low} to {high}" if has_ends else NONE
    said = [f" [{low}, {high}]" if has_ends else ""]
    if column == "value":
        shares = (row.get(share) for share in ("percent", "percent_of_all"))
        said += [f" ({share} %)" for share in shares if not pd.isna(share) and share is not None]
        said += [f" of {row['of']}" if "of" in row and not pd.isna(row["of"]) else ""]
    return f"{value}{''.join(said)}"
