"""From events to rates with intervals: what the metrics share.

A rate is the mean of one float column of the audit frame, NaN where a record is outside the
denominator. All rates of a run come from the same resamples of its clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.records import SchemaError
from vca_core.resampling import cluster_codes
from vca_core.stats import (
    Interval,
    bootstrap_means,
    percentile_interval,
    percentile_intervals,
)

RUN = ("model", "dataset")
"""Columns that name a run."""
ESTIMATE = ("value", "low", "high", "n", "n_clusters", "n_undefined")
"""Columns of an estimate: value and interval, records and clusters in the denominator, and the
resamples in which the rate was undefined."""


def as_float(values: pd.Series, where: np.ndarray | None = None) -> np.ndarray:
    """Events or numbers as float64, NaN for null and for records outside `where`."""
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return numbers if where is None else np.where(where, numbers, np.nan)


def names_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """Column names as a tuple; one name may stand alone."""
    return (by,) if isinstance(by, str) else tuple(by)


def iterate_runs(audit: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """Split by the columns `by`, in order of first appearance."""
    require_columns(audit, ("dataset", "sample_id", *by))
    if not by:
        groups = [((), audit)]
    else:
        groups = audit.groupby(list(by), sort=False, dropna=False)
    for key, run in groups:
        if "interface" in run.columns and "interface" not in by and run["interface"].nunique() > 1:
            found = ", ".join(map(repr, run["interface"].unique()))
            raise SchemaError(
                f"A run must hold one `interface`, got {found} in {key or 'the frame'}; "
                "select one, or add 'interface' to `by`."
            )
        yield key, run


def run_clusters(run: pd.DataFrame, cluster: str = "pair_id") -> np.ndarray:
    """Cluster codes of records: what the column `cluster` names, or the sample where it is null.

    Records of several models or wordings share the cluster of their pair, stem, edit or sample.
    Codes follow the sorted names, so the order of rows does not matter, and equal clusters have
    equal codes in every run.
    """
    if cluster != "pair_id":  # data without pairs have no such column; other clusters are asked for
        require_columns(run, (cluster,))
    alone = run[cluster].isna() if cluster in run.columns else pd.Series(True, run.index)
    name = run["sample_id"].astype(str)
    if not alone.all():
        name = name.where(alone, run[cluster].astype(str))
    if run["dataset"].nunique(dropna=False) > 1 or alone.nunique() > 1:
        # A pair and a sample, or two data sets, may use the same name.
        kind = np.where(alone, "sample", "cluster")
        name = run["dataset"].astype(str) + "\n" + kind + "\n" + name
    return cluster_codes(name, len(run))


class Run(NamedTuple):
    """The records of one run, their clusters, and the seed of their resamples."""

    key: tuple
    records: pd.DataFrame
    clusters: np.ndarray
    seed: int


def seeded_runs(
    audit: pd.DataFrame, by: Sequence[str], rng: np.random.Generator, cluster: str = "pair_id"
) -> Iterator[Run]:
    """Split into runs under one seed, drawn once."""
    seed = int(rng.integers(2**63))
    for key, records in iterate_runs(audit, by):
        yield Run(key, records, run_clusters(records, cluster), seed)


def estimate(
    values: np.ndarray, replicates: np.ndarray, clusters: np.ndarray, confidence_level: float
) -> dict:
    """One mean with its interval from its `replicates`; the interval needs two clusters."""
    interval = percentile_interval(replicates, confidence_level)
    return _estimate(values, clusters, interval, int(np.isnan(replicates).sum()))


def _estimate(
    values: np.ndarray, clusters: np.ndarray, interval: Interval, n_undefined: int
) -> dict:
    inside = ~np.isnan(values)
    n_clusters = int(np.count_nonzero(np.bincount(clusters[inside])))
    value = float(values[inside].mean()) if inside.any() else np.nan
    return as_estimate(value, interval, int(inside.sum()), n_clusters, n_undefined)


def as_estimate(
    value: float, interval: Interval, n: int, n_clusters: int, n_undefined: int
) -> dict:
    """Name the parts of an estimate as `ESTIMATE` does; the interval needs two clusters."""
    low, high = interval if n_clusters > 1 else (np.nan, np.nan)
    return dict(zip(ESTIMATE, (value, low, high, n, n_clusters, n_undefined), strict=True))


def rate_frame(
    audit: pd.DataFrame,
    measures: Callable[[pd.DataFrame], dict[tuple[str, ...], np.ndarray]],
    *,
    labels: Sequence[str] = ("metric",),
    by: Sequence[str] = RUN,
    cluster: str = "pair_id",
    n_resamples: int,
    confidence_level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Rates with intervals, one row per run and measure.

    Parameters
    ----------
    audit : DataFrame
        One row per record, with its events.
    measures : callable
        From the rows of a run to its measures: a tuple of `labels` to floats of shape (n,), NaN
        outside the denominator.
    labels : sequence of str
        Names of the columns that tell measures apart.
    by : sequence of str
        Columns that name a run; empty pools everything (micro).
    cluster : str
        Column whose values are resampled whole: "pair_id", "stem_id" or "edit_id". A record where
        it is null stands alone, and so do all where there is no ``pair_id``.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over clusters; one draw of `rng` seeds all runs.

    Returns
    -------
    DataFrame
        `by`, `labels`, then ``value, low, high, n, n_clusters, n_undefined``.
    """
    by = names_of(by)
    rows = []
    for run in seeded_runs(audit, by, rng, cluster):
        columns = measures(run.records)
        if not columns:  # no strata in an empty frame
            continue
        values = np.column_stack(list(columns.values()))
        replicates = bootstrap_means(
            values,
            clusters=run.clusters,
            n_resamples=n_resamples,
            rng=np.random.default_rng(run.seed),
        )
        intervals = percentile_intervals(replicates, confidence_level)
        undefined = np.isnan(replicates).sum(axis=0)
        for j, name in enumerate(columns):
            found = _estimate(values[:, j], run.clusters, intervals[j], int(undefined[j]))
            rows.append((*run.key, *name, *found.values()))
    return pd.DataFrame(rows, columns=[*by, *labels, *ESTIMATE])
