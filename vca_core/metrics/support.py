"""The support audit: whether the image supported the model's own decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import check_unique, correct_decisions, finite_margin, require_columns
from vca_core.metrics.rates import RUN, as_float, rate_frame

CONTROLS = ("text_only", "blank")
"""The two controls without an image that define dependence."""
EVENTS = ("dependent", "correct", "dcc", "cu", "support_advantaged_error", "wrong_not_dependent")


def audit_support(margins: pd.DataFrame) -> pd.DataFrame:
    r"""Add the support-audit events to a wide frame of margins.

    .. math:: G_i = r_{i,o} - \max(r_{i,t}, r_{i,b}), \qquad D_i = 1\{G_i > 0\}

    where :math:`r_{i,c} = d_i m_{i,c}` is the margin in context :math:`c` (original, text-only,
    blank) signed by the decision :math:`d_i`, +1 for yes and -1 for no.

    Parameters
    ----------
    margins : DataFrame, one row per (model, dataset, interface, wording, sample_id)
        Columns ``model``, ``dataset``, ``sample_id`` and ``margin_original``,
        ``margin_text_only``, ``margin_blank`` in nats (mean over continuation tokens).
        Optional: ``label`` in {"yes", "no", null}.

    Returns
    -------
    DataFrame, same rows and order
        All columns of `margins`, and ``direction`` in {+1, -1}, ``prediction`` in {"yes", "no"},
        ``image_gap`` in nats, the booleans ``dependent`` and ``strict`` (both controls favour the
        other answer), and the nullable booleans ``correct``, ``dcc`` (correct and dependent),
        ``cu`` (correct, not dependent), ``support_advantaged_error`` (wrong and dependent) and
        ``wrong_not_dependent``, which are NA where there is no label.

    Raises
    ------
    SchemaError
        If a column is missing, a margin is not finite, a label is neither yes nor no, or a record
        stands twice.

    Notes
    -----
    A margin of exactly zero decides yes, and a gap of exactly zero is not dependence. ``strict``
    implies ``dependent``. Margins are in model-native units: compare gaps within a model.
    Source: [liu2026visual]_, Sec. 3.
    """
    require_columns(margins, ("model", "dataset", "sample_id"))
    original = finite_margin(margins, "original")
    controls = np.column_stack([finite_margin(margins, context) for context in CONTROLS])
    check_unique(margins)
    direction = np.where(original >= 0, 1, -1)
    support = direction[:, None] * controls
    image_gap = direction * original - support.max(axis=1)
    dependent = image_gap > 0
    correct = correct_decisions(margins, direction > 0)
    return margins.assign(
        direction=direction,
        prediction=np.where(direction > 0, "yes", "no"),
        image_gap=image_gap,
        dependent=dependent,
        strict=(support < 0).all(axis=1),
        correct=correct,
        dcc=correct & dependent,
        cu=correct & ~dependent,
        support_advantaged_error=~correct & dependent,
        wrong_not_dependent=~correct & ~dependent,
    ).pipe(_blank_unlabelled, correct)


def _blank_unlabelled(audit: pd.DataFrame, correct: pd.array) -> pd.DataFrame:
    # Kleene logic makes `NA & False` false, but an event of an unlabelled record is unknown.
    labelled = ~correct.isna()
    return audit.assign(**{name: audit[name].where(labelled) for name in EVENTS[2:]})


def support_rates(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Accuracy, Dep, D-CC and C-U of each run, with paired clustered intervals.

    .. math:: \text{Dep} = \bar D, \quad \text{D-CC} = \overline{1\{\hat y = y\} D}, \quad
              \text{C-U} = \text{Acc} - \text{D-CC}

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`.
    n_resamples : int
        Bootstrap resamples of clusters: relation pairs (``pair_id``), or single samples.
    confidence_level : float
        Of the percentile intervals.
    rng : Generator
        One draw seeds the resamples of all runs. The metrics of a run share its resamples.
    by : sequence of str
        What makes a run. Rates are micro means over a run's records; () pools all.

    Returns
    -------
    DataFrame, one row per run and metric
        `by`, ``metric`` in {"accuracy", "dependent", "dcc", "cu"}, ``value``, ``low``, ``high`` as
        fractions, ``n`` and ``n_clusters`` in the denominator, ``n_undefined`` resamples.
        Unlabelled records count in ``dependent`` alone; a rate of no records is NaN, and so is an
        interval from fewer than two clusters.

    Raises
    ------
    SchemaError
        If an event column is missing, or a run mixes interfaces.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 3 and Sec. 9 (5,000 paired resamples, seed 20260719).
    """
    require_columns(audit, EVENTS[:4], " Call `audit_support` first.")
    return rate_frame(
        audit,
        headline_events,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def headline_events(audit: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
    """Events of `support_rates` by metric, as floats of shape (n,); NaN without a label."""
    require_columns(audit, EVENTS[:4], " Call `audit_support` first.")
    names = {"accuracy": "correct", "dependent": "dependent", "dcc": "dcc", "cu": "cu"}
    return {(metric,): as_float(audit[event]) for metric, event in names.items()}


def outcome_decomposition(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Shares of the four cells (correct or wrong × dependent or not), and credited precision.

    Parameters are those of `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"dcc", "cu", "support_advantaged_error",
        "wrong_not_dependent"}, which sum to 1, and "credited_precision", the share of dependent
        decisions that are correct.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 12; credited precision is D-CC / Dep.
    """
    require_columns(audit, EVENTS, " Call `audit_support` first.")
    return rate_frame(
        audit,
        cell_events,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def cell_events(audit: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
    """Events of `outcome_decomposition` by metric, as floats of shape (n,)."""
    require_columns(audit, EVENTS, " Call `audit_support` first.")
    shares = {(event,): as_float(audit[event]) for event in EVENTS[2:]}
    dependent = audit["dependent"].to_numpy()
    return shares | {("credited_precision",): as_float(audit["correct"], dependent)}


def decision_survival(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Among dependent decisions: which controls keep the answer. Label-free.

    Parameters are those of `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`, over dependent records; ``metric`` in {"text_only_same", "blank_same",
        "both_same", "any_changes"}, of which the last two sum to 1.

    Notes
    -----
    A control with a margin of exactly zero answers yes. Source: [liu2026visual]_, Sec. 12.
    """
    require_columns(audit, ("direction", "dependent"), " Call `audit_support` first.")
    return rate_frame(
        audit,
        survival_events,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def survival_events(audit: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
    """Events of `decision_survival` by metric, as floats of shape (n,); NaN if not dependent."""
    require_columns(audit, ("direction", "dependent"), " Call `audit_support` first.")
    says_yes = audit["direction"].to_numpy() > 0
    text_only, blank = ((finite_margin(audit, c) >= 0) == says_yes for c in CONTROLS)
    events = {
        "text_only_same": text_only,
        "blank_same": blank,
        "both_same": text_only & blank,
        "any_changes": ~(text_only & blank),
    }
    dependent = audit["dependent"].to_numpy()
    return {(name,): np.where(dependent, event, np.nan) for name, event in events.items()}
