"""Tables of the selection behind the edits: their audit, and feasible against excluded pairs."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import NONE, display, name_pooling, nats, percent

OUTCOMES = {
    "accepted": "Accepted",
    "rejected": "Rejected",
    "no_majority": "No majority",
    "undecided": "Undecided",
}
CRITERIA = {
    "original_valid": "Original valid",
    "edited_flipped": "Edited flipped",
    "objects_visible": "Objects visible",
    "artifacts_not_blocking": "Artifacts not blocking",
}
MEASURES = {
    "pairwise_agreement": "Pairwise agreement (%)",
    "fleiss_kappa": "Fleiss' kappa",
    "repeat_agreement": "Repeat agreement (%)",
}
CHARACTERISTICS = {
    "horizontal": "Horizontal relation",
    "larger_box_area": "Larger box, of the picture",
    "center_gap": "Center gap, of its side",
    "destination_slack": "Destination slack, of its side",
    "correct": "Acc of the source",
    "dependent": "Dep of the source",
    "dcc": "D-CC of the source",
    "relation_consistent": "Rel of the pair",
    "joint": "Joint of the pair",
    "confidence": "Mean confidence (nats)",
    "image_gap": "Mean image gap (nats)",
}
IN_NATS = ("confidence", "image_gap")


def construct_table(audits: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Outcomes of the audit of the edits, as counts and in percent of the feasible ones.

    Parameters
    ----------
    audits : mapping of who judged to DataFrame
        From `construct_audit`.
    """
    rows = []
    for judged, frame in audits.items():
        n = int(frame["n"].iloc[0])
        rows.append((judged, "Feasible", n, percent(1, None, None) if n else NONE))
        for row in frame.itertuples():
            share = percent(row.value, row.low, row.high) if row.n else NONE
            rows.append((judged, OUTCOMES[row.outcome], row.count, share))
    return pd.DataFrame(rows, columns=["Judged by", "Outcome", "n", "Share (%)"])


def annotation_agreement_table(agreement: pd.DataFrame) -> pd.DataFrame:
    """Agreement of annotators in percent, and kappa, from `vca_core.annotate.agreement`."""
    require_columns(agreement, ("metric", "annotators", "criterion", "value", "low", "high", "n"))
    named = agreement.rename(columns={"criterion": "metric", "metric": "Measure"})
    named = named.rename(columns={"annotators": "Annotators"})
    parts = []
    for is_kappa, unit in ((False, "%"), (True, "nats")):  # kappa is a number, written as nats are
        rows = named[(named["Measure"] == "fleiss_kappa") == is_kappa]
        part = display(rows, CRITERIA, dict.fromkeys(CRITERIA, unit))
        parts.append(part.rename(columns={f"{name} ({unit})": name for name in CRITERIA.values()}))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    table["Measure"] = table["Measure"].map(MEASURES)
    return table


def feasibility_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Feasible against excluded pairs, from `feasibility_contrast`.

    Returns
    -------
    DataFrame of text, one row per characteristic and model
        In percent, differences in points, unless the row says nats. ``n`` counts the records of
        each side.
    """
    require_columns(rates, ("stratum", "metric", "value", "low", "high", "n"))
    rows = []
    keys = ["metric", "model"]
    for (metric, model), group in name_pooling(rates).groupby(keys, sort=False, dropna=False):
        side = group.set_index("stratum")
        show = nats if metric in IN_NATS else percent
        cells = [
            NONE if pd.isna(row["value"]) else show(row["value"], row["low"], row["high"])
            for row in (side.loc[name] for name in ("feasible", "excluded", "difference"))
        ]
        n = f"{side.loc['feasible', 'n']} / {side.loc['excluded', 'n']}"
        who = NONE if pd.isna(model) else model
        rows.append((CHARACTERISTICS.get(metric, metric), who, n, *cells))
    names = ["Characteristic", "Model", "n", "Feasible", "Excluded", "Difference"]
    return pd.DataFrame(rows, columns=names)
