"""Tables of the support audit."""

from __future__ import annotations

import pandas as pd

from vca_core.tables.core import RATES, SPLITS, display


def support_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Acc, Dep, D-CC and C-U in percent with intervals, from `support_rates`.

    Returns
    -------
    DataFrame of text, one row per run
        Cells read "78.18 [76.0, 80.3]". A rate of no records is "–", with its "(n = 0)"; a
        denominator that differs from the row's ``n`` is written in the cell.
    """
    return display(rates, RATES)


def cells_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Four cells and credited precision in percent, from `outcome_decomposition`."""
    names = {
        "dcc": "Correct, dependent",
        "cu": "Correct, not dependent",
        "support_advantaged_error": "Wrong, dependent",
        "wrong_not_dependent": "Wrong, not dependent",
        "credited_precision": "Credited precision",
    }
    return display(rates, names)


def strata_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates by stratum in percent, from `rates_by` (frames of several columns may be stacked)."""
    table = display(rates, RATES | {"strict": "Strict"})
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
    return display(flat.drop(columns="stratified_by"), headings)


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
    return display(rates, names)


def sensitivity_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Stricter definitions in percent and the mean gap in nats, from `sensitivity_rates`."""
    names = {
        "dependent": "Dep",
        "strict": "Strict T/B",
        "dependent_mismatch": "Dep+M",
        "strict_mismatch": "Strict+M",
        "mean_image_gap": "Mean gap",
    }
    return display(rates, names, {"mean_image_gap": "nats"})


def permutation_table(rates: pd.DataFrame) -> pd.DataFrame:
    """D-CC against its permuted twin, from `permutation_calibration`; the difference in points."""
    names = {
        "dcc": "D-CC",
        "permutation_dcc": "Permuted D-CC",
        "difference": "Difference",
        "original_only": "Original only",
        "permutation_only": "Permutation only",
    }
    return display(rates, names, {"difference": "points"})


def gaps_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Gap quantiles and mean in nats, near-zero mass in percent, ties, from `gap_summary`."""
    quantiles = {m: m for m in rates["metric"].unique() if m.startswith("quantile_")}
    names = {m: f"{100 * float(m.removeprefix('quantile_')):g} %" for m in quantiles}
    near = [m for m in rates["metric"].unique() if m.startswith("near_zero_")]
    shares = {m: f"Gap within {m.removeprefix('near_zero_')} nats" for m in near}
    units = {m: "nats" for m in (*names, "mean_image_gap")} | {"tied": "count"}
    return display(rates, names | {"mean_image_gap": "Mean"} | shares | {"tied": "Ties"}, units)
