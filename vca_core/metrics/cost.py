"""What was measured of an audit's cost: ratios within a repeat, and growth."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.records import SchemaError

OURS = "vca_core"
SPEED = "item-contexts per second"
PEAK = "peak memory"
BOOTSTRAP = "bootstrap ÷ scipy"
RESAMPLES, ANALYSIS_PEAK = "resamples of the largest cache", "peak memory of the analysis"
RECORDS = 10_000_000
"""Of which size the aims for the analysis speak."""
RATIOS = {
    "audit ÷ accuracy": ("audit", "accuracy", "seconds"),
    "bound ÷ audit": ("bound", "audit", "seconds"),
    "bound ÷ accuracy": ("bound", "accuracy", "seconds"),
    "audit ÷ accuracy, peak memory": ("audit", "accuracy", "peak_bytes"),
    "audit ÷ accuracy, above the loaded model": ("audit", "accuracy", "own_bytes"),
}
"""What `cost_ratios` gives: two tools, and what of them is divided."""
SPREAD = {"n": "count", "value": "median", "low": "min", "high": "max"}
"""Of repeats."""


def cost_ratios(results: pd.DataFrame) -> pd.DataFrame:
    r"""Divide what the audit, the accuracy run and the bound took, repeat by repeat.

    .. math:: \rho = \operatorname{median}_r \frac{t_{\mathrm{audit},r}}{t_{\mathrm{accuracy},r}}

    and likewise for the other pairs of `RATIOS`. The tools take turns within a repeat `r`, so that
    a machine that is slower for a while is slower for both.

    Parameters
    ----------
    results : DataFrame, one row per measurement
        Those whose ``part`` is "cost" are read: ``tool`` (accuracy, audit, bound), ``model``,
        ``data``, ``repeat``, ``seconds``, ``peak_bytes`` (most memory of the whole process) and
        ``loaded_bytes`` (memory once the model was loaded).

    Returns
    -------
    DataFrame, one row per model, data and measure
        ``model``, ``data``, ``measure``, ``n`` (repeats with both tools) and, over those, the
        ratio's median ``value``, least ``low`` and most ``high``, without a unit. "Above the loaded
        model" is the peak less what the process held before the first item; NaN where that is
        nothing.

    Raises
    ------
    SchemaError
        If a column is missing, or a tool was measured twice in a repeat.
    """
    keys = ["model", "data", "repeat"]
    require_columns(results, ("part", "tool", *keys, "seconds", "peak_bytes", "loaded_bytes"))
    own = results[results["part"] == "cost"]
    own = own.assign(own_bytes=own["peak_bytes"] - own["loaded_bytes"])
    _refuse_twice(own, ["tool", *keys])
    parts = []
    for measure, (above, below, column) in RATIOS.items():
        table = own.pivot(index=keys, columns="tool", values=column)
        table = table.reindex(columns=[above, below]).astype(float)
        ratio = (table[above] / table[below].where(table[below] > 0)).rename("ratio").reset_index()
        parts.append(_spread(ratio.assign(measure=measure), ["model", "data", "measure"], "ratio"))
    joined = pd.concat(parts, ignore_index=True)
    order = dict.fromkeys(zip(own["model"], own["data"], strict=True))
    place = {key: i for i, key in enumerate(order)}
    at = [place[key] for key in zip(joined["model"], joined["data"], strict=True)]
    return joined.iloc[np.argsort(at, kind="stable")].reset_index(drop=True)


def peer_ratios(results: pd.DataFrame) -> pd.DataFrame:
    r"""Speed of each tool, and ours divided by it, repeat by repeat.

    .. math:: v_{k,r} = \frac{N}{t_{k,r}}, \qquad
        \rho_k = \operatorname{median}_r \frac{v_{\mathrm{ours},r}}{v_{k,r}}

    where tool :math:`k` scored the same :math:`N` item-contexts (a statement in a context, under an
    interface) in :math:`t_{k,r}` seconds.

    Parameters
    ----------
    results : DataFrame, one row per measurement
        ``tool``, ``model``, ``data``, ``context_set``, ``repeat``, ``n_item_contexts``, ``seconds``
        and ``peak_bytes``.

    Returns
    -------
    DataFrame, one row per model, data, context set, tool and measure
        ``n`` repeats with the median ``value``, least ``low`` and most ``high`` over them.
        Measures: "item-contexts per second", "peak memory" (bytes), and for other tools than ours
        "vca_core ÷ <tool>", without a unit.

    Raises
    ------
    SchemaError
        If a column is missing, or a tool was measured twice in a repeat.
    """
    keys = ["model", "data", "context_set"]
    columns = ("tool", *keys, "repeat", "n_item_contexts", "seconds", "peak_bytes")
    require_columns(results, columns)
    _refuse_twice(results, ["tool", *keys, "repeat"])
    own = results.assign(speed=results["n_item_contexts"] / results["seconds"])
    ours = own[own["tool"] == OURS].set_index([*keys, "repeat"])["speed"]
    place = pd.MultiIndex.from_frame(own[[*keys, "repeat"]])
    own["ratio"] = ours.reindex(place).to_numpy() / own["speed"].to_numpy()
    others = own[own["tool"] != OURS]
    parts = [
        _spread(frame.assign(measure=measure), [*keys, "tool", "measure"], column)
        for frame, measure, column in (
            (own, SPEED, "speed"),
            (own, PEAK, "peak_bytes"),
            (others, [f"{OURS} ÷ {tool}" for tool in others["tool"]], "ratio"),
        )
    ]
    return pd.concat(parts, ignore_index=True)


def growth(results: pd.DataFrame) -> pd.DataFrame:
    r"""Seconds of the audit per item-context, relative to the smallest number of them.

    .. math:: g(N) = \frac{t_N / N}{t_{N_0} / N_0}

    which stays at 1 where time grows in proportion to the :math:`N` item-contexts.

    Parameters
    ----------
    results : DataFrame, one row per measurement
        Those whose ``part`` is "growth" are read: ``model``, ``n_item_contexts``, ``seconds``.

    Returns
    -------
    DataFrame, one row per model and size
        ``series`` (the model), ``size``, ``times`` (size over the smallest), ``seconds`` (median of
        repeats) and ``value``, the relative time each.
    """
    require_columns(results, ("part", "model", "n_item_contexts", "seconds"))
    own = results[results["part"] == "growth"]
    return _relative(own["model"], own["n_item_contexts"], own["seconds"])


def analysis_growth(results: pd.DataFrame) -> pd.DataFrame:
    """Seconds of the analysis per record, relative to the smallest number of records.

    Parameters
    ----------
    results : DataFrame, one row per measurement
        ``n_records`` and ``seconds``, resampling included.

    Returns
    -------
    DataFrame, as `growth` gives it
    """
    require_columns(results, ("n_records", "seconds"))
    return _relative(
        pd.Series("analysis", index=results.index), results["n_records"], results["seconds"]
    )


def analysis_figures(results: pd.DataFrame) -> pd.DataFrame:
    """Peak memory (bytes) and seconds of all resamples, of ten million records or more.

    Parameters
    ----------
    results : DataFrame, one row per measurement
        ``n_records``, ``resample_seconds``, ``peak_bytes``.

    Returns
    -------
    DataFrame, one row per measure
        ``measure``, ``n`` (measurements) and ``value`` (the largest of them); no row where there
        were never so many records.
    """
    require_columns(results, ("n_records", "resample_seconds", "peak_bytes"))
    largest = results[results["n_records"] >= RECORDS]
    found = {ANALYSIS_PEAK: largest["peak_bytes"], RESAMPLES: largest["resample_seconds"]}
    rows = [(measure, len(own), own.max()) for measure, own in found.items() if len(own)]
    return pd.DataFrame(rows, columns=["measure", "n", "value"])


def bootstrap_ratios(results: pd.DataFrame) -> pd.DataFrame:
    """Time of our bootstrap of four event rates over that of four calls of SciPy's.

    Parameters
    ----------
    results : DataFrame, one row per pair of ways
        ``ours``, ``other`` (which way each took), ``seconds``, ``other_seconds`` (medians).

    Returns
    -------
    DataFrame, same rows
        With ``measure`` and ``value``, the ratio of the two times.
    """
    require_columns(results, ("ours", "other", "seconds", "other_seconds"))
    ratio = results["seconds"] / results["other_seconds"]
    return results.assign(measure=BOOTSTRAP, value=ratio)


def _spread(frame: pd.DataFrame, keys: list[str], column: str) -> pd.DataFrame:
    """Count, median, least and most of a column within each group; groups in order."""
    groups = frame.groupby(keys, sort=False)[column]
    return groups.agg(**SPREAD).reset_index()


def _refuse_twice(results: pd.DataFrame, keys: list[str]) -> None:
    twice = results.duplicated(keys)
    if twice.any():
        first = ", ".join(map(str, results[keys].iloc[int(twice.to_numpy().argmax())]))
        raise SchemaError(
            f"A tool must be measured once per ({', '.join(keys)}), got ({first}) more than once."
        )


def _relative(series: pd.Series, size: pd.Series, seconds: pd.Series) -> pd.DataFrame:
    own = pd.DataFrame({"series": series, "size": size, "seconds": seconds})
    own = own.groupby(["series", "size"], sort=False)["seconds"].median().reset_index()
    own = own.sort_values(["series", "size"], kind="stable", ignore_index=True)
    first = own.groupby("series", sort=False)[["size", "seconds"]].transform("first")
    own["times"] = own["size"] / first["size"]
    own["value"] = (own["seconds"] / own["size"]) / (first["seconds"] / first["size"])
    return own
