"""Micro and macro rates over models against their definitions."""

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics.pooling import pooled_rates


@pytest.fixture
def records(rng):
    parts = []
    for model, share in (("a", 0.9), ("b", 0.3), ("c", 0.5)):
        frame = pd.DataFrame({"sample_id": [f"s{i}" for i in range(30)]})
        frame["stem_id"] = [f"stem{i // 3}" for i in range(30)]
        frame["event"] = rng.random(30) < 0.5
        frame["inside"] = rng.random(30) < share
        parts.append(frame.assign(model=model, dataset="factorial"))
    return pd.concat(parts, ignore_index=True)


def measures(frame):
    return {
        ("event",): frame["event"].to_numpy(float),
        ("given",): np.where(frame["inside"], frame["event"], np.nan),
    }


def pooled(records, n_resamples=50, **options):
    options = {"cluster": "stem_id", "rng": np.random.default_rng(2)} | options
    frame = pooled_rates(records, measures, n_resamples=n_resamples, confidence_level=0.95,
                         **options)  # fmt: skip
    return frame.set_index(["pooling", "metric"])


def test_micro_is_the_mean_of_records_and_macro_the_mean_of_models(records):
    found = pooled(records)
    inside = records[records["inside"]]
    micro, macro = found.loc[("micro", "given")], found.loc[("macro", "given")]
    assert micro["value"] == pytest.approx(inside["event"].mean())
    assert macro["value"] == pytest.approx(inside.groupby("model")["event"].mean().mean())
    assert micro["n"] == macro["n"] == len(inside)
    assert micro["n_models"] == 3


def test_a_model_without_records_is_left_out_of_macro_and_counted(records):
    records.loc[records["model"] == "b", "inside"] = False
    macro = pooled(records).loc[("macro", "given")]
    rest = records[records["inside"]].groupby("model")["event"].mean()
    assert macro["value"] == pytest.approx(rest.mean()) and macro["n_models"] == 2
    records["inside"] = False
    empty = pooled(records).loc[("macro", "given")]
    assert np.isnan(empty["value"]) and empty["n"] == 0 and empty["n_models"] == 0
    assert np.isnan(empty["low"])


def test_intervals_are_those_of_a_slow_loop_over_stems(records):
    found = pooled(records, n_resamples=80)
    rng = np.random.default_rng(int(np.random.default_rng(2).integers(2**63)))
    names = sorted(records["stem_id"].unique())
    draws = []
    for _ in range(80):
        drawn = [names[i] for i in rng.integers(10, size=10)]
        again = pd.concat([records[records["stem_id"] == name] for name in drawn])
        again = again[again["inside"]]
        draws.append([again["event"].mean(), again.groupby("model")["event"].mean().mean()])
    want = np.quantile(np.array(draws), [0.025, 0.975], axis=0)
    for j, pooling in enumerate(("micro", "macro")):
        got = found.loc[(pooling, "given")]
        assert (got["low"], got["high"]) == pytest.approx(tuple(want[:, j]), rel=1e-12)


def test_one_model_makes_micro_and_macro_the_same(records):
    found = pooled(records[records["model"] == "a"])
    first, second = (found.loc[p].drop(columns="n_models") for p in ("micro", "macro"))
    pd.testing.assert_frame_equal(first, second)
