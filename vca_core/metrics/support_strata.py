"""The support audit inside strata, and balanced over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.rates import (
    ESTIMATE,
    RUN,
    as_float,
    estimate,
    names_of,
    rate_frame,
    seeded_runs,
)
from vca_core.records import LABELS
from vca_core.stats import bootstrap_means

RATES = {
    "accuracy": "correct",
    "dependent": "dependent",
    "dcc": "dcc",
    "cu": "cu",
    "strict": "strict",
}
"""Metric to event column of the rates shown by stratum."""


def _strata(audit: pd.DataFrame, column: str) -> list:
    """Values of a column: yes before no, else sorted; None last where some are null."""
    values = audit[column]
    found = sorted(values.dropna().unique(), key=str)
    answers = list(LABELS) if column in ("prediction", "label") else []
    rest = [value for value in found if value not in answers]
    return answers + rest + ([None] if values.isna().any() else [])


def _inside(run: pd.DataFrame, column: str, stratum: object) -> np.ndarray:
    values = run[column]
    inside = values.isna() if stratum is None else (values == stratum).fillna(False)
    return inside.to_numpy(dtype=bool)


def rates_by(
    audit: pd.DataFrame,
    column: str,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Rates inside the strata of a column, with intervals.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`.
    column : str
        What to split by: "prediction", "label" (gold answer), "relation", or any other column.
    n_resamples, confidence_level, rng, by
        As in `support_rates`. A run's clusters are resampled whole and the stratum's share is
        recomputed in each resample, so its size varies as it would in new data.

    Returns
    -------
    DataFrame, one row per run, stratum and metric
        As `support_rates`, with ``stratified_by`` (the column), ``stratum`` (its value; None for
        null) and ``metric`` in {"accuracy", "dependent", "dcc", "cu", "strict"}. Every run has
        every stratum; an empty one is NaN with ``n`` = 0.

    Raises
    ------
    SchemaError
        If `column` or an event column is missing.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 12 (direction strata) and Sec. 13 (relation families).
    """
    require_columns(audit, (column, *RATES.values()))
    strata = _strata(audit, column)

    def measures(run: pd.DataFrame) -> dict[tuple, np.ndarray]:
        return {
            (column, stratum, metric): as_float(run[event], _inside(run, column, stratum))
            for stratum in strata
            for metric, event in RATES.items()
        }

    return rate_frame(
        audit,
        measures,
        labels=("stratified_by", "stratum", "metric"),
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def balanced_rates(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Unweighted means of the yes and the no stratum, by prediction and by gold answer.

    Parameters are those of `support_rates`.

    Returns
    -------
    DataFrame, one row per run, balancing and metric
        As `support_rates`, with ``stratified_by`` in {"prediction", "label"} and the metrics of
        `rates_by`. NaN when one of the two strata is empty; ``n`` counts both.

    Notes
    -----
    A macro mean over two strata, from exact counts. Source: [liu2026visual]_, Sec. 12, whose
    table averages strata that were rounded first and so differs by up to 0.01 points.
    """
    require_columns(audit, (*RATES.values(), "prediction"), " Call `audit_support` first.")
    if "label" not in audit.columns:
        audit = audit.assign(label=None)
    by = names_of(by)
    rows = []
    for run in seeded_runs(audit, by, rng):
        sides = _sides(run.records)
        replicates = bootstrap_means(
            np.column_stack(list(sides.values())),
            clusters=run.clusters,
            n_resamples=n_resamples,
            rng=np.random.default_rng(run.seed),
        )
        for j, (name, (yes, no)) in enumerate((name, side.T) for name, side in sides.items()):
            pair = replicates[:, 2 * j : 2 * j + 2].mean(axis=1)
            either = np.where(np.isnan(yes), no, yes)
            found = estimate(either, pair, run.clusters, confidence_level)
            found["value"] = (_mean(yes) + _mean(no)) / 2
            rows.append((*run.key, *name, *found.values()))
    return pd.DataFrame(rows, columns=[*by, "stratified_by", "metric", *ESTIMATE])


def _sides(records: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Per balancing and metric, the event in the yes and in the no stratum, shape (n, 2)."""
    return {
        (column, metric): np.column_stack(
            [as_float(records[event], _inside(records, column, answer)) for answer in LABELS]
        )
        for column in ("prediction", "label")
        for metric, event in RATES.items()
    }


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else np.nan
