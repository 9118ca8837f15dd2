"""Rankings against scikit-learn, and their resamples against a slow loop."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from vca_core.metrics.ranking import percentile_rank, ranking_rates, tertiles, weighted_ranking
from vca_core.records import SchemaError


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_weighted_ranking_is_scikit_learn_with_weights(seed, n):
    rng = np.random.default_rng(seed)
    y, s = rng.random(n) < 0.4, rng.integers(-3, 4, n).astype(float)
    weights = rng.integers(0, 4, (5, n)).astype(float)
    roc, precision = weighted_ranking(y, s, weights)
    for b, w in enumerate(weights):
        if (w[y] > 0).any() and (w[~y] > 0).any():
            assert roc[b] == pytest.approx(roc_auc_score(y, s, sample_weight=w), rel=1e-12)
            want = average_precision_score(y, s, sample_weight=w)
            assert precision[b] == pytest.approx(want, rel=1e-12)
        else:
            assert np.isnan(roc[b])
            assert np.isnan(precision[b]) == (not (w[y] > 0).any())


def test_weighted_ranking_limits():
    y = np.array([True, True, False])
    one = np.ones((1, 3))
    assert [r[0] for r in weighted_ranking(y, np.array([3.0, 2, 1]), one)] == [1, 1]
    assert weighted_ranking(y, np.array([1.0, 2, 3]), one)[0][0] == 0
    assert weighted_ranking(y, np.zeros(3), one)[0][0] == 0.5  # all tied
    assert weighted_ranking(y, np.zeros(3), one)[1][0] == pytest.approx(2 / 3)


def test_tertiles_hold_a_third_each_and_break_ties_by_order():
    assert tertiles(np.zeros(6)).tolist() == [0, 0, 1, 1, 2, 2]
    assert tertiles(np.arange(108.0)[::-1]).tolist() == [2] * 36 + [1] * 36 + [0] * 36
    assert np.bincount(tertiles(np.arange(440.0))).tolist() == [147, 146, 147]
    assert np.bincount(tertiles(np.arange(2.0)), minlength=3).tolist() == [1, 0, 1]


def test_percentile_rank_is_within_its_group():
    values = pd.Series([1.0, 3.0, 2.0, 100.0, 50.0, np.nan, 7.0])
    groups = pd.Series(["a", "a", "a", "b", "b", "b", "c"])
    got = percentile_rank(values, groups)
    np.testing.assert_allclose(got, [1 / 3, 1, 2 / 3, 1, 1 / 2, np.nan, 1])


@pytest.fixture
def records(rng):
    parts = []
    for k, model in enumerate(("b", "a")):
        frame = pd.DataFrame({"sample_id": [f"s{i:02d}" for i in range(24)]})
        frame["edit_id"] = [f"e{i // 2:02d}" for i in range(24)]
        frame["score"] = rng.normal(size=24).round(1) * 10**k
        frame["other"] = rng.normal(size=24)
        frame["event"] = pd.array(rng.random(24) < 0.5, dtype="boolean")
        frame.loc[3, "event"] = pd.NA
        parts.append(frame.assign(model=model, dataset="d"))
    return pd.concat(parts, ignore_index=True)


def rates(records, **options):
    options = {"n_resamples": 40, "rng": np.random.default_rng(1), "cluster": "edit_id"} | options
    frame = ranking_rates(records, ["event"], ["score", "other"], **options)
    frame["model"] = frame["model"].fillna("all")
    return frame.set_index(["model", "pooling", "score", "metric"])


def test_ranking_rates_gives_each_model_their_mean_and_the_rank_pooled(records):
    found = rates(records)
    known = records[records["event"].notna()].copy()
    y = known["event"].astype(bool)
    of_model = {}
    for model, rows in known.groupby("model"):
        of_model[model] = roc_auc_score(y[rows.index], rows["score"])
        got = found.loc[(model, "run", "score", "roc_auc")]
        assert got["value"] == pytest.approx(of_model[model])
        assert got["n"] == 23 and got["n_clusters"] == 12
        ap = average_precision_score(y[rows.index], rows["score"])
        assert found.loc[(model, "run", "score", "average_precision"), "value"] == (
            pytest.approx(ap)
        )
        assert found.loc[(model, "run", "score", "base_rate"), "value"] == y[rows.index].mean()
        by_score = rows.sort_values(["score", "sample_id"])["event"].astype(float).to_numpy()
        want = by_score[-8:].mean() - by_score[:8].mean()
        assert found.loc[(model, "run", "score", "high_minus_low"), "value"] == pytest.approx(want)
    macro = found.loc[("all", "macro", "score", "roc_auc"), "value"]
    assert macro == pytest.approx(np.mean(list(of_model.values())))
    ranks = known.groupby("model")["score"].rank(pct=True)
    pooled = found.loc[("all", "rank", "score", "roc_auc")]
    assert pooled["value"] == pytest.approx(roc_auc_score(y, ranks)) and pooled["n"] == 46


def test_ranking_rates_intervals_are_those_of_a_slow_loop(records):
    found = rates(records, n_resamples=60)
    rng = np.random.default_rng(int(np.random.default_rng(1).integers(2**63)))
    known = records[records["event"].notna()]
    draws = []
    for _ in range(60):
        drawn = [f"e{i:02d}" for i in rng.integers(12, size=12)]
        values = []
        for model in ("b", "a"):
            own = known[known["model"] == model]
            again = pd.concat([own[own["edit_id"] == name] for name in drawn])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values.append(roc_auc_score(again["event"].astype(bool), again["score"]))
        draws.append([*values, np.mean(values)])
    want = np.quantile(np.array(draws), [0.025, 0.975], axis=0)
    for j, head in enumerate([("b", "run"), ("a", "run"), ("all", "macro")]):
        got = found.loc[(*head, "score", "roc_auc")]
        assert (got["low"], got["high"]) == pytest.approx(tuple(want[:, j]), rel=1e-12)


def test_ranking_rates_do_not_depend_on_the_order_of_rows(records):
    shuffled = records.sample(frac=1, random_state=4)
    first, second = rates(records), rates(shuffled)
    pd.testing.assert_frame_equal(first.sort_index(), second.sort_index())


def test_one_class_has_no_auroc_and_no_invented_macro(records):
    records.loc[records["model"] == "a", "event"] = True
    found = rates(records)
    assert np.isnan(found.loc[("a", "run", "score", "roc_auc"), "value"])
    assert np.isnan(found.loc[("all", "macro", "score", "roc_auc"), "value"])
    assert found.loc[("a", "run", "score", "base_rate"), "value"] == 1


def test_ranking_rates_names_what_is_wrong(records):
    records.loc[5, "score"] = np.nan
    with pytest.raises(SchemaError, match=r"`score` must be finite, got nan for .*'s05'.*'b'"):
        rates(records)
    with pytest.raises(SchemaError, match="Column `event` is missing"):
        rates(records.drop(columns="event"))
