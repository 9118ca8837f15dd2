"""AUROC in resamples of whole clusters, from the pairs that are ranked in order."""

from __future__ import annotations

import numpy as np

from vca_core.resampling import resample_counts


def resampled_roc_auc(
    y_true: np.ndarray,
    y_score: np.ndarray,
    clusters: np.ndarray,
    *,
    n_clusters: int,
    n_resamples: int,
    seed: int,
) -> tuple[float, np.ndarray]:
    r"""AUROC of a score, or the mean AUROC of several, with its bootstrap replicates.

    .. math:: A^{(b)} = \frac{w^\top K w}{w^\top p \; w^\top q}, \qquad
              K_{gh} = \sum_{i \in g} \sum_{j \in h} y_i (1 - y_j)
              (1\{s_i > s_j\} + \tfrac12 1\{s_i = s_j\})

    where :math:`w_g` counts how often cluster :math:`g` was drawn, and :math:`p_g`, :math:`q_g`
    are its records with and without the event.

    Parameters
    ----------
    y_true : ndarray of bool, shape (n,)
    y_score : ndarray of float, shape (n,) or (k, n)
        With `k` rows the value is the mean of their AUROCs, which costs no more than one.
    clusters : ndarray of int, shape (n,)
        Codes below `n_clusters`, as from `vca_core.stats.cluster_codes`.
    n_clusters, n_resamples, seed : int
        Two calls with equal ones are paired: the same clusters are drawn.

    Returns
    -------
    value : float
        As `sklearn.metrics.roc_auc_score`; NaN where there is one class or a score is NaN.
    replicates : ndarray, shape (n_resamples,)
        NaN where a resample holds one class, and everywhere if `value` is NaN.

    Notes
    -----
    Time and memory grow with the square of `n_clusters`; of thousands of clusters,
    `vca_core.metrics.ranking.weighted_ranking` makes less work.
    """
    scores = np.atleast_2d(y_score)
    replicates = np.full(n_resamples, np.nan)
    if np.isnan(scores).any() or y_true.all() or not y_true.any():
        return np.nan, replicates
    # Halves add up without rounding, so equal rankings have equal values in any order of rows.
    wins = np.sum([(1 + np.sign(s[y_true][:, None] - s[~y_true])) / 2 for s in scores], axis=0)
    cells = clusters[y_true][:, None] * n_clusters + clusters[~y_true]
    kernel = np.bincount(cells.ravel(), wins.ravel(), n_clusters**2)
    kernel = kernel.reshape(n_clusters, n_clusters)
    n_true = np.bincount(clusters[y_true], minlength=n_clusters)
    n_false = np.bincount(clusters[~y_true], minlength=n_clusters)
    rng, start = np.random.default_rng(seed), 0
    for counts in resample_counts(n_clusters, n_resamples=n_resamples, rng=rng):
        pairs = len(scores) * (counts @ n_true) * (counts @ n_false)
        out = replicates[start : start + len(counts)]
        np.divide(((counts @ kernel) * counts).sum(axis=1), pairs, out=out, where=pairs > 0)
        start += len(counts)
    return float(wins.mean() / len(scores)), replicates
