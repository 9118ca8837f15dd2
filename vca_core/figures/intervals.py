"""Forest plots: estimates with their intervals, one row each."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from vca_core.figures.style import COLORS, legend_below, name_rows
from vca_core.metrics.checks import require_columns

MARKERS = "osD^vPX"


def plot_forest(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    rows: str,
    title: str,
    label: str,
    series: str | None = None,
    percent: bool = True,
    null: float | None = None,
) -> Axes:
    """Draw estimates as points with their intervals, one row per value of a column.

    Parameters
    ----------
    frame : DataFrame
        ``value``, ``low``, ``high``, and the columns `rows` and `series`. An estimate without an
        interval is a bare point; an undefined one is left out.
    ax : Axes
    rows : str
        Column whose values name the rows, in order of first appearance, the first on top.
    title, label : str
        Of the axes, and of the horizontal axis with its unit.
    series : str, optional
        Column whose values share a row, told apart by colour and marker; at most seven.
    percent : bool
        Whether the values are fractions, to be read as percent.
    null : float, optional
        Where a dashed line marks "no difference".

    Returns
    -------
    Axes
    """
    require_columns(frame, ("value", "low", "high", rows, *([series] if series else [])))
    names = list(dict.fromkeys(frame[rows].astype(str)))
    kinds = list(dict.fromkeys(frame[series].astype(str))) if series else [""]
    if len(kinds) > len(MARKERS):
        raise ValueError(f"A forest plot tells {len(MARKERS)} series apart, got {len(kinds)}.")
    place = {name: i for i, name in enumerate(names)}
    step = 0.7 / max(len(kinds), 1)
    if null is not None:
        ax.axvline(null, color="0.4", linestyle="--", linewidth=1)
    for j, kind in enumerate(kinds):
        found = frame if series is None else frame[frame[series].astype(str) == kind]
        y = found[rows].astype(str).map(place).astype(float) + (j - (len(kinds) - 1) / 2) * step
        color = COLORS[j % len(COLORS)]
        ax.hlines(y, found["low"], found["high"], color=color, linewidth=2)
        text = kind.replace("$", r"\$")
        ax.plot(found["value"], y, MARKERS[j], color=color, label=text, markersize=6, clip_on=False)
    name_rows(ax, [name.replace("$", r"\$") for name in names])
    if percent:
        ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
    ax.set_xlabel(label)
    ax.set_title(title)
    if series:
        legend_below(ax, min(len(kinds), 3))
    return ax
