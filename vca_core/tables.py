"""Frames of rates to the page's tables: the only place that multiplies by 100 and rounds."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import pandas as pd

from vca_core.metrics.checks import require_columns

DATASETS = {
    "pairs": "Scene pairs",
    "queries": "Scene queries",
    "queries_inverse": "Scene queries, inverse",
    "queries_wordings": "Scene queries, wordings",
    "queries_system": "Scene queries, system message",
    "factorial": "Scene factorial",
    "neutral": "Scene neutral",
    "edits": "Scene edits",
    "vsr": "VSR",
    "gsr_coco": "GSR-COCO",
}
"""Display names of data sets; any other key is shown as it is."""
HEADINGS = {
    "model": "Model",
    "dataset": "Data",
    "interface": "Interface",
    "wording": "Wording",
    "stratified_by": "Split by",
    "stratum": "Stratum",
}
RATES = {"accuracy": "Acc", "dependent": "Dep", "dcc": "D-CC", "cu": "C-U"}
SPLITS = {"prediction": "prediction", "label": "gold answer", "relation": "relation"}
_ESTIMATE = {"value", "low", "high", "n", "n_clusters", "n_undefined"}
_NONE = "–"


def _percent(value: float, low: float, high: float) -> str:
    bounds = "" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.2f}{bounds}"


def _nats(value: float, low: float, high: float) -> str:
    bounds = "" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.3f}{bounds}"


def _cell(row: pd.Series, n: int, unit: str) -> str:
    """Value and interval as text; a denominator other than the row's `n` is said."""
    if unit == "count":
        return str(round(row["value"] * row["n"])) if row["n"] else _NONE
    show = _nats if unit == "nats" else _percent
    text = _NONE if pd.isna(row["value"]) else show(row["value"], row["low"], row["high"])
    return text if row["n"] == n else f"{text} (n = {row['n']})"


def _display(
    rates: pd.DataFrame, metrics: Mapping[str, str], units: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """One row per run (and stratum), one text column per metric of `metrics`, in its order."""
    require_columns(rates, ("metric", "value", "low", "high", "n"))
    units = {metric: "%" for metric in metrics} | dict(units or {})
    headings = {
        metric: name if units[metric] == "count" else f"{name} ({units[metric]})"
        for metric, name in metrics.items()
    }
    keys = [c for c in rates.columns if c not in _ESTIMATE and c != "metric"]
    wanted = rates[rates["metric"].isin(metrics)]
    rows = []
    for key, group in wanted.groupby(keys, sort=False, dropna=False) if keys else [((), wanted)]:
        found = group.set_index("metric")
        n = int(found["n"].iloc[0]) if len(found) else 0
        cells = [
            _cell(found.loc[metric], n, units[metric]) if metric in found.index else _NONE
            for metric in metrics
        ]
        rows.append((*key, n, *cells))
    table = pd.DataFrame(rows, columns=[*keys, "n", *headings.values()])
    if "dataset" in table:
        table["dataset"] = [DATASETS.get(key, key) for key in table["dataset"]]
    return table.rename(columns=HEADINGS)


def support_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Acc, Dep, D-CC and C-U in percent with intervals, from `support_rates`.

    Returns
    -------
    DataFrame of text, one row per run
        Cells read "78.18 [76.0, 80.3]". A rate of no records is "–", with its "(n = 0)"; a
        denominator that differs from the row's ``n`` is written in the cell.
    """
    return _display(rates, RATES)


def cells_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Four cells and credited precision in percent, from `outcome_decomposition`."""
    names = {
        "dcc": "Correct, dependent",
        "cu": "Correct, not dependent",
        "support_advantaged_error": "Wrong, dependent",
        "wrong_not_dependent": "Wrong, not dependent",
        "credited_precision": "Credited precision",
    }
    return _display(rates, names)


def strata_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by stratum in percent, from `rates_by` (frames of several columns may be stacked)."""
    table = _display(rates, RATES | {"strict": "Strict"})
    table["Split by"] = [SPLITS.get(column, column) for column in table["Split by"]]
    table["Stratum"] = ["not given" if pd.isna(value) else str(value) for value in table["Stratum"]]
    return table


def relation_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by relation family in percent, from `rates_by(audit, "relation")`."""
    table = strata_table(rates).rename(columns={"Stratum": "Relation"})
    return table.drop(columns="Split by")


def balanced_table(rates: pd.DataFrame) -> pd.DataFrame:
    """D-CC and C-U in percent, balanced over prediction and gold answer, from `balanced_rates`."""
    names = {"dcc": "D-CC", "cu": "C-U"}
    flat = rates[rates["metric"].isin(names)].copy()
    flat["metric"] = flat["stratified_by"] + " " + flat["metric"]
    headings = {
        f"{column} {metric}": f"{name}, by {SPLITS[column]}"
        for column in ("prediction", "label")
        for metric, name in names.items()
    }
    return _display(flat.drop(columns="stratified_by"), headings)


def survival_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Which controls keep a dependent decision, in percent, from `decision_survival`.

    ``n`` counts the dependent decisions.
    """
    names = {
        "text_only_same": "Text same",
        "blank_same": "Blank same",
        "both_same": "Both same",
        "any_changes": "Any changes",
    }
    return _display(rates, names)


def sensitivity_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Stricter definitions in percent and the mean gap in nats, from `sensitivity_rates`."""
    names = {
        "dependent": "Dep",
        "strict": "Strict T/B",
        "dependent_mismatch": "Dep+M",
        "strict_mismatch": "Strict+M",
        "mean_image_gap": "Mean gap",
    }
    return _display(rates, names, {"mean_image_gap": "nats"})


def permutation_table(rates: pd.DataFrame) -> pd.DataFrame:
    """D-CC against its permuted twin, from `permutation_calibration`; the difference in points."""
    names = {
        "dcc": "D-CC",
        "permutation_dcc": "Permuted D-CC",
        "difference": "Difference",
        "original_only": "Original only",
        "permutation_only": "Permutation only",
    }
    return _display(rates, names, {"difference": "points"})


def gaps_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Gap quantiles and mean in nats, near-zero mass in percent, ties, from `gap_summary`."""
    quantiles = {m: m for m in rates["metric"].unique() if m.startswith("quantile_")}
    names = {m: f"{100 * float(m.removeprefix('quantile_')):g} %" for m in quantiles}
    near = [m for m in rates["metric"].unique() if m.startswith("near_zero_")]
    shares = {m: f"Gap within {m.removeprefix('near_zero_')} nats" for m in near}
    units = {m: "nats" for m in (*names, "mean_image_gap")} | {"tied": "count"}
    return _display(rates, names | {"mean_image_gap": "Mean"} | shares | {"tied": "Ties"}, units)


class MystTable:
    """A numbered, captioned table: MyST for the book, HTML for a notebook on screen."""

    def __init__(self, table: pd.DataFrame, caption: str, name: str) -> None:
        self.table, self.caption, self.name = table, " ".join(caption.split()), name

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/markdown": self.to_markdown(), "text/html": self.to_html()}

    def to_markdown(self) -> str:
        """Give a MyST `list-table` with caption and target."""
        lines = [f"~~~{{list-table}} {self.caption}", f":name: {self.name}", ":header-rows: 1", ""]
        for row in (self.table.columns, *self.table.itertuples(index=False)):
            for i, cell in enumerate(row):
                lines.append(f"{'* -' if i == 0 else '  -'} {_escape(cell)}".rstrip())
        return "\n".join([*lines, "~~~"])

    def to_html(self) -> str:
        """Give a plain HTML table with its caption; all text is escaped."""
        body = self.table.to_html(index=False, escape=True, border=0)
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        return body.replace(">", f">\n  {caption}", 1)


def _escape(cell: object) -> str:
    """Text that MyST shows letter by letter: every ASCII punctuation mark gets a backslash."""
    text = _NONE if pd.isna(cell) else " ".join(str(cell).split())
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def to_myst(table: pd.DataFrame, caption: str, name: str) -> MystTable:
    """Show a table in a notebook and, numbered and captioned, in the book.

    Parameters
    ----------
    table : DataFrame
        From one of the functions above. Cell text is data and is escaped, never interpreted.
    caption : str
        The author's own words; MyST in the book (maths and roles work).
    name : str
        Target of ``{numref}``, as in "tab-support-rates"; unique in the book.

    Returns
    -------
    MystTable
        Put it last in a cell. The book must render markdown outputs as MyST.

    Raises
    ------
    ValueError
        If `name` is not made of letters, digits and hyphens.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name):
        raise ValueError(f"`name` must be letters, digits and hyphens, got {name!r}.")
    return MystTable(table, caption, name)
