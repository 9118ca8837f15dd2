"""Leave one model out: what the others keep for it, and its outcomes in resampled groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.filter_scores import FILTERS
from vca_core.metrics.filtering import group_ids, group_scores, is_ranked, keep_groups, rank_panel
from vca_core.metrics.rates import estimate, iterate_runs, run_clusters
from vca_core.records import NotScoredError, SchemaError
from vca_core.stats import bootstrap_means

FULL = "full"
"""Name of the filter that keeps everything."""
COVERAGES = (1.0, 0.25, 0.5, 0.75)
"""Shares of the groups, in the order of the paper's table."""


def kept_records(
    audit: pd.DataFrame,
    filters: Sequence[str] = tuple(FILTERS),
    coverages: Sequence[float] = COVERAGES,
) -> pd.DataFrame:
    """Say which records of each model are kept by filters made from the other models.

    Parameters
    ----------
    audit : DataFrame, one row per record
        From `audit_support`, of at least two models in each data set.
    filters : sequence of str
        As the `score` of `panel_score`.
    coverages : sequence of float
        Shares of the groups to keep, in (0, 1].

    Returns
    -------
    DataFrame of bool, the rows of `audit`
        One column per (filter, coverage); all groups, coverage 1, stand once as ("full", 1.0).
        Both statements of a kept pair are kept.

    Raises
    ------
    NotScoredError
        If a data set has fewer than two models.
    SchemaError
        If `panel_score` or `keep_groups` refuses it.
    """
    require_columns(audit, ("model", "dataset", "sample_id"))
    names = [
        (FULL, 1.0) if coverage == 1 else (name, float(coverage))
        for coverage in coverages
        for name in filters
    ]
    columns = pd.MultiIndex.from_tuples(dict.fromkeys(names), names=["filter", "coverage"])
    kept = np.zeros((len(audit), len(columns)), dtype=bool)
    for dataset in audit["dataset"].unique():
        records = audit[audit["dataset"] == dataset]
        _check_panel(records)
        groups, scores = group_ids(records), {name: group_scores(records, name) for name in filters}
        for held_out in records["model"].unique():
            panels = {
                name: rank_panel(means.drop(index=held_out), is_ranked(name))
                for name, means in scores.items()
            }
            rows = (audit["dataset"] == dataset) & (audit["model"] == held_out)
            own = groups[records["model"] == held_out]
            for j, (name, coverage) in enumerate(columns):
                panel = panels[filters[0] if name == FULL else name]
                kept[rows.to_numpy(), j] = own.isin(keep_groups(panel, coverage))
    return pd.DataFrame(kept, index=audit.index, columns=columns)


def _check_panel(records: pd.DataFrame) -> None:
    models = records["model"].unique()
    if len(models) < 2:
        raise NotScoredError(
            "Leave-one-model-out filtering needs two models or more on the same statements: one is "
            f"held out, the others choose. Got {', '.join(map(repr, models))} alone on data set "
            f"{records['dataset'].iloc[0]!r}; score another model, or name more `models`."
        )


class Rotation(NamedTuple):
    """Outcomes of one held-out model: columns of shape (n,), and their means in each resample."""

    model: str
    columns: dict[tuple, np.ndarray]
    clusters: np.ndarray
    replicates: np.ndarray


def rotate(
    audit: pd.DataFrame,
    kept: pd.DataFrame,
    measures: Callable[[pd.DataFrame, pd.DataFrame], dict[tuple, np.ndarray]],
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, list[Rotation]]]:
    """Rotations of each data set, all models in the same resamples of the groups."""
    require_columns(audit, ("model", "dataset", "sample_id"))
    if not kept.index.equals(audit.index):
        raise SchemaError(
            f"`kept` must have the rows of `audit`, got {len(kept)} rows for {len(audit)}, or "
            "another order; make it from the same frame."
        )
    seed = int(rng.integers(2**63))
    audit, kept = audit.reset_index(drop=True), kept.reset_index(drop=True)
    for (dataset,), records in iterate_runs(audit, ("dataset",)):
        clusters = pd.Series(run_clusters(records), records.index)
        rotations = []
        for model, own in records.groupby("model", sort=False):
            columns = measures(own, kept.loc[own.index])
            code = clusters[own.index].to_numpy()
            replicates = bootstrap_means(
                np.column_stack(list(columns.values())),
                clusters=code,
                n_resamples=n_resamples,
                rng=np.random.default_rng(seed),
            )
            rotations.append(Rotation(model, columns, code, replicates))
        yield dataset, rotations


def mean_of(values: np.ndarray) -> float:
    """Mean of what is not NaN; NaN where nothing is."""
    inside = values[~np.isnan(values)]
    return float(inside.mean()) if len(inside) else np.nan


def mean_over_models(
    values: list[float],
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    confidence_level: float,
) -> dict:
    """Estimate of the mean over held-out models with a value; `parts` as `estimate` takes them."""
    has = ~np.isnan(values)
    columns, replicates, clusters = (list(part) for part in zip(*parts, strict=True))
    chosen = [r for r, inside in zip(replicates, has, strict=True) if inside] or replicates
    found = estimate(
        np.concatenate(columns),
        np.mean(chosen, axis=0),
        np.concatenate(clusters),
        confidence_level,
    )
    mean = float(np.mean(np.array(values)[has])) if has.any() else np.nan
    return found | {"value": mean, "n_models": int(has.sum())}
