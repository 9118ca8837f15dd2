"""Event rates of an audit that comes in parts, from counts that add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.metrics.rates import ESTIMATE, RUN, as_estimate, iterate_runs, run_clusters
from vca_core.resampling import Patterns, cluster_sums, count_patterns
from vca_core.stats import Interval, bootstrap_patterns, percentile_intervals


class EventCounts(NamedTuple):
    """How many clusters of a run show each pattern of events."""

    names: tuple[tuple[str, ...], ...]
    """Names of the measures, k of them."""
    patterns: Patterns


def count_events(
    audits: Iterable[pd.DataFrame],
    measures: Callable[[pd.DataFrame], dict[tuple[str, ...], np.ndarray]],
    *,
    cluster: str = "pair_id",
) -> dict[tuple, EventCounts]:
    """Count the patterns of events that clusters show, one part of an audit at a time.

    Rates and their bootstrap depend on the records only through these counts. There are as many
    as different clusters (of the four headline events 4 for single records and 10 for pairs), so
    memory is that of one part.

    Parameters
    ----------
    audits : iterable of DataFrame
        Each from `vca_core.metrics.audit_support` or the like, with whole clusters: no cluster of
        a run in two parts, as `vca_core.cache.stream_margins` gives them.
    measures : callable
        As in `vca_core.metrics.rates.rate_frame`, such as `headline_events`; its floats are
        events: 0, 1, or NaN outside the denominator.
    cluster : str
        As in `vca_core.metrics.rates.rate_frame`.

    Returns
    -------
    dict
        From (model, dataset), in order of first appearance, to its counts.

    Raises
    ------
    ValueError
        If a measure holds another number than 0, 1 and NaN.
    """
    found: dict[tuple, EventCounts] = {}
    for audit in audits:
        for key, run in iterate_runs(audit, RUN):
            columns = measures(run)
            values = np.column_stack(list(columns.values()))
            if not ((values == 0) | (values == 1) | np.isnan(values)).all():
                raise ValueError("`measures` must give events: 0, 1, or NaN.")
            patterns = count_patterns(cluster_sums(values, run_clusters(run, cluster)))
            if key in found:
                patterns = _add(found[key].patterns, patterns)
            found[key] = EventCounts(tuple(columns), patterns)
    return found


def _add(first: Patterns, second: Patterns) -> Patterns:
    sums = np.hstack([first.sums, second.sums])
    return count_patterns(sums, np.concatenate([first.sizes, second.sizes]))


def rates_of_events(
    counts: dict[tuple, EventCounts],
    *,
    labels: tuple[str, ...] = ("metric",),
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Rates with clustered intervals from counts of events, one row per run and measure.

    Parameters
    ----------
    counts : dict
        From `count_events`.
    labels : tuple of str
        Names of the columns that tell measures apart.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over clusters; one draw of `rng` seeds all runs.

    Returns
    -------
    DataFrame
        ``model, dataset``, `labels`, then ``value, low, high, n, n_clusters, n_undefined``: what
        `rate_frame` returns for the whole audit. Intervals are equal too, for the same state of
        `rng`, in runs with at least `vca_core.stats.FEW` clusters per pattern; for fewer,
        `rate_frame` draws clusters one by one, with other random numbers.
    """
    seed = int(rng.integers(2**63))
    rows = []
    for key, (names, patterns) in counts.items():
        replicates = bootstrap_patterns(
            patterns, n_resamples=n_resamples, rng=np.random.default_rng(seed)
        )
        intervals = percentile_intervals(replicates, confidence_level)
        undefined = np.isnan(replicates).sum(axis=0)
        for j, name in enumerate(names):
            found = _estimate(patterns, j, len(names), intervals[j], int(undefined[j]))
            rows.append((*key, *name, *found.values()))
    return pd.DataFrame(rows, columns=[*RUN, *labels, *ESTIMATE])


def _estimate(patterns: Patterns, j: int, k: int, interval: Interval, n_undefined: int) -> dict:
    """As `vca_core.metrics.rates.estimate`, from counts."""
    events, records = patterns.sums[j] @ patterns.sizes, patterns.sums[k + j] @ patterns.sizes
    n_clusters = int(patterns.sizes[patterns.sums[k + j] > 0].sum())
    value = float(events / records) if records else np.nan
    return as_estimate(value, interval, int(records), n_clusters, n_undefined)
