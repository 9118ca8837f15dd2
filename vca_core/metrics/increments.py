"""What a measure adds to the prediction of an edit's outcome, over what was known without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.auroc import resampled_roc_auc
from vca_core.metrics.checks import require_columns
from vca_core.metrics.held_out import feature_matrix, held_out_log_odds
from vca_core.metrics.rates import ESTIMATE, as_float, estimate
from vca_core.records import SchemaError
from vca_core.resampling import cluster_codes

BASELINE = ("model", "relation", "direction", "confidence_rank")
"""What is known of a decision without the controls: which model, which relation, its answer and
how sure it was."""
METRICS = ("baseline_roc_auc", "augmented_roc_auc", "increment")
SETTING = (
    "target", "baseline", "added", "hold_out", "within", "ridge", "stratified_by", "stratum",
)  # fmt: skip
"""Columns that say what an increment is of."""


def incremental_roc_auc(
    outcomes: pd.DataFrame,
    target: str,
    *,
    added: str | Sequence[str] = "image_gap_rank",
    baseline: Sequence[str] = BASELINE,
    hold_out: str = "edit_id",
    ridge: float = 1.0,
    within: Mapping[str, object] | None = None,
    by: str | None = None,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""AUROC of held-out predictions without and with a feature, and the difference.

    .. math:: \Delta = \text{AUROC}(\hat\eta^{\,\text{aug}}, y) -
              \text{AUROC}(\hat\eta^{\,\text{base}}, y)

    where :math:`\hat\eta_i` is the log-odds of record :math:`i` under an L2 logistic regression
    fitted without its group, and all held-out records are ranked together.

    Parameters
    ----------
    outcomes : DataFrame, one row per (model, edit_id)
        ``model``, ``edit_id``, `target`, `hold_out`, and the columns of the features, of `within`
        and of `by`; nothing else is needed.
    target : str
        A boolean column; records where it is null are left out.
    added : str or sequence of str
        Features as in `vca_core.metrics.held_out.feature_matrix`; each is added by itself to the
        same baseline.
    baseline : sequence of str
        Features known without `added`. Ranks are within a model, over all rows of `outcomes`,
        also those outside `within` [I].
    hold_out : str
        Column whose values are held out in turn. With "edit_id" all models' records of the edit
        are predicted by a fit to the other edits. With "model" all records of a model are
        predicted by a fit to the other models: it has no indicator of its own then, all
        indicators are 0 for it, and it gets the common intercept.
    ridge : float
        Penalty :math:`\lambda` on :math:`\tfrac12 \lVert\beta\rVert^2` beside the summed
        log-loss, 1/C of scikit-learn; the intercept is free. The published main rows do not say
        theirs; 1 is the natural default [I].
    within : mapping of column to value, optional
        Fit, predict and resample only records with these values, as in
        ``{"relation_consistent": True}``.
    by : str, optional
        A column, for instance "model": the same predictions are also ranked inside each of its
        values. Nothing is fitted again.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over edits, with all models' records of an edit. Predictions
        stay as they are; only their AUROCs are resampled, in pairs.

    Returns
    -------
    DataFrame, one row per stratum, added feature and metric
        ``target, baseline, added, hold_out, within, ridge, stratified_by, stratum``, ``metric``
        in {"baseline_roc_auc", "augmented_roc_auc", "increment"}, then ``value, low, high, n,
        n_clusters, n_undefined`` (fractions, records, edits, resamples). ``stratified_by`` and
        ``stratum`` are None for all records, ``within`` is "" without a condition. NaN where a
        stratum holds one class or one of its records was predicted by a fit to one class.

    Raises
    ------
    SchemaError
        If a column is missing, a (model, edit_id) stands twice, or a feature or group is null.

    Notes
    -----
    Features are not standardised: they are ranks, indicators and a direction of +1 or -1. With
    ``hold_out="model"`` read the rows inside models (``by="model"``): the pooled ranking compares
    the intercepts of different fits, and a model that has the event often is predicted by models
    that have it less, so the pooled AUROC can fall far below 1/2 with nothing learned.

    A feature that says nothing costs a little when held out: its expected increment lies just below
    0, and the interval leaves out how fits vary. So an interval above 0 is evidence that the
    feature adds something; one below 0 is no evidence that it does harm.
    Source: [liu2026visual]_, Sec. 15 (Edit-grouped incremental control).
    """
    rows = increment_rows(
        outcomes, target, added=added, baseline=baseline, hold_out=hold_out, ridge=ridge,
        within=within, by=by, n_resamples=n_resamples, confidence_level=confidence_level,
        seed=int(rng.integers(2**63)),
    )  # fmt: skip
    return increment_frame(rows)


def increment_frame(rows: list[dict], *first: str) -> pd.DataFrame:
    """Rows as a frame; columns of names keep their None."""
    frame = pd.DataFrame(rows, columns=[*first, *SETTING, "metric", *ESTIMATE])
    for name in ("stratified_by", "stratum"):
        frame[name] = pd.Series([row[name] for row in rows], dtype=object)
    return frame


def increment_rows(
    outcomes: pd.DataFrame,
    target: str,
    *,
    added: str | Sequence[str] = "image_gap_rank",
    baseline: Sequence[str] = BASELINE,
    hold_out: str = "edit_id",
    ridge: float,
    within: Mapping[str, object] | None = None,
    by: str | None = None,
    n_resamples: int,
    confidence_level: float,
    seed: int,
) -> list[dict]:
    """Rows of `incremental_roc_auc`, which says what the arguments are, under a given seed."""
    added = (added,) if isinstance(added, str) else tuple(added)
    within = dict(within or {})
    keys = ("model", "edit_id", target, hold_out, *within, *([by] if by else []))
    _check_outcomes(outcomes, keys, hold_out)
    whole = outcomes.sort_values(["edit_id", "model"], kind="stable")
    inside = whole[target].notna().to_numpy()
    for column, value in within.items():
        inside = inside & (whole[column] == value).to_numpy(dtype=bool, na_value=False)
    records = whole[inside]
    y = as_float(records[target]) > 0
    folds = cluster_codes(records[hold_out], len(records))
    base = feature_matrix(whole, baseline)
    predicted = {"": held_out_log_odds(base[inside], y, folds, ridge=ridge)}
    for name in added:
        x = np.hstack([base, feature_matrix(whole, (name,))])[inside]
        predicted[name] = held_out_log_odds(x, y, folds, ridge=ridge)
    setting = {"target": target, "baseline": ", ".join(baseline), "hold_out": hold_out,
               "within": _condition(within), "ridge": ridge}  # fmt: skip
    clusters = cluster_codes(records["edit_id"], len(records))
    rows = []
    for stratum, here in _strata(outcomes, records, by):
        found = {
            name: resampled_roc_auc(
                y[here], scores[here], clusters[here], n_resamples=n_resamples, seed=seed,
                n_clusters=int(clusters.max(initial=-1)) + 1,
            )
            for name, scores in predicted.items()
        }  # fmt: skip
        for name in added:
            pair = found[""], found[name]
            change = tuple(after - before for before, after in zip(*pair, strict=True))
            for metric, (value, replicates) in zip(METRICS, (*pair, change), strict=True):
                numbers = estimate(y[here] * 1.0, replicates, clusters[here], confidence_level)
                row = setting | stratum | {"added": name, "metric": metric}
                rows.append(row | numbers | {"value": value})
    return rows


def _check_outcomes(outcomes: pd.DataFrame, keys: Sequence[str], hold_out: str) -> None:
    require_columns(outcomes, keys)
    for column in dict.fromkeys(("model", "edit_id", hold_out)):
        if outcomes[column].isna().any():
            raise SchemaError(
                f"`{column}` must name a group to hold out or to resample, got "
                f"{outcomes[column].isna().sum()} null in {len(outcomes)} rows."
            )
    twice = outcomes.duplicated(["model", "edit_id"], keep=False)
    if twice.any():
        first = outcomes[twice].iloc[0]
        raise SchemaError(
            f"An outcome must stand once per (model, edit_id), got edit_id {first['edit_id']!r} "
            f"(model {first['model']!r}) more than once; {twice.sum()} rows repeat. Select one "
            "data set, interface and wording."
        )


def _strata(
    outcomes: pd.DataFrame, records: pd.DataFrame, by: str | None
) -> Iterator[tuple[dict[str, object], np.ndarray]]:
    """All records, then those with each value of `by`, in order of first appearance."""
    yield {"stratified_by": None, "stratum": None}, np.ones(len(records), dtype=bool)
    for value in outcomes[by].dropna().unique() if by else ():
        inside = (records[by] == value).to_numpy(dtype=bool, na_value=False)
        yield {"stratified_by": by, "stratum": value}, inside


def _condition(within: Mapping[str, object]) -> str:
    """Say a condition in words: the column alone where the value is True."""
    return ", ".join(
        column if isinstance(value, bool | np.bool_) and value else f"{column} = {value}"
        for column, value in within.items()
    )
