"""The sizes of the image gap: quantiles, mean, near-zero mass, exact ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.rates import (
    ESTIMATE,
    RUN,
    as_float,
    estimate,
    names_of,
    seeded_runs,
)
from vca_core.resampling import resample_counts
from vca_core.stats import bootstrap_means

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NEAR_ZERO = (0.01, 0.1)
"""Near-zero thresholds on the size of the image gap, nats; [liu2026visual]_, Sec. 12."""


def gap_summary(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Quantiles, mean and near-zero mass of the image gap. Label-free.

    Parameters are those of `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"quantile_0.05", "quantile_0.25", "quantile_0.5",
        "quantile_0.75", "quantile_0.95", "mean_image_gap"} in nats (quantiles interpolate
        linearly), {"near_zero_0.01", "near_zero_0.1"}, the shares of records with a gap of at
        most that many nats either way, and "tied", the share with a gap of exactly zero.

    Notes
    -----
    Gaps are in model-native units: compare them within a model. Source: [liu2026visual]_, Sec. 12.
    """
    require_columns(audit, ("image_gap",), " Call `audit_support` first.")

    by = names_of(by)
    rows = []
    for run in seeded_runs(audit, by, rng):
        gap = as_float(run.records["image_gap"])
        columns = {
            "mean_image_gap": gap,
            **{f"near_zero_{t}": (np.abs(gap) <= t).astype(float) for t in NEAR_ZERO},
            "tied": (gap == 0).astype(float),
        }
        ranks = _quantile_replicates(
            gap, run.clusters, n_resamples, np.random.default_rng(run.seed)
        )
        for j, q in enumerate(QUANTILES):
            found = estimate(gap, ranks[:, j], run.clusters, confidence_level)
            found["value"] = float(np.quantile(gap, q)) if len(gap) else np.nan
            rows.append((*run.key, f"quantile_{q}", *found.values()))
        means = bootstrap_means(
            np.column_stack(list(columns.values())),
            clusters=run.clusters,
            n_resamples=n_resamples,
            rng=np.random.default_rng(run.seed),
        )
        for j, (name, values) in enumerate(columns.items()):
            found = estimate(values, means[:, j], run.clusters, confidence_level)
            rows.append((*run.key, name, *found.values()))
    return pd.DataFrame(rows, columns=[*by, "metric", *ESTIMATE])


def _quantile_replicates(
    gap: np.ndarray, clusters: np.ndarray, n_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Quantiles of the gap in resamples of clusters, shape (n_resamples, quantiles)."""
    order = np.argsort(gap, kind="stable")
    ranked, owner = gap[order], clusters[order]
    out = []
    for counts in resample_counts(
        int(clusters.max(initial=-1)) + 1, n_resamples=n_resamples, rng=rng
    ):
        ends = np.cumsum(counts[:, owner], axis=1)  # records at or below each gap
        columns = []
        for q in QUANTILES:
            place = q * (ends[:, -1] - 1)
            low, high = (
                ranked[(ends <= edge(place)[:, None]).sum(axis=1)] for edge in (np.floor, np.ceil)
            )
            columns.append(low + (place - np.floor(place)) * (high - low))
        out.append(np.column_stack(columns))
    return np.vstack(out) if out else np.full((n_resamples, len(QUANTILES)), np.nan)
