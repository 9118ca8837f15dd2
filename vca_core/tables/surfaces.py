"""Tables of the answer surfaces, wordings and system messages."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import DATASETS, HEADINGS, NONE, RATES, display

INTERFACES = {"yes_no": "Yes/No", "true_false": "True/False", "ensemble": "Ensemble"}
"""Display names of answer surfaces; any other key is shown as it is."""
OWN_HEADINGS = {"interface": "Surface", "comparison": "Compared", "form": "Form"}


def surface_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Acc, Dep, D-CC and C-U per answer surface in percent, from `support_rates`.

    Returns
    -------
    DataFrame of text, one row per run and ``interface``
    """
    require_columns(rates, ("interface",))
    return _display(rates, RATES)


def surface_agreement_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Agreements of two surfaces in percent, from `surface_agreement`.

    Frames of several comparisons may be stacked, told apart by a column ``comparison``.
    """
    names = {
        "prediction_agreement": "Same decision",
        "dependent_agreement": "Same D",
        "dcc_agreement": "Same D-CC",
        "item_flip": "Item flip",
        "dependent_jaccard": "Jaccard of D",
    }
    return _display(rates, names)


def surface_consensus_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Coverage, abstention and the rates of covered records in percent, from `surface_consensus`.

    Returns
    -------
    DataFrame of text, one row per run
        ``n`` counts all records, "n covered" those inside the consensus.
    """
    names = {"coverage": "Coverage", "abstention": "Abstention"}
    return _side_by_side(_display(rates, names), _display(rates, RATES), "n covered")


def pair_agreement_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Flips and Jaccard in percent, their difference in points, from `pair_surface_agreement`.

    Returns
    -------
    DataFrame of text, one row per run
        ``n`` counts pairs. The Jaccard's own denominator, the pairs credited under either surface,
        is written in its cell where it is another.
    """
    names = {
        "item_flip": "Item flip",
        "pair_flip": "Pair flip",
        "flip_difference": "Pair less item flip",
        "pair_jaccard": "Pair Jaccard",
    }
    return _display(rates, names, {"flip_difference": "points"})


def wording_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Pooled rates and agreement with the reference in percent, from `wording_rates`.

    Frames of wordings and of a system message may be stacked, told apart by a column ``form``.

    Returns
    -------
    DataFrame of text, one row per run
        ``n`` counts records; the agreements' own denominator is in "n compared".
    """
    pooled = {metric: RATES[metric] for metric in ("accuracy", "dependent", "dcc")}
    names = {"prediction_agreement": "Same decision", "dependent_agreement": "Same D"}
    return _side_by_side(_display(rates, pooled), _display(rates, names), "n compared")


def surface_rank_table(correlations: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rho over models, from `surface_rank_correlation`.

    Returns
    -------
    DataFrame of text, one row per data set and pair of surfaces
        With the number of models; "–" where rho is not defined.
    """
    require_columns(correlations, ("dataset", "metric", "first", "second", "value", "n"))
    metrics = {metric: RATES.get(metric, metric) for metric in correlations["metric"].unique()}
    rows = []
    keys = ["dataset", "first", "second"]
    for (dataset, *surfaces), group in correlations.groupby(keys, sort=False):
        values = group.set_index("metric")["value"]
        rho = [NONE if pd.isna(values.get(m)) else f"{values[m]:.2f}" for m in metrics]
        compared = " and ".join(INTERFACES.get(name, name) for name in surfaces)
        rows.append((DATASETS.get(dataset, dataset), compared, int(group["n"].max()), *rho))
    columns = [f"rho of {name}" for name in metrics.values()]
    return pd.DataFrame(rows, columns=["Data", "Surfaces", "Models", *columns])


def _side_by_side(left: pd.DataFrame, right: pd.DataFrame, n: str) -> pd.DataFrame:
    """Two tables of the same runs as one; the denominator of the right one is the column `n`."""
    own = list(right.columns)[list(right.columns).index("n") :]
    return pd.concat([left, right[own].rename(columns={"n": n})], axis=1)


def _display(
    rates: pd.DataFrame, names: dict[str, str], units: dict[str, str] | None = None
) -> pd.DataFrame:
    """As `vca_core.tables.core.display`, with the names of surfaces."""
    if "interface" in rates:
        shown = [INTERFACES.get(name, name) for name in rates["interface"]]
        rates = rates.assign(interface=shown)
    table = display(rates, names, units)
    headings = {HEADINGS.get(key, key): name for key, name in OWN_HEADINGS.items()}
    return table.rename(columns=headings)
