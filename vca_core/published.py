"""Published reference values of the Visual Credit Audit, by table and row. Not scores made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

_FOLDER = Path(__file__).parent / "reference"
_RUN = ["model", "dataset"]
_CELLS = ("dcc", "cu", "support_advantaged_error", "wrong_not_dependent")

View = Literal["headline", "cells", "prediction", "label", "balanced", "survival"]


@cache
def load_reference(name: str, number: Callable[[str], object] = float) -> dict:
    """Read a file of published values; `number` makes its decimal numbers from their text."""
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"), parse_float=number)


def published_table(table: str, *, as_text: bool = False) -> pd.DataFrame:
    """All rows of a published table, as printed.

    Parameters
    ----------
    table : str
        "T02", "T12", "T37", "headline_ranges", "checkpoints", ...
    as_text : bool
        Decimal numbers as the text that is printed, trailing zeros included.

    Returns
    -------
    DataFrame
        Rates in **percent** to the printed decimals (they are facts of print, not results);
        columns and data sets carry this package's names; ``<column>_low`` and ``<column>_high``
        are a printed 95 % interval. No rows where the values are lost in the text we have. `attrs`
        holds "source", "caption", "where" in the paper and "units", and where they apply "note"
        and "recoverable": what other printed numbers still give of a lost table.

    Raises
    ------
    ValueError
        If there is no such table; names those there are.

    Notes
    -----
    Source: [liu2026visual]_.
    """
    reference = load_reference("vca_tables.json", str if as_text else float)
    if table not in reference["tables"]:
        known = ", ".join(map(repr, reference["tables"]))
        raise ValueError(f"Unknown table {table!r}; expected one of {known}.")
    entry = reference["tables"][table]
    frame = pd.DataFrame(entry["rows"], dtype=object if as_text else None)
    said = {key: value for key, value in entry.items() if key != "rows"}
    frame.attrs = {"source": reference["source"]} | said
    return frame


def published(table: str, **row: object) -> dict:
    """One row of a published table, as printed (rates in percent).

    Parameters
    ----------
    table : str
        As in `published_table`.
    **row
        What picks the row, as in ``published("T13", model="Qwen", dataset="vsr",
        prediction="yes")["dcc"]``.

    Raises
    ------
    ValueError
        If not exactly one row fits, or there is no such table.
    """
    rows = [
        r
        for r in published_table(table).to_dict("records")
        if all(name in r and r[name] == value for name, value in row.items())
    ]
    if len(rows) != 1:
        raise ValueError(f"One row of {table} must fit {row}, got {len(rows)}.")
    return rows[0]


def published_cells() -> pd.DataFrame:
    """Give counts of the eight published runs by prediction and gold answer.

    Returns
    -------
    DataFrame, one row per (model, dataset, prediction, label)
        ``n``, ``dependent``, and ``strict_min`` and ``strict_max``: strict isolation by prediction
        and gold together is a range in two runs, everything else is the only count that fits.

    Notes
    -----
    Solved from T12, T13, T14 and T28 of [liu2026visual]_.
    """
    reference = load_reference("vca_cells.json")
    rows = [
        (run["model"], run["dataset"], *cell) for run in reference["runs"] for cell in run["cells"]
    ]
    frame = pd.DataFrame(rows, columns=[*_RUN, *reference["cell_columns"]])
    frame.attrs = {"source": reference["source"]}
    return frame


def _events(cells: pd.DataFrame) -> pd.DataFrame:
    """Count each event in each cell of prediction × label."""
    right = cells["prediction"] == cells["label"]
    rest = cells["n"] - cells["dependent"]
    return cells.assign(
        correct=cells["n"].where(right, 0),
        dcc=cells["dependent"].where(right, 0),
        cu=rest.where(right, 0),
        support_advantaged_error=cells["dependent"].where(~right, 0),
        wrong_not_dependent=rest.where(~right, 0),
    )


def published_runs() -> pd.DataFrame:
    """Give counts of the eight published runs, one row each.

    Returns
    -------
    DataFrame
        ``model``, ``dataset``, ``n`` and the counts ``correct``, ``dependent``, ``dcc``, ``cu``,
        ``support_advantaged_error``, ``wrong_not_dependent``, ``strict``; of dependent records
        ``text_only_same``, ``blank_same``, ``both_same``, ``any_changes``.

    Notes
    -----
    Solved from T12, T13, T14 and T28 of [liu2026visual]_; every count is the only one that fits.
    """
    reference = load_reference("vca_cells.json")
    counts = ["n", "correct", "dependent", *_CELLS]
    runs = _events(published_cells()).groupby(_RUN, sort=False)[counts].sum().reset_index()
    rest = pd.DataFrame(
        [
            {"model": r["model"], "dataset": r["dataset"], "strict": r["strict"], **r["survival"]}
            for r in reference["runs"]
        ]
    )
    frame = runs.merge(rest, on=_RUN, validate="one_to_one")
    frame.attrs = {"source": reference["source"]}
    return frame


def _strata(column: str) -> pd.DataFrame:
    """Count by stratum; strict is the integer that the stratum's printed percentage fits."""
    keys = [*_RUN, column]
    counts = ["n", "correct", "dependent", "dcc", "cu"]
    strata = _events(published_cells()).groupby(keys, sort=False)[counts].sum().reset_index()
    printed = published_table("T13" if column == "prediction" else "T14")[[*keys, "strict"]]
    strata = strata.merge(printed, on=keys, validate="one_to_one")
    strata["strict"] = (strata["strict"] / 100 * strata["n"]).round().astype(int)
    strata.insert(2, "stratified_by", column)
    return strata.rename(columns={column: "stratum"})


def _long(counts: pd.DataFrame, metrics: dict[str, tuple[str, str]]) -> pd.DataFrame:
    """One row per run and metric from counts; `metrics` maps a metric to its two columns."""
    keys = [c for c in (*_RUN, "stratified_by", "stratum") if c in counts.columns]
    parts = [
        counts[keys].assign(
            metric=metric,
            value=counts[top] / counts[bottom],
            low=float("nan"),
            high=float("nan"),
            n=counts[bottom],
            order=range(len(counts)),
        )
        for metric, (top, bottom) in metrics.items()
    ]
    return (
        pd.concat(parts)
        .sort_values("order", kind="stable", ignore_index=True)
        .drop(columns="order")
    )


def published_rates(view: View) -> pd.DataFrame:
    """Rates of the eight published runs as fractions, from the counts, in the metrics' long form.

    Parameters
    ----------
    view : {"headline", "cells", "prediction", "label", "balanced", "survival"}
        The four rates; the four cells and credited precision; the rates by original prediction;
        by gold answer; balanced over either; decision survival.

    Returns
    -------
    DataFrame, one row per run (and stratum) and metric
        As the frame of the function in `vca_core.metrics`, with ``low`` and ``high`` NaN: the
        intervals of these rates are not published, and counts alone do not give them. `attrs`
        holds "source". Balanced rates come from exact counts, and so differ from T15 by up to
        0.01 points.

    Raises
    ------
    ValueError
        If `view` is none of these.

    Notes
    -----
    Source: [liu2026visual]_, T12, T13, T14, T28.
    """
    runs = published_runs()
    rates = {"accuracy": "correct", "dependent": "dependent", "dcc": "dcc", "cu": "cu"}
    if view == "headline":
        frame = _long(runs, {m: (c, "n") for m, c in rates.items()})
    elif view == "cells":
        cells = {c: (c, "n") for c in _CELLS}
        frame = _long(runs, cells | {"credited_precision": ("dcc", "dependent")})
    elif view == "survival":
        answers = ("text_only_same", "blank_same", "both_same", "any_changes")
        frame = _long(runs, {c: (c, "dependent") for c in answers})
    elif view in ("prediction", "label"):
        frame = _long(
            _strata(view), {m: (c, "n") for m, c in (rates | {"strict": "strict"}).items()}
        )
    elif view == "balanced":
        both = pd.concat([published_rates("prediction"), published_rates("label")])
        keys = [*_RUN, "stratified_by", "metric"]
        sides = both.groupby(keys, sort=False)
        frame = sides.agg(value=("value", "mean"), n=("n", "sum")).reset_index()
        frame[["low", "high"]] = float("nan")
    else:
        raise ValueError(f"Unknown view {view!r}; expected one of {View.__args__}.")
    frame.attrs = {"source": runs.attrs["source"]}
    return frame
