"""What a measure adds to another in predicting an event of the same record, cross-validated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.auroc import resampled_roc_auc
from vca_core.metrics.checks import require_columns
from vca_core.metrics.held_out import feature_matrix, held_out_log_odds
from vca_core.metrics.increments import METRICS
from vca_core.metrics.rates import (
    ESTIMATE,
    as_float,
    estimate,
    iterate_runs,
    names_of,
    run_clusters,
)


def cross_validated_increment(
    records: pd.DataFrame,
    target: str,
    base: str | Sequence[str],
    added: str | Sequence[str],
    *,
    n_splits: int = 5,
    n_repeats: int = 10,
    ridge: float = 1.0,
    by: Sequence[str] = ("dataset",),
    cluster: str = "pair_id",
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Change of the out-of-fold AUROC when features join others, per model and macro.

    .. math:: \Delta_m = \frac1R \sum_{r=1}^{R} \bigl[
              \text{AUROC}(\hat\eta^{\,\text{aug}}_r, y) -
              \text{AUROC}(\hat\eta^{\,\text{base}}_r, y) \bigr]_m, \qquad
              \Delta = \frac1M \sum_m \Delta_m

    where :math:`\hat\eta_r` are the log-odds of L2 logistic regressions within model :math:`m`,
    each record predicted in repeat :math:`r` by the fit to the folds it is not in.

    Parameters
    ----------
    records : DataFrame, one row per record
        ``model``, ``dataset``, ``sample_id``, `target`, the features, and the columns `by` and
        `cluster`. For the shared-margin control: the true statement of each pair, with
        ``margin_original`` and ``image_gap`` in nats.
    target : str
        A boolean column, such as "relation_consistent"; records where it is null are left out.
    base, added : str or sequence of str
        Features as in `vca_core.metrics.held_out.feature_matrix`, such as "margin_original" and
        "image_gap": raw numbers, nothing standardised.
    n_splits, n_repeats : int
        Folds of whole clusters, the same for all models, drawn anew in each repeat [I]. Fewer
        clusters than `n_splits` make as many folds as there are clusters.
    ridge : float
        As in `vca_core.metrics.held_out.held_out_log_odds` [I].
    by, cluster
        Columns within which models are averaged, and the column of the relation pair; records
        without one stand alone.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over clusters, paired over models; predictions stay as they
        are [I]. The first draw of `rng` seeds the resamples, the second the folds.

    Returns
    -------
    DataFrame, one row per group, model or macro, and metric
        `by`, ``model`` (None for macro), ``pooling`` in {"run", "macro"}, ``target``, ``metric``
        in {"baseline_roc_auc", "augmented_roc_auc", "increment"}, then ``value, low, high, n,
        n_clusters, n_undefined`` (fractions). A model with one class, or a fold whose fit saw one
        class, is NaN with its ``n``, and so is the macro row it would enter.

    Raises
    ------
    SchemaError
        If a column is missing, or a feature is null or infinite where the target is known.
    ValueError
        If `n_splits` is below 2 or `n_repeats` below 1.

    Notes
    -----
    The paper states repeated out-of-fold logistic regression, not its folds, repeats, penalty or
    resamples [I]. Source: [liu2026visual]_, Sec. 15 (Direct shared-margin control).
    """
    by = names_of(by)
    if n_splits < 2 or n_repeats < 1:
        raise ValueError(
            f"`n_splits` must be at least 2 and `n_repeats` 1, got {n_splits} and {n_repeats}."
        )
    base, added = ((f,) if isinstance(f, str) else tuple(f) for f in (base, added))
    require_columns(records, ("model", "sample_id", target, *by))
    resample_seed, fold_seed = (int(seed) for seed in rng.integers(2**63, size=2))
    rows = []
    for key, group in iterate_runs(records, by):
        models = list(pd.unique(group["model"]))
        known = group[group[target].notna()].sort_values(["sample_id", "model"], kind="stable")
        clusters = run_clusters(known, cluster)
        n_clusters = int(clusters.max(initial=-1)) + 1
        fold_rng = np.random.default_rng(fold_seed)
        of_cluster = np.array(
            [fold_rng.permutation(np.arange(n_clusters) % n_splits) for _ in range(n_repeats)]
        )
        found = {}
        for model in models:
            inside = (known["model"] == model).to_numpy()
            found[model] = _of_model(
                known[inside], target, base, added, ridge, of_cluster[:, clusters[inside]],
                clusters[inside], n_clusters, n_resamples, resample_seed,
            )  # fmt: skip
        head = {**dict(zip(by, key, strict=True)), "target": target}
        for model in models:
            inside = (known["model"] == model).to_numpy()
            rows += _rows(
                head | {"model": model, "pooling": "run"}, found[model], clusters[inside],
                confidence_level,
            )  # fmt: skip
        macro = [
            tuple(np.mean([of[m][part] for of in found.values()], axis=0) for part in (0, 1))
            for m in range(len(METRICS))
        ]
        rows += _rows(head | {"model": None, "pooling": "macro"}, macro, clusters, confidence_level)
    return pd.DataFrame(rows, columns=[*by, "model", "pooling", "target", "metric", *ESTIMATE])


def _of_model(
    own: pd.DataFrame,
    target: str,
    base: tuple[str, ...],
    added: tuple[str, ...],
    ridge: float,
    folds: np.ndarray,
    clusters: np.ndarray,
    n_clusters: int,
    n_resamples: int,
    seed: int,
) -> list[tuple[float, np.ndarray]]:
    """Value and replicates of each of METRICS in one model; `folds` has shape (repeats, n)."""
    y = as_float(own[target]) > 0
    found = []
    for features in (base, base + added):
        x = feature_matrix(own, features)
        scores = np.array([held_out_log_odds(x, y, fold, ridge=ridge) for fold in folds])
        found.append(
            resampled_roc_auc(
                y, scores, clusters, n_clusters=n_clusters, n_resamples=n_resamples, seed=seed
            )
        )
    (before, drawn_before), (after, drawn_after) = found
    return [*found, (after - before, drawn_after - drawn_before)]


def _rows(
    head: dict[str, object],
    found: list[tuple[float, np.ndarray]],
    clusters: np.ndarray,
    confidence_level: float,
) -> list[dict]:
    inside = np.ones(len(clusters))
    return [
        head
        | {"metric": metric}
        | estimate(inside, replicates, clusters, confidence_level)
        | {"value": float(value)}
        for metric, (value, replicates) in zip(METRICS, found, strict=True)
    ]
