"""What of the paper is where: its tables, figures and analyses, and numbers that do not fit."""

from __future__ import annotations

import pandas as pd

from vca_core.published import load_reference, published_table

_RUN = ["model", "dataset"]


def coverage() -> pd.DataFrame:
    """List every table, figure, equation and analysis of the paper, and where it is computed.

    Returns
    -------
    DataFrame, one row per item
        ``item``, ``kind`` ("table", "figure", "equation" or "analysis"), ``title``, ``section`` of
        the paper; ``values``, what survives of the paper's own ("printed", "rebuilt", "partly" or
        "lost"); ``page``, ``target`` and ``data``, where this book computes it and on which data
        sets, NaN where it doesn't; ``shown_page`` and ``shown_target``, where the published values
        stand; ``left``, what other printed numbers still give of what is lost; ``not_computed``,
        why it isn't. `attrs` holds "source" and "values", the meaning of the four words.

    Notes
    -----
    Source: [liu2026visual]_.
    """
    reference = load_reference("coverage.json")
    frame = pd.DataFrame(reference["items"]).fillna({"left": "", "not_computed": ""})
    for row in frame.query("kind == 'table' and left == ''").index:
        printed = published_table(frame.loc[row, "item"])
        frame.loc[row, "left"] = printed.attrs.get("recoverable", "")
    frame.attrs = {"source": reference["source"], "values": reference["values"]}
    return frame


def text_ranges() -> pd.DataFrame:
    """Set the ranges printed in the running text beside those of the printed tables.

    Returns
    -------
    DataFrame, one row per range
        ``title``, ``unit``, ``decimals`` as printed, ``low`` and ``high`` as in the text;
        ``tables``, those that give the range ("" where none does), and ``tables_low`` and
        ``tables_high``, the smallest and the largest value there. Rates in percent, as printed.

    Notes
    -----
    Source: [liu2026visual]_. A difference of two printed numbers can be off by 0.01.
    """
    rows = []
    for entry in load_reference("coverage.json")["ranges"]:
        table = published_table(entry["table"], as_text=True).set_index("quantity")
        low, high = table.loc[entry["quantity"], ["low", "high"]]
        values = _values(entry["tables"].split(), entry["formula"])
        rows.append(
            {
                "title": entry["title"],
                "unit": entry["unit"],
                "decimals": len(low.partition(".")[2]),
                "low": float(low),
                "high": float(high),
                "tables": entry["tables"].replace(" ", ", "),
                "tables_low": values.min(),
                "tables_high": values.max(),
            }
        )
    return pd.DataFrame(rows)


def _values(tables: list[str], formula: str) -> pd.Series:
    """Evaluate `formula` row by row on the printed tables; no tables, no values."""
    if not tables:
        return pd.Series(dtype=float)
    frame = published_table(tables[0])
    for other in tables[1:]:
        frame = frame.merge(published_table(other), on=_RUN, validate="one_to_one")
    return frame.eval(formula)


def misfits() -> pd.DataFrame:
    """List the published numbers that other printed numbers contradict.

    Returns
    -------
    DataFrame, one row per number
        ``paper``, ``where``, ``printed`` and ``follows``: what other printed numbers give.

    Notes
    -----
    Found by comparing printed numbers through the integer counts they stand for.
    """
    return pd.DataFrame(load_reference("coverage.json")["misfits"])
