"""What filtering does to a model that had no part in it: rates, differences, overlaps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.checks import correct_decisions, finite_margin, require_columns
from vca_core.metrics.filter_scores import CHANCE
from vca_core.metrics.filtering import group_ids
from vca_core.metrics.filtering_rotations import mean_of, mean_over_models, rotate
from vca_core.metrics.rates import ESTIMATE, as_float, estimate
from vca_core.records import SchemaError

METRICS = ("accuracy", "blind_gap", "visual_gain", "dependent")
HEAD = ("dataset", "pooling", "filter", "coverage", "metric")


def filtered_rates(
    audit: pd.DataFrame,
    kept: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Accuracy, Blind gap, Visual gain and Dep of each held-out model on what was kept for it.

    .. math:: \text{Blind gap} = \text{Acc}_t - \tfrac12, \qquad
              \text{Visual gain} = \text{Acc}_o - \text{Acc}_t

    Parameters
    ----------
    audit : DataFrame, one row per record
        From `audit_support`.
    kept : DataFrame of bool
        From `kept_records`, or a selection of your own with columns (filter, coverage).
    n_resamples, confidence_level, rng
        Of the percentile bootstrap. The selection is fixed: groups are resampled among all those
        of the benchmark, and one that is drawn counts where it was kept. The interval says how
        the rate would vary over other groups, not over other selections. One draw of `rng` seeds
        all models and data sets, so rates are paired.

    Returns
    -------
    DataFrame, one row per held-out model, and over them, filter, coverage and metric
        ``dataset``, ``model`` (the one held out; null over models), ``pooling`` in {"run",
        "macro"}, ``filter``, ``coverage``, ``metric`` in {"accuracy", "blind_gap", "visual_gain",
        "dependent"}, then ``value, low, high, n, n_clusters, n_undefined`` and ``n_models``.
        Fractions. Macro is the unweighted mean over the held-out models, and its ``n`` the records
        kept in all rotations. Without labels all but "dependent" are NaN with ``n`` = 0.

    Raises
    ------
    SchemaError
        If a column is missing, or `kept` does not have the rows of `audit`.

    Notes
    -----
    Visual gain = accuracy - 1/2 - Blind gap. A filter that keeps groups at random has the rates
    of the whole benchmark on average. Source: [liu2026visual]_, Sec. 16.
    """
    require_columns(audit, ("correct", "dependent"), " Call `audit_support` first.")
    rows = []
    for dataset, rotations in rotate(audit, kept, _outcomes, n_resamples, rng):
        for j, name in enumerate(rotations[0].columns):
            parts = [(r.columns[name], r.replicates[:, j], r.clusters) for r in rotations]
            found = [estimate(*part, confidence_level) for part in parts]
            values = [one["value"] for one in found]
            macro = mean_over_models(values, parts, confidence_level)
            for rotation, one in zip(rotations, found, strict=True):
                rows.append((dataset, rotation.model, "run", *name, *one.values(), 1))
            rows.append((dataset, None, "macro", *name, *macro.values()))
    head = ["dataset", "model", "pooling", "filter", "coverage", "metric"]
    return pd.DataFrame(rows, columns=[*head, *ESTIMATE, "n_models"])


def filtered_differences(
    audit: pd.DataFrame,
    kept: pd.DataFrame,
    *,
    first: str = "vca",
    coverage: float = 0.5,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Difference of one filter to each other one at equal coverage, paired and clustered.

    Parameters
    ----------
    audit, kept, n_resamples, confidence_level, rng
        As in `filtered_rates`; with an equally seeded `rng` the resamples are the same.
    first : str
        The filter from whose rates the others' are taken away.
    coverage : float
        A coverage of `kept`.

    Returns
    -------
    DataFrame, one row per other filter and metric
        ``dataset``, ``pooling`` "macro", ``filter`` (the other one), ``coverage``, ``metric`` as in
        `filtered_rates`, and the columns of an estimate; ``n`` counts the records that either of
        the two keeps, over all rotations.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 16.
    """
    require_columns(audit, ("correct", "dependent"), " Call `audit_support` first.")
    others = _others(kept, first, coverage)
    some = kept[[(name, coverage) for name in (first, *others)]]
    rows = []
    for dataset, rotations in rotate(audit, some, _outcomes, n_resamples, rng):
        names = list(rotations[0].columns)
        for other in others:
            for metric in METRICS:
                pair = (first, coverage, metric), (other, coverage, metric)
                a, b = (names.index(name) for name in pair)
                values, parts = [], []
                for r in rotations:
                    x, y = (r.columns[name] for name in pair)
                    either = np.where(np.isnan(x) & np.isnan(y), np.nan, 0.0)
                    parts.append((either, r.replicates[:, a] - r.replicates[:, b], r.clusters))
                    values.append(mean_of(x) - mean_of(y))
                found = mean_over_models(values, parts, confidence_level)
                rows.append((dataset, "macro", other, coverage, metric, *found.values()))
    return pd.DataFrame(rows, columns=[*HEAD, *ESTIMATE, "n_models"])


def filter_overlaps(
    audit: pd.DataFrame,
    kept: pd.DataFrame,
    *,
    first: str = "vca",
    coverage: float = 0.5,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Share of groups that two filters both keep, among those that either keeps. Label-free.

    .. math:: J(A, B) = \frac{|A \cap B|}{|A \cup B|}

    averaged over the rotations, where :math:`A` and :math:`B` are the kept groups.

    Parameters are those of `filtered_differences`.

    Returns
    -------
    DataFrame, one row per other filter
        As `filtered_differences`, with ``metric`` "jaccard"; ``n`` counts the groups that either
        keeps, over all rotations.

    Notes
    -----
    Two random halves overlap by about one third. Source: [liu2026visual]_, Sec. 16.
    """
    others = _others(kept, first, coverage)

    def overlaps(records: pd.DataFrame, inside: pd.DataFrame) -> dict[tuple, np.ndarray]:
        stands_for_group = ~group_ids(records).duplicated().to_numpy()
        a = inside[first, coverage].to_numpy()
        found = {}
        for other in others:
            b = inside[other, coverage].to_numpy()
            found[other, coverage, "jaccard"] = np.where((a | b) & stands_for_group, a & b, np.nan)
        return found

    rows = []
    for dataset, rotations in rotate(audit, kept, overlaps, n_resamples, rng):
        for j, name in enumerate(rotations[0].columns):
            parts = [(r.columns[name], r.replicates[:, j], r.clusters) for r in rotations]
            values = [mean_of(columns) for columns, _, _ in parts]
            found = mean_over_models(values, parts, confidence_level)
            rows.append((dataset, "macro", *name, *found.values()))
    return pd.DataFrame(rows, columns=[*HEAD, *ESTIMATE, "n_models"])


def _outcomes(records: pd.DataFrame, kept: pd.DataFrame) -> dict[tuple, np.ndarray]:
    """Outcomes of records by (filter, coverage, metric), NaN where they are not kept."""
    correct = as_float(records["correct"])
    text = as_float(pd.Series(correct_decisions(records, finite_margin(records, "text_only") >= 0)))
    outcomes = dict(
        zip(
            METRICS,
            (correct, text - CHANCE, correct - text, as_float(records["dependent"])),
            strict=True,
        )
    )
    return {
        (*name, metric): np.where(kept[name].to_numpy(), values, np.nan)
        for name in kept.columns
        for metric, values in outcomes.items()
    }


def _others(kept: pd.DataFrame, first: str, coverage: float) -> list[str]:
    """Names of the other filters of `kept` at this coverage."""
    there = [name for name, share in kept.columns if share == coverage]
    if first not in there:
        raise SchemaError(
            f"`kept` must hold the filter {first!r} at coverage {coverage}, got there: {there}."
        )
    return [name for name in there if name != first]
