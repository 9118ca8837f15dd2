"""Tables of the edit check: success by stratum, ranking, shared margin, quadrants."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import display
from vca_core.tables.increments import TARGETS

CHECKS = TARGETS | {"false_only": "False statement alone"}
SCORES = {
    "image_gap": "Image gap",
    "margin_original": "True margin",
    "confidence": "Confidence",
}
BOTH = {"n_yes": "n yes", "n_no": "n no"}
QUADRANTS = {
    "high_dependent": ("high", "dependent"),
    "high_uncredited": ("high", "not dependent"),
    "low_dependent": ("low", "dependent"),
    "low_uncredited": ("low", "not dependent"),
}


def edit_strata_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Success on the edited picture in percent, overall and in strata, from `outcomes_by_stratum`.

    Returns
    -------
    DataFrame of text, one row per model and pooling
        The columns of T23 of the paper and the strict composite; ``n`` counts edit records, and a
        stratum's own number stands in its cell.
    """
    names = {
        "edit_relation overall": "Relation only",
        "edit_visible overall": "Flip and visibility",
        "edit_strict overall": "Strict",
        "edit_visible relation_consistent": "Flip and vis., in Rel",
        "edit_visible joint": "Flip and vis., in Joint",
        "edit_visible pair_dependent_increment": "Pair D increment",
    }
    return _by_stratum(rates, names, ("edit_visible pair_dependent_increment",))


def edit_contrasts_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Show what Joint adds to the success overall, in points, from `outcomes_by_stratum`."""
    names = {
        "edit_relation joint": "Relation only, in Joint",
        "edit_relation joint_minus_overall": "Joint less overall, relation only",
        "edit_visible joint_minus_overall": "Joint less overall, flip and vis.",
        "edit_relation pair_dependent_increment": "Pair D increment, relation only",
    }
    return _by_stratum(rates, names, [*names][1:])


def correspondence_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Success of rightly answered sources in percent, by credit, from `natural_correspondence`.

    Returns
    -------
    DataFrame of text, one row per model and pooling
        Both numbers of records stand in columns. A model with one kind alone has no difference,
        and that of the mean of models is over the others.
    """
    names = {
        "edit_visible dcc": "Correct, dependent",
        "edit_visible cu": "Correct, not dependent",
        "edit_visible difference": "Difference",
    }
    counts = [rates.loc[rates["stratum"] == kind, "n"].to_numpy() for kind in ("dcc", "cu")]
    # One n in all cells of a row: the columns say both.
    table = _by_stratum(rates.assign(n=0), names, ("edit_visible difference",))
    place = table.columns.get_loc("n")
    table = table.drop(columns="n")
    table.insert(place, "n, dependent", counts[0])
    table.insert(place + 1, "n, not dependent", counts[1])
    return table


def _by_stratum(rates: pd.DataFrame, names: Mapping[str, str], points: list[str]) -> pd.DataFrame:
    require_columns(rates, ("metric", "stratum"))
    flat = rates.assign(metric=rates["metric"] + " " + rates["stratum"]).drop(columns="stratum")
    return display(_one_data_set(flat), names, dict.fromkeys(points, "points"))


def _one_data_set(rates: pd.DataFrame) -> pd.DataFrame:
    """Leave out the column of the data set where it says nothing."""
    alone = "dataset" in rates and rates["dataset"].nunique() == 1
    return rates.drop(columns="dataset") if alone else rates


def ranking_table(rates: pd.DataFrame) -> pd.DataFrame:
    """How well a score ranks an event, in percent, from `ranking_rates` (frames may be stacked).

    Returns
    -------
    DataFrame of text, one row per event, score (where there are several), model and pooling
        The difference between the outer thirds is in points.
    """
    names = {
        "base_rate": "Base rate",
        "roc_auc": "AUROC",
        "average_precision": "AUPRC",
        "high_minus_low": "High less low third",
    }
    require_columns(rates, ("target", "score", "model", "pooling"))
    rates = rates.reset_index(drop=True)  # frames may be stacked
    named = pd.DataFrame({"Event": rates["target"].map(lambda key: CHECKS.get(key, key))})
    if rates["score"].nunique() > 1:
        named["Score"] = rates["score"].map(lambda key: SCORES.get(key, key))
    numbers = rates.drop(columns=["target", "score", "dataset", *BOTH], errors="ignore")
    table = display(named.join(numbers), names, {"high_minus_low": "points"})
    return table[[*named, *table.columns.drop([*named])]]


def shared_margin_table(rates: pd.DataFrame, increments: pd.DataFrame) -> pd.DataFrame:
    """AUROC of the true statement's margin and gap in percent, and what the gap adds, in points.

    Parameters
    ----------
    rates : DataFrame
        From `same_record_checks`.
    increments : DataFrame
        From `cross_validated_increment`, of the same targets, stacked.

    Returns
    -------
    DataFrame of text, one row per target and model, and their mean (macro)
        With the numbers of records of both classes.
    """
    names = {
        "margin_original roc_auc": "True margin",
        "image_gap roc_auc": "Gap",
        "image_gap conditional_roc_auc": "Gap within margin bins",
        "increment": "Gap beside margin",
    }
    require_columns(rates, ("target", "score", "metric", "pooling", *BOTH))
    rates = rates[rates["pooling"] != "rank"]
    keys = [c for c in ("dataset", "model", "pooling", "target") if c in rates]
    counts = rates.drop_duplicates(keys)[[*BOTH]]
    flat = rates.assign(metric=rates["score"] + " " + rates["metric"])
    flat = flat.drop(columns=["score", *BOTH])
    # A model with too few records of one class may leave no increment at all.
    both = pd.concat([flat, increments], ignore_index=True) if len(increments) else flat
    both["target"] = both["target"].map(lambda key: CHECKS.get(key, key))
    table = display(_one_data_set(both), names, {"increment": "points"}).drop(columns="n")
    for place, (column, name) in enumerate(BOTH.items(), table.columns.get_loc("True margin (%)")):
        table.insert(place, name, counts[column].to_numpy())
    table.insert(0, "Target", table.pop("target"))
    return table.sort_values("Target", ascending=False, kind="stable")


def quadrant_shares_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Share of each quadrant in percent, from `quadrant_rates`: a column each, a row per run."""
    require_columns(rates, ("metric", "quadrant"))
    shares = rates[rates["metric"] == "share"]
    flat = shares.assign(metric=shares["quadrant"]).drop(columns="quadrant")
    return display(flat, {key: ", ".join(words) for key, words in QUADRANTS.items()})


def quadrants_table(rates: pd.DataFrame, edits: pd.DataFrame) -> pd.DataFrame:
    """Confidence against dependence, in percent: test decisions, and the edits of their pictures.

    Parameters
    ----------
    rates, edits : DataFrame
        From `quadrant_rates`: of test decisions with "correct", and of edit records with
        "edit_visible" and "edit_strict".

    Returns
    -------
    DataFrame of text, one row per quadrant
        ``n`` counts all decisions; the records of a quadrant stand in the cells.
    """
    names = {
        "share": "Share",
        "correct": "Acc",
        "edit_visible": "Flip and visibility",
        "edit_strict": "Strict",
    }
    both = pd.concat([rates, edits[edits["metric"] != "share"]], ignore_index=True)
    table = display(both, names)
    level, credit = zip(*(QUADRANTS[key] for key in table.pop("quadrant")), strict=True)
    table.insert(0, "Confidence", level)
    table.insert(1, "Image support", credit)
    return table
