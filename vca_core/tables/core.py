"""From long frames of rates to text tables: display names, percent, rounding."""

from __future__ import annotations

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
POOLING = {
    "micro": "All models (micro)",
    "macro": "Mean of models (macro)",
    "rank": "All models (ranks pooled)",
}
"""What stands in a row over models, in place of a model's name."""
ESTIMATE = {"value", "low", "high", "n", "n_clusters", "n_undefined", "n_models"}
NONE = "–"


def percent(value: float, low: float, high: float) -> str:
    """Write a fraction with its interval, in percent."""
    bounds = "" if pd.isna(low) else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.2f}{bounds}"


def nats(value: float, low: float, high: float) -> str:
    """Write a number with its interval, in nats or another unit of its own."""
    bounds = "" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.3f}{bounds}"


def _cell(row: pd.Series, n: int, unit: str) -> str:
    """Value and interval as text; a denominator other than the row's `n` is said."""
    if unit == "count":
        return str(round(row["value"] * row["n"])) if row["n"] else NONE
    show = nats if unit == "nats" else percent
    text = NONE if pd.isna(row["value"]) else show(row["value"], row["low"], row["high"])
    return text if row["n"] == n else f"{text} (n = {row['n']})"


def name_pooling(rates: pd.DataFrame) -> pd.DataFrame:
    """Put the name of a pooling into ``model``, and drop ``pooling``."""
    if "pooling" not in rates:
        return rates
    names = rates["pooling"].map(POOLING)
    model = rates["model"] if "model" in rates else None
    rest = rates.drop(columns=["pooling", "model"], errors="ignore")
    rest.insert(0, "model", names if model is None else names.where(names.notna(), model))
    return rest


def display(
    rates: pd.DataFrame, metrics: Mapping[str, str], units: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """One row per run (and stratum), one text column per metric of `metrics`, in its order."""
    require_columns(rates, ("metric", "value", "low", "high", "n"))
    units = {metric: "%" for metric in metrics} | dict(units or {})
    headings = {
        metric: name if units[metric] == "count" else f"{name} ({units[metric]})"
        for metric, name in metrics.items()
    }
    rates = name_pooling(rates)
    keys = [c for c in rates.columns if c not in ESTIMATE and c != "metric"]
    wanted = rates[rates["metric"].isin(metrics)]
    rows = []
    for key, group in wanted.groupby(keys, sort=False, dropna=False) if keys else [((), wanted)]:
        found = group.set_index("metric")
        n = int(found["n"].iloc[0]) if len(found) else 0
        cells = [
            _cell(found.loc[metric], n, units[metric]) if metric in found.index else NONE
            for metric in metrics
        ]
        rows.append((*key, n, *cells))
    table = pd.DataFrame(rows, columns=[*keys, "n", *headings.values()])
    if "dataset" in table:
        table["dataset"] = [DATASETS.get(key, key) for key in table["dataset"]]
    return table.rename(columns=HEADINGS)
