"""The published set of increments: what the image gap adds to a model of the edit outcome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.increments import METRICS, increment_frame, increment_rows

SIGNED_BASELINE = ("model", "relation", "margin_original_rank")
"""The baseline with the rank of the signed margin in place of direction and confidence rank."""


def leave_one_edit_out_auroc(
    outcomes: pd.DataFrame,
    *,
    ridge: float = 1.0,
    ridges: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
    original_pair: str = "source_consistent",
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Leave-one-edit-out AUROC with and without the image gap: main rows and their checks.

    Parameters
    ----------
    outcomes : DataFrame, one row per (model, edit_id)
        ``model, edit_id, relation, axis, direction`` (+1 or -1), ``margin_original`` (nats) of the
        source's true statement, ``confidence`` (its absolute value), ``image_gap`` (nats), and the
        booleans ``relation_consistent, pair_dependent, edit_visible, edit_strict`` and
        `original_pair`; as from `edit_outcomes`.
    ridge, ridges
        Penalty of everything but the sweep, and those of the sweep (see `incremental_roc_auc`).
    original_pair : str
        Column of the condition of the third published row. "source_consistent" is the source
        condition of edit_strict, in which a margin of 0 decides yes; "relation_consistent" differs
        from it in tied records alone [I].
    n_resamples, confidence_level, rng
        As in `incremental_roc_auc`; all rows share one seed.

    Returns
    -------
    DataFrame
        ``variant``, then the columns of `incremental_roc_auc`. Variants, of target edit_visible
        where nothing else is said:

        - "main": edit_visible and edit_strict, over all records.
        - "original_pair": edit_strict within `original_pair`, where it is the same as edit_visible.
        - "pair_dependent": within relation_consistent, with Pair D in place of the gap.
        - "ridge": both targets at the other penalties of `ridges`; at `ridge` itself it is "main".
        - "signed_margin": rank of the signed margin in place of direction and confidence rank.
        - "held_out_model": each model predicted by a fit to the others and ranked inside itself, as
          ``stratum`` says; a pooled ranking would compare intercepts of different fits.
        - "without_model": the main row without one model, as ``within`` says.
        - "axis": fitted and scored within one axis, as ``within`` says.
        - "model": the main predictions ranked inside each model, as ``stratum`` says.

    Raises
    ------
    SchemaError
        As `incremental_roc_auc`.

    Notes
    -----
    The published range of "leave-one-model-out" gains fits either "held_out_model" or
    "without_model" in words; both are here [I]. An axis is fitted by itself [I]; to rank the main
    predictions inside each axis, call `incremental_roc_auc` with ``by="axis"``.
    Source: [liu2026visual]_, Sec. 15.
    """
    require_columns(outcomes, ("model", "axis"))
    seed = int(rng.integers(2**63))
    rows = []

    def collect(variant: str, target: str = "edit_visible", **setting: object) -> None:
        setting = {"outcomes": outcomes, "ridge": ridge} | setting
        found = increment_rows(target=target, **setting, n_resamples=n_resamples,
                               confidence_level=confidence_level, seed=seed)  # fmt: skip
        rows.extend({"variant": variant} | row for row in found)

    collect("main", by="model")
    collect("main", "edit_strict")
    collect("original_pair", "edit_strict", within={original_pair: True})
    collect("pair_dependent", within={"relation_consistent": True}, added="pair_dependent")
    for other in [value for value in ridges if value != ridge]:
        for target in ("edit_visible", "edit_strict"):
            collect("ridge", target, ridge=other)
    collect("signed_margin", baseline=SIGNED_BASELINE)
    collect("held_out_model", hold_out="model", by="model")
    models = outcomes["model"].unique()
    for model in models if len(models) > 1 else ():
        rest = outcomes.assign(others=outcomes["model"] != model)
        collect("without_model", outcomes=rest, within={"others": True})
        for row in rows[-len(METRICS) :]:
            row["within"] = f"model != {model}"
    for axis in sorted(outcomes["axis"].dropna().unique()):
        collect("axis", within={"axis": axis})
    frame = increment_frame(rows, "variant")
    whole = frame["stratum"].isna()
    frame.loc[~whole & (frame["variant"] == "main"), "variant"] = "model"
    return frame[~whole | (frame["variant"] != "held_out_model")].reset_index(drop=True)
