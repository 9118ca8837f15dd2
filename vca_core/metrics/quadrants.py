"""Confidence against dependence: four quadrants of decisions, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.rates import RUN, as_float, names_of, rate_frame
from vca_core.records import SchemaError

QUADRANTS = ("high_dependent", "high_uncredited", "low_dependent", "low_uncredited")


def confidence_quadrants(audit: pd.DataFrame, *, by: Sequence[str] = RUN) -> pd.DataFrame:
    r"""Cross confidence with dependence.

    Confidence is :math:`|m_{i,o}|`; it is high from the median of the run on.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`; no label is needed.
    by : sequence of str
        What makes a run.

    Returns
    -------
    DataFrame, same rows and order
        All columns of `audit`, and ``confidence`` in nats, the boolean ``confident`` and
        ``quadrant`` in {"high_dependent", "high_uncredited", "low_dependent", "low_uncredited"}.

    Notes
    -----
    That the median itself is high is a reading, which the published counts suggest: more than half
    of the records are. Source: [liu2026visual]_, Sec. 15.
    """
    by = names_of(by)
    need = (*by, "margin_original", "dependent")
    require_columns(audit, need, " Call `audit_support` first.")
    confidence = audit["margin_original"].abs()
    median = confidence.median()
    if by:
        runs = [audit[column] for column in by]
        median = confidence.groupby(runs, sort=False, dropna=False).transform("median")
    confident = confidence >= median
    level = np.where(confident, "high", "low")
    credit = np.where(audit["dependent"], "dependent", "uncredited")
    quadrant = pd.Series([f"{a}_{b}" for a, b in zip(level, credit, strict=True)], audit.index)
    return audit.assign(confidence=confidence, confident=confident, quadrant=quadrant.astype(str))


def join_quadrants(outcomes: pd.DataFrame, quadrants: pd.DataFrame) -> pd.DataFrame:
    """Give edit records the quadrant of their source's true statement.

    Parameters
    ----------
    outcomes : DataFrame
        From `edit_outcomes`.
    quadrants : DataFrame
        From `confidence_quadrants`, with ``pair_id``: the median is that of the whole run, not of
        the statements that have an edit.

    Returns
    -------
    DataFrame, same rows and order
        All columns of `outcomes`, and ``quadrant``.

    Raises
    ------
    SchemaError
        If a column is missing, or a source statement does not stand in `quadrants` once.
    """
    key = ["model", "pair_id", "sample_id"]
    require_columns(outcomes, key, " Call `edit_outcomes` first.")
    require_columns(quadrants, (*key, "quadrant"), " Call `confidence_quadrants` first.")
    wanted = quadrants.loc[quadrants["pair_id"].notna(), [*key, "quadrant"]]
    found = outcomes[key].merge(wanted, on=key, how="left")
    if len(found) != len(outcomes) or found["quadrant"].isna().any():
        bad = found[found["quadrant"].isna() | found.duplicated(key, keep=False)].iloc[0]
        raise SchemaError(
            f"The source of an edit must stand once among the audited statements, got none or "
            f"several for sample_id {bad['sample_id']!r} (model {bad['model']!r})."
        )
    return outcomes.assign(quadrant=found["quadrant"].to_numpy())


def quadrant_rates(
    records: pd.DataFrame,
    targets: Sequence[str] = ("correct",),
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = (),
    cluster: str = "pair_id",
) -> pd.DataFrame:
    """Share of each quadrant, and the rates of targets inside it.

    Parameters
    ----------
    records : DataFrame
        With ``quadrant``, from `confidence_quadrants` or `join_quadrants`.
    targets : sequence of str
        Columns of events; null is outside the denominator.
    n_resamples, confidence_level, rng, cluster
        As in `vca_core.metrics.rates.rate_frame`: "pair_id" for statements, "edit_id" for edits.
    by : sequence of str
        What is pooled (micro): everything by default, as in the paper; ("model", "dataset") for
        the range over runs.

    Returns
    -------
    DataFrame, one row per group, quadrant and metric
        `by`, ``quadrant``, ``metric`` ("share", and the targets), and the columns of an estimate.
        ``n`` of a share counts all records of the group, that of a target those in the quadrant.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 15.
    """
    by = names_of(by)
    require_columns(records, ("quadrant", *targets), " Call `confidence_quadrants` first.")

    def measures(run: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
        inside = {name: (run["quadrant"] == name).to_numpy() for name in QUADRANTS}
        found = {}
        for name, rows in inside.items():
            found[name, "share"] = rows.astype(float)
            found |= {(name, target): as_float(run[target], rows) for target in targets}
        return found

    return rate_frame(
        records,
        measures,
        labels=("quadrant", "metric"),
        by=by,
        cluster=cluster,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
