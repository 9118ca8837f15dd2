"""Figures of what an audit costs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import (
    LogLocator,
    NullLocator,
    PercentFormatter,
    ScalarFormatter,
    StrMethodFormatter,
)

from vca_core.figures.intervals import MARKERS, plot_forest
from vca_core.figures.style import COLORS, legend_below
from vca_core.metrics.checks import require_columns


def plot_ratios(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    rows: str,
    series: str,
    title: str,
    label: str,
    log: bool = False,
) -> Axes:
    """Draw ratios as points with the range of their repeats, a short bar at each one's aim.

    Parameters
    ----------
    frame : DataFrame
        From `judge`: ``value``, ``low``, ``high``, ``aim``, and the columns `rows` and `series`.
    ax : Axes
    rows, series : str
        As in `plot_forest`.
    title, label : str
        Of the axes, and of the horizontal axis.
    log : bool
        Whether equal distances are equal factors.

    Returns
    -------
    Axes
        A dashed line marks a ratio of one.
    """
    require_columns(frame, ("value", "low", "high", "aim", rows, series))
    if frame.empty:
        return _nothing(ax, title, label)
    plot_forest(
        frame, ax, rows=rows, series=series, title=title, label=label, percent=False, null=1
    )
    points = [line for line in ax.lines if line.get_marker() in MARKERS]
    kinds = dict.fromkeys(frame[series].astype(str))
    aims = []
    for line, kind in zip(points, kinds, strict=True):
        own = frame[frame[series].astype(str) == kind]
        aims += [(x, y) for x, y in zip(own["aim"], line.get_ydata(), strict=True) if pd.notna(x)]
    if aims:
        ax.plot(
            *zip(*aims, strict=True), "|", color="black", markersize=18, markeredgewidth=2,
            label="aim",
        )  # fmt: skip
        ax.figure.legends.clear()
        legend_below(ax, 3)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xlim(left=0)
    return ax


def plot_growth(growths: pd.DataFrame, ax: Axes, *, title: str, label: str) -> Axes:
    """Draw the relative time of one item against the number of items, a line per series.

    Parameters
    ----------
    growths : DataFrame
        From `growth` or `analysis_growth`.
    ax : Axes
    title, label : str
        Of the axes, and of the horizontal axis.

    Returns
    -------
    Axes
        Time in proportion to the size is the dashed line.
    """
    require_columns(growths, ("series", "times", "value"))
    if growths.empty:
        return _nothing(ax, title, label)
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    for j, (name, own) in enumerate(growths.groupby("series", sort=False)):
        marker, color = MARKERS[j % len(MARKERS)], COLORS[j % len(COLORS)]
        text = str(name).replace("$", r"\$")
        ax.plot(own["times"], own["value"], marker + "-", color=color, label=text, markersize=6)
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted(growths["times"].unique()))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.minorticks_off()
    ax.set_ylim(0, 1.3 * max(1, growths["value"].max()))
    ax.set_xlabel(label)
    ax.set_ylabel("time of one,\nrelative to the smallest")
    ax.set_title(title)
    if growths["series"].nunique() > 1:
        ax.legend(fontsize="small", loc="lower left")
    return ax


def plot_token_ratio(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the tokens of an audit over those of an accuracy run against the picture's share.

    Parameters
    ----------
    frame : DataFrame
        ``picture_share`` (fraction), ``series`` (name of the line), ``value``.
    ax : Axes

    Returns
    -------
    Axes
        The dashed line is one accuracy run.
    """
    require_columns(frame, ("picture_share", "series", "value"))
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    for j, (name, own) in enumerate(frame.groupby("series", sort=False)):
        style = ("-", "--", ":", "-.")[j % 4]
        color = COLORS[j % len(COLORS)]
        ax.plot(own["picture_share"], own["value"], style, color=color, label=name, linewidth=2)
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
    ax.set_xlabel("share of a prompt before the question (%)")
    ax.set_ylabel("audit's tokens ÷ accuracy run's")
    ax.set_title("What sharing leaves of three runs")
    legend_below(ax, 2)
    return ax


def _nothing(ax: Axes, title: str, label: str) -> Axes:
    ax.text(0.5, 0.5, "not measured", ha="center", va="center", transform=ax.transAxes)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel(label)
    ax.set_title(title)
    return ax
