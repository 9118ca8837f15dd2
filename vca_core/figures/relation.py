"""Figures of the relation axis."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from vca_core.figures.intervals import MARKERS, plot_forest
from vca_core.figures.style import COLORS, legend_below, name_rows, run_rows, share_axis
from vca_core.metrics.checks import require_columns
from vca_core.tables import DATASETS

PARTS = {
    "joint": ("Joint", COLORS[0]),
    "consistent_credit": ("Rel and PairCredit, not Joint", COLORS[9]),
    "consistent_only": ("Rel, no PairCredit", COLORS[1]),
    "credit_only": ("PairCredit, no Rel", COLORS[4]),
    "neither": ("neither", COLORS[7]),
}
INPUTS = {
    "margin_original": "original",
    "margin_text_only": "no image",
    "margin_blank": "blank",
    "margin_reversed": "reversed",
}


def plot_pair_parts(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Stack the five parts of each run's relation pairs.

    Parameters
    ----------
    frame : DataFrame
        From `pair_decomposition`: ``model``, ``dataset``, ``metric``, ``value`` (fraction).
    ax : Axes

    Returns
    -------
    Axes
    """
    rows, runs = run_rows(frame, PARTS)
    left = pd.Series(0.0, index=runs)
    for metric, (name, color) in PARTS.items():
        share = rows[rows["metric"] == metric].set_index("run")["value"].reindex(runs)
        ax.barh(range(len(runs)), share, left=left, height=0.7, label=name, color=color)
        left = left + share
    name_rows(ax, runs)
    share_axis(ax, "What became of each relation pair", "share of pairs (%)")
    legend_below(ax, 2)
    return ax


def plot_interaction(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the mean interaction of each run with its interval.

    Parameters
    ----------
    frame : DataFrame
        From `relation_rates`: ``model``, ``dataset``, ``metric``, ``value``, ``low``, ``high`` in
        nats.
    ax : Axes

    Returns
    -------
    Axes
        Nats are each model's own: compare signs and widths, not lengths across models.
    """
    require_columns(frame, ("model", "dataset", "metric"))
    found = frame[frame["metric"] == "interaction_gap"]
    data = found["dataset"].map(lambda key: DATASETS.get(key, key))
    return plot_forest(
        found.assign(run=found["model"].astype(str) + "\n" + data.astype(str)),
        ax,
        rows="run",
        title="Mean interaction and its interval",
        label="interaction (nats, each model's own scale)",
        percent=False,
        null=0,
    )


def plot_null_controls(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the margins of response functions on what a null-control audit sees, and on the rest.

    Parameters
    ----------
    frame : DataFrame, one row per function
        ``model`` (its name) and ``margin_original``, ``margin_text_only``, ``margin_blank``,
        ``margin_reversed`` in nats.
    ax : Axes

    Returns
    -------
    Axes
    """
    require_columns(frame, ("model", *INPUTS))
    ax.axvspan(-0.5, 2.5, color="0.93", zorder=0)
    ax.axhline(0, color="0.4", linestyle="--", linewidth=1)
    for j, row in enumerate(frame.to_dict("records")):
        style = {"color": COLORS[j % len(COLORS)], "marker": MARKERS[j % len(MARKERS)]}
        # Larger below, so that functions that agree are all seen.
        ax.plot(
            range(4), [row[column] for column in INPUTS], markersize=max(13 - 4 * j, 4), **style
        )
        end = (3, row["margin_reversed"])
        offset = {"xytext": (12, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(row["model"].replace("$", r"\$"), end, **offset)
    ax.set_xticks(range(4), list(INPUTS.values()))
    ax.set_xlim(-0.5, 5.6)
    ax.set_ylabel("margin (nats)")
    return ax
