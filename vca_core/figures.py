"""One function per figure: a tidy frame and `ax` in, `ax` out. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from vca_core.metrics.checks import require_columns
from vca_core.tables import DATASETS

_COLORS = sns.color_palette("colorblind")
CELLS = {
    "dcc": ("correct, dependent", _COLORS[0]),
    "cu": ("correct, not dependent", _COLORS[1]),
    "support_advantaged_error": ("wrong, dependent", _COLORS[9]),
    "wrong_not_dependent": ("wrong, not dependent", _COLORS[7]),
}
RATES = {
    "accuracy": ("Acc", _COLORS[7], "s"),
    "dependent": ("Dep", _COLORS[4], "D"),
    "dcc": ("D-CC", _COLORS[0], "o"),
    "cu": ("C-U", _COLORS[1], "^"),
}


def use_style() -> None:
    """Set the book's look for all figures: readable at 360 pixels wide, in either theme."""
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    plt.rcParams.update(
        {
            "figure.figsize": (6.0, 4.0),
            "figure.constrained_layout.use": True,
            "figure.facecolor": "white",
            "savefig.dpi": 160,
            "axes.titlesize": "medium",
            "axes.titlelocation": "left",
            "legend.frameon": False,
            "svg.hashsalt": "vca",
        }
    )


def _runs(frame: pd.DataFrame, metrics: Mapping[str, object]) -> tuple[pd.DataFrame, list[str]]:
    """Rows of `metrics` with the name of their run, and the names in order."""
    require_columns(frame, ("model", "dataset", "metric", "value", "low", "high"))
    rows = frame[frame["metric"].isin(metrics)]
    data = rows["dataset"].map(lambda key: DATASETS.get(key, key))
    # Dollar signs would start maths in matplotlib.
    names = (rows["model"].astype(str) + "\n" + data.astype(str)).str.replace("$", r"\$")
    rows = rows.assign(run=names)
    return rows, list(dict.fromkeys(rows["run"]))


def _name_runs(ax: Axes, runs: list[str]) -> None:
    ax.set_yticks(range(len(runs)), runs)
    ax.set_ylim(max(len(runs), 1) - 0.5, -0.5)  # first run on top
    ax.grid(False, axis="y")


def _share_axis(ax: Axes, title: str, label: str) -> None:
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
    ax.set_xlabel(label)
    ax.set_title(title)


def _legend_below(ax: Axes, ncols: int) -> None:
    # Of the figure, so that constrained layout makes room whatever the height of the axes.
    ax.figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=ncols, fontsize="small"
    )


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
    rows, runs = _runs(frame, CELLS)
    left = pd.Series(0.0, index=runs)
    for metric, (name, color) in CELLS.items():
        share = rows[rows["metric"] == metric].set_index("run")["value"].reindex(runs)
        ax.barh(range(len(runs)), share, left=left, height=0.7, label=name, color=color)
        left = left + share
    _name_runs(ax, runs)
    _share_axis(ax, "What became of each decision", "share of decisions (%)")
    _legend_below(ax, 2)
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
    rows, runs = _runs(frame, RATES)
    place = {run: i for i, run in enumerate(runs)}
    for j, (metric, (name, color, marker)) in enumerate(RATES.items()):
        found = rows[rows["metric"] == metric]
        y = found["run"].map(place) + (j - 1.5) * 0.17
        ax.hlines(y, found["low"], found["high"], color=color, linewidth=2)
        ax.plot(found["value"], y, marker, color=color, label=name, markersize=6, clip_on=False)
    _name_runs(ax, runs)
    bars = "; bars: intervals" if rows["low"].notna().any() else ""
    _share_axis(ax, f"Rates of each run{bars}", "share of decisions (%)")
    _legend_below(ax, 4)
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
    rows, runs = _runs(frame, dict.fromkeys(parts.values()))
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
            boxprops={"facecolor": _COLORS[9], "alpha": 0.6},
            medianprops={"color": "black", "linewidth": 2},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black"},
            manage_ticks=False,
        )
    ax.axvline(0, color=_COLORS[3], linestyle="--", label="no gap: not dependent at or below")
    _name_runs(ax, runs)
    ax.set_xlabel("image gap (nats, each model's own scale)")
    ax.set_title("Image gap: 5, 25, 50, 75, 95 %; diamond: mean")
    _legend_below(ax, 1)
    return ax
