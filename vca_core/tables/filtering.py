"""Tables of benchmark filtering, and the published values of the filters' differences."""

from __future__ import annotations

import pandas as pd

from vca_core.published import published, published_table
from vca_core.tables.core import display
from vca_core.tables.myst import MystTable, to_myst

FILTERS = {
    "full": "Full benchmark",
    "shortcut": "Shortcut Score",
    "visnec": "VisNec-style",
    "confidence": "Confidence panel",
    "vca": "VCA panel",
    "probability_gap": "Probability gap",
}
"""Display names of filters; any other one is shown by its own name."""
RATES = {
    "accuracy": "Acc",
    "blind_gap": "Blind gap",
    "visual_gain": "Visual gain",
    "dependent": "Dep",
}
UNITS = {"blind_gap": "points", "visual_gain": "points"}


def filtering_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates of what is kept, means over held-out models, from `filtered_rates`.

    Returns
    -------
    DataFrame of text, one row per data set (not named where there is one), coverage and filter
        Accuracy and Dep in percent, Blind gap and Visual gain in points, with intervals. ``n``
        counts the kept decisions of all rotations.
    """
    macro = rates[rates["pooling"] == "macro"].drop(columns=["model", "pooling"])
    return _name_filters(display(macro, RATES, UNITS), "Filter")


def filter_rotations_table(rates: pd.DataFrame, metric: str, coverage: float) -> pd.DataFrame:
    """One metric of each held-out model at one coverage, from `filtered_rates`.

    Parameters
    ----------
    rates : DataFrame
    metric : str
        "accuracy", "blind_gap", "visual_gain" or "dependent".
    coverage : float
        The whole benchmark is shown beside it.

    Returns
    -------
    DataFrame of text, one row per data set and filter, one column per held-out model
    """
    rows = rates[
        (rates["pooling"] == "run")
        & (rates["metric"] == metric)
        & rates["coverage"].isin((1, coverage))
    ]
    unit = UNITS.get(metric, "%")
    models = dict.fromkeys(rows["model"])
    wide = rows.assign(metric=rows["model"]).drop(columns=["model", "pooling"])
    shown = display(wide, {m: m for m in models}, dict.fromkeys(models, unit))
    return _name_filters(shown, "Filter")


def filter_differences_table(differences: pd.DataFrame, overlaps: pd.DataFrame) -> pd.DataFrame:
    """How a filter differs from each other one, from `filtered_differences`, `filter_overlaps`.

    Returns
    -------
    DataFrame of text, one row per data set, other filter and coverage
        Differences in points with intervals; overlap in percent.
    """
    both = pd.concat([differences, overlaps], ignore_index=True).drop(columns="pooling")
    # Differences count decisions and overlaps groups, so one `n` of a row would mislead.
    both = both.assign(n=1)
    units = dict.fromkeys(RATES, "points")
    shown = display(both, RATES | {"jaccard": "Overlap"}, units).drop(columns="n")
    return _name_filters(shown, "Against")


def _name_filters(shown: pd.DataFrame, heading: str) -> pd.DataFrame:
    """Put names for the keys of filters, and coverage in percent before them.

    The data set is left out where there is one alone: the tables are wide.
    """
    names = shown["filter"].map(lambda key: FILTERS.get(key, key))
    share = (100 * shown["coverage"]).map("{:g}".format)
    place = shown.columns.get_loc("filter")
    rest = shown.drop(columns=["filter", "coverage"])
    rest.insert(place, "Kept (%)", share)
    rest.insert(place + 1, heading, names)
    return rest.drop(columns="Data") if rest["Data"].nunique() == 1 else rest


def published_filter_differences(name: str) -> MystTable:
    """Show the published differences and overlaps of the filters, folded and labelled.

    Parameters
    ----------
    name : str
        Target of ``{numref}``.

    Returns
    -------
    MystTable
        Numbers as printed, in the columns of `filter_differences_table`.
    """
    frame = published_table("filtering_differences", as_text=True)
    overlaps = published_table("filtering_overlap", as_text=True).set_index("against")["jaccard"]
    rows = []
    for other, group in frame.groupby("against", sort=False):
        found = group.set_index("metric")
        cells = {
            f"{RATES[metric]} (points)": "{difference} [{low}, {high}]".format(**found.loc[metric])
            for metric in RATES
            if metric in found.index
        }
        rows.append({"Against": other, **cells, "Overlap (%)": overlaps[other]})
    direct = published("filtering_overlap", coverage=50)["visual_gain"]
    caption = (
        "Published, not computed here: Section 16 of the paper, the VCA panel at 50 % coverage "
        f"less each other filter. Of the direct probability gap it prints one value, a visual gain "
        f"of {direct} at 50 %."
    )
    folded = "Published values: differences and overlaps"
    return to_myst(pd.DataFrame(rows), caption, name, folded=folded)
