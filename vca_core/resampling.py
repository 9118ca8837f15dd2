"""Clusters, their sums, and how often each is drawn in a resample. Knows arrays alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

_CHUNK = 100_000
"""Cluster counts drawn at a time. Chunks that stay in the processor cache are six times as fast."""
_LARGEST = 2**30
"""Sums up to this become integer keys."""


def cluster_codes(clusters: ArrayLike | None, n: int) -> np.ndarray:
    """Give clusters the numbers 0, 1, ... in the order of their sorted names.

    Parameters
    ----------
    clusters : array-like of shape (n,) or None
        Name of each record's cluster. A null name, and None for all, makes the record its own.
    n : int
        Number of records.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        If there is not one name per record.
    """
    if clusters is None:
        return np.arange(n)
    if not _is_clean(clusters):
        clusters = pd.Series(np.asarray(clusters, dtype=object))
    if len(clusters) != n:
        got = len(clusters)
        raise ValueError(f"`clusters` must name one cluster per record, got {got} for {n}.")
    codes, unique = pd.factorize(clusters, sort=True)
    alone = codes < 0
    codes[alone] = len(unique) + np.arange(alone.sum())
    return codes


def _is_clean(clusters: ArrayLike) -> bool:
    """Whether names are of one sortable type already, as codes are; objects are slow."""
    is_array = isinstance(clusters, np.ndarray | pd.Series) and clusters.ndim == 1
    return is_array and (clusters.dtype.kind == "i" or clusters.dtype == "str")


class Patterns(NamedTuple):
    """Distinct sums of clusters, and how many clusters show each."""

    sums: np.ndarray
    """Shape (2k, patterns): sums of the k columns, then records with a value; sorted columns."""
    sizes: np.ndarray
    """Shape (patterns,), int."""


def cluster_sums(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Add up the columns over each cluster, then count its records with a value.

    Parameters
    ----------
    values : ndarray of float64, shape (n, k)
        NaN marks a record outside a column's denominator.
    codes : ndarray of int, shape (n,)
        As from `cluster_codes`.

    Returns
    -------
    ndarray, shape (2k, clusters)
    """
    inside = ~np.isnan(values)
    n_clusters = int(codes.max(initial=-1)) + 1
    parts = np.vstack([np.where(inside, values, 0.0).T, inside.T])
    return np.array([np.bincount(codes, part, minlength=n_clusters) for part in parts])


def count_patterns(sums: np.ndarray, weights: np.ndarray | None = None) -> Patterns:
    """Count equal columns.

    Parameters
    ----------
    sums : ndarray, shape (2k, g)
        As from `cluster_sums`, or columns of several `Patterns` side by side.
    weights : ndarray of int, shape (g,), optional
        Clusters that each column stands for; default: one.
    """
    keys = _integer_keys(sums)
    if keys is None:
        patterns, which = np.unique(sums, axis=1, return_inverse=True)
    else:
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        patterns = sums[:, first]
    sizes = np.bincount(which.ravel(), weights, minlength=patterns.shape[1])
    return Patterns(patterns, sizes.astype(np.int64))


def _integer_keys(sums: np.ndarray) -> np.ndarray | None:
    """One whole number a column, in the columns' order; None where a sum is no small integer.

    To sort these is many times as fast as to sort columns.
    """
    if not sums.size or np.abs(sums).max() > _LARGEST or (sums != np.rint(sums)).any():
        return None
    keys, n_keys = np.zeros(sums.shape[1], dtype=np.int64), 1
    for row in sums:
        low = row.min()
        span = int(row.max() - low) + 1
        if span == 1:
            continue
        if n_keys * span > 2**62:
            keys = np.unique(keys, return_inverse=True)[1]
            n_keys = int(keys.max()) + 1
        keys = keys * span + (row - low).astype(np.int64)
        n_keys *= span
    return keys.astype(np.min_scalar_type(n_keys))  # 16 bits are sorted by radix


def resample_counts(
    n_clusters: int, *, n_resamples: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Draw resamples of clusters, with replacement, as counts.

    Yields
    ------
    ndarray of float64, shape (chunk, n_clusters)
        How often each cluster stands in each resample; rows sum to `n_clusters`. The chunks have
        `n_resamples` rows together, and are small enough for a modest memory.
    """
    if n_resamples < 1:
        raise ValueError(f"`n_resamples` must be at least 1, got {n_resamples}.")
    if n_clusters < 1:
        return
    rows = max(1, min(n_resamples, _CHUNK // n_clusters))
    for start in range(0, n_resamples, rows):
        chunk = min(rows, n_resamples - start)
        drawn = rng.integers(n_clusters, size=(chunk, n_clusters))
        drawn += n_clusters * np.arange(chunk)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=chunk * n_clusters)
        yield counts.reshape(chunk, n_clusters).astype(float)


def multinomial_counts(
    sizes: np.ndarray, *, n_resamples: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Draw resamples of clusters that come in a few patterns, as counts of the patterns.

    Parameters
    ----------
    sizes : ndarray of int, shape (patterns,)
        Clusters that show each pattern.

    Yields
    ------
    ndarray of float64, shape (chunk, patterns)
        Rows sum to the number of clusters; the chunks have `n_resamples` rows together.
    """
    rows = max(1, _CHUNK // max(len(sizes), 1))
    for start in range(0, n_resamples if len(sizes) else 0, rows):
        chunk = min(rows, n_resamples - start)
        yield rng.multinomial(sizes.sum(), sizes / sizes.sum(), size=chunk).astype(float)
