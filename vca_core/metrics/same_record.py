"""Same-record checks: how the gap of a true statement ranks what the model does with its pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.ranking import finite_scores, percentile_rank, ranking_rates, weighted_ranking
from vca_core.metrics.rates import (
    ESTIMATE,
    as_float,
    estimate,
    iterate_runs,
    names_of,
    run_clusters,
)
from vca_core.resampling import resample_counts

MIN_CLASS = 5
"""Records of the rarer class below which a model gets no AUROC: with fewer, many resamples lack
the class, and those that are left look more alike than the number of records allows."""


def enough_of_both(
    sources: pd.DataFrame,
    target: str,
    *,
    min_class: int = MIN_CLASS,
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    """Keep the records of models in which the target both occurs and fails often enough.

    Parameters
    ----------
    sources : DataFrame
        ``model``, the columns of `by`, and `target`, boolean; null counts on neither side.
    target : str
    min_class : int
        Records needed of the rarer class; a choice of this package, the paper names none.
    by : sequence of str
        Columns within which a model's records are counted.

    Returns
    -------
    DataFrame
        The rows of these models, as they were.

    Raises
    ------
    SchemaError
        If a column is missing.
    """
    by = names_of(by)
    require_columns(sources, ("model", *by, target))
    y = as_float(sources[target])
    keys = [sources[name] for name in (*by, "model")]
    sides = [
        pd.Series((y == event).astype(int), sources.index).groupby(keys, dropna=False)
        for event in (0, 1)
    ]
    rarer = np.minimum(*(side.transform("sum").to_numpy() for side in sides))
    return sources[rarer >= min_class]


def same_record_checks(
    sources: pd.DataFrame,
    *,
    n_bins: int = 5,
    min_class: int = MIN_CLASS,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    r"""How the true statement's gap and margin rank relation consistency, and the false one alone.

    Relation consistency needs :math:`m_o(q^+) \ge 0`, so predictor and target share a margin. The
    false-only target takes that part away: among pairs whose true statement is accepted, whether
    the false one is rejected.

    Parameters
    ----------
    sources : DataFrame, one row per (model, pair_id)
        From `source_records`.
    n_bins : int
        Of the true statement's margin, for the conditional AUROC; see `conditional_roc_auc`.
    min_class : int
        As in `enough_of_both`. A model with fewer records of one class has NaN in place of every
        measure but the base rate, and is left out of the rows over models.
    n_resamples, confidence_level, rng, by
        As in `ranking_rates`; clusters are relation pairs.

    Returns
    -------
    DataFrame
        As `ranking_rates`: ``target`` in {"relation_consistent", "false_only"}, ``score`` in
        {"image_gap", "margin_original"}; with them, for the false-only target and the gap,
        ``metric`` "conditional_roc_auc". ``n_yes`` and ``n_no`` count a row's records of both
        classes. Rows over models are of those with `min_class` records of both; NaN where there
        is none, with the records of all.

    Notes
    -----
    Convergent checks, not independent ones: the scores are from the same records. Source:
    [liu2026visual]_, Sec. 15.
    """
    by = names_of(by)
    require_columns(sources, ("relation_consistent", "false_only"), " Call `source_records` first.")
    seed = int(rng.integers(2**63))
    options = {"n_resamples": n_resamples, "confidence_level": confidence_level, "by": by}
    scores = ("image_gap", "margin_original")
    ranked = partial(ranking_rates, scores=scores, **options)
    within = partial(
        conditional_roc_auc, score=scores[0], given=scores[1], n_bins=n_bins, **options
    )
    parts = []
    for measure, target in (
        (ranked, "relation_consistent"),
        (ranked, "false_only"),
        (within, "false_only"),
    ):
        asked = (target,) if measure is ranked else target
        for _, group in iterate_runs(sources, by):
            kept = enough_of_both(group, target, min_class=min_class, by=by)
            found = [
                measure(frame, asked, rng=np.random.default_rng(seed)) for frame in (group, kept)
            ]
            parts.append(_without_few(*found, group, kept, target))
    if not parts:
        return ranked(sources, targets=(target,), rng=rng).assign(n_yes=0, n_no=0)
    return pd.concat(parts, ignore_index=True)


def _without_few(
    rates: pd.DataFrame, of_kept: pd.DataFrame, group: pd.DataFrame, kept: pd.DataFrame, target: str
) -> pd.DataFrame:
    """Blank the models of `group` not in `kept`, and take the rows over models from the latter."""
    over = rates["pooling"] != "run"
    blank = ~rates["model"].isin(kept["model"]) & (rates["metric"] != "base_rate")
    rates.loc[blank, ["value", "low", "high"]] = np.nan  # rows over models too: see below
    if len(kept):
        pooled = of_kept[of_kept["pooling"] != "run"]
        rates = pd.concat([rates[~over], pooled], ignore_index=True)
    for name, event in (("n_yes", 1), ("n_no", 0)):
        of_model = (as_float(group[target]) == event).astype(int)
        own = pd.Series(of_model, group["model"].to_numpy()).groupby(level=0).sum()
        counted = kept if len(kept) else group
        whole = own[counted["model"].unique()].sum()
        rates[name] = rates["model"].map(own).fillna(whole).astype(int)
    return rates


def conditional_roc_auc(
    records: pd.DataFrame,
    target: str,
    score: str,
    given: str,
    *,
    n_bins: int = 5,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
    cluster: str = "pair_id",
) -> pd.DataFrame:
    r"""AUROC of a score among records alike in another one, per model and their mean.

    .. math:: \frac{\sum_b P_b N_b \, \text{AUROC}_b}{\sum_b P_b N_b}

    where :math:`P_b` and :math:`N_b` count the records with and without the event in bin
    :math:`b`; bins are quantiles of `given` within the model.

    Parameters
    ----------
    records, target, score, n_resamples, confidence_level, rng, by, cluster
        As in `ranking_rates`, with one target and one score.
    given : str
        Column of numbers whose bins hold it about constant; tied records share a bin.
    n_bins : int
        How many. A reading: the paper compares within bins of the true statement's margin and
        leaves their number open, and how bins are put together.

    Returns
    -------
    DataFrame
        `by`, ``model`` (null for the mean), ``pooling`` in {"run", "macro"}, ``target``,
        ``score``, ``metric`` "conditional_roc_auc", and the columns of an estimate. NaN where no
        bin has both classes, and then for the mean too.

    Notes
    -----
    Which record is in which bin is settled once, not in each resample. Source: [liu2026visual]_,
    Sec. 15.
    """
    by = names_of(by)
    require_columns(records, ("model", "sample_id", *by, target, score, given))
    if n_bins < 1:
        raise ValueError(f"`n_bins` must be at least 1, got {n_bins}.")
    seed = int(rng.integers(2**63))
    rows = []
    for key, group in iterate_runs(records, by):
        clusters = run_clusters(group, cluster)
        models = list(pd.unique(group["model"]))
        y = as_float(group[target])
        known = ~np.isnan(y)
        parts = [np.flatnonzero(known & (group["model"] == m).to_numpy()) for m in models]
        finite_scores(group, given, known)
        bins = [_bins(group[given].iloc[part], n_bins) for part in parts]
        s = finite_scores(group, score, known)

        def measure(counts: np.ndarray, y=y, s=s, parts=parts, bins=bins, clusters=clusters):
            return np.array(
                [_within(y[part] > 0, s[part], which, counts[:, clusters[part]])
                 for part, which in zip(parts, bins, strict=True)]
            )  # fmt: skip

        n_clusters = int(clusters.max(initial=-1)) + 1
        draws = resample_counts(
            n_clusters, n_resamples=n_resamples, rng=np.random.default_rng(seed)
        )
        found = measure(np.ones((1, n_clusters)))
        drawn = np.concatenate([found[:, :0], *map(measure, draws)], axis=1)
        for m, model in enumerate(models):
            inside = np.where((group["model"] == model).to_numpy(), y, np.nan)
            one = estimate(inside, drawn[m], clusters, confidence_level) | {"value": found[m, 0]}
            rows.append((*key, model, "run", *one.values()))
        if models:
            mean = estimate(y, drawn.mean(axis=0), clusters, confidence_level)
            rows.append((*key, None, "macro", *(mean | {"value": found.mean()}).values()))
    frame = pd.DataFrame(rows, columns=[*by, "model", "pooling", *ESTIMATE])
    for name, value in (("metric", "conditional_roc_auc"), ("score", score), ("target", target)):
        frame.insert(len(by) + 2, name, value)
    return frame


def _bins(values: pd.Series, n_bins: int) -> np.ndarray:
    """Quantile bin of each value, from 1; ties go together."""
    return np.ceil(percentile_rank(values.reset_index(drop=True)) * n_bins)


def _within(y: np.ndarray, s: np.ndarray, bins: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pair-weighted mean of the bins' AUROC in each resample, shape (b,)."""
    ordered, comparable = np.zeros(len(weights)), np.zeros(len(weights))
    for which in np.unique(bins):
        rows = bins == which
        w = weights[:, rows]
        pairs = w[:, y[rows]].sum(axis=1) * w[:, ~y[rows]].sum(axis=1)
        roc_auc, _ = weighted_ranking(y[rows], s[rows], w)
        ordered += np.where(pairs > 0, roc_auc * pairs, 0)
        comparable += pairs
    return np.divide(ordered, comparable, out=np.full_like(ordered, np.nan), where=comparable > 0)
