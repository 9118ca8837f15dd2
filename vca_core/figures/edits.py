"""Figures of the edit check."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import PercentFormatter

from vca_core.figures.intervals import plot_forest
from vca_core.metrics.checks import require_columns
from vca_core.tables.core import name_pooling
from vca_core.tables.edits import CHECKS, QUADRANTS, SCORES

STRATA = {
    "overall": "all edits",
    "relation_consistent": "source in Rel",
    "joint": "source in Joint",
}


def plot_edit_strata(rates: pd.DataFrame, ax: Axes, metric: str = "edit_visible") -> Axes:
    """Draw success on the edited picture, overall and within Rel and Joint, with intervals.

    Parameters
    ----------
    rates : DataFrame
        From `outcomes_by_stratum` (fractions); one row of points per model and pooling.
    ax : Axes
    metric : str
        Which outcome.

    Returns
    -------
    Axes
    """
    require_columns(rates, ("metric", "stratum", "pooling", "model"))
    wanted = (rates["metric"] == metric) & rates["stratum"].isin(STRATA)
    shown = name_pooling(rates[wanted]).assign(within=rates.loc[wanted, "stratum"].map(STRATA))
    plot_forest(
        shown,
        ax,
        rows="model",
        series="within",
        title=f"Success: {CHECKS.get(metric, metric).lower()}",
        label="share of edit records (%)",
    )
    ax.set_xlim(0, 1)
    return ax


def plot_ranking(rates: pd.DataFrame, ax: Axes, target: str = "edit_visible") -> Axes:
    """Draw the AUROC of each score for one event, per model and pooled, with intervals.

    Parameters
    ----------
    rates : DataFrame
        From `ranking_rates` (fractions).
    ax : Axes
    target : str
        Which event.

    Returns
    -------
    Axes
    """
    require_columns(rates, ("target", "score", "metric", "pooling", "model"))
    wanted = rates[(rates["target"] == target) & (rates["metric"] == "roc_auc")]
    shown = name_pooling(wanted).assign(by=wanted["score"].map(lambda key: SCORES.get(key, key)))
    plot_forest(
        shown,
        ax,
        rows="model",
        series="by",
        title=f"Ranking: {CHECKS.get(target, target).lower()}",
        label="AUROC (%); dashed: no ranking",
        null=0.5,
    )
    ax.set_xlim(0, 1)
    return ax


def plot_quadrants(rates: pd.DataFrame, edits: pd.DataFrame, ax: Axes) -> Axes:
    """Draw confidence against dependence as four tiles, colored by the success on the edits.

    Parameters
    ----------
    rates, edits : DataFrame
        From `quadrant_rates`, of test decisions ("share", "correct") and of edit records
        ("edit_visible"); fractions.
    ax : Axes

    Returns
    -------
    Axes
        A tile without edit records is white.
    """
    both = pd.concat([rates, edits[edits["metric"] != "share"]])
    require_columns(both, ("quadrant", "metric", "value", "n"))
    found = both.set_index(["quadrant", "metric"])
    colors = plt.get_cmap("Blues")
    as_percent = PercentFormatter(xmax=1, decimals=1, symbol=" %")
    labels = {"share": "share", "correct": "Acc", "edit_visible": "edits followed"}
    for name, (level, credit) in QUADRANTS.items():
        rows = {metric: found.loc[(name, metric)] for metric in labels}
        success = rows["edit_visible"]["value"]
        x, y = int(credit != "dependent"), int(level == "high")
        tile = "white" if pd.isna(success) else colors(success)
        ax.add_patch(plt.Rectangle((x, y), 1, 1, facecolor=tile, edgecolor="0.6"))
        texts = [
            f"{labels[metric]} {as_percent.format_pct(row['value'], 1) if row['n'] else '–'}"
            for metric, row in rows.items()
        ]
        ink = "white" if success > 0.6 else "black"
        ax.text(x + 0.5, y + 0.5, "\n".join(texts), ha="center", va="center", color=ink)
    ax.set(xlim=(0, 2), ylim=(0, 2), title="Confidence against dependence")
    ax.set_xticks([0.5, 1.5], ["dependent", "not dependent"])
    ax.set_yticks([0.5, 1.5], ["low\nconfidence", "high\nconfidence"])
    ax.grid(False)
    scale = plt.cm.ScalarMappable(Normalize(0, 1), colors)
    bar = ax.figure.colorbar(scale, ax=ax, format=PercentFormatter(xmax=1, symbol=""))
    bar.set_label("edits followed (%)")
    return ax
