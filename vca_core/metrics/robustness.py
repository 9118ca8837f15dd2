"""Calibration and stricter definitions of the support audit: mismatched and permuted images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, optional_margin, require_columns
from vca_core.metrics.rates import RUN, as_float, rate_frame
from vca_core.metrics.support import CONTROLS


def _mismatch_support(run: pd.DataFrame) -> np.ndarray:
    """Support for the original decision from another image of the split; NaN if not scored."""
    return run["direction"].to_numpy() * optional_margin(run, "mismatch")


def _control_support(run: pd.DataFrame) -> np.ndarray:
    """Support for the original decision from the stronger control without an image."""
    direction = run["direction"].to_numpy()
    return np.max([direction * finite_margin(run, context) for context in CONTROLS], axis=0)


def sensitivity_rates(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Dep under stricter controls, and the mean image gap. Label-free.

    .. math:: D^{+M}_i = 1\{r_{i,o} > \max(r_{i,t}, r_{i,b}, r_{i,m})\}, \qquad
              S_i = 1\{\max(r_{i,t}, r_{i,b}) < 0\}, \qquad S^{+M}_i = S_i 1\{r_{i,m} < 0\}

    where :math:`r_{i,m}` is the support in context mismatch, another image of the same split.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`; ``margin_mismatch`` in nats where the context was scored.
    n_resamples, confidence_level, rng, by
        As in `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"dependent", "strict", "dependent_mismatch",
        "strict_mismatch"} (fractions) and "mean_image_gap" (nats). The two with mismatch are NaN
        with ``n`` = 0 in a run where no mismatch was scored.

    Raises
    ------
    SchemaError
        If mismatch was scored for some records of a run and not for others.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18.
    """
    needed = ("direction", "dependent", "strict", "image_gap", "margin_original")
    require_columns(audit, needed, " Call `audit_support` first.")

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        mismatch = _mismatch_support(run)
        scored = ~np.isnan(mismatch)
        above = run["dependent"].to_numpy() & (run["margin_original"].abs().to_numpy() > mismatch)
        opposed = run["strict"].to_numpy() & (mismatch < 0)
        return {
            ("dependent",): as_float(run["dependent"]),
            ("strict",): as_float(run["strict"]),
            ("dependent_mismatch",): np.where(scored, above, np.nan),
            ("strict_mismatch",): np.where(scored, opposed, np.nan),
            ("mean_image_gap",): as_float(run["image_gap"]),
        }

    return rate_frame(
        audit,
        measures,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def permutation_calibration(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""D-CC against D-CC with a permuted image, the original decision held fixed.

    .. math:: D^{\pi}_i = 1\{d_i m_{i,\pi} > \max(r_{i,t}, r_{i,b})\}, \qquad
              \Delta = \overline{1\{\hat y = y\} (D - D^{\pi})}

    where :math:`m_{i,\pi}` is the margin in context mismatch and :math:`d_i` the decision on the
    original image.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, with ``margin_mismatch`` in nats.
    n_resamples, confidence_level, rng, by
        As in `support_rates`. The interval of the difference is paired and clustered.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"dcc", "permutation_dcc", "difference", "original_only",
        "permutation_only"}: D-CC, its permuted twin, the mean of the paired difference, and the
        shares of labelled records that are correct and dependent under one image alone. NaN with
        ``n`` = 0 in a run where no mismatch was scored.

    Raises
    ------
    SchemaError
        If mismatch was scored for some records of a run and not for others.

    Notes
    -----
    ``difference`` = original-only - permutation-only = the rise of C-U under the permutation.
    Source: [liu2026visual]_, Sec. 18.
    """
    require_columns(audit, ("direction", "correct", "dcc"), " Call `audit_support` first.")

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        mismatch = _mismatch_support(run)
        dependent = mismatch > _control_support(run)
        known = ~np.isnan(mismatch) & run["correct"].notna().to_numpy()
        dcc = as_float(run["dcc"])
        permuted = as_float(run["correct"]) * dependent
        events = {
            "dcc": dcc,
            "permutation_dcc": permuted,
            "difference": dcc - permuted,
            "original_only": dcc > permuted,
            "permutation_only": permuted > dcc,
        }
        return {(name,): np.where(known, event, np.nan) for name, event in events.items()}

    return rate_frame(
        audit,
        measures,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
