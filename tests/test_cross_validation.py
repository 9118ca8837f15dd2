"""Held-out log-odds, resampled AUROC and cross-validated increments."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from vca_core.metrics import cross_validated_increment
from vca_core.metrics.auroc import resampled_roc_auc
from vca_core.metrics.held_out import feature_matrix, held_out_log_odds
from vca_core.metrics.increments import METRICS
from vca_core.metrics.ranking import weighted_ranking
from vca_core.records import SchemaError
from vca_core.resampling import resample_counts


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 3))
def test_resampled_roc_auc_is_scikit_learn_and_weighted_ranking(seed, n, k):
    rng = np.random.default_rng(seed)
    y, s = rng.random(n) < 0.4, rng.integers(-3, 4, (k, n)).astype(float)
    clusters = rng.integers(5, size=n)
    value, drawn = resampled_roc_auc(y, s, clusters, n_clusters=5, n_resamples=9, seed=3)
    if y.all() or not y.any():
        assert np.isnan(value) and np.isnan(drawn).all()
        return
    assert value == pytest.approx(np.mean([roc_auc_score(y, row) for row in s]), rel=1e-12)
    counts = np.vstack(list(resample_counts(5, n_resamples=9, rng=np.random.default_rng(3))))
    want = np.mean([weighted_ranking(y, row, counts[:, clusters])[0] for row in s], axis=0)
    np.testing.assert_allclose(drawn, want, rtol=1e-12)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_held_out_log_odds_is_the_same_with_another_solver(rng, ridge):
    x = np.column_stack([rng.normal(size=(90, 3)), rng.integers(3, size=90)[:, None] == range(3)])
    y = x[:, 0] + rng.normal(size=90) > 0
    folds = np.arange(90) // 3
    want = np.empty(90)
    for fold in range(30):
        other = LogisticRegression(C=1 / ridge, solver="lbfgs", tol=1e-12, max_iter=10_000)
        other.fit(x[folds != fold], y[folds != fold])
        want[folds == fold] = other.decision_function(x[folds == fold])
    np.testing.assert_allclose(held_out_log_odds(x, y, folds, ridge=ridge), want, atol=1e-6)


def test_held_out_log_odds_solves_its_own_equation(rng):
    """Gradient of the summed loss plus ridge / 2 |beta|^2, the intercept free, is zero."""
    x, ridge = rng.normal(size=(40, 2)), 3.0
    y = x[:, 0] + rng.normal(size=40) > 0.3
    grid = np.vstack([np.zeros(2), np.eye(2)])  # held out: read the coefficients off
    folds = np.r_[np.zeros(40), np.ones(3)]
    eta = held_out_log_odds(np.vstack([x, grid]), np.r_[y, True, True, False], folds, ridge=ridge)
    intercept, beta = eta[40], eta[41:] - eta[40]
    error = 1 / (1 + np.exp(-(x @ beta + intercept))) - y
    np.testing.assert_allclose(x.T @ error + ridge * beta, 0, atol=1e-7)
    assert error.sum() == pytest.approx(0, abs=1e-7)


def test_held_out_log_odds_of_separable_constant_and_empty_features():
    y = np.arange(12) % 2 == 0
    folds = np.arange(12) // 2
    apart = held_out_log_odds(np.where(y, 1e3, -1e3)[:, None], y, folds, ridge=0.1)
    assert ((apart > 0) == y).all() and np.isfinite(apart).all()
    for x in (np.ones((12, 1)), np.empty((12, 0)), np.zeros((12, 2))):
        np.testing.assert_allclose(held_out_log_odds(x, y, folds), 0, atol=1e-8)
    assert np.isnan(held_out_log_odds(np.ones((12, 1)), y, np.zeros(12))).all()


def test_feature_matrix_ranks_in_models_and_writes_one_column_per_value():
    records = pd.DataFrame(
        {"model": list("aabb"), "gap": [2.0, 1.0, 7.0, 7.0], "flag": [True, False, True, True]}
    )
    x = feature_matrix(records, ("model", "gap", "gap_rank", "flag"))
    np.testing.assert_array_equal(
        x,
        [[1, 0, 2, 1, 1], [1, 0, 1, 0.5, 0], [0, 1, 7, 0.75, 1], [0, 1, 7, 0.75, 1]],
    )
    with pytest.raises(SchemaError, match="Column `other` is missing"):
        feature_matrix(records, ("other_rank",))


@pytest.fixture
def records():
    rng = np.random.default_rng(4)
    parts = []
    for k, model in enumerate(("b", "a")):
        part = pd.DataFrame({"sample_id": [f"s{i:03d}" for i in range(60)]})
        part["pair_id"] = [f"p{i:03d}" for i in range(60)]
        part["margin_original"] = rng.normal(size=60) * (k + 1)
        part["image_gap"] = rng.normal(size=60)
        logit = part["margin_original"] + 2 * k * part["image_gap"]
        part["event"] = pd.array(logit + rng.normal(size=60) > 0, dtype="boolean")
        parts.append(part.assign(model=model, dataset="pairs"))
    return pd.concat(parts, ignore_index=True)


def increment(records, **options):
    options = {"n_resamples": 60, "n_repeats": 3, "rng": np.random.default_rng(1)} | options
    return cross_validated_increment(records, "event", "margin_original", "image_gap", **options)


def test_cross_validated_increment_is_a_slow_loop(records):
    records.loc[7, "event"] = pd.NA
    found = increment(records).set_index(["pooling", "model", "metric"]).sort_index()
    resample_seed, fold_seed = (int(s) for s in np.random.default_rng(1).integers(2**63, size=2))
    fold_rng = np.random.default_rng(fold_seed)
    folds = [fold_rng.permutation(np.arange(60) % 5) for _ in range(3)]
    draw = np.random.default_rng(resample_seed).integers(60, size=(60, 60))
    designs = (["margin_original"], ["margin_original", "image_gap"])
    values, draws = {}, {}
    for model in ("b", "a"):
        own = records[records["model"] == model].reset_index(drop=True)
        known = own["event"].notna().to_numpy()
        y = own["event"].fillna(False).to_numpy(dtype=bool)
        aurocs, drawn = np.zeros((2, 3)), np.zeros((60, 2, 3))
        for d, features in enumerate(designs):
            x = own[features].to_numpy()
            for r, fold in enumerate(folds):
                score = np.full(60, np.nan)
                for f in range(5):
                    fit = LogisticRegression(tol=1e-12, max_iter=5000)
                    fit.fit(x[known & (fold != f)], y[known & (fold != f)])
                    score[fold == f] = fit.decision_function(x[fold == f])
                aurocs[d, r] = roc_auc_score(y[known], score[known])
                for b in range(60):
                    again = draw[b][known[draw[b]]]
                    drawn[b, d, r] = roc_auc_score(y[again], score[again])
        values[model], draws[model] = aurocs.mean(axis=1), drawn.mean(axis=2)
    for model in ("b", "a"):
        before, after = values[model]
        got = found.loc[("run", model)].loc[list(METRICS)]
        assert got["value"].tolist() == pytest.approx([before, after, after - before], abs=1e-12)
        assert (got["n"] == (59 if model == "b" else 60)).all()
        want = np.quantile(draws[model][:, 1] - draws[model][:, 0], [0.025, 0.975])
        assert got.loc["increment", ["low", "high"]].tolist() == pytest.approx(want, abs=1e-12)
    macro = found.xs("macro", level="pooling").droplevel("model")
    change = [v[1] - v[0] for v in values.values()]
    assert macro.loc["increment", "value"] == pytest.approx(np.mean(change), abs=1e-12)
    both = np.mean([d[:, 1] - d[:, 0] for d in draws.values()], axis=0)
    want = np.quantile(both, [0.025, 0.975])
    assert macro.loc["increment", ["low", "high"]].tolist() == pytest.approx(want, abs=1e-12)
    assert macro.loc["increment", "n_clusters"] == 60


def test_cross_validated_increment_sees_what_the_gap_adds(records):
    found = increment(records, n_resamples=400).query("metric == 'increment'").set_index("model")
    assert found.loc["a", "low"] > 0  # the gap is part of its event
    assert found.loc["b", "low"] < 0
    assert abs(found.loc["b", "value"]) < 0.03


def test_cross_validated_increment_does_not_depend_on_the_order_of_rows(records):
    again = increment(records.sample(frac=1, random_state=3))
    key = ["pooling", "model", "metric"]
    pd.testing.assert_frame_equal(
        increment(records).sort_values(key, ignore_index=True),
        again.sort_values(key, ignore_index=True),
    )


def test_one_class_is_nan_with_its_n_and_so_is_the_macro(records):
    records.loc[records["model"] == "a", "event"] = True
    found = increment(records)
    assert found[found["pooling"] == "macro"]["value"].isna().all()
    a = found[found["model"] == "a"]
    assert a["value"].isna().all() and (a["n"] == 60).all() and (a["n_undefined"] == 60).all()
    assert found[found["model"] == "b"]["value"].notna().all()
    none = increment(records.assign(event=pd.array([pd.NA] * 120, dtype="boolean")))
    assert none["value"].isna().all() and (none["n"] == 0).all()
    few = increment(records[records["pair_id"] < "p002"])
    assert few["value"].isna().all()


def test_cross_validated_increment_names_what_is_wrong(records):
    with pytest.raises(SchemaError, match="Column `image_gap` is missing"):
        increment(records.drop(columns="image_gap"))
    with pytest.raises(ValueError, match="`n_splits` must be at least 2"):
        increment(records, n_splits=1)
    records.loc[3, "image_gap"] = np.inf
    with pytest.raises(SchemaError, match="`image_gap` must be finite, got inf for model 'b'"):
        increment(records)
