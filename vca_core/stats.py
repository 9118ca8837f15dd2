"""Clustered bootstrap and intervals. Knows arrays and clusters, nothing of the audit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from vca_core.resampling import (
    Patterns,
    cluster_codes,
    cluster_sums,
    count_patterns,
    multinomial_counts,
    resample_counts,
)

FEW = 4
"""Clusters per pattern of values from which patterns are resampled instead of clusters."""


class Interval(NamedTuple):
    """Lower and upper bound, in the unit of the value; NaN where there is none."""

    low: float
    high: float


def bootstrap_means(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    n_resamples: int = 5000,
    rng: np.random.Generator,
) -> np.ndarray:
    r"""Means of several columns in the same resamples of whole clusters.

    .. math:: \bar v^{(b)} = \frac{\sum_g w_g^{(b)} \sum_{i \in g} v_i}{\sum_g w_g^{(b)} n_g}

    where :math:`w_g^{(b)}` counts how often cluster :math:`g` was drawn and :math:`n_g` its records
    with a value. Only cluster sums are resampled, never rows. Where many clusters have the same
    sums, as with a few events, it is drawn how often each pattern of sums occurs: the same
    distribution at a fraction of the work.

    Parameters
    ----------
    values : array-like, shape (n, k)
        NaN marks a record outside a column's denominator, as in a conditional rate.
    clusters : array-like, shape (n,), optional
        As in `cluster_codes`.
    n_resamples : int
    rng : Generator

    Returns
    -------
    ndarray, shape (n_resamples, k)
        Paired across columns. NaN where a resample holds no record of a column's denominator.

    Raises
    ------
    ValueError
        If `values` is not two-dimensional or holds an infinity.
    """
    if n_resamples < 1:
        raise ValueError(f"`n_resamples` must be at least 1, got {n_resamples}.")
    values = np.asarray(values, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"`values` must have shape (n, k), got {values.shape}.")
    if np.isinf(values).any():
        raise ValueError("`values` must be finite, or NaN outside the denominator; got infinity.")
    sums = cluster_sums(values, cluster_codes(clusters, len(values)))
    patterns = count_patterns(sums)
    if FEW * len(patterns.sizes) <= sums.shape[1]:
        return bootstrap_patterns(patterns, n_resamples=n_resamples, rng=rng)
    k = values.shape[1]
    replicates = np.full((n_resamples, k), np.nan)
    start = 0
    for counts in resample_counts(sums.shape[1], n_resamples=n_resamples, rng=rng):
        # Not `@`: on busy cores the threads of BLAS wait for one another, and this is many small
        # products.
        totals = np.einsum("bg,kg->bk", counts, sums)
        out = replicates[start : start + len(counts)]
        np.divide(totals[:, :k], totals[:, k:], out=out, where=totals[:, k:] > 0)
        start += len(counts)
    return replicates


def bootstrap_patterns(
    patterns: Patterns, *, n_resamples: int = 5000, rng: np.random.Generator
) -> np.ndarray:
    """Means of several columns in the same resamples of clusters, of which only counts are known.

    Counting the patterns of drawn clusters is drawing multinomial counts of the patterns, so this
    is `bootstrap_means` of the clusters that were counted, and equal to it where that draws
    patterns too.

    Parameters
    ----------
    patterns : Patterns
        From `vca_core.resampling.count_patterns`.
    n_resamples : int
    rng : Generator

    Returns
    -------
    ndarray, shape (n_resamples, k)
        As `bootstrap_means`.
    """
    sums, k = patterns.sums, len(patterns.sums) // 2
    replicates = np.full((k, n_resamples), np.nan)
    start = 0
    for counts in multinomial_counts(patterns.sizes, n_resamples=n_resamples, rng=rng):
        # Patterns are few and resamples many, so the long axis is the inner one.
        totals = np.einsum("gb,kg->kb", np.ascontiguousarray(counts.T), sums)
        out = replicates[:, start : start + len(counts)]
        np.divide(totals[:k], totals[k:], out=out, where=totals[k:] > 0)
        start += len(counts)
    return replicates.T


def percentile_interval(replicates: ArrayLike, confidence_level: float = 0.95) -> Interval:
    """Percentile interval of bootstrap replicates; NaN replicates are left out.

    Returns (NaN, NaN) when no replicate is defined.
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"`confidence_level` must lie between 0 and 1, got {confidence_level}.")
    replicates = np.asarray(replicates, dtype=float)
    defined = replicates[~np.isnan(replicates)]
    if not len(defined):
        return Interval(np.nan, np.nan)
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high))


def percentile_intervals(replicates: np.ndarray, confidence_level: float = 0.95) -> list[Interval]:
    """Percentile interval of each column of bootstrap replicates, shape (n_resamples, k)."""
    if np.isnan(replicates).any() or not 0 < confidence_level < 1:
        return [percentile_interval(column, confidence_level) for column in replicates.T]
    tail = (1 - confidence_level) / 2
    bounds = np.quantile(replicates, [tail, 1 - tail], axis=0)
    return [Interval(float(low), float(high)) for low, high in bounds.T]


def bootstrap_interval(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Percentile bootstrap interval of a mean, resampling whole clusters.

    Parameters
    ----------
    values : array-like, shape (n,)
        One number per record (a rate is the mean of 0 and 1); NaN: outside the denominator.
    clusters : array-like, shape (n,), optional
        Records with the same name are drawn together; null names stand alone.
    n_resamples : int
    confidence_level : float
    rng : Generator

    Returns
    -------
    Interval
        In the unit of `values`. (NaN, NaN) when fewer than two clusters have a value: one
        cluster says nothing of how clusters vary.

    Notes
    -----
    Source: [liu2026visual]_, which resamples records on VSR and relation pairs on GSR-COCO.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"`values` must have shape (n,), got {values.shape}.")
    codes = cluster_codes(clusters, len(values))
    replicates = bootstrap_means(values[:, None], clusters=codes, n_resamples=n_resamples, rng=rng)
    interval = percentile_interval(replicates, confidence_level)
    enough = len(np.unique(codes[~np.isnan(values)])) > 1
    return interval if enough else Interval(np.nan, np.nan)


def paired_difference_interval(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Percentile bootstrap interval of mean(x) - mean(y) over the same records.

    Parameters are those of `bootstrap_interval`; `x` and `y` have the same shape, and a record
    counts only where both have a value.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape:
        raise ValueError(f"`x` and `y` must be paired, got shapes {x.shape} and {y.shape}.")
    return bootstrap_interval(
        x - y,
        clusters=clusters,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def wilson_interval(n_successes: int, n: int, confidence_level: float = 0.95) -> Interval:
    r"""Wilson interval of a proportion of independent records.

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    n_successes, n : int
    confidence_level : float

    Returns
    -------
    Interval
        As fractions; (NaN, NaN) when `n` is 0.
    """
    if n == 0 and n_successes == 0:
        return Interval(np.nan, np.nan)
    bounds = binomtest(int(n_successes), int(n)).proportion_ci(confidence_level, method="wilson")
    return Interval(float(bounds.low), float(bounds.high))
