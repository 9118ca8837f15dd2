"""Two audits of the same samples compared: answer surfaces, wordings, system messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.matching import KEYS, match_records
from vca_core.metrics.rates import RUN, as_float, rate_frame
from vca_core.records import SchemaError

EVENTS = ("prediction", "dependent", "correct", "dcc", "cu")
"""Columns of an audit that are compared."""
CONSENSUS = {
    "both": ("prediction", "dependent"),
    "prediction": ("prediction",),
    "dependent": ("dependent",),
}
"""Columns on which two surfaces must agree, by name of the consensus."""


def surface_agreement(
    first_audit: pd.DataFrame,
    second_audit: pd.DataFrame,
    *,
    on: Sequence[str] = KEYS,
    incomplete: str = "refuse",
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
    cluster: str = "pair_id",
) -> pd.DataFrame:
    r"""How often two audits of the same samples give the same decision and the same events.

    .. math:: A_{\hat y} = \overline{1\{\hat y = \hat y'\}}, \quad A_D = \overline{1\{D = D'\}},
              \quad A_{KD} = \overline{1\{K D = K' D'\}}, \quad
              J_D = \frac{\sum D D'}{\sum \max(D, D')}

    where :math:`K` says whether a decision is correct, and the dash marks the second audit.

    Parameters
    ----------
    first_audit, second_audit : DataFrame
        From `audit_support`, of one answer surface (wording, system message) each.
    on, incomplete
        As in `vca_core.metrics.matching.match_records`. Samples of data sets with different names
        are matched by ``on=("model", "sample_id")``.
    n_resamples, confidence_level, rng
        As in `support_rates`. All metrics of a run come from the same resamples.
    by, cluster
        As in `vca_core.metrics.rates.rate_frame`: columns of `first_audit`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"prediction_agreement", "dependent_agreement",
        "dcc_agreement"} (the three agreements above), "item_flip" (1 - dependent_agreement) and
        "dependent_jaccard", a ratio of sums: its ``n`` counts the records that are dependent under
        either. Only "dcc_agreement" needs labels, and counts labelled records alone.

    Raises
    ------
    SchemaError
        If an event column is missing, or the records do not match one to one.

    Notes
    -----
    A reading: agreement "for D-CC" is agreement on the record event correct-and-dependent, so two
    surfaces agree where neither gives it. Source: [liu2026visual]_, Sec. 18.
    """
    first, second = matched_audits(first_audit, second_audit, on, incomplete)
    one, other = as_float(first["dependent"]), as_float(second["dependent"])
    dcc, other_dcc = as_float(first["dcc"]), as_float(second["dcc"])
    labelled = ~np.isnan(dcc) & ~np.isnan(other_dcc)
    events = {
        "prediction_agreement": _agree(first, second, ("prediction",)),
        "dependent_agreement": one == other,
        "dcc_agreement": np.where(labelled, dcc == other_dcc, np.nan),
        "item_flip": one != other,
        "dependent_jaccard": np.where(np.maximum(one, other) > 0, one * other, np.nan),
    }
    return event_rates(first, events, by=by, cluster=cluster, n_resamples=n_resamples,
                       confidence_level=confidence_level, rng=rng)  # fmt: skip


def surface_consensus(
    first_audit: pd.DataFrame,
    second_audit: pd.DataFrame,
    *,
    consensus: str = "both",
    on: Sequence[str] = KEYS,
    incomplete: str = "refuse",
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
    cluster: str = "pair_id",
) -> pd.DataFrame:
    r"""Audit only where two surfaces agree: how much is covered, and the rates inside.

    .. math:: \text{coverage} = \overline{C}, \quad \text{abstention} = 1 - \text{coverage}, \quad
              \text{Dep}_C = \frac{\sum C D}{\sum C}, \quad C = 1\{\hat y = \hat y', D = D'\}

    and likewise Acc, D-CC and C-U inside. Which records are covered needs no label.

    Parameters
    ----------
    first_audit, second_audit, on, incomplete, n_resamples, confidence_level, rng, by, cluster
        As in `surface_agreement`.
    consensus : {"both", "prediction", "dependent"}
        What the surfaces must agree on: decision and dependence event, or one of them alone.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"coverage", "abstention"} over all records, and
        {"accuracy", "dependent", "dcc", "cu"} over covered ones, whose number is ``n``; NaN where
        none is covered.

    Raises
    ------
    SchemaError
        As `surface_agreement`, or if `consensus` is unknown.

    Notes
    -----
    A reading: the paper names consensus coverage, abstention and covered-item rates without their
    formula. Under "both" all four rates inside are the same whichever audit is first; under the
    other two, what the surfaces need not agree on is that of `first_audit`.
    Source: [liu2026visual]_, supplementary files.
    """
    if consensus not in CONSENSUS:
        raise SchemaError(f"`consensus` must be one of {list(CONSENSUS)}, got {consensus!r}.")
    first, second = matched_audits(first_audit, second_audit, on, incomplete)
    covered = _agree(first, second, CONSENSUS[consensus])
    inside = {"accuracy": "correct", "dependent": "dependent", "dcc": "dcc", "cu": "cu"}
    events = {"coverage": covered, "abstention": ~covered} | {
        metric: as_float(first[event], covered) for metric, event in inside.items()
    }
    return event_rates(first, events, by=by, cluster=cluster, n_resamples=n_resamples,
                       confidence_level=confidence_level, rng=rng)  # fmt: skip


def matched_audits(
    first_audit: pd.DataFrame, second_audit: pd.DataFrame, on: Sequence[str], incomplete: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put two audits side by side; SchemaError where they lack events or do not match."""
    for audit in (first_audit, second_audit):
        require_columns(audit, EVENTS, " Call `audit_support` first.")
    return match_records(first_audit, second_audit, on=on, incomplete=incomplete)


def event_rates(
    records: pd.DataFrame, events: dict[str, np.ndarray], **options: object
) -> pd.DataFrame:
    """Rate of each event over the runs of `records`; `options` as in `rate_frame`.

    `events` maps a metric to one number per record, NaN outside the denominator.
    """
    return rate_frame(
        records.assign(**events),
        lambda run: {(metric,): as_float(run[metric]) for metric in events},
        **options,
    )


def _agree(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Whether two audits hold the same value in all `columns`, shape (n,)."""
    return np.all([first[c].to_numpy() == second[c].to_numpy() for c in columns], axis=0)
