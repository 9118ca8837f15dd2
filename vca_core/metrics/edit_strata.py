"""Rates inside strata of the records, and their differences: per model, pooled, mean of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.edits import TARGETS
from vca_core.metrics.rates import (
    ESTIMATE,
    as_float,
    estimate,
    iterate_runs,
    names_of,
    run_clusters,
)
from vca_core.stats import bootstrap_means

PAIR_STRATA = {"overall": None, "relation_consistent": "relation_consistent", "joint": "joint"}
PAIR_CONTRASTS = {
    "pair_dependent_increment": ("joint", "relation_consistent"),
    "joint_minus_overall": ("joint", "overall"),
}
OVER_MODELS = ((None, "micro"), (None, "macro"))


def strata_rates(
    records: pd.DataFrame,
    targets: Sequence[str],
    strata: Mapping[str, str | None],
    contrasts: Mapping[str, tuple[str, str]],
    *,
    n_resamples: int,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
    cluster: str = "edit_id",
) -> pd.DataFrame:
    """Means of targets inside strata, and differences between strata, all in the same resamples.

    Parameters
    ----------
    records : DataFrame, one row per record
        ``model``, ``dataset``, ``sample_id``, and the columns named below.
    targets : sequence of str
        Columns of events or numbers; null is outside the denominator.
    strata : mapping of name to boolean column
        None takes every record; a record where the column is null is in neither part.
    contrasts : mapping of name to (name of a stratum, name of another)
        The first one's mean minus the second one's. The two may overlap or be disjoint.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap. A resample draws clusters whole and keeps every model's
        records of them, so targets, strata and models are paired.
    by, cluster
        As in `vca_core.metrics.pooling.pooled_rates`.

    Returns
    -------
    DataFrame
        `by`, ``model`` (null over models), ``pooling`` in {"run", "micro", "macro"}, ``stratum``
        (of `strata`, then of `contrasts`), ``metric`` (the target), the columns of an estimate and
        ``n_models``. Micro is the mean over all models' records, macro the unweighted mean over
        the ``n_models`` models that have the value. ``n`` and ``n_clusters`` of a contrast are
        those of its first stratum.
    """
    by = names_of(by)
    masks = [column for column in strata.values() if column is not None]
    require_columns(records, ("model", "sample_id", *by, *targets, *masks))
    seed = int(rng.integers(2**63))
    names = [(stratum, target) for stratum in (*strata, *contrasts) for target in targets]
    rows = []
    for key, group in iterate_runs(records, by):
        if not len(group):
            continue
        models = list(pd.unique(group["model"]))
        clusters = run_clusters(group, cluster)
        inside, means, drawn = _resampled(group, models, targets, strata, contrasts, clusters,
                                          n_resamples, np.random.default_rng(seed))  # fmt: skip
        for part, head in enumerate([*((name, "run") for name in models), *OVER_MODELS]):
            own = inside if part >= len(models) else _of(inside, group["model"], models[part])
            for j, name in enumerate(names):
                has = int((~np.isnan(means[: len(models), j])).sum())
                found = estimate(own[:, j], drawn[:, part, j], clusters, confidence_level)
                found |= {"value": float(means[part, j])}
                rows.append((*key, *head, *name, *found.values(), has if head[0] is None else 1))
    columns = [*by, "model", "pooling", "stratum", "metric", *ESTIMATE, "n_models"]
    return pd.DataFrame(rows, columns=columns)


def _of(values: np.ndarray, of_model: pd.Series, model: str) -> np.ndarray:
    """One model's values, NaN in the rows of the others."""
    return np.where((of_model == model).to_numpy()[:, None], values, np.nan)


def _resampled(
    group: pd.DataFrame,
    models: list[str],
    targets: Sequence[str],
    strata: Mapping[str, str | None],
    contrasts: Mapping[str, tuple[str, str]],
    clusters: np.ndarray,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (n, k), means (parts, k), their replicates (n_resamples, parts, k).

    Parts are the models, all records (micro) and the mean of the models (macro).
    """
    numbers = np.column_stack([as_float(group[target]) for target in targets])
    inside = [
        (as_float(group[column]) == 1)[:, None] if column is not None else True
        for column in strata.values()
    ]
    values = np.hstack([np.where(rows, numbers, np.nan) for rows in inside])
    parts = [_of(values, group["model"], model) for model in models] + [values]
    drawn = bootstrap_means(np.hstack(parts), clusters=clusters, n_resamples=n_resamples, rng=rng)
    drawn = drawn.reshape(n_resamples, len(parts), -1)
    means = np.array([_means(part) for part in parts])

    place = {name: i * len(targets) + np.arange(len(targets)) for i, name in enumerate(strata)}
    for first, second in contrasts.values():
        a, b = place[first], place[second]
        values = np.hstack([values, values[:, a]])
        means = np.hstack([means, means[:, a] - means[:, b]])
        drawn = np.concatenate([drawn, drawn[..., a] - drawn[..., b]], axis=-1)
    has = ~np.isnan(means[:-1])
    # A resample in which a model of the mean has no value has no mean.
    macro = np.where(has, drawn[:, :-1], 0).sum(axis=1, keepdims=True) / np.maximum(has.sum(0), 1)
    macro[:, :, ~has.any(axis=0)] = np.nan
    return values, np.vstack([means, _means(means[:-1])]), np.concatenate([drawn, macro], axis=1)


def _means(values: np.ndarray) -> np.ndarray:
    """Mean of each column over its numbers; NaN where it has none."""
    n = (~np.isnan(values)).sum(axis=0)
    return np.divide(np.nansum(values, axis=0), n, out=np.full(len(n), np.nan), where=n > 0)


def outcomes_by_stratum(
    outcomes: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    r"""Success on the edited pictures, overall and by what the audit says of the source pair.

    .. math:: \Delta_{\mathrm{PairD}} = \overline{E \mid \text{Joint}}
              - \overline{E \mid \text{Rel}_o}

    for each outcome :math:`E` of `edit_outcomes`; Joint is the part of :math:`\text{Rel}_o` in
    which both statements of the pair are dependent.

    Parameters
    ----------
    outcomes : DataFrame
        From `edit_outcomes`.
    n_resamples, confidence_level, rng, by
        As in `strata_rates`; clusters are edits, with all models' records.

    Returns
    -------
    DataFrame
        As `strata_rates`: ``stratum`` in {"overall", "relation_consistent", "joint",
        "pair_dependent_increment", "joint_minus_overall"}, ``metric`` in {"edit_relation",
        "edit_visible", "edit_strict"}. Fractions; the last two strata are paired differences.

    Notes
    -----
    The paper's row over models is the macro one. The increment compares overlapping strata, since
    Joint is part of :math:`\text{Rel}_o`. Source: [liu2026visual]_, Sec. 4 and 15.
    """
    by = names_of(by)
    require_columns(outcomes, ("edit_id",), " Call `edit_outcomes` first.")
    return strata_rates(
        outcomes,
        TARGETS,
        PAIR_STRATA,
        PAIR_CONTRASTS,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
        by=by,
    )


def natural_correspondence(
    outcomes: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    """Success on the edited picture where the source is answered rightly, dependent or not.

    Parameters are those of `outcomes_by_stratum`; ``correct`` must be known.

    Returns
    -------
    DataFrame
        As `strata_rates`, over records whose true statement is answered yes on the source:
        ``stratum`` in {"dcc", "cu", "difference"}, ``metric`` "edit_visible".

    Notes
    -----
    Uncredited doesn't mean blind: such a decision can still follow an edit. The paper's figure is
    the micro one. Source: [liu2026visual]_, Sec. 4 and 10.
    """
    by = names_of(by)
    require_columns(outcomes, ("edit_id", "correct", "dependent"), " Call `edit_outcomes` first.")
    correct = outcomes["correct"].astype("boolean")
    return strata_rates(
        outcomes.assign(dcc=correct & outcomes["dependent"], cu=correct & ~outcomes["dependent"]),
        ("edit_visible",),
        {"dcc": "dcc", "cu": "cu"},
        {"difference": ("dcc", "cu")},
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
        by=by,
    )
