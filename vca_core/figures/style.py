"""The book's look, and what its figures share."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from vca_core.metrics.checks import require_columns
from vca_core.tables import DATASETS

COLORS = sns.color_palette("colorblind")


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


def run_rows(frame: pd.DataFrame, metrics: Mapping[str, object]) -> tuple[pd.DataFrame, list[str]]:
    """Rows of `metrics` with the name of their run, and the names in order."""
    require_columns(frame, ("model", "dataset", "metric", "value", "low", "high"))
    rows = frame[frame["metric"].isin(metrics)]
    data = rows["dataset"].map(lambda key: DATASETS.get(key, key))
    # Dollar signs would start maths in matplotlib.
    names = (rows["model"].astype(str) + "\n" + data.astype(str)).str.replace("$", r"\$")
    rows = rows.assign(run=names)
    return rows, list(dict.fromkeys(rows["run"]))


def name_rows(ax: Axes, runs: list[str]) -> None:
    """Write one name per row, the first on top."""
    ax.set_yticks(range(len(runs)), runs)
    ax.set_ylim(max(len(runs), 1) - 0.5, -0.5)  # first run on top
    ax.grid(False, axis="y")


def share_axis(ax: Axes, title: str, label: str) -> None:
    """Show fractions from 0 to 1 as percent."""
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
    ax.set_xlabel(label)
    ax.set_title(title)


def legend_below(ax: Axes, ncols: int) -> None:
    """Put the legend of `ax` below the figure."""
    # Of the figure, so that constrained layout makes room whatever the height of the axes.
    ax.figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=ncols, fontsize="small"
    )
