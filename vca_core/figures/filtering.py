"""Figures of benchmark filtering."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from vca_core.figures.intervals import MARKERS
from vca_core.figures.style import COLORS
from vca_core.metrics.checks import require_columns
from vca_core.tables.filtering import FILTERS, RATES, UNITS


def plot_coverage(rates: pd.DataFrame, axes: Sequence[Axes]) -> Sequence[Axes]:
    """Draw rates against coverage, one panel per metric, one line per filter.

    Parameters
    ----------
    rates : DataFrame
        From `filtered_rates`, of one data set; the rows over models are drawn. Every line ends at
        the whole benchmark where that is there.
    axes : sequence of four Axes
        For accuracy, Blind gap, Visual gain and Dep.

    Returns
    -------
    sequence of Axes
        Points of one coverage are moved apart a little, so that their intervals can be seen.
    """
    require_columns(rates, ("pooling", "filter", "coverage", "metric", "value", "low", "high"))
    rates = rates[rates["pooling"] == "macro"]
    names = [name for name in dict.fromkeys(rates["filter"]) if name != "full"]
    for ax, (metric, title) in zip(axes, RATES.items(), strict=True):
        rows = rates[rates["metric"] == metric]
        whole = rows[rows["filter"] == "full"]
        for j, name in enumerate(names):
            line = pd.concat([rows[rows["filter"] == name].sort_values("coverage"), whole])
            shift = (j - (len(names) - 1) / 2) * 0.012
            x = line["coverage"] + shift * (line["filter"] != "full")
            color, text = COLORS[j % len(COLORS)], FILTERS.get(name, name).replace("$", r"\$")
            ax.vlines(x, line["low"], line["high"], color=color, linewidth=1.5)
            ax.plot(
                x,
                line["value"],
                MARKERS[j % len(MARKERS)] + "-",
                color=color,
                label=text,
                markersize=6,
                linewidth=1.2,
            )
        ax.set_title(f"{title} ({UNITS.get(metric, '%')})")
        ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
        ax.set_xticks(sorted(rates["coverage"].unique()))
        ax.set_xlabel("groups kept (%)")
    figure = axes[0].figure
    if not figure.legends:
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=3,
            fontsize="small",
        )
    return axes
