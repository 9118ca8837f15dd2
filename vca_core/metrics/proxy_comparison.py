"""How signals of image use rank what became of a pair, within each model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.matching import matches
from vca_core.metrics.proxies import SIGNALS
from vca_core.metrics.ranking import weighted_ranking
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

METRICS = ("base_rate", "roc_auc", "average_precision")


def proxy_comparison(
    signals: pd.DataFrame,
    outcomes: pd.DataFrame,
    target: str,
    *,
    scores: Sequence[str] = SIGNALS,
    cluster: str = "pair_id",
    match: Sequence[str] = ("model", "sample_id"),
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    """How well signals of the true statement rank an outcome of its pair, within models.

    Parameters
    ----------
    signals : DataFrame
        From `proxy_signals` or `variant_gaps`, with the columns `match` and `scores`; statements
        without an outcome are passed over.
    outcomes : DataFrame, one row per model and pair or edit
        From `audit_pairs` or `edit_outcomes`: ``model``, ``dataset``, ``sample_id`` of the true
        statement, the boolean `target` and the column `cluster`.
    target : str
        "relation_consistent" for the same-record check, "edit_strict" or "edit_visible" for the
        edits.
    scores : sequence of str
        Columns of `signals`; a high score should go with the outcome.
    cluster : str
        What is resampled whole: "pair_id" or "edit_id".
    match : sequence of str
        What joins an outcome and its statement.
    n_resamples, confidence_level, rng, by
        As in `vca_core.metrics.ranking.ranking_rates`; all scores and models share the resamples.

    Returns
    -------
    DataFrame, one row per group, model or their mean, score and metric
        `by`, ``model`` (null for the mean), ``pooling`` in {"run", "macro"}, ``target``,
        ``score``, ``metric`` in {"base_rate", "roc_auc", "average_precision"} (fractions), and the
        columns of an estimate. Macro, which the paper reports, is the unweighted mean of the
        models; like an AUROC it is NaN where all outcomes of a model are the same. A score of
        which the statements of a group have none is NaN with ``n`` = 0.

    Raises
    ------
    SchemaError
        If a column is missing, an outcome finds no statement or several, or a score is there for
        some statements of a group and not for others.

    Notes
    -----
    No signal is fitted to an outcome. Source: [liu2026visual]_, Sec. 18.
    """
    by = names_of(by)
    require_columns(signals, (*match, *scores))
    require_columns(outcomes, ("model", "dataset", "sample_id", *match, *by, cluster, target))
    statements = matches(outcomes, signals, on=list(match))
    found = outcomes.assign(**{score: statements[score] for score in scores})
    seed = int(rng.integers(2**63))
    rows = []
    for key, group in iterate_runs(found, by):
        clusters = run_clusters(group, cluster)
        models = list(pd.unique(group["model"]))
        y = as_float(group[target])
        parts = [~np.isnan(y) & (group["model"] == model).to_numpy() for model in models]
        numbers = _finite_scores(group, scores, ~np.isnan(y))
        values, drawn = _rankings(y, numbers, parts, clusters, n_resamples, seed)
        of_all = [*parts, np.any(parts, axis=0)]
        heads = [*((model, "run") for model in models), (None, "macro")]
        for m, (rows_of, head) in enumerate(zip(of_all, heads, strict=True)):
            for k, score in enumerate(scores):
                inside = np.where(rows_of & ~np.isnan(numbers[k]), y, np.nan)
                for j, metric in enumerate(METRICS):
                    one = estimate(inside, drawn[m, k, j], clusters, confidence_level)
                    one["value"] = float(values[m, k, j])
                    rows.append((*key, *head, target, score, metric, *one.values()))
    columns = [*by, "model", "pooling", "target", "score", "metric", *ESTIMATE]
    return pd.DataFrame(rows, columns=columns)


def _finite_scores(group: pd.DataFrame, scores: Sequence[str], known: np.ndarray) -> np.ndarray:
    """Scores of a group, shape (scores, n); all NaN, or finite where the outcome is known."""
    numbers = np.array([as_float(group[score]) for score in scores]).reshape(len(scores), -1)
    for score, values in zip(scores, numbers, strict=True):
        bad = known & ~np.isfinite(values)
        if bad.any() and not np.isnan(values).all():
            first = group.iloc[int(bad.argmax())]
            raise SchemaError(
                f"`{score}` must be finite for all statements of a group or missing for all, got "
                f"{values[bad.argmax()]} for sample_id {first['sample_id']!r} (model "
                f"{first['model']!r}, {bad.sum()} of {known.sum()} rows)."
            )
    return numbers


def _rankings(
    y: np.ndarray,
    numbers: np.ndarray,
    parts: Sequence[np.ndarray],
    clusters: np.ndarray,
    n_resamples: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Metrics of each model and their mean, shape (models + 1, scores, 3), and resampled."""

    def measure(counts: np.ndarray) -> np.ndarray:
        out = np.full((len(parts) + 1, len(numbers), len(METRICS), len(counts)), np.nan)
        for m, part in enumerate(parts):
            weights, positive = counts[:, clusters[part]], y[part] > 0
            total = weights.sum(axis=1)
            base_rate = np.divide(
                weights @ positive, total, out=np.full(len(total), np.nan), where=total > 0
            )
            for k, score in enumerate(numbers):
                if part.any() and not np.isnan(score).all():
                    out[m, k] = base_rate, *weighted_ranking(positive, score[part], weights)
        out[-1] = out[:-1].mean(axis=0)
        return out

    n_clusters = int(clusters.max(initial=-1)) + 1
    draws = resample_counts(n_clusters, n_resamples=n_resamples, rng=np.random.default_rng(seed))
    values = measure(np.ones((1, n_clusters)))
    return values[..., 0], np.concatenate([measure(counts) for counts in draws], axis=-1)
