"""The selection behind the edits: what is checked, and how edited pairs differ from the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.edit_strata import strata_rates
from vca_core.metrics.edits import source_records
from vca_core.records import SchemaError
from vca_core.stats import wilson_interval

EVENTS = ("correct", "dependent", "dcc", "relation_consistent", "joint")
NATS = ("confidence", "image_gap")
GEOMETRY = ("larger_box_area", "center_gap", "destination_slack")
_GROUPS = {"feasible": "feasible", "excluded": "excluded"}
_DIFFERENCE = {"difference": ("feasible", "excluded")}


def construct_audit(outcomes: Sequence[str], *, confidence_level: float = 0.95) -> pd.DataFrame:
    """Count how edits fared in the audit of their construction.

    Parameters
    ----------
    outcomes : sequence of str, one per feasible edit
        "accepted", "rejected", "no_majority" or "undecided", as `vca_core.annotate.consensus`
        gives them; a check that people had no part in knows the first two.
    confidence_level : float
        Of the Wilson intervals.

    Returns
    -------
    DataFrame, one row per outcome
        ``outcome``, ``count``, ``value`` (share), ``low``, ``high`` and ``n``. "accepted" and
        "rejected" always stand, others where they occur.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 17.
    """
    found = pd.Series(list(outcomes), dtype=object)
    known = ("accepted", "rejected", "no_majority", "undecided")
    for wrong in found[~found.isin(known)].unique():
        raise SchemaError(f"An outcome must be one of {', '.join(known)}; got {wrong!r}.")
    rows = []
    for name in known:
        count, n = int((found == name).sum()), len(found)
        if count or name in known[:2]:
            bounds = wilson_interval(count, n, confidence_level)
            rows.append((name, count, count / n if n else np.nan, *bounds, n))
    return pd.DataFrame(rows, columns=["outcome", "count", "value", "low", "high", "n"])


def feasibility_contrast(
    audit: pd.DataFrame,
    pairs: pd.DataFrame,
    geometry: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Set pairs whose objects can change places against those excluded.

    Parameters
    ----------
    audit, pairs : DataFrame
        As in `source_records`.
    geometry : DataFrame, one row per pair
        ``pair_id`` and the boolean ``feasible``, decided without any model; where they are known
        ``larger_box_area`` (share of the picture), ``center_gap`` and ``destination_slack`` (in
        extents of the picture). Pairs without scores are left out.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over pairs, feasible and excluded ones together.

    Returns
    -------
    DataFrame
        As `vca_core.metrics.edit_strata.strata_rates`: ``stratum`` in {"feasible", "excluded",
        "difference"}. ``metric`` is "horizontal" (of pairs with a known axis) or one of the three
        measures of geometry, with ``model`` None and ``pooling`` "pairs"; and for each model, its
        true statements' "correct", "dependent", "dcc" and mean "confidence" and "image_gap" in
        nats, and its pairs' "relation_consistent" and "joint". Nats are not put together over
        models.

    Raises
    ------
    SchemaError
        If a column is missing, a pair stands twice in `geometry`, or a pair with scores is not in
        it.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 17 (D-CC of the source, horizontal share and geometry).
    """
    require_columns(geometry, ("pair_id", "feasible"))
    measured = [name for name in GEOMETRY if name in geometry.columns]
    feasible = geometry["feasible"].map({True: True, False: False}).astype("boolean")
    if feasible.isna().any():
        row = geometry[feasible.isna()].iloc[0]
        raise SchemaError(
            f"`feasible` must be true or false, got {row['feasible']!r} for pair_id "
            f"{row['pair_id']!r} ({feasible.isna().sum()} of {len(geometry)} pairs)."
        )
    facts = geometry[["pair_id", "feasible", *measured]].assign(
        feasible=feasible.astype(bool), excluded=~feasible.astype(bool)
    )
    if facts["pair_id"].duplicated().any():
        twice = facts.loc[facts["pair_id"].duplicated(), "pair_id"].iloc[0]
        raise SchemaError(f"A pair must stand once in `geometry`, got pair_id {twice!r} again.")
    sources = source_records(audit, pairs).merge(facts, on="pair_id", how="left")
    lost = sources["feasible"].isna()
    if lost.any():
        row = sources[lost].iloc[0]
        raise SchemaError(f"Every pair must be in `geometry`, got none for {row['pair_id']!r}.")
    options = {
        "n_resamples": n_resamples,
        "confidence_level": confidence_level,
        "cluster": "pair_id",
    }
    seed = int(rng.integers(2**63))  # geometry and models from the same resamples of pairs
    known = sources["axis"].notna()
    horizontal = (sources["axis"] == "horizontal").astype("boolean").where(known)
    once = sources.assign(horizontal=horizontal).drop_duplicates(["dataset", "pair_id"])
    place = strata_rates(once.assign(model=""), ("horizontal", *measured), _GROUPS, _DIFFERENCE,
                         rng=np.random.default_rng(seed), **options)  # fmt: skip
    place = place[place["pooling"] == "run"].assign(model=None, pooling="pairs")
    rates = strata_rates(sources, (*EVENTS, *NATS), _GROUPS, _DIFFERENCE,
                         rng=np.random.default_rng(seed), **options)  # fmt: skip
    pooled_nats = (rates["pooling"] != "run") & rates["metric"].isin(NATS)
    parts = [part for part in (place, rates[~pooled_nats]) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else rates
