"""Rates of agreement decisions: Wilson intervals for a run, stems resampled over models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.pooling import pooled_rates
from vca_core.metrics.rates import RUN, as_float, iterate_runs
from vca_core.records import SchemaError
from vca_core.stats import wilson_interval

THRESHOLDS = (0.1, 0.5, 1.0)
"""Sizes of a response that are counted, nats; [liu2026visual]_, Sec. 10."""
EVENTS = ("correct", "dcc", "cu", "response", "responsive", "answer_flip", "exceeds_neutral")
COLUMNS = ("model", "dataset", "pooling", "metric", "value", "low", "high", "n", "n_clusters",
           "n_undefined", "n_models", "interval_kind")  # fmt: skip
SHARES = {
    "accuracy": ("n_correct", "n_agreement"),
    "cu_given_correct": ("n_cu", "n_correct"),
    "responsive_mass": ("n_responsive", "n_correct"),
    "nonresponsive_mass": ("n_nonresponsive", "n_correct"),
    "responsive_given_cu": ("n_responsive", "n_cu"),
    "answer_flip_given_cu": ("n_answer_flip", "n_cu"),
    "exceeds_neutral_given_cu": ("n_exceeds_neutral", "n_cu"),
}
"""Rates as a count over a count."""
COUNTS = ("n_agreement", "n_correct", "n_cu", "n_responsive", "n_answer_flip", "n_exceeds_neutral")
Measures = Callable[[pd.DataFrame], dict[tuple[str, ...], np.ndarray]]


def agreement_rates(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    thresholds: Sequence[float] = THRESHOLDS,
) -> pd.DataFrame:
    """Rates of the agreement decisions: correct, C-U, and how the C-U ones respond.

    Parameters
    ----------
    audit : DataFrame
        From `audit_factorial`.
    n_resamples, rng
        Of the bootstrap over models. A resample draws stems whole with all models' decisions.
    confidence_level : float
    thresholds : sequence of float
        Sizes of a response in nats, for the shares of C-U decisions that respond by more.

    Returns
    -------
    DataFrame, one row per run or pooling and metric
        ``model`` (null over models), ``dataset``, ``pooling`` in {"run", "micro", "macro"},
        ``metric``, ``value``, ``low``, ``high`` as fractions, ``n`` and ``n_clusters`` (stems) in
        the denominator, ``n_undefined`` resamples, ``n_models`` with a decision in the denominator,
        and ``interval_kind``: "wilson" for a run, "stem_bootstrap" over models. ``metric`` is

        - "accuracy", of all agreement decisions;
        - "cu_given_correct", "responsive_mass" and "nonresponsive_mass" (C-U and responsive, C-U
          and not), of the correct ones;
        - "responsive_given_cu", "answer_flip_given_cu", "exceeds_neutral_given_cu" (of those with
          a neutral picture) and "response_above_<threshold>" (written
          as `:g` does: 0.1, 1), of the C-U ones.

        A rate of no decisions is NaN, and a model without any is left out of the macro mean.

    Raises
    ------
    SchemaError
        If an event column is missing, or a run mixes interfaces.

    Notes
    -----
    Wilson intervals take decisions as independent, though a stem's two agreement cells share their
    objects; the paper uses them for single models, and a bootstrap over stems for pooled rates.
    That its thresholds are on the response is a reading. Source: [liu2026visual]_, Sec. 10.
    """

    def measures(run: pd.DataFrame) -> dict[tuple[str, ...], np.ndarray]:
        right, cu = run["correct"].to_numpy(dtype=bool), run["cu"].to_numpy(dtype=bool)
        response = run["response"].to_numpy()
        found = {
            "accuracy": as_float(run["correct"]),
            "cu_given_correct": as_float(run["cu"], right),
            "responsive_mass": as_float(run["cu"] & run["responsive"], right),
            "nonresponsive_mass": as_float(run["cu"] & ~run["responsive"], right),
            "responsive_given_cu": as_float(run["responsive"], cu),
            "answer_flip_given_cu": as_float(run["answer_flip"], cu),
            "exceeds_neutral_given_cu": as_float(run["exceeds_neutral"], cu),
        }
        found |= {f"response_above_{t:g}": np.where(cu, response > t, np.nan) for t in thresholds}
        return {(metric,): values for metric, values in found.items()}

    return _runs_and_pooled(audit, measures, n_resamples, confidence_level, rng)


def agreement_outcomes(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Split agreement decisions into five outcomes that sum to 1.

    Parameters are those of `agreement_rates`.

    Returns
    -------
    DataFrame, one row per run or pooling and metric
        As `agreement_rates`, of all agreement decisions; ``metric`` in {"dcc", "cu_answer_flip"
        (C-U, the reversed picture gets the other answer), "cu_same_answer" (C-U and responsive,
        the answer stays), "cu_unresponsive", "wrong"}.
    """

    def measures(run: pd.DataFrame) -> dict[tuple[str, ...], np.ndarray]:
        cu, responsive, flip = run["cu"], run["responsive"], run["answer_flip"]
        outcomes = {
            "dcc": run["dcc"],
            "cu_answer_flip": cu & flip,
            "cu_same_answer": cu & responsive & ~flip,
            "cu_unresponsive": cu & ~responsive,
            "wrong": ~run["correct"],
        }
        return {(metric,): as_float(event) for metric, event in outcomes.items()}

    return _runs_and_pooled(audit, measures, n_resamples, confidence_level, rng)


def _runs_and_pooled(
    audit: pd.DataFrame,
    measures: Measures,
    n_resamples: int,
    confidence_level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Rates of each run with Wilson intervals, then micro and macro with a stem bootstrap."""
    require_columns(audit, ("stem_id", *EVENTS), " Call `audit_factorial` first.")
    rows = []
    for key, run in iterate_runs(audit, RUN):
        for (metric,), values in measures(run).items():
            inside = ~np.isnan(values)
            n, hits = int(inside.sum()), int(np.nansum(values))
            value = hits / n if n else np.nan
            bounds = wilson_interval(hits, n, confidence_level)
            stems = run["stem_id"][inside].nunique()
            rows.append((*key, "run", metric, value, *bounds, n, stems, 0, int(n > 0), "wilson"))
    pooled = pooled_rates(
        audit,
        measures,
        cluster="stem_id",
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    ).assign(model=None, interval_kind="stem_bootstrap")
    rows += pooled[list(COLUMNS)].itertuples(index=False, name=None)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def agreement_rates_of_counts(
    counts: pd.DataFrame, *, confidence_level: float = 0.95
) -> pd.DataFrame:
    """Rates of agreement decisions where counts are all there is, as from a printed table.

    Parameters
    ----------
    counts : DataFrame, one row per model
        ``model``, and the counts ``n_agreement``, ``n_correct``, ``n_cu``, ``n_responsive``,
        ``n_answer_flip``, ``n_exceeds_neutral`` (the last three of the C-U decisions).
    confidence_level : float

    Returns
    -------
    DataFrame, one row per model or pooling and metric
        ``model``, ``pooling``, ``metric``, ``value``, ``low``, ``high``, ``n`` as of
        `agreement_rates` but for the sizes of responses. Micro and macro have no interval: counts
        do not say which decisions share a stem.

    Raises
    ------
    SchemaError
        If a column is missing, or a count is not a whole number between 0 and its total.
    """
    require_columns(counts, ("model", *COUNTS))
    if counts["model"].duplicated().any():
        twice = counts.loc[counts["model"].duplicated(), "model"].iloc[0]
        raise SchemaError(f"`counts` must have one row per model, got {twice!r} again.")
    counts = counts.assign(n_nonresponsive=counts["n_cu"] - counts["n_responsive"])
    rows = []
    for metric, (part, whole) in SHARES.items():
        hits, n = counts[part].to_numpy(dtype=float), counts[whole].to_numpy(dtype=float)
        bad = ~((hits >= 0) & (hits <= n) & (hits == np.round(hits)) & (n == np.round(n)))
        if bad.any():
            row = counts[bad].iloc[0]
            raise SchemaError(
                f"`{part}` must be a whole number from 0 to `{whole}`, got {row[part]} of "
                f"{row[whole]} (model {row['model']!r})."
            )
        for model, k, m in zip(counts["model"], hits.astype(int), n.astype(int), strict=True):
            bounds = wilson_interval(k, m, confidence_level)
            rows.append((model, "run", metric, k / m if m else np.nan, *bounds, int(m)))
        shares = hits[n > 0] / n[n > 0]
        for pooling, value in (
            ("micro", hits.sum() / n.sum() if n.sum() else np.nan),
            ("macro", shares.mean() if len(shares) else np.nan),
        ):
            rows.append((None, pooling, metric, float(value), np.nan, np.nan, int(n.sum())))
    columns = ["model", "pooling", "metric", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)
