"""Published tables as they are shown beside computed ones: as printed, folded, labelled."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vca_core.published import published_table
from vca_core.tables.core import DATASETS, HEADINGS, NONE
from vca_core.tables.myst import MystTable, to_myst


def published_view(table: str, columns: Mapping[str, str], name: str, note: str = "") -> MystTable:
    """Show a published table, folded under a heading that says whose values these are.

    Parameters
    ----------
    table : str
        As in `vca_core.published.published_table`.
    columns : mapping of str
        Column to heading, in order; what isn't named is left out. A column ``x`` that comes with
        ``x_low`` and ``x_high`` (``value`` with ``low`` and ``high``) is shown with its interval.
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
    shown = pd.DataFrame(
        {
            HEADINGS.get(column, heading): [_text(row, column) for row in frame.to_dict("records")]
            for column, heading in columns.items()
        }
    )
    about = f"Published, not computed here: {table} of the paper. {frame.attrs['caption']}"
    units = f" ({frame.attrs['units']})."
    return to_myst(shown, f"{about}{units} {note}", name, folded=f"Published values: {table}")


def _text(row: dict, column: str) -> str:
    value = row.get(column)
    if column == "dataset":
        return DATASETS.get(value, value)
    if not isinstance(value, str) and pd.isna(value):
        return NONE
    stem = "" if column == "value" else f"{column}_"
    low, high = row.get(f"{stem}low"), row.get(f"{stem}high")
    bounds = "" if low is None or pd.isna(low) else f" [{low}, {high}]"
    return f"{value}{bounds}"
