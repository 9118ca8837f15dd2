"""Relation pairs in parts that add up to all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.rates import RUN, rate_frame
from vca_core.metrics.relation import RATES

PARTS = {
    "joint": ("joint",),
    "consistent_credit": ("relation_consistent", "pair_credit"),
    "consistent_only": ("relation_consistent",),
    "credit_only": ("pair_credit",),
    "neither": (),
}
"""Parts of all pairs: a pair is in the first of which it has every event."""


def pair_decomposition(
    pairs: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Five parts of all pairs: consistent or not, set apart by the image or not.

    Parameters are those of `relation_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"joint", "consistent_credit" (relation consistent and
        PairCredit without Joint: the image sets the statements apart, but does not support both
        decisions), "consistent_only" (relation consistent, no PairCredit), "credit_only"
        (PairCredit, not relation consistent), "neither"}. They sum to 1; the first three to
        relation consistency, and the first two and the fourth to PairCredit.

    Notes
    -----
    Five parts suffice because Joint implies PairCredit. They are this package's way to show the
    rates of [liu2026visual]_, Sec. 13, in one bar.
    """
    require_columns(pairs, RATES, " Call `audit_pairs` first.")

    def parts(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        rest, shares = np.ones(len(run), dtype=bool), {}
        for part, events in PARTS.items():
            inside = rest & run[list(events)].to_numpy(dtype=bool).all(axis=1)
            shares[(part,)] = inside.astype(float)
            rest &= ~inside
        return shares

    return rate_frame(
        pairs,
        parts,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
