"""Answer surfaces: the same statements answered yes or no, true or false, and by the mean margin.

The ensemble averages margins and then decides. `vca_core.metrics.agreement` compares the events of
two surfaces, each with its own decision.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from vca_core.metrics.checks import require_columns
from vca_core.metrics.matching import match_records
from vca_core.metrics.rates import as_float, names_of
from vca_core.records import SchemaError


def ensemble_margins(
    yes_no: pd.DataFrame, true_false: pd.DataFrame, *, incomplete: str = "refuse"
) -> pd.DataFrame:
    r"""Average the margins of two answer surfaces, in every context that both have.

    .. math:: m^{E}_{i,c} = \tfrac12 (m^{YN}_{i,c} + m^{TF}_{i,c})

    where :math:`m^{TF}_{i,c} = \ell(\text{false}) - \ell(\text{true})` is aligned with yes. The
    support audit runs on it unchanged: the ensemble has its own decisions.

    Parameters
    ----------
    yes_no, true_false : DataFrame of margins, one row per (model, dataset, wording, sample_id)
        From `load_margins` with ``interface`` "yes_no" and "true_false": ``model``, ``dataset``,
        ``sample_id`` and ``margin_<context>`` in nats; no label is needed.
    incomplete : {"refuse", "drop"}
        What to do with a record that one surface lacks: stop and name it, or leave such records
        out and print ids and count to the error stream.

    Returns
    -------
    DataFrame of margins, for `audit_support`
        Rows, order and columns of `yes_no`, with ``interface`` "ensemble" and the mean margins;
        a context that only one surface has is left out.

    Raises
    ------
    SchemaError
        If a column is missing, the two share no context, a record stands twice or in one surface
        alone, the surfaces disagree on a label, or a frame is an audit instead of margins.

    Notes
    -----
    No label, fitting or choice enters. Source: [liu2026visual]_, Sec. 18.
    """
    first, second = match_records(yes_no, true_false, incomplete=incomplete)
    return _mean_margins(first, second, _shared_contexts(first, second))


def stack_surfaces(
    yes_no: pd.DataFrame, true_false: pd.DataFrame, *, incomplete: str = "refuse"
) -> pd.DataFrame:
    """Stack the margins of two answer surfaces and of their ensemble, on the same samples.

    Parameters are those of `ensemble_margins`; both frames have an ``interface`` of their own.

    Returns
    -------
    DataFrame of margins, for `audit_support`
        The rows of `yes_no`, of `true_false` and of the ensemble, in this order, told apart by
        ``interface``; the contexts are those that both surfaces have. Rates per surface are those
        of `support_rates` with ``by=("model", "dataset", "interface")``; all surfaces of a run
        share their resamples.

    Raises
    ------
    SchemaError
        As `ensemble_margins`, or if ``interface`` is missing.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18.
    """
    require_columns(yes_no, ("interface",))
    require_columns(true_false, ("interface",))
    first, second = match_records(yes_no, true_false, incomplete=incomplete)
    contexts = _shared_contexts(first, second)
    ensemble = _mean_margins(first, second, contexts)
    columns = list(ensemble.columns)
    return pd.concat([first[columns], second.reindex(columns=columns), ensemble], ignore_index=True)


def _shared_contexts(first: pd.DataFrame, second: pd.DataFrame) -> list[str]:
    for frame in (first, second):
        if "image_gap" in frame.columns:
            # Its events would stand, unchanged, beside margins they do not belong to.
            raise SchemaError(
                "Surfaces are averaged before the audit, got a frame with `image_gap`; pass the "
                "margins, and call `audit_support` on the result."
            )
    contexts = [c for c in first.columns if c.startswith("margin_") and c in second.columns]
    for frame in (first, second):
        for column in contexts:
            kind = frame[column].dtype
            if not pd.api.types.is_numeric_dtype(kind) and frame[column].notna().any():
                raise SchemaError(f"`{column}` must hold numbers in nats, got dtype {kind}.")
    if not contexts:
        raise SchemaError("Two surfaces need a column `margin_<context>` in common, got none.")
    return contexts


def _mean_margins(
    first: pd.DataFrame, second: pd.DataFrame, contexts: Sequence[str]
) -> pd.DataFrame:
    alone = [c for c in first.columns if c.startswith("margin_") and c not in contexts]
    means = {c: (as_float(first[c]) + as_float(second[c])) / 2 for c in contexts}
    return first.drop(columns=alone).assign(interface="ensemble", **means)


def surface_rank_correlation(
    rates: pd.DataFrame,
    *,
    first: str = "yes_no",
    second: str = "ensemble",
    metrics: Sequence[str] = ("accuracy", "dcc"),
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    r"""Spearman correlation, over models, of a rate under one surface with it under another.

    Parameters
    ----------
    rates : DataFrame
        From `support_rates` on `stack_surfaces`, run by model, data set and interface: ``model``,
        ``interface``, ``metric``, ``value`` and the columns of `by`.
    first, second : str
        Interfaces to compare.
    metrics : sequence of str
    by : sequence of str
        Columns within which models are ranked.

    Returns
    -------
    DataFrame, one row per group and metric
        `by`, ``metric``, ``first``, ``second``, ``value`` (:math:`\rho`, in [-1, 1]; ties share
        their mean rank) and ``n`` models with a rate under both. NaN for fewer than three models,
        whose ranks say nothing, or where all models have one rate. No interval: a handful of
        chosen models is no sample of models.

    Raises
    ------
    SchemaError
        If a column is missing, or `rates` lacks an interface or metric asked for.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18.
    """
    by = names_of(by)
    require_columns(rates, (*by, "model", "interface", "metric", "value"))
    for column, asked in (("interface", (first, second)), ("metric", metrics)):
        absent = [name for name in asked if not (rates[column] == name).any()]
        if absent and len(rates):
            raise SchemaError(
                f"`rates` must hold the {column} {absent[0]!r}, got {list(rates[column].unique())}."
            )
    rates = rates[rates["interface"].isin((first, second)) & rates["metric"].isin(metrics)]
    twice = rates.duplicated([*by, "model", "interface", "metric"]).to_numpy()
    if twice.any():
        row = rates[twice].iloc[0]
        raise SchemaError(
            f"A rate must stand once per ({', '.join(by)}, model, interface, metric), got "
            f"{row['metric']!r} of model {row['model']!r} more than once; add to `by` what tells "
            "them apart."
        )
    rows = []
    for key, group in rates.groupby(list(by), sort=False) if by else [((), rates)]:
        for metric in metrics:
            chosen = group[group["metric"] == metric]
            wide = chosen.pivot(index="model", columns="interface", values="value")
            both = wide.reindex(columns=[first, second]).dropna().to_numpy()
            rows.append((*key, metric, first, second, _spearman(both), len(both)))
    return pd.DataFrame(rows, columns=[*by, "metric", "first", "second", "value", "n"])


def _spearman(pairs: np.ndarray) -> float:
    """Spearman's rho of two columns, shape (n, 2); NaN where it is not defined, or n < 3."""
    if len(pairs) < 3 or (np.ptp(pairs, axis=0) == 0).any():
        return np.nan
    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)
