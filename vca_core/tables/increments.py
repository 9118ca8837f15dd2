"""Tables of increments: what a measure adds to a prediction."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import display

TARGETS = {
    "edit_relation": "Relation only",
    "edit_visible": "Flip and visibility",
    "edit_strict": "Strict composite",
    "relation_consistent": "Rel. consistency",
}
"""Display names of predicted events; any other is shown as it is."""
ADDED = {"image_gap_rank": "gap rank", "pair_dependent": "Pair D"}
WITHIN = {
    "source_consistent": "original pair right",
    "relation_consistent": "within Rel.",
}
SIGNED = "model, relation, margin_original_rank"
COLUMNS = ("target", "added", "baseline", "hold_out", "within", "ridge", "stratum")


def increment_settings(rates: pd.DataFrame) -> pd.Series:
    """Say in words what each row of `incremental_roc_auc` is of, target and penalty apart."""
    require_columns(rates, COLUMNS)
    return pd.Series([_setting(row) for _, row in rates.iterrows()], rates.index, dtype=object)


def _setting(row: pd.Series) -> str:
    within = row["within"]
    stratum = "" if pd.isna(row["stratum"]) else str(row["stratum"])
    held_out = "" if row["hold_out"] == "edit_id" else f"{stratum or row['hold_out']} held out"
    parts = [
        WITHIN.get(within, within.replace("axis = ", "").replace("model != ", "without ")),
        held_out or stratum,
        "signed-margin rank" if row["baseline"] == SIGNED else "",
    ]
    return ", ".join(part for part in parts if part) or "all records"


def increments_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Held-out AUROC without and with a feature in percent, and the difference in points.

    Parameters
    ----------
    rates : DataFrame
        Rows of `incremental_roc_auc` or `leave_one_edit_out_auroc`.

    Returns
    -------
    DataFrame of text, one row per target and setting
        ``n`` counts records. The strict composite within the original pairs answered right is
        named flip and visibility, which it is there. What was added and the ridge penalty have
        columns where they differ between rows; otherwise say them in the caption.
    """
    require_columns(rates, (*COLUMNS, "n_clusters"))
    # Where the original pair is answered right, the strict composite is flip and visibility.
    same = (rates["target"] == "edit_strict") & (rates["within"] == "source_consistent")
    target = rates["target"].mask(same, "edit_visible")
    named = pd.DataFrame(
        {
            "Target": target.map(lambda key: TARGETS.get(key, key)),
            "Setting": increment_settings(rates),
            "Added": rates["added"].map(lambda key: ADDED.get(key, key)),
            "Ridge": rates["ridge"].map("{:g}".format),
            "Edits": rates["n_clusters"],
        }
    )
    alike = [column for column in ("Added", "Ridge") if named[column].nunique() < 2]
    numbers = rates[["metric", "value", "low", "high", "n"]]
    names = {
        "baseline_roc_auc": "Baseline",
        "augmented_roc_auc": "Augmented",
        "increment": "Difference",
    }
    return display(
        pd.concat([named.drop(columns=alike), numbers], axis=1), names, {"increment": "points"}
    )
