"""Other wordings of the same question, and system messages around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.agreement import EVENTS, event_rates
from vca_core.metrics.checks import RECORD, require_columns
from vca_core.metrics.matching import matches
from vca_core.metrics.rates import RUN, as_float
from vca_core.records import SchemaError

CANONICAL = "canonical"
"""The wording that the others are compared with."""


def wording_rates(
    audit: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
    cluster: str = "pair_id",
) -> pd.DataFrame:
    r"""Rates pooled over the wordings of the same samples, and agreement with one of them.

    .. math:: \text{Acc} = \frac{1}{NW} \sum_{i, w} K_{iw}, \qquad
              A_{\hat y} = \frac{1}{N (W - 1)} \sum_i \sum_{w \ne c} 1\{\hat y_{iw} = \hat y_{ic}\}

    over :math:`N` samples in :math:`W` wordings, of which :math:`c` is the canonical one; likewise
    Dep and D-CC with the events :math:`D` and :math:`K D`, and :math:`A_D` with :math:`D`.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, of one interface: all wordings of the samples, or the samples under
        another system message.
    reference : DataFrame, optional
        From `audit_support`: one record per model and sample, in whichever data set, to compare
        with. Default: the rows of `audit` whose ``wording`` is "canonical".
    n_resamples, confidence_level, rng, by
        As in `support_rates`.
    cluster : str
        As in `vca_core.metrics.rates.rate_frame`. All wordings of a sample are drawn together,
        and so are the statements of its pair, where it has one.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`, micro over records (samples × wordings); ``metric`` in {"accuracy",
        "dependent", "dcc"} over all rows of `audit`, "prediction_agreement" and
        "dependent_agreement" over the rows that are not themselves in `reference`.

    Raises
    ------
    SchemaError
        If a column is missing, `audit` has no wording "canonical" and no `reference` is given, or
        a sample has no record in `reference`, or more than one.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18: 200 VSR samples in three wordings, 600 records pooled.
    """
    require_columns(audit, ("model", "dataset", "sample_id", *EVENTS), " Call `audit_support`.")
    on = ("model", "sample_id")
    if reference is None:
        require_columns(audit, ("wording",), " Pass `reference`.")
        on = (*RUN, "sample_id")
        reference = audit[audit["wording"] == CANONICAL]
        if len(audit) and reference.empty:
            got = ", ".join(map(repr, audit["wording"].unique()))
            raise SchemaError(
                f"`wording` must be {CANONICAL!r} in some rows, got {got}; pass the records to "
                "compare with as `reference`."
            )
    same = matches(audit, reference, on=on)
    keys = [c for c in RECORD if c in audit.columns and c in same.columns]
    other = (audit[keys].to_numpy(dtype=object) != same[keys].to_numpy(dtype=object)).any(axis=1)
    agree = {
        f"{event}_agreement": np.where(other, audit[event].to_numpy() == same[event], np.nan)
        for event in ("prediction", "dependent")
    }
    rates = {"accuracy": "correct", "dependent": "dependent", "dcc": "dcc"}
    events = {metric: as_float(audit[event]) for metric, event in rates.items()} | agree
    return event_rates(
        audit,
        events,
        by=by,
        cluster=cluster,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
