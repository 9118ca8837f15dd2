"""Figures of the robustness page."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from vca_core.figures.intervals import plot_forest
from vca_core.metrics.checks import require_columns
from vca_core.tables import DATASETS
from vca_core.tables.robustness import VARIANTS


def plot_run_estimates(
    frame: pd.DataFrame,
    ax: Axes,
    metrics: Mapping[str, str],
    *,
    title: str,
    label: str,
    null: float | None = None,
) -> Axes:
    """Draw chosen metrics of each run as points with their intervals.

    Parameters
    ----------
    frame : DataFrame
        Rates in long form: ``model``, ``dataset``, ``metric``, ``value``, ``low``, ``high``
        (fractions).
    ax : Axes
    metrics : mapping of str
        Metric to its name in the legend; at most seven.
    title, label, null
        As in `plot_forest`.

    Returns
    -------
    Axes
    """
    require_columns(frame, ("model", "dataset", "metric"))
    rows = frame[frame["metric"].isin(metrics)]
    keys = zip(rows["model"], rows["dataset"], strict=True)
    named = rows.assign(run=[f"{model}\n{DATASETS.get(data, data)}" for model, data in keys])
    parts = [named[named["metric"] == metric] for metric in metrics]  # legend in their order
    shown = pd.concat(
        [part.assign(shown=metrics[m]) for m, part in zip(metrics, parts, strict=True)]
    )
    series = "shown" if shown["shown"].nunique() > 1 else None
    plot_forest(shown, ax, rows="run", series=series, title=title, label=label, null=null)
    if shown["value"].isna().all():  # an empty frame would look like a fault
        ax.text(0.5, 0.5, "not in these scores", ha="center", va="center", transform=ax.transAxes)
    return ax


def plot_agreement(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how often each way to aggregate the controls gives the headline event, run by run.

    Parameters
    ----------
    frame : DataFrame
        From `control_variants`; the rows of runs are drawn, the headline itself left out.
    ax : Axes

    Returns
    -------
    Axes
    """
    require_columns(frame, ("pooling", "variant", "metric"))
    runs = frame[(frame["pooling"] == "run") & (frame["metric"] == "agreement")]
    names = {variant: name for variant, name in VARIANTS.items() if variant != "max_control_gap"}
    return plot_run_estimates(
        runs.assign(metric=runs["variant"]),
        ax,
        names,
        title="Same event as the headline; bars: intervals",
        label="share of decisions (%)",
    )
