"""Relation pairs for data that have none: true statements with inverses scored on their own."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.records import SchemaError


def pair_inverses(statements: pd.DataFrame, inverses: pd.DataFrame) -> pd.DataFrame:
    """Join true statements with separately scored inverses, as relation pairs.

    For data that give no pairs of their own: an inverse is a false statement about the same image
    and objects, whose ``pair_id`` is the ``sample_id`` of the true one.

    Parameters
    ----------
    statements : DataFrame of margins
        With ``model``, ``dataset``, ``sample_id``, of one data set per model; no pairs needed.
        Statements without an inverse are left out.
    inverses : DataFrame of margins
        With ``model``, ``sample_id`` and ``pair_id``. Matched within model, and within interface
        and wording where both frames have them.

    Returns
    -------
    DataFrame of margins, for `audit_pairs`
        The true statements, then their inverses, with the columns of `statements`: ``dataset``
        is the true statement's, ``pair_id`` its ``sample_id``, ``polarity`` "true" or "false".

    Raises
    ------
    SchemaError
        If a column is missing, or an inverse has no true statement, or more than one.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18: 504 inverse pairs of VSR.
    """
    require_columns(statements, ("model", "dataset", "sample_id"))
    require_columns(inverses, ("model", "sample_id", "pair_id"))
    shared = [c for c in ("interface", "wording") if c in statements and c in inverses]
    match = ["model", *shared, "pair_id"]
    named = statements.assign(pair_id=statements["sample_id"], polarity="true")
    true = named.merge(inverses[match].drop_duplicates(), on=match)
    _check_one_each(inverses, true, match)
    false = inverses.drop(columns="dataset", errors="ignore").assign(polarity="false")
    false = false.merge(true[[*match, "dataset"]], on=match)
    return pd.concat([true, false.reindex(columns=true.columns)], ignore_index=True)


def _check_one_each(inverses: pd.DataFrame, true: pd.DataFrame, match: list[str]) -> None:
    """Raise SchemaError unless every inverse has exactly one true statement."""
    found = inverses[match].merge(true[match], on=match, how="left", indicator=True)
    absent, twice = (found["_merge"] == "left_only").to_numpy(), true.duplicated(match).to_numpy()
    for bad, kind in ((found[absent], "none"), (true[twice], "more than one")):
        if len(bad):
            where = ", ".join(f"{column} {bad.iloc[0][column]!r}" for column in match[:-1])
            raise SchemaError(
                "`pair_id` of an inverse must be the sample_id of one true statement, got "
                f"{kind} for pair_id {bad.iloc[0]['pair_id']!r} ({where}; {len(bad)} such rows)."
            )
