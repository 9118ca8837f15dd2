"""Tables of what an audit costs; a table of nothing says that it was not measured."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.cost import ANALYSIS_PEAK, BOOTSTRAP, PEAK, RESAMPLES
from vca_core.tables.core import NONE

DATA = {"pairs": "pairs", "single": "single statements"}
"""Display names of what the benchmarks score; any other key is shown as it is."""
NOT_MEASURED = "not measured"


def amount(measure: str, value: float) -> str:
    """Write a measured value with its unit; the bootstrap's ratio as a fraction."""
    if pd.isna(value):
        return NONE
    if measure in (PEAK, ANALYSIS_PEAK):
        return f"{value / 1e9:.2f} GB"
    if measure == BOOTSTRAP:
        return f"1/{1 / value:.0f}"
    if measure == RESAMPLES:
        return f"{value:.2f} s"
    decimals = 3 - sum(value >= step for step in (2, 10, 100))
    return f"{value:.{decimals}f}"


def ratios_table(judged: pd.DataFrame, measures: Mapping[str, str]) -> pd.DataFrame:
    """Ratios with their range, and the aim of the first of them, from `judge`.

    Parameters
    ----------
    judged : DataFrame
        Of `cost_ratios`.
    measures : mapping of str
        Measure to the heading of its column.

    Returns
    -------
    DataFrame of text, one row per model and data
    """
    require_columns(judged, ("model", "data", "measure", "n", "value", "low", "high", "aim", "met"))
    rows = judged[judged["measure"].isin(measures)].assign(cell=ranges)
    first, *_ = measures
    aims = rows[rows["measure"] == first].set_index(["model", "data"])
    table = rows.pivot(index=["model", "data"], columns="measure", values="cell")
    table = table.reindex(index=aims.index, columns=list(measures)).rename(columns=dict(measures))
    table = table.assign(Aim=aim_cells(aims), Met=met_cells(aims), Repeats=aims["n"]).reset_index()
    table["data"] = table["data"].map(lambda key: DATA.get(key, key))
    return or_nothing(
        table.rename(columns={"model": "Model", "data": "Data"}).rename_axis(columns=None)
    )


def growth_table(growths: pd.DataFrame, size: str) -> pd.DataFrame:
    """Show times at growing sizes, from `growth` or `analysis_growth`; `size` names what grows."""
    require_columns(growths, ("series", "size", "times", "seconds", "value"))
    table = pd.DataFrame(
        {
            "Of": growths["series"],
            size: growths["size"].map("{:,.0f}".format),
            "Times the smallest": growths["times"].map("{:.3g}".format),
            "Seconds": growths["seconds"].map("{:.2f}".format),
            "Time of one, relative": growths["value"].map(two),
        }
    )
    return or_nothing(table)


def bootstrap_table(judged: pd.DataFrame) -> pd.DataFrame:
    """Show times of our bootstrap and of SciPy's, from `judge` of `bootstrap_ratios`."""
    require_columns(judged, ("ours", "other", "seconds", "other_seconds", "measure", "value"))
    table = pd.DataFrame(
        {
            "Ours": judged["ours"],
            "Theirs, four calls": judged["other"],
            "Ours (ms)": judged["seconds"].map(lambda s: f"{1e3 * s:.2f}"),
            "Theirs (ms)": judged["other_seconds"].map(lambda s: f"{1e3 * s:.0f}"),
            "Ratio": [amount(BOOTSTRAP, value) for value in judged["value"]],
            "Aim": aim_cells(judged),
            "Met": met_cells(judged),
        }
    )
    return or_nothing(table)


def aims_table(aims: pd.DataFrame) -> pd.DataFrame:
    """All aims with the best and the worst value measured, from `aims_met`."""
    require_columns(aims, ("measure", "data", "aim", "n", "n_met", "best", "worst"))
    data = aims["data"].map(lambda key: f", {DATA.get(key, key)}" if key else "")
    cells = {
        end: [amount(*pair) for pair in zip(aims["measure"], aims[end], strict=True)]
        for end in ("best", "worst")
    }
    met = [
        f"{met} of {n}" if n else NOT_MEASURED
        for met, n in zip(aims["n_met"], aims["n"], strict=True)
    ]
    return pd.DataFrame(
        {
            "Measure": aims["measure"] + data,
            "Aim": aim_cells(aims),
            "Best": cells["best"],
            "Worst": cells["worst"],
            "Met by": met,
        }
    )


def machine_sentence(machine: Mapping) -> str:
    """Name the machine that was measured on, from `read_measurements`; says so if none is named."""
    if not machine:
        return "On which machine is not recorded."
    day = date.fromisoformat(machine["date"])
    packages = ("torch", "transformers", "numpy", "pandas", "scipy")
    versions = ", ".join(f"{name} {machine[name]}" for name in packages if name in machine)
    return (
        f"Measured on {day.day} {day:%B %Y}: {machine['processor']} ({machine['system']}), "
        f"{machine['cores']} cores, {machine['memory_gb']} GB of memory; {machine['threads']} "
        f"thread(s) of torch and {machine['workers']} process(es) that read pictures ahead; Python "
        f"{machine['python']}, {versions}."
    )


def two(value: float) -> str:
    """Write a number with two decimals."""
    return NONE if pd.isna(value) else f"{value:.2f}"


def ranges(rows: pd.DataFrame) -> pd.Series:
    """Median, and in brackets the least and the most."""
    cells = [
        NONE
        if pd.isna(value)
        else f"{amount(measure, value)} [{amount(measure, low)}, {amount(measure, high)}]"
        for measure, value, low, high in zip(
            *(rows[c] for c in ("measure", "value", "low", "high")), strict=True
        )
    ]
    return pd.Series(cells, index=rows.index, dtype=object)


def aim_cells(rows: pd.DataFrame) -> pd.Series:
    """Aim of each row, from `judge`."""
    cells = [
        NONE if pd.isna(aim) else f"{'≤' if most else '≥'} {_limit(measure, aim)}"
        for measure, aim, most in zip(
            *(rows[c] for c in ("measure", "aim", "at_most")), strict=True
        )
    ]
    return pd.Series(cells, index=rows.index, dtype=object)


def _limit(measure: str, aim: float) -> str:
    units = {
        ANALYSIS_PEAK: f"{aim / 1e9:g} GB",
        RESAMPLES: f"{aim:g} s",
        BOOTSTRAP: f"1/{1 / aim:g}",
    }
    return units.get(measure, f"{aim:g}")


def met_cells(rows: pd.DataFrame) -> pd.Series:
    """Whether each row's value meets its aim, from `judge`."""
    names = {True: "yes", False: "no"}
    return rows["met"].astype(object).map(lambda met: NONE if pd.isna(met) else names[bool(met)])


def or_nothing(table: pd.DataFrame, reason: str = NOT_MEASURED) -> pd.DataFrame:
    """Give the table, or one row that says why it is empty."""
    if len(table):
        return table
    first, *rest = table.columns
    return pd.DataFrame([{first: reason} | dict.fromkeys(rest, NONE)], columns=table.columns)
