"""Predictions of an event for records that took no part in the fit: L2 logistic regression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.ranking import percentile_rank
from vca_core.records import SchemaError


def feature_matrix(records: pd.DataFrame, features: Sequence[str]) -> np.ndarray:
    """Columns of a frame as the columns of a regression.

    Parameters
    ----------
    records : DataFrame, one row per record
    features : sequence of str
        Names of columns. Numbers and booleans enter as they are, in their own unit; any other
        column as one 0/1 indicator per value, none left out. ``<column>_rank`` is the percentile
        rank of ``<column>`` within its ``model``, in (0, 1], over all rows of `records`, unless
        the frame has a column of that name.

    Returns
    -------
    ndarray of float, shape (n, k)
        Nothing is standardised.

    Raises
    ------
    SchemaError
        If a column is missing, null or infinite; names the record.
    """
    parts = [np.empty((len(records), 0))]
    for name in features:
        ranked = name not in records.columns and name.endswith("_rank")
        column = name.removesuffix("_rank") if ranked else name
        require_columns(records, (column, *(["model"] if ranked else [])))
        values = records[column]
        if not pd.api.types.is_numeric_dtype(values):
            _refuse(records, column, values.isna().to_numpy(), "not be null")
            parts.append(pd.get_dummies(values.astype(str)).to_numpy(dtype=float))
            continue
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        _refuse(records, column, ~np.isfinite(numbers), "be finite")
        parts.append((percentile_rank(values, records["model"]) if ranked else numbers)[:, None])
    return np.hstack(parts)


def _refuse(records: pd.DataFrame, column: str, bad: np.ndarray, rule: str) -> None:
    if bad.any():
        row = records.iloc[int(bad.argmax())]
        keys = [key for key in ("model", "edit_id", "sample_id") if key in records.columns]
        where = ", ".join(f"{key} {row[key]!r}" for key in keys) or f"row {bad.argmax()}"
        raise SchemaError(
            f"`{column}` must {rule}, got {row[column]} for {where} "
            f"({bad.sum()} of {len(records)} rows)."
        )


def held_out_log_odds(
    x: np.ndarray, y: np.ndarray, folds: np.ndarray, *, ridge: float = 1.0
) -> np.ndarray:
    r"""Log-odds of an event for each fold, fitted on all the other folds.

    .. math:: \min_{\beta, \beta_0} \sum_{i \notin \text{fold}} \log(1 + e^{-(2 y_i - 1)
              (\beta^\top x_i + \beta_0)}) + \frac{\lambda}{2} \lVert \beta \rVert^2

    Parameters
    ----------
    x : ndarray of float, shape (n, k)
        Without columns (k = 0) the intercept alone is fitted.
    y : ndarray of bool, shape (n,)
    folds : ndarray, shape (n,)
        Records of one fold are predicted together, by a fit that saw none of them.
    ridge : float
        The :math:`\lambda` of the sum of losses, 1/C of scikit-learn. The intercept
        :math:`\beta_0` is free.

    Returns
    -------
    ndarray of float, shape (n,)
        NaN where the other folds hold one class, or nothing.
    """
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    if not ridge > 0:
        raise ValueError(f"`ridge` must be above 0, got {ridge}.")
    fit = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-10, warm_start=True)
    if not x.shape[1]:  # the intercept alone; scikit-learn wants a feature
        x = np.zeros((len(y), 1))
    predicted = np.full(len(y), np.nan)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        if len(np.unique(y)) < 2:
            return predicted
        fit.fit(x, y)
        whole = fit.coef_, fit.intercept_
        for fold in np.unique(folds):
            inside = folds == fold
            if len(np.unique(y[~inside])) == 2:
                # From the fit to all records it is half as many steps to the same minimum.
                fit.coef_, fit.intercept_ = whole[0].copy(), whole[1].copy()
                fit.fit(x[~inside], y[~inside])
                predicted[inside] = fit.decision_function(x[inside])
    return predicted
