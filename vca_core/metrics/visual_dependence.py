"""Visual dependence of a run: what its accuracy owes to the image, as one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import correct_decisions, finite_margin, require_columns
from vca_core.metrics.rates import ESTIMATE, RUN, as_float, estimate, names_of, seeded_runs
from vca_core.metrics.support import CONTROLS
from vca_core.stats import bootstrap_means


def visual_dependence(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Visual dependence of a run: the share of its accuracy that the controls do not reach.

    .. math:: \text{VD} = \frac{\text{Acc}_o - \tfrac12 (\text{Acc}_t + \text{Acc}_b)}{\text{Acc}_o}

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, with labels.
    n_resamples, confidence_level, rng, by
        As in `support_rates`; the ratio is taken anew in each resample.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`, over labelled records; ``metric`` in {"accuracy", "accuracy_text_only",
        "accuracy_blank", "visual_dependence"} (fractions). The last is negative where the controls
        are right more often, and NaN where the original image never is.

    Raises
    ------
    SchemaError
        If a column is missing or a margin is not finite.

    Notes
    -----
    A statement about a run, not about records. The paper strips the formula; this reading gives
    whole counts in seven of its eight cells. Source: [liu2026visual]_, Sec. 18.
    """
    by = names_of(by)
    require_columns(audit, ("direction", "correct"), " Call `audit_support` first.")
    contexts = {"accuracy": "original"} | {f"accuracy_{c}": c for c in CONTROLS}
    rows = []
    for run in seeded_runs(audit, by, rng):
        right = [
            as_float(correct_decisions(run.records, finite_margin(run.records, c) >= 0))
            for c in contexts.values()
        ]
        means = bootstrap_means(
            np.column_stack(right),
            clusters=run.clusters,
            n_resamples=n_resamples,
            rng=np.random.default_rng(run.seed),
        )
        estimates = {
            name: estimate(right[j], means[:, j], run.clusters, confidence_level)
            for j, name in enumerate(contexts)
        }
        ratio = estimate(right[0], _dependence(means), run.clusters, confidence_level)
        values = np.array([[found["value"] for found in estimates.values()]])
        estimates["visual_dependence"] = ratio | {"value": float(_dependence(values)[0])}
        rows += [(*run.key, name, *found.values()) for name, found in estimates.items()]
    return pd.DataFrame(rows, columns=[*names_of(by), "metric", *ESTIMATE])


def _dependence(accuracy: np.ndarray) -> np.ndarray:
    """Visual dependence from accuracies of original, text-only and blank, shape (b, 3)."""
    original = np.where(accuracy[:, 0] > 0, accuracy[:, 0], np.nan)
    return (original - accuracy[:, 1:].mean(axis=1)) / original
