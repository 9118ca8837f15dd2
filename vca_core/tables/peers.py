"""Tables of other tools beside this one: how fast, and how right."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.cost import PEAK, SPEED
from vca_core.tables.core import NONE
from vca_core.tables.cost import aim_cells, amount, met_cells, or_nothing, ranges
from vca_core.tables.surfaces import INTERFACES


def peers_table(judged: pd.DataFrame) -> pd.DataFrame:
    """Speed, our speed over each tool's, and peak memory, from `judge` of `peer_ratios`.

    Returns
    -------
    DataFrame of text, one row per model, context set and tool
    """
    require_columns(judged, ("model", "context_set", "tool", "measure", "value", "aim", "met"))
    rows = []
    groups = judged.groupby(["model", "data", "context_set", "tool"], sort=False)
    for (model, _, context_set, tool), group in groups:
        found = {measure: own for measure, own in group.groupby("measure", sort=False)}
        ratio = next((own for measure, own in found.items() if "÷" in measure), group[:0])
        rows.append(
            {
                "Model": model,
                "Interface": interfaces_of(context_set),
                "Tool": tool,
                "Item-contexts per second": ranges(found[SPEED]).item(),
                "Ours ÷ tool": ranges(ratio).item() if len(ratio) else NONE,
                "Aim": aim_cells(ratio).item() if len(ratio) else NONE,
                "Met": met_cells(ratio).item() if len(ratio) else NONE,
                "Peak memory": amount(PEAK, found[PEAK]["value"].item()),
            }
        )
    names = ["Model", "Interface", "Tool", "Item-contexts per second", "Ours ÷ tool", "Aim", "Met",
             "Peak memory"]  # fmt: skip
    return or_nothing(pd.DataFrame(rows, columns=names))


def margins_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """How far each tool's margins are from those of whole prompts, over all context sets.

    Parameters
    ----------
    agreement : DataFrame
        From `peer_margins` of the benchmarks: ``model``, ``tool``, ``interface``, counts ``n`` and
        ``same_decisions``, ``max_difference`` and ``max_unexplained`` (nats).

    Returns
    -------
    DataFrame of text, one row per model, tool and interface
    """
    keys = ["model", "tool", "interface"]
    groups = agreement.groupby(keys, sort=False)
    found = groups.agg(
        n=("n", "sum"),
        same=("same_decisions", "sum"),
        largest=("max_difference", "max"),
        left=("max_unexplained", "max"),
    ).reset_index()
    table = pd.DataFrame(
        {
            "Model": found["model"],
            "Tool": found["tool"],
            "Interface": found["interface"].map(lambda key: INTERFACES.get(key, key)),
            "Same decisions": [
                f"{same} of {n}" for same, n in zip(found["same"], found["n"], strict=True)
            ],
            "Largest difference (nats)": found["largest"].map(_small),
            "Left by its rule (nats)": found["left"].map(_small),
        }
    )
    return or_nothing(table)


def interfaces_of(context_set: str) -> str:
    """Interfaces in words, of "original+blank x yes_no+true_false"."""
    names = context_set.rpartition(" x ")[2].split("+")
    return " and ".join(INTERFACES.get(name, name) for name in names)


def _small(value: float) -> str:
    return NONE if pd.isna(value) else f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"
