"""Figure of increments: what a measure adds to a prediction, in many settings."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from vca_core.figures.intervals import plot_forest
from vca_core.metrics.checks import require_columns
from vca_core.tables.increments import ADDED, TARGETS, increment_settings


def plot_increments(rates: pd.DataFrame, ax: Axes) -> Axes:
    """Draw each increment of AUROC with its interval, one row per setting.

    Parameters
    ----------
    rates : DataFrame
        Rows of `incremental_roc_auc` or `leave_one_edit_out_auroc`; other metrics than
        "increment" are passed over. Several targets share rows, by colour and marker; a feature
        other than the gap's rank is named, and the ridge penalty where there are several.
    ax : Axes

    Returns
    -------
    Axes
    """
    require_columns(rates, ("metric", "value", "low", "high"))
    found = rates[rates["metric"] == "increment"]
    names = increment_settings(found)
    other = found["added"] != "image_gap_rank"
    names[other] += ", + " + found["added"][other].map(lambda key: ADDED.get(key, key))
    if found["ridge"].nunique() > 1:
        names += found["ridge"].map(", ridge {:g}".format)
    targets = found["target"].map(lambda key: TARGETS.get(key, key))
    return plot_forest(
        found.assign(setting=names, of=targets),
        ax,
        rows="setting",
        series="of" if targets.nunique() > 1 else None,
        title="Added to held-out AUROC",
        label="difference of AUROC (points)",
        null=0,
    )
