"""Answer surfaces on relation pairs: an offset of a surface drops out of a pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.agreement import event_rates, matched_audits
from vca_core.metrics.checks import require_columns
from vca_core.metrics.matching import KEYS, match_records
from vca_core.metrics.rates import RUN, as_float
from vca_core.metrics.relation import audit_pairs


def pair_surface_agreement(
    first_audit: pd.DataFrame,
    second_audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Agreement of two surfaces on statements, and on the relation pairs these make up.

    .. math:: \text{item flip} = \overline{1\{D \ne D'\}}, \qquad
              \text{pair flip} = \overline{1\{P \ne P'\}}, \qquad
              J = \frac{\sum P P'}{\sum \max(P, P')}

    with :math:`D` of a statement, and :math:`P` the PairCredit :math:`1\{G^{\text{int}} > 0\}` of
    a pair, from which an offset that a surface adds to both statements drops out.

    Parameters
    ----------
    first_audit, second_audit : DataFrame
        From `audit_support`, with ``pair_id`` and ``polarity``: statements that come in pairs, or
        ``audit_support(pair_inverses(...))``. Statements without a pair are left out.
    n_resamples, confidence_level, rng, by
        As in `support_rates`; whole pairs are resampled.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`, with ``n`` in pairs; ``metric`` in {"item_flip", "pair_flip",
        "pair_jaccard", "flip_difference"}. "item_flip" is the mean over pairs of the share of the
        pair's statements that flip: with one false statement per pair, the share of all 2 ``n``
        statements. "pair_jaccard" is a ratio of sums: its ``n`` counts the pairs credited under
        either surface. "flip_difference" is pair_flip - item_flip, paired; it is negative in the
        comparisons in which pairing has fewer flips.

    Raises
    ------
    SchemaError
        If a column is missing, the statements do not match one to one, no statement has a pair,
        or `audit_pairs` refuses one.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18 (440 pairs of GSR-COCO, 504 inverse pairs of VSR).
    """
    for audit in (first_audit, second_audit):
        require_columns(audit, ("pair_id", "polarity"))
    first, second = matched_audits(
        first_audit[first_audit["pair_id"].notna()],
        second_audit[second_audit["pair_id"].notna()],
        KEYS,
        "refuse",
    )
    pair = tuple("pair_id" if column == "sample_id" else column for column in KEYS)
    pairs, others = match_records(audit_pairs(first_audit), audit_pairs(second_audit), on=pair)
    keys = [column for column in pair if column in pairs]
    flips = first.assign(flip=first["dependent"].to_numpy() != second["dependent"].to_numpy())
    item_flip = flips.groupby(keys, sort=False, dropna=False)["flip"].mean().rename("item_flip")
    item_flip = pairs[keys].merge(item_flip.reset_index(), on=keys)["item_flip"].to_numpy()
    credit, other = as_float(pairs["pair_credit"]), as_float(others["pair_credit"])
    pair_flip = (credit != other).astype(float)
    events = {
        "item_flip": item_flip,
        "pair_flip": pair_flip,
        "pair_jaccard": np.where(np.maximum(credit, other) > 0, credit * other, np.nan),
        "flip_difference": pair_flip - item_flip,
    }
    return event_rates(
        pairs,
        events,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
