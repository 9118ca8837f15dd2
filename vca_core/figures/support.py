"""Figures of the support audit."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from vca_core.figures.style import COLORS, legend_below, name_rows, run_rows, share_axis

CELLS = {
    "dcc": ("correct, dependent", COLORS[0]),
    "cu": ("correct, not dependent", COLORS[1]),
    "support_advantaged_error": ("wrong, dependent", COLORS[9]),
    "wrong_not_dependent": ("wrong, not dependent", COLORS[7]),
}
RATES = {
    "accuracy": ("Acc", COLORS[7], "s"),
    "dependent": ("Dep", COLORS[4], "D"),
    "dcc": ("D-CC", COLORS[0], "o"),
    "cu": ("C-U", COLORS[1], "^"),
}


def plot_outcome_decomposition(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Stack the four cells of each run: correct or wrong, dependent or not.

    Parameters
    ----------
    frame : DataFrame
        From `outcome_decomposition`: ``model``, ``dataset``, ``metric``, ``value`` (fraction).
    ax : Axes

    Returns
    -------
    Axes
    """
    rows, runs = run_rows(frame, CELLS)
    left = pd.Series(0.0, index=runs)
    for metric, (name, color) in CELLS.items():
        share = rows[rows["metric"] == metric].set_index("run")["value"].reindex(runs)
        ax.barh(range(len(runs)), share, left=left, height=0.7, label=name, color=color)
        left = left + share
    name_rows(ax, runs)
    share_axis(ax, "What became of each decision", "share of decisions (%)")
    legend_below(ax, 2)
    return ax


def plot_rates(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw Acc, Dep, D-CC and C-U of each run as points with their intervals.

    Parameters
    ----------
    frame : DataFrame
        From `support_rates`: ``model``, ``dataset``, ``metric``, ``value``, ``low``, ``high``
        (fractions). A rate without an interval is a bare point; an undefined rate is left out.
    ax : Axes

    Returns
    -------
    Axes
    """
    rows, runs = run_rows(frame, RATES)
    place = {run: i for i, run in enumerate(runs)}
    for j, (metric, (name, color, marker)) in enumerate(RATES.items()):
        found = rows[rows["metric"] == metric]
        y = found["run"].map(place) + (j - 1.5) * 0.17
        ax.hlines(y, found["low"], found["high"], color=color, linewidth=2)
        ax.plot(found["value"], y, marker, color=color, label=name, markersize=6, clip_on=False)
    name_rows(ax, runs)
    bars = "; bars: intervals" if rows["low"].notna().any() else ""
    share_axis(ax, f"Rates of each run{bars}", "share of decisions (%)")
    legend_below(ax, 4)
    return ax


def plot_gap_distribution(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the image gap of each run: quantiles 5, 25, 50, 75 and 95 %, and the mean.

    Parameters
    ----------
    frame : DataFrame
        From `gap_summary`: ``model``, ``dataset``, ``metric``, ``value`` in nats.
    ax : Axes

    Returns
    -------
    Axes
        Gaps are in each model's own units: compare shapes and signs, not lengths across models.
    """
    parts = {
        "whislo": "quantile_0.05",
        "q1": "quantile_0.25",
        "med": "quantile_0.5",
        "q3": "quantile_0.75",
        "whishi": "quantile_0.95",
        "mean": "mean_image_gap",
    }
    rows, runs = run_rows(frame, dict.fromkeys(parts.values()))
    wide = rows.pivot(index="run", columns="metric", values="value").reindex(runs)
    boxes = [{part: wide.loc[run, metric] for part, metric in parts.items()} for run in runs]
    if boxes:
        ax.bxp(
            boxes,
            positions=range(len(runs)),
            orientation="horizontal",
            widths=0.6,
            showfliers=False,
            showmeans=True,
            patch_artist=True,
            boxprops={"facecolor": COLORS[9], "alpha": 0.6},
            medianprops={"color": "black", "linewidth": 2},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black"},
            manage_ticks=False,
        )
    ax.axvline(0, color=COLORS[3], linestyle="--", label="no gap: not dependent at or below")
    name_rows(ax, runs)
    ax.set_xlabel("image gap (nats, each model's own scale)")
    ax.set_title("Image gap: 5, 25, 50, 75, 95 %; diamond: mean")
    legend_below(ax, 1)
    return ax
