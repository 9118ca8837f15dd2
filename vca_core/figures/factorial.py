"""Figures of the evidence-source factorial."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from vca_core.figures.intervals import plot_forest
from vca_core.figures.style import COLORS, legend_below, name_rows, run_rows, share_axis
from vca_core.metrics.checks import require_columns
from vca_core.tables.core import name_pooling

STATES = ("supports", "absent", "opposes")
"""From yes to no, as they are drawn."""
NAMES = {"supports": "supports", "absent": "silent", "opposes": "opposes"}
EFFECTS = {
    ("visual", "supports"): "Picture, note supports",
    ("visual", "opposes"): "Picture, note opposes",
    ("visual", "absent"): "Picture, note silent",
    ("text", "supports"): "Note, picture supports",
    ("text", "opposes"): "Note, picture opposes",
    ("text", "absent"): "Note, picture silent",
    ("interaction", None): "Interaction",
}
"""The source that is reversed, and the state of the other."""
OUTCOMES = {
    "dcc": ("correct, dependent", COLORS[0]),
    "cu_answer_flip": ("C-U, responsive, answer flips", COLORS[1]),
    "cu_same_answer": ("C-U, responsive, same answer", COLORS[8]),
    "cu_unresponsive": ("C-U, unresponsive", COLORS[5]),
    "wrong": ("wrong", COLORS[7]),
}


def plot_cells(frame: pd.DataFrame, ax: Axes, *, title: str) -> Axes:
    """Draw the cells of one run: picture by note, the share of yes as colour and number.

    Parameters
    ----------
    frame : DataFrame
        One run of `cell_rates`: ``metric``, ``visual_state``, ``text_state``, ``value`` ("says_yes"
        as a fraction, "mean_margin" in nats).
    ax : Axes
    title : str

    Returns
    -------
    Axes
    """
    require_columns(frame, ("metric", "visual_state", "text_state", "value"))
    yes, margin = (
        frame[frame["metric"] == metric]
        .pivot(index="visual_state", columns="text_state", values="value")
        .reindex(index=STATES, columns=STATES)
        for metric in ("says_yes", "mean_margin")
    )
    ax.imshow(yes.to_numpy(dtype=float), cmap="PuOr", vmin=0, vmax=1)
    for i, visual in enumerate(STATES):
        for j, text in enumerate(STATES):
            share = yes.loc[visual, text]
            if share == share:  # a cell that the design lacks stays empty
                words = f"{share:.0%}\n{margin.loc[visual, text]:+.1f}"
                color = "black" if 0.15 < share < 0.85 else "white"
                ax.text(j, i, words, ha="center", va="center", color=color, fontsize="small")
    names = [NAMES[state] for state in STATES]
    ax.set_xticks(range(3), names, fontsize="small")
    ax.set_yticks(range(3), names, fontsize="small", rotation=90, va="center")
    ax.set_xlabel("note")
    ax.set_ylabel("picture")
    ax.grid(False)
    ax.set_title(title.replace("$", r"\$"))
    return ax


def plot_agreement_outcomes(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Stack what became of each agreement decision, by run and pooled.

    Parameters
    ----------
    frame : DataFrame
        From `agreement_outcomes`: ``model``, ``dataset``, ``pooling``, ``metric``, ``value``
        (fraction).
    ax : Axes

    Returns
    -------
    Axes
    """
    rows, runs = run_rows(name_pooling(frame), OUTCOMES)
    left = pd.Series(0.0, index=runs)
    for metric, (name, color) in OUTCOMES.items():
        share = rows[rows["metric"] == metric].set_index("run")["value"].reindex(runs)
        ax.barh(range(len(runs)), share, left=left, height=0.7, label=name, color=color)
        left = left + share
    name_rows(ax, runs)
    share_axis(ax, "What became of each agreement decision", "share of agreement decisions (%)")
    legend_below(ax, 2)
    return ax


def plot_source_effects(frame: pd.DataFrame, ax: Axes, *, title: str) -> Axes:
    """Draw the effects of one run with their intervals: each source by the state of the other.

    Parameters
    ----------
    frame : DataFrame
        One run of `source_effects`: ``effect``, ``given``, ``value``, ``low``, ``high`` in nats.
    ax : Axes
    title : str

    Returns
    -------
    Axes
        In the model's own units: compare rows, not panels.
    """
    require_columns(frame, ("effect", "given"))
    given = frame["given"].astype(object).where(frame["given"].notna(), None)
    row = [EFFECTS[key] for key in zip(frame["effect"], given, strict=True)]
    return plot_forest(
        frame.assign(row=row),
        ax,
        rows="row",
        title=title.replace("$", r"\$"),
        label="mean effect (nats)",
        percent=False,
        null=0,
    )
