"""Table of what an audit asks for more than once."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import DATASETS
from vca_core.tables.cost import or_nothing, two


def repetition_table(counts: pd.DataFrame) -> pd.DataFrame:
    """Prompts and pictures of each data set, from `repetition`.

    Parameters
    ----------
    counts : DataFrame
        Frames of `repetition`, with a column ``scored`` that says of which prompts.

    Returns
    -------
    DataFrame of text, one row per data set and ``scored``
        Models with the same counts share a row; they are named where others have other counts.
    """
    keys = ["dataset", "scored", "n_plain", "n_prompts", "n_distinct", "n_pictures"]
    keys += ["pictures_per_plain"]
    require_columns(counts, ("model", *keys))
    groups = counts.groupby(keys, sort=False, dropna=False)["model"]
    groups = groups.agg(", ".join).reset_index()
    differ = groups.duplicated(["dataset", "scored"], keep=False)
    names = groups["dataset"].map(lambda key: DATASETS.get(key, key))
    table = pd.DataFrame(
        {
            "Data": names.where(~differ, names + " (" + groups["model"] + ")"),
            "Scored": groups["scored"],
            "Plain": groups["n_plain"].map("{:,}".format),
            "Audit": groups["n_prompts"].map("{:,}".format),
            "Different": groups["n_distinct"].map("{:,}".format),
            "Pictures": groups["n_pictures"].map("{:,}".format),
            "Per plain prompt": groups["pictures_per_plain"].map(two),
        }
    )
    return or_nothing(table, "not counted")
