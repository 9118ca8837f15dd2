"""Tables of the robustness page: controls, proxies, the empirical null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import DATASETS, NONE, display, percent

VARIANTS = {
    "text_only_gap": "Text only",
    "blank_only_gap": "Blank only",
    "mean_control_gap": "Mean of the two",
    "max_control_gap": "Larger of the two (headline)",
    "probability_max": "Larger, in probability",
    "minimum_js": "Smaller divergence, unsigned",
}
"""Ways to aggregate the two controls."""
CONTROL_SETS = {
    "headline": "Text, blank (headline)",
    "mean_color": "Text, mean colour",
    "mismatch": "Text, blank, mismatch",
}
SIGNALS = {
    "confidence": "Confidence",
    "visnec_style": "VisNec-style (labels)",
    "perceptual_score": "Perceptual Score (labels)",
    "permutation_drop": "Permutation drop",
    "fpvg_style": "FPVG-style",
    "negative_sufficiency": "−Sufficiency",
    "comprehensiveness": "Comprehensiveness",
    "comprehensiveness_minus_sufficiency": "Comp. − suff.",
    "image_gap": "Image gap",
}
RANKS = {"roc_auc": "AUROC", "average_precision": "AUPRC"}
NULLS = {
    "selector": "Selector",
    "permutation": "Permutation",
    "cross_interface": "Cross-interface",
    "cross_reverse": "Cross, reverse",
}


def variants_table(rates: pd.DataFrame, rankings: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Show how ways to aggregate the controls agree with the headline, and how they rank.

    Parameters
    ----------
    rates : DataFrame
        From `control_variants`.
    rankings : mapping of str to DataFrame
        Heading to a frame of `proxy_comparison`; the macro AUROC of each variant is shown, that of
        the headline from its score ``image_gap``.

    Returns
    -------
    DataFrame of text, one row per variant
        Agreement and AUROC in percent; agreement and rho as mean and smallest value of the runs.
    """
    require_columns(rates, ("pooling", "variant", "metric"))
    found = rates.set_index(["pooling", "variant", "metric"])
    columns = {
        ("macro", "agreement"): "Mean agreement (%)",
        ("min", "agreement"): "Least agreement (%)",
        ("macro", "spearman_rho"): "Mean rho",
        ("min", "spearman_rho"): "Least rho",
    }
    ranked = {variant: variant for variant in VARIANTS} | {"max_control_gap": "image_gap"}
    rows = []
    for variant, name in VARIANTS.items():
        row = {"Controls": name}
        for (pooling, metric), heading in columns.items():
            key = (pooling, variant, metric)
            row[heading] = _cell(found.loc[key], metric) if key in found.index else NONE
        rows.append(row | _rank_cells(rankings, ranked[variant], ("roc_auc",)))
    return pd.DataFrame(rows)


def proxies_table(rankings: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Macro AUROC and average precision of each signal in percent, from `proxy_comparison`.

    Parameters
    ----------
    rankings : mapping of str to DataFrame
        Heading of the target to a frame of `proxy_comparison`; a frame of several data sets gives
        columns for each.

    Returns
    -------
    DataFrame of text, one row per signal
    """
    return pd.DataFrame(
        [
            {"Signal": name} | _rank_cells(rankings, signal, tuple(RANKS))
            for signal, name in SIGNALS.items()
        ]
    )


def proxies_reading(rankings: Mapping[str, pd.DataFrame]) -> str:
    """Say in words how the image gap ranks outcomes beside the other signals.

    Parameters
    ----------
    rankings : mapping of str to DataFrame
        An outcome in words ("relation consistency") to a frame of `proxy_comparison`.

    Returns
    -------
    str
        For each outcome and data set the macro AUROC of the gap and of confidence in percent, how
        many of the other signals that could be computed have a higher one, and how many of those
        an interval wholly above the gap's. Where the gap has none, what an AUROC needs.
    """
    said = []
    for outcome, frame in rankings.items():
        auroc = frame[(frame["pooling"] == "macro") & (frame["metric"] == "roc_auc")]
        found = []
        for dataset, rows in auroc.groupby("dataset", sort=False):
            of = f" ({DATASETS.get(dataset, dataset)})" * (auroc["dataset"].nunique() > 1)
            known = rows[rows["score"].isin(SIGNALS) & rows["value"].notna()].set_index("score")
            if "image_gap" in known.index:
                found.append(_beside_the_gap(f"{outcome}{of}", known))
        said += found or [
            f"There is no AUROC on {outcome}: it needs records of both outcomes in every model, "
            "which these scores do not have."
        ]
    return " ".join(said)


def _beside_the_gap(outcome: str, known: pd.DataFrame) -> str:
    """One sentence on the signals whose AUROC is known."""
    gap, rest = known.loc["image_gap"], known.drop("image_gap")
    better = rest[rest["value"] > gap["value"]]
    confidence = f"{100 * known.loc['confidence', 'value']:.2f}"
    return (
        f"On {outcome} the image gap has a mean AUROC of {100 * gap['value']:.2f} %, and "
        f"confidence, the size of the original margin, {confidence} %; of the {len(rest)} other "
        f"signals that could be computed, {len(better)} rank it better than the gap does, "
        f"{(better['low'] > gap['high']).sum()} of them with an interval wholly above the gap's."
    )


def control_sets_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Dep, C-U, agreement and Jaccard of each control set in percent, from `control_sets`.

    Returns
    -------
    DataFrame of text, one row per control set
        Micro over all records of all runs; the Jaccard's own denominator is in its cell.
    """
    names = {
        "dependent": "Dep",
        "cu": "C-U",
        "agreement": "Agreement",
        "cu_jaccard": "C-U Jaccard",
    }
    rows = _pooled_rows(rates, "micro").query("control_set != 'all'")
    table = display(rows.drop(columns=["model", "dataset", "pooling"]), names)
    table["control_set"] = table["control_set"].map(CONTROL_SETS)
    return table.rename(columns={"control_set": "Controls"})


def control_overlap_table(rates: pd.DataFrame) -> pd.DataFrame:
    """How far the three control sets agree, per run and in all, from `control_sets`.

    Returns
    -------
    DataFrame of text, one row per run, and one of all records
        In percent of records; what is retained, in percent of the headline's C-U records.
    """
    names = {
        "agreement": "Same in all three",
        "cu_intersection": "C-U in all three",
        "cu_union": "C-U in any",
        "cu_retained": "Headline C-U kept",
    }
    rows = rates[rates["control_set"] == "all"].drop(columns="control_set")
    rows["pooling"] = rows["pooling"].where(rows["pooling"] != "run", None)
    return _blank_data(display(rows, names))


def mean_color_table(rates: pd.DataFrame) -> pd.DataFrame:
    """D-CC with a grey and a mean-colour blank, from `mean_color_comparison`."""
    names = {
        "accuracy": "Acc",
        "dcc": "D-CC, grey",
        "dcc_mean_color": "D-CC, mean colour",
        "difference": "Difference",
        "dependent_agreement": "Same D",
    }
    table = display(rates, names, {"difference": "points"})
    rho = rates[rates["metric"] == "spearman_rho"]
    return table.assign(**{"rho": [_cell(row, "spearman_rho") for _, row in rho.iterrows()]})


def visual_dependence_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by context and visual dependence in percent, from `visual_dependence`."""
    names = {
        "accuracy": "Acc",
        "accuracy_text_only": "Acc, text only",
        "accuracy_blank": "Acc, blank",
        "visual_dependence": "Visual dependence",
    }
    return display(rates, names)


def null_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Dep and the event under each null in percent, from `empirical_null`."""
    return display(
        rates, {"dependent": "Dep"} | NULLS | {"other_dependent": "Dep, other interface"}
    )


def null_differences_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Dep less the event under each null in points, paired, from `empirical_null`."""
    names = {f"{null}_difference": f"Dep − {name.lower()}" for null, name in NULLS.items()}
    return display(rates, names, dict.fromkeys(names, "points"))


def _pooled_rows(rates: pd.DataFrame, pooling: str) -> pd.DataFrame:
    require_columns(rates, ("pooling", "control_set", "metric"))
    return rates[rates["pooling"] == pooling]


def _blank_data(table: pd.DataFrame) -> pd.DataFrame:
    """Write "all" for the data of a row over all runs."""
    return table.assign(Data=table["Data"].where(table["Data"].notna(), "all"))


def _cell(row: pd.Series, metric: str) -> str:
    """Write a rate in percent with its interval, or a correlation."""
    if pd.isna(row["value"]):
        return NONE if row["n"] else f"{NONE} (n = 0)"
    if metric == "spearman_rho":
        return f"{row['value']:.3f}"
    return percent(row["value"], row["low"], row["high"])


def _rank_cells(
    rankings: Mapping[str, pd.DataFrame], score: str, metrics: Sequence[str]
) -> dict[str, str]:
    """Heading to the macro value of a score, for each target, data set and metric."""
    cells = {}
    for target, frame in rankings.items():
        macro = frame[frame["pooling"] == "macro"]
        for dataset in macro["dataset"].unique():
            several = f", {DATASETS.get(dataset, dataset)}" * (macro["dataset"].nunique() > 1)
            found = macro[(macro["dataset"] == dataset) & (macro["score"] == score)]
            values = found.set_index("metric")
            for metric in metrics:
                heading = f"{target} {RANKS[metric]}{several} (%)"
                cells[heading] = _cell(values.loc[metric], metric) if len(values) else NONE
    return cells
