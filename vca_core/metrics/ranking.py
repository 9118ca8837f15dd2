"""How well a score ranks an event: AUROC, average precision, tertile difference, resampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from vca_core.metrics.checks import require_columns
from vca_core.metrics.rates import (
    ESTIMATE,
    as_float,
    estimate,
    iterate_runs,
    names_of,
    run_clusters,
)
from vca_core.records import SchemaError
from vca_core.resampling import resample_counts

METRICS = ("base_rate", "roc_auc", "average_precision", "high_minus_low")


def percentile_rank(values: pd.Series, groups: pd.Series | None = None) -> np.ndarray:
    """Percentile ranks in (0, 1], average over ties, within each group; NaN stays NaN.

    Parameters
    ----------
    values, groups : Series of the same index
        Without `groups` all values are ranked together.

    Returns
    -------
    ndarray of float, shape (n,)
    """
    ranked = values if groups is None else values.groupby(groups, sort=False)
    return ranked.rank(pct=True).to_numpy(dtype=float)


def weighted_ranking(
    y_true: np.ndarray, y_score: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""AUROC and average precision under many sets of record weights at once.

    .. math:: \text{AUROC} = \frac{\sum_{i,j} w_i w_j y_i (1 - y_j)
              (1\{s_i > s_j\} + \tfrac12 1\{s_i = s_j\})}{\sum_i w_i y_i \sum_j w_j (1 - y_j)}

    Parameters
    ----------
    y_true : ndarray of bool, shape (n,)
    y_score : ndarray of float, shape (n,)
    weights : ndarray, shape (b, n)
        How often each record stands in each of `b` resamples.

    Returns
    -------
    roc_auc, average_precision : ndarray, shape (b,)
        As `sklearn.metrics.roc_auc_score` and `average_precision_score` give with
        `sample_weight`; NaN where a resample holds one class alone (no positive: both NaN).
    """
    order = np.argsort(-y_score, kind="stable")
    starts = np.flatnonzero(np.diff(y_score[order], prepend=np.inf))
    positive = np.add.reduceat(weights[:, order] * y_true[order], starts, axis=1)
    negative = np.add.reduceat(weights[:, order] * ~y_true[order], starts, axis=1)
    true, false = positive.cumsum(axis=1), negative.cumsum(axis=1)
    n_true, n_false = true[:, -1], false[:, -1]
    lower = n_false[:, None] - false + negative / 2  # negatives ranked below, ties by half
    with np.errstate(invalid="ignore", divide="ignore"):
        roc_auc = (positive * lower).sum(axis=1) / (n_true * n_false)
        precision = np.where(positive > 0, true / (true + false), 0)
        average_precision = (positive * precision).sum(axis=1) / n_true
    return roc_auc, average_precision


def tertiles(y_score: np.ndarray) -> np.ndarray:
    """Third of each record by its score: 0 low, 1, 2 high; ties are broken by order.

    The outer thirds hold ``round(n / 3)`` records each.
    """
    place = rankdata(y_score, method="ordinal") - 1
    outer = round(len(y_score) / 3)
    return np.where(place < outer, 0, np.where(place >= len(y_score) - outer, 2, 1))


def ranking_rates(
    records: pd.DataFrame,
    targets: Sequence[str],
    scores: Sequence[str],
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
    cluster: str = "pair_id",
) -> pd.DataFrame:
    """How well scores rank events, in each model and over the models.

    Parameters
    ----------
    records : DataFrame, one row per record
        ``model``, ``dataset``, ``sample_id``, the columns of `by`, `targets` and `scores`.
    targets : sequence of str
        Boolean columns; null is outside the denominator.
    scores : sequence of str
        Columns of numbers, finite where a target is known.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap. A resample draws clusters whole and keeps every model's
        records of them; all targets, scores and models share the resamples.
    by : sequence of str
        Columns within which models are put together.
    cluster : str
        As in `vca_core.metrics.rates.rate_frame`.

    Returns
    -------
    DataFrame, one row per group, model or pooling, target, score and metric
        `by`, ``model`` (null over models), ``pooling`` in {"run", "macro", "rank"}, ``target``,
        ``score``, ``metric`` in {"base_rate", "roc_auc", "average_precision",
        "high_minus_low"} (fractions), and the columns of an estimate. Macro is the unweighted mean
        of the models; rank pools the records of all models after a percentile rank within each.
        A model in which all records have one class has AUROC NaN, and so has their macro.

    Raises
    ------
    SchemaError
        If a column is missing or a score is not finite.

    Notes
    -----
    ``high_minus_low`` is the event rate in the top third of a score minus that in the bottom
    third; which record is in which third is settled once, not in each resample. Ties go by the
    order of names. Source: [liu2026visual]_, Sec. 15.
    """
    by = names_of(by)
    require_columns(records, ("model", "sample_id", *by, *targets, *scores))
    seed = int(rng.integers(2**63))
    rows = []
    for key, unsorted in iterate_runs(records, by):
        models = list(pd.unique(unsorted["model"]))
        group = unsorted.sort_values(["sample_id", "model"], kind="stable")
        clusters = run_clusters(group, cluster)
        for target in targets:
            for score in scores:
                found = _rank_group(group, target, score, clusters, models, n_resamples, seed,
                                    confidence_level)  # fmt: skip
                rows += [(*key, *head, target, score, metric, *e.values())
                         for head, metric, e in found]  # fmt: skip
    columns = [*by, "model", "pooling", "target", "score", "metric", *ESTIMATE]
    return pd.DataFrame(rows, columns=columns)


def _rank_group(
    group: pd.DataFrame,
    target: str,
    score: str,
    clusters: np.ndarray,
    models: list[str],
    n_resamples: int,
    seed: int,
    confidence_level: float,
) -> list[tuple[tuple[str | None, str], str, dict]]:
    """Estimates of one target and score: each model, their mean, and pooled by rank."""
    y = as_float(group[target])
    known = ~np.isnan(y)
    if not np.isin(y[known], (0, 1)).all():
        raise SchemaError(f"`{target}` must hold events, true, false or null, got other numbers.")
    s = finite_scores(group, score, known)
    ranks = percentile_rank(pd.Series(np.where(known, s, np.nan), group.index), group["model"])
    parts = [(known & (group["model"] == m).to_numpy(), s) for m in models] + [(known, ranks)]
    codes = [clusters[rows] for rows, _ in parts]
    values, replicates = [], []
    for rows, ranked in parts:
        values.append(_measure(y[rows] > 0, ranked[rows], np.ones((1, rows.sum())))[0])
    draws = resample_counts(
        int(clusters.max(initial=-1)) + 1,
        n_resamples=n_resamples,
        rng=np.random.default_rng(seed),
    )
    for counts in draws:
        replicates.append(
            [_measure(y[rows] > 0, ranked[rows], counts[:, code])
             for (rows, ranked), code in zip(parts, codes, strict=True)]
        )  # fmt: skip
    drawn = np.concatenate(replicates, axis=1)  # (parts, resamples, metrics)
    out = []
    for j, metric in enumerate(METRICS):
        for m, head in enumerate([*((name, "run") for name in models), (None, "rank")]):
            inside = np.where(parts[m][0], y, np.nan)
            found = estimate(inside, drawn[m, :, j], clusters, confidence_level)
            out.append((head, metric, found | {"value": values[m][j]}))
        macro = estimate(np.where(known, y, np.nan), drawn[:-1, :, j].mean(axis=0), clusters,
                         confidence_level)  # fmt: skip
        mean = float(np.mean([v[j] for v in values[:-1]]))
        out.append(((None, "macro"), metric, macro | {"value": mean}))
    order = {"run": 0, "macro": 1, "rank": 2}
    return sorted(out, key=lambda row: order[row[0][1]])


def finite_scores(group: pd.DataFrame, score: str, known: np.ndarray) -> np.ndarray:
    """Scores as floats; refuses one that is not finite where the target is known."""
    s = as_float(group[score])
    bad = known & ~np.isfinite(s)
    if bad.any():
        row = group.iloc[int(bad.argmax())]
        raise SchemaError(
            f"`{score}` must be finite, got {s[bad.argmax()]} for sample_id "
            f"{row['sample_id']!r} (model {row['model']!r}, {bad.sum()} of {known.sum()} rows)."
        )
    return s


def _measure(y_true: np.ndarray, y_score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give the four metrics, shape (b, 4); NaN where a resample leaves one undefined."""
    if not len(y_true):
        return np.full((len(weights), len(METRICS)), np.nan)
    roc_auc, average_precision = weighted_ranking(y_true, y_score, weights)
    third = tertiles(y_score)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = [
            (weights * (y_true & part)).sum(axis=1) / (weights * part).sum(axis=1)
            for part in (third >= 0, third == 2, third == 0)
        ]
    return np.column_stack([rate[0], roc_auc, average_precision, rate[1] - rate[2]])
