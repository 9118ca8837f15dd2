"""The paper's tables and ranges as this book lists them: text columns, links to their pages."""

from __future__ import annotations

import pandas as pd

from vca_core.tables.core import DATASETS, NONE
from vca_core.tables.myst import Linked, myst_cell


def coverage_table(items: pd.DataFrame) -> pd.DataFrame:
    """Show where each item of the paper is computed, and what survives of its values.

    Parameters
    ----------
    items : DataFrame
        From `vca_core.coverage.coverage`.

    Returns
    -------
    DataFrame, one row per item
        Text columns; in the book the pages, tables and figures are links.
    """
    rows = []
    for row in items.to_dict("records"):
        page = _link(row["page"], row["target"])
        shown = _link(row["shown_page"], row["shown_target"])
        if row["shown_page"] == row["page"] and not isinstance(row["shown_target"], str):
            shown = "on the same page"
        survives = f"{row['values']}: {row['left']}" if row["left"] else row["values"]
        rows.append(
            {
                "In the paper": row["item"],
                "What it holds": row["title"],
                "Computed here": page or f"Not computed: {row['not_computed']}",
                "On": _data(row["data"]),
                "Published values": _join([survives, *([shown] if shown else [])]),
            }
        )
    return pd.DataFrame(
        rows, dtype=object
    )  # any other dtype would keep the text and lose the links


def _data(keys: str) -> str:
    """Name the data sets; words that are no data set stay as they are."""
    return ", ".join(DATASETS.get(key, key) for key in keys.split(", ")) or NONE


def _link(page: object, target: object) -> Linked | None:
    """Name a page, and the table, figure or equation on it where one is known."""
    if not isinstance(page, str):
        return None
    text, myst = page.rpartition("/")[2], f"{{doc}}`/{page}`"
    if isinstance(target, str):
        role = "eq" if target.startswith("eq-") else "numref"
        text, myst = f"{text}, {target}", f"{myst}, {{{role}}}`{target}`"
    return Linked(text, myst)


def _join(parts: list[str]) -> Linked:
    """Put parts into one cell, links kept."""
    return Linked("; ".join(parts), "; ".join(myst_cell(part) for part in parts))


def ranges_table(ranges: pd.DataFrame) -> pd.DataFrame:
    """Show the ranges of the running text beside those of the printed tables.

    Parameters
    ----------
    ranges : DataFrame
        From `vca_core.coverage.text_ranges`.

    Returns
    -------
    DataFrame, one row per range
        Text columns, to the printed decimals.
    """
    rows = []
    for row in ranges.to_dict("records"):
        low, high, other_low, other_high = (
            f"{row[end]:.{row['decimals']}f}"
            for end in ("low", "high", "tables_low", "tables_high")
        )
        rows.append(
            {
                "Range": row["title"],
                "Unit": row["unit"],
                "In the text": f"{low} to {high}",
                "From the tables": f"{other_low} to {other_high}" if row["tables"] else NONE,
                "Tables": row["tables"] or NONE,
            }
        )
    return pd.DataFrame(rows)


def misfits_table(numbers: pd.DataFrame) -> pd.DataFrame:
    """Show published numbers that do not fit, with what other printed numbers give.

    Parameters
    ----------
    numbers : DataFrame
        From `vca_core.coverage.misfits`.
    """
    return numbers.rename(
        columns={
            "paper": "Paper",
            "where": "Where",
            "printed": "Printed",
            "follows": "From other printed numbers",
        }
    )


def values_table(items: pd.DataFrame, meaning: dict[str, str]) -> pd.DataFrame:
    """Count the paper's tables by what survives of their values and where they are computed.

    Parameters
    ----------
    items : DataFrame
        From `vca_core.coverage.coverage`; one kind of item.
    meaning : dict of str
        What each word of ``values`` means, in the order of the rows.
    """
    rows = []
    for word, said in meaning.items():
        found = items[items["values"] == word]
        rows.append(
            {
                "Published values": f"{word}: {said}",
                "Tables": len(found),
                "Computed here": int(found["page"].notna().sum()),
                "Shown here": int(found["shown_target"].notna().sum()),
            }
        )
    return pd.DataFrame(rows)
