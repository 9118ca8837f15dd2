"""Benchmark filtering: what a panel of models thinks of each group, and the share that is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from vca_core.metrics.checks import check_unique, require_columns
from vca_core.metrics.filter_scores import FILTERS
from vca_core.metrics.rates import as_float
from vca_core.records import SchemaError


def group_ids(margins: pd.DataFrame) -> pd.Series:
    """Name what is kept or left out whole: the relation pair, or the statement where there is none.

    Raises
    ------
    SchemaError
        If a statement without a pair has the name of a pair.
    """
    sample = margins["sample_id"].astype(str)
    pair = margins["pair_id"] if "pair_id" in margins.columns else None
    if pair is None or pair.isna().all():
        return sample.rename("group_id")
    alone = pair.isna()
    clash = alone & sample.isin(pair[~alone].astype(str))
    if clash.any():
        raise SchemaError(
            f"A `pair_id` must name no statement outside its pair, got {sample[clash].iloc[0]!r} "
            f"as `pair_id` and as the `sample_id` of a statement without one ({clash.sum()} rows)."
        )
    return sample.where(alone, pair.astype(str)).rename("group_id")


def group_scores(margins: pd.DataFrame, score: str) -> pd.DataFrame:
    """Mean score of each group in each model; high is kept.

    Parameters
    ----------
    margins : DataFrame of one data set
        ``model``, ``dataset``, ``sample_id``, where there are pairs ``pair_id``, and what the score
        needs.
    score : str
        A name of `FILTERS`, or a column of `margins` whose high values are kept.

    Returns
    -------
    DataFrame of float, shape (models, groups), both sorted by name

    Raises
    ------
    SchemaError
        If there are several data sets, a score is not finite, or the models do not share their
        statements and pairs.
    """
    require_columns(margins, ("model", "dataset", "sample_id"))
    if margins["dataset"].nunique() != 1:
        found = ", ".join(map(repr, margins["dataset"].unique())) or "none"
        raise SchemaError(f"A filter orders the groups of one data set, got {found}.")
    check_unique(margins)
    for column in ("interface", "wording"):
        if column in margins.columns and margins[column].nunique() > 1:
            found = ", ".join(map(repr, margins[column].unique()))
            raise SchemaError(f"A filter orders statements of one `{column}`, got {found}.")
    groups = group_ids(margins)
    _check_shared(margins, groups)
    if score in FILTERS:
        values = FILTERS[score].score(margins)
    else:
        require_columns(margins, (score,), f" The filters by name are {', '.join(FILTERS)}.")
        values = as_float(margins[score])
    if not np.isfinite(values).all():
        first = margins.iloc[int((~np.isfinite(values)).argmax())]
        raise SchemaError(
            f"`{score}` must be finite, got {values[~np.isfinite(values)][0]} for sample_id "
            f"{first['sample_id']!r} (model {first['model']!r})."
        )
    scored = margins[["model", "sample_id"]].assign(group_id=groups, score=values)
    scored = scored.sort_values(["model", "sample_id", "score"])  # sums in one order, ties exact
    return scored.groupby(["model", "group_id"])["score"].mean().unstack("group_id")


def _check_shared(margins: pd.DataFrame, groups: pd.Series) -> None:
    """Refuse models that do not have the same statements in the same pairs."""
    key = [c for c in ("interface", "wording", "sample_id") if c in margins.columns]
    models = margins["model"].unique()
    statement = margins.groupby(key, dropna=False, sort=False).ngroup()
    holders = margins["model"].groupby(statement).nunique()
    lacking = holders.index[holders < len(models)]
    if len(lacking):
        rows = margins[statement == lacking[0]]
        absent = next(model for model in models if model not in set(rows["model"]))
        raise SchemaError(
            "Models of a panel must have the same statements, got none for sample_id "
            f"{rows['sample_id'].iloc[0]!r} in model {absent!r} ({len(lacking)} of {len(holders)} "
            "statements). Score them, or choose other models."
        )
    places = pd.DataFrame({"sample": margins["sample_id"], "group": groups}).drop_duplicates()
    again = places["sample"].duplicated()
    if again.any():
        sample = places.loc[again, "sample"].iloc[0]
        found = places.loc[places["sample"] == sample, "group"]
        raise SchemaError(
            "`pair_id` of a statement must be the same in every model, got "
            f"{', '.join(map(repr, found))} for sample_id {sample!r} ({again.sum()} statements)."
        )


def is_ranked(score: str) -> bool:
    """Whether the definition ranks a score within each model; a column of one's own is ranked."""
    return score not in FILTERS or FILTERS[score].ranked


def rank_panel(means: pd.DataFrame, ranked: bool) -> pd.Series:
    """Mean over models of group scores, or of their percentile ranks within each model.

    Of tied groups the one whose id sorts first counts as the higher.
    """
    means = means.sort_index(axis=1)
    if not ranked:
        # Exact sums: models in another order, or scores that swap models, are ties.
        exact = [math.fsum(column) / len(means) for column in means.to_numpy().T]
        return pd.Series(exact, index=means.columns, name="score")
    # Whole ranks are added before the division, so that equal sums stay equal.
    ranks = rankdata(means.to_numpy()[:, ::-1], method="ordinal", axis=1)[:, ::-1]
    share = ranks.sum(axis=0) / (means.shape[0] * means.shape[1])
    return pd.Series(share, index=means.columns, name="score")


def panel_score(
    margins: pd.DataFrame, score: str, *, models: Sequence[str] = (), ranked: bool | None = None
) -> pd.Series:
    r"""Score each group of a benchmark by a panel of reference models.

    .. math:: P_g = \frac{1}{M} \sum_m \rho_m(g), \qquad
              \rho_m(g) = \frac{\operatorname{rank}_m(\bar s_{m,g})}{\#\text{groups}}

    where :math:`\bar s_{m,g}` is model :math:`m`'s mean score of group :math:`g`: a relation pair,
    or a single statement where there is no pair.

    Parameters
    ----------
    margins : DataFrame, one row per record
        Margins of one data set, or the frame of `audit_support`.
    score : str
        "vca" (the image gap), "confidence", "probability_gap", "shortcut" or "visnec"; or any
        column of `margins` whose high values are kept.
    models : sequence of str
        The reference models; empty takes all.
    ranked : bool, optional
        Whether scores become percentile ranks within each model before the mean over models.
        Default: as in the definition, which ranks "vca" and "confidence", and a column of your own.

    Returns
    -------
    Series of float, indexed by group id
        High is kept; the Shortcut Score comes with its sign changed. Ranks in (0, 1].

    Raises
    ------
    SchemaError
        If a model is not there, the models do not share their statements, or the score lacks a
        column or a label; names it.

    Notes
    -----
    Of groups with equal scores the one whose id sorts first counts as the higher. The order (mean
    of the group, rank, mean over models) is our reading of [liu2026visual]_, Sec. 16, and so is
    that the Shortcut Score and the VisNec-style score are averaged without ranks.
    """
    if len(models):
        absent = sorted(set(models) - set(margins["model"]))
        if absent:
            have = sorted(margins["model"].unique())
            raise SchemaError(f"`models` names {absent}, which are not here; there are {have}.")
        margins = margins[margins["model"].isin(models)]
    return rank_panel(group_scores(margins, score), is_ranked(score) if ranked is None else ranked)


def keep_groups(scores: pd.Series, coverage: float) -> pd.Index:
    """Ids of the groups with the highest scores, best first.

    Parameters
    ----------
    scores : Series of float, indexed by group id
        From `panel_score`.
    coverage : float
        Share to keep, in (0, 1]; ``round(coverage * n)`` groups, halves to the even number.

    Raises
    ------
    SchemaError
        If the share is outside (0, 1] or a score is not finite.

    Notes
    -----
    Ties go to the id that sorts first. A larger share keeps what a smaller one keeps.
    """
    if not 0 < coverage <= 1:
        raise SchemaError(f"`coverage` must be a share in (0, 1], got {coverage}; half is 0.5.")
    scores = scores.sort_index()
    values = scores.to_numpy(dtype=float)
    if not np.isfinite(values).all():
        bad = scores.index[int((~np.isfinite(values)).argmax())]
        raise SchemaError(f"`scores` must be finite, got {scores[bad]} for group {bad!r}.")
    order = np.argsort(-values, kind="stable")
    return scores.index[order[: round(coverage * len(scores))]]
