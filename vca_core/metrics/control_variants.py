"""Other ways to set the original image against the two controls, beside the headline gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, rel_entr
from scipy.stats import spearmanr

from vca_core.metrics.checks import finite_margin, require_columns
from vca_core.metrics.pooling import pooled_rates
from vca_core.metrics.probability import probability_difference
from vca_core.metrics.rates import ESTIMATE, RUN, as_float, iterate_runs, names_of, rate_frame
from vca_core.metrics.support import CONTROLS

VARIANTS = (
    "text_only_gap",
    "blank_only_gap",
    "mean_control_gap",
    "max_control_gap",
    "probability_max",
    "minimum_js",
)


def variant_gaps(audit: pd.DataFrame) -> pd.DataFrame:
    r"""Add six ways to aggregate the two controls as columns. Label-free.

    .. math:: r_o - r_t, \quad r_o - r_b, \quad r_o - \tfrac12 (r_t + r_b), \quad
              r_o - \max(r_t, r_b), \quad \sigma(r_o) - \max(\sigma(r_t), \sigma(r_b)), \quad
              \min_{c \in \{t, b\}} \text{JS}(B(p_o), B(p_c))

    where :math:`r_c` is the support in context :math:`c`, :math:`\sigma` the logistic function,
    :math:`p_c = \sigma(m_c)`, :math:`B` the Bernoulli distribution and JS the Jensen-Shannon
    divergence.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`.

    Returns
    -------
    DataFrame, same rows and order
        With ``text_only_gap``, ``blank_only_gap``, ``mean_control_gap`` and ``max_control_gap``
        (the headline ``image_gap``) in nats, ``probability_max`` in probability and ``minimum_js``
        in nats, at least 0.

    Notes
    -----
    The divergence has no sign: it also grows where an image speaks against the decision. The paper
    names it and gives no formula; this is a reading, whose published agreements fit.
    Source: [liu2026visual]_, Sec. 18.
    """
    original, (text_only, blank) = _supports(audit)
    stronger = np.maximum(text_only, blank)
    divergence = [_jensen_shannon(original, control) for control in (text_only, blank)]
    columns = {
        "text_only_gap": original - text_only,
        "blank_only_gap": original - blank,
        "mean_control_gap": original - (text_only + blank) / 2,
        "max_control_gap": as_float(audit["image_gap"]),
        "probability_max": probability_difference(original, stronger),
        "minimum_js": np.minimum(*divergence),
    }
    return audit.assign(**columns)


def control_variants(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""How far six ways to aggregate the controls agree with the headline event. Label-free.

    Agreement is the share of records with :math:`1\{v_i > 0\} = D_i` for a variant :math:`v`;
    :math:`\rho` is Spearman's correlation of :math:`v` with the headline gap.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`.
    n_resamples, confidence_level, rng, by
        As in `support_rates`; `by` says what a run is.

    Returns
    -------
    DataFrame, one row per run or pooling, variant and metric
        `by` (null over runs), ``pooling`` in {"run", "micro", "macro", "min"}, ``variant`` of
        `VARIANTS`, ``metric`` in {"agreement" (fraction), "spearman_rho"}, and the columns of an
        estimate. Micro counts all records; macro is the unweighted mean of the runs, "min" their
        smallest value. A minimum and a rho have no interval; there is no micro rho, for gaps of
        different models share no scale. A rho of equal values is NaN, and so is the macro of
        values of which one is.

    Raises
    ------
    SchemaError
        If a column is missing, or a run mixes interfaces.

    Notes
    -----
    Two events are decided before rounding: probabilities have the order of the supports, so the
    event of ``probability_max`` is the headline's; a divergence is above zero unless the two
    margins are equal, so ``minimum_js`` agrees in Dep plus the records tied with a control.
    Source: [liu2026visual]_, Sec. 18.
    """
    require_columns(audit, ("direction", "dependent", "image_gap"), " Call `audit_support` first.")
    by = names_of(by)
    options = {"labels": ("variant", "metric"), "n_resamples": n_resamples}
    options |= {"confidence_level": confidence_level}
    seed = int(rng.integers(2**63))
    runs = rate_frame(audit, _agreement, by=by, rng=np.random.default_rng(seed), **options)
    pooled = []
    if len(audit):
        named = audit.assign(model=run_names(audit, by))
        pooled = [
            pooled_rates(named, _agreement, by=(), rng=np.random.default_rng(seed), **options)
        ]
    runs = pd.concat([runs, _correlations(audit, by)], ignore_index=True).assign(pooling="run")
    smallest = _over_runs(runs, "min", ("agreement", "spearman_rho"))
    frame = pd.concat(
        [runs, *pooled, _over_runs(runs, "macro", ("spearman_rho",)), smallest], ignore_index=True
    )
    order = {"run": 0, "micro": 1, "macro": 2, "min": 3}
    frame = frame.sort_values("pooling", key=lambda p: p.map(order), kind="stable")
    for column in by:
        frame[column] = frame[column].astype(object).where(frame["pooling"] == "run", None)
    return frame[[*by, "pooling", "variant", "metric", *ESTIMATE]].reset_index(drop=True)


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's correlation, average ranks over ties; NaN where one side is constant."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(spearmanr(x, y).statistic)


def run_names(audit: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    """One name per run, for pooling over runs as `pooled_rates` pools over models."""
    names = audit[list(by)].astype(object).map(str)  # a null model is a run too
    return names.agg(" / ".join, axis=1) if by else "all"


def _supports(audit: pd.DataFrame) -> tuple[np.ndarray, list[np.ndarray]]:
    """Support from the original image, and from each control."""
    require_columns(audit, ("direction", "image_gap"), " Call `audit_support` first.")
    direction = audit["direction"].to_numpy()
    original, *controls = (direction * finite_margin(audit, c) for c in ("original", *CONTROLS))
    return original, controls


def _jensen_shannon(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergence of two coins with log odds `x` and `y`, in nats."""
    total = np.zeros(len(x))
    for sign in (1, -1):
        p, q = expit(sign * x), expit(sign * y)
        middle = (p + q) / 2
        total += (rel_entr(p, middle) + rel_entr(q, middle)) / 2
    return np.maximum(total, 0)  # rounding leaves -1e-17 between neighbours


def _agreement(run: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Whether each variant's event is the headline's."""
    original, (text_only, blank) = _supports(run)
    headline = run["dependent"].to_numpy(dtype=bool)
    events = {
        "text_only_gap": original > text_only,
        "blank_only_gap": original > blank,
        "mean_control_gap": original - (text_only + blank) / 2 > 0,
        "max_control_gap": as_float(run["image_gap"]) > 0,
        "probability_max": original > np.maximum(text_only, blank),
        "minimum_js": (original != text_only) & (original != blank),
    }
    return {(v, "agreement"): (event == headline).astype(float) for v, event in events.items()}


def _correlations(audit: pd.DataFrame, by: tuple[str, ...]) -> pd.DataFrame:
    """Spearman's rho of each variant with the headline gap, per run."""
    rows = []
    for key, run in iterate_runs(audit, by):
        gaps = variant_gaps(run)
        headline = as_float(run["image_gap"])
        for variant in VARIANTS:
            rho = rank_correlation(as_float(gaps[variant]), headline)
            rows.append((*key, variant, "spearman_rho", *bare_estimate(rho, len(run)).values()))
    return pd.DataFrame(rows, columns=[*by, "variant", "metric", *ESTIMATE])


def bare_estimate(value: float, n: int) -> dict:
    """Columns of an estimate that has no interval."""
    return dict(zip(ESTIMATE, (value, np.nan, np.nan, n, n, 0), strict=True))


def _over_runs(runs: pd.DataFrame, pooling: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Mean or minimum of the runs' values; NaN where a run has none."""
    rows = []
    for (variant, metric), found in runs.groupby(["variant", "metric"], sort=False):
        if metric in metrics:
            values = found["value"].to_numpy()
            value = values.mean() if pooling == "macro" else values.min()
            row = bare_estimate(float(value), int(found["n"].sum()))
            rows.append({"pooling": pooling, "variant": variant, "metric": metric} | row)
    return pd.DataFrame(rows, columns=["pooling", "variant", "metric", *ESTIMATE])
