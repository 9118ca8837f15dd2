"""Rates over several models: pooled records (micro) and means of models (macro)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.rates import ESTIMATE, estimate, iterate_runs, run_clusters
from vca_core.stats import bootstrap_means


def pooled_rates(
    audit: pd.DataFrame,
    measures: Callable[[pd.DataFrame], dict[tuple[str, ...], np.ndarray]],
    *,
    labels: Sequence[str] = ("metric",),
    by: Sequence[str] = ("dataset",),
    cluster: str = "pair_id",
    n_resamples: int,
    confidence_level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Micro and macro rates over the models of each group, with clustered intervals.

    A resample draws clusters whole and keeps all models' records of a drawn cluster, so models
    that answered the same statements are paired.

    Parameters
    ----------
    audit : DataFrame, one row per record
        With ``model``.
    measures : callable
        As in `vca_core.metrics.rates.rate_frame`; called once per model.
    labels, cluster, n_resamples, confidence_level, rng
        As in `vca_core.metrics.rates.rate_frame`.
    by : sequence of str
        Columns within which models are pooled.

    Returns
    -------
    DataFrame, one row per group, pooling and measure
        `by`, ``pooling`` in {"micro", "macro"}, `labels`, then ``value, low, high, n, n_clusters,
        n_undefined`` and ``n_models``. Micro is the mean over all records in the denominator;
        macro the unweighted mean over the ``n_models`` models with a record in it.
    """
    seed = int(rng.integers(2**63))
    rows = []
    for key, group in iterate_runs(audit, by):
        clusters = run_clusters(group, cluster)
        names, values = _columns(group, measures)  # values: (models, n, measures)
        n_models, n, k = values.shape
        replicates = bootstrap_means(
            np.column_stack([_either(values), *values]),
            clusters=clusters,
            n_resamples=n_resamples,
            rng=np.random.default_rng(seed),
        ).reshape(n_resamples, 1 + n_models, k)
        for j, name in enumerate(names):
            inside = ~np.isnan(values[:, :, j])
            has = inside.any(axis=1)
            micro = estimate(_either(values)[:, j], replicates[:, 0, j], clusters, confidence_level)
            of_models = replicates[:, 1:, j][:, has]
            means = [values[m, inside[m], j].mean() for m in np.flatnonzero(has)]
            macro = estimate(
                _either(values)[:, j],
                of_models.mean(axis=1) if has.any() else replicates[:, 0, j],
                clusters,
                confidence_level,
            ) | {"value": float(np.mean(means)) if means else np.nan}
            for pooling, found in (("micro", micro), ("macro", macro)):
                rows.append((*key, pooling, *name, *found.values(), int(has.sum())))
    return pd.DataFrame(rows, columns=[*by, "pooling", *labels, *ESTIMATE, "n_models"])


def _columns(
    group: pd.DataFrame, measures: Callable[[pd.DataFrame], dict[tuple[str, ...], np.ndarray]]
) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Names of the measures, and their values by model, NaN in the rows of other models."""
    models = group["model"].to_numpy()
    found = {model: measures(group[models == model]) for model in pd.unique(models)}
    names = list(dict.fromkeys(name for columns in found.values() for name in columns))
    values = np.full((len(found), len(group), len(names)), np.nan)
    for m, (model, columns) in enumerate(found.items()):
        rows = np.flatnonzero(models == model)
        for name, column in columns.items():
            values[m, rows, names.index(name)] = column
    return names, values


def _either(values: np.ndarray) -> np.ndarray:
    """Each record's own value, whichever model's it is, shape (n, measures)."""
    return np.where(np.isnan(values), 0, values).sum(axis=0) + np.where(
        np.isnan(values).all(axis=0), np.nan, 0
    )
