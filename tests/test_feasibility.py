"""The selection behind the edits, against the published counts and intervals."""

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import audit_pairs, audit_support, construct_audit, feasibility_contrast
from vca_core.published import published_table
from vca_core.records import SchemaError


def generator():
    return np.random.default_rng(11)


def margins_of(credited, relation="left", model="m"):
    """Make true statements right and dependent where `credited`, else wrong."""
    true = pd.DataFrame({"margin_original": np.where(credited, 2.0, -2.0)})
    true["pair_id"] = [f"p{i:03d}" for i in range(len(true))]
    both = [true.assign(polarity="true", label="yes"),
            true.assign(polarity="false", label="no", margin_original=-1.0)]  # fmt: skip
    frame = pd.concat(both).assign(margin_text_only=0.5, margin_blank=0.5, model=model)
    frame["sample_id"] = frame["pair_id"] + "-" + frame["polarity"]
    return frame.assign(dataset="pairs", relation=relation)


def contrast(margins, geometry, n_resamples=20):
    audit, pairs = audit_support(margins), audit_pairs(margins)
    return feasibility_contrast(audit, pairs, geometry, n_resamples=n_resamples, rng=generator())


def value(rates, stratum, metric, pooling="run"):
    rows = rates.query("stratum == @stratum and metric == @metric and pooling == @pooling")
    return rows.iloc[0]


def test_published_contrast_follows_from_its_counts():
    """Horizontal share and source D-CC of T27 with counts that fit; intervals to 0.7 points."""
    table = published_table("T27").set_index("characteristic")
    feasible = np.arange(440) < 114
    geometry = pd.DataFrame({"pair_id": [f"p{i:03d}" for i in range(440)], "feasible": feasible})
    row = table.loc["Horizontal relation"]
    place = np.arange(440) - np.where(feasible, 0, 114)
    horizontal = place < np.where(feasible, 79, 200)
    relation = np.tile(np.where(horizontal, "left", "above"), 2)
    for model, counts in {"Qwen": (104, 273), "Ministral": (75, 203)}.items():
        credited = place < np.where(feasible, *counts)
        found = contrast(margins_of(credited, relation), geometry, n_resamples=4000)
        for printed, metric, pooling in (
            (row, "horizontal", "pairs"),
            (table.loc[f"{model} source D-CC"], "dcc", "run"),
        ):
            for stratum in ("feasible", "excluded", "difference"):
                got = value(found, stratum, metric, pooling)
                # one printed difference is of rounded rates
                assert 100 * got["value"] == pytest.approx(printed[stratum], abs=0.0051)
            assert 100 * got["low"] == pytest.approx(printed["difference_low"], abs=0.7)
            assert 100 * got["high"] == pytest.approx(printed["difference_high"], abs=0.7)


def test_geometry_counts_each_pair_once_whatever_the_models():
    credited = np.array([True, False, True, True])
    geometry = pd.DataFrame({"pair_id": [f"p{i:03d}" for i in range(4)]})
    geometry = geometry.assign(feasible=[True, True, False, False], center_gap=[0.2, 0.4, 0.6, 0.8])
    one = contrast(margins_of(credited), geometry)
    three = pd.concat([margins_of(credited, model=m) for m in "abc"])
    for rates in (one, contrast(three, geometry)):
        row = value(rates, "difference", "center_gap", "pairs")
        assert row["value"] == pytest.approx(-0.4) and row["model"] is None
        assert value(rates, "feasible", "center_gap", "pairs")["n"] == 2
    assert value(one, "feasible", "dcc")["value"] == 0.5
    assert "larger_box_area" not in set(one["metric"])


def test_nats_are_not_put_together_over_models():
    margins = pd.concat([margins_of(np.array([True, False]), model=m) for m in "ab"])
    geometry = pd.DataFrame({"pair_id": ["p000", "p001"], "feasible": [True, False]})
    rates = contrast(margins, geometry)
    assert set(rates.query("metric == 'image_gap'")["pooling"]) == {"run"}
    assert set(rates.query("metric == 'joint'")["pooling"]) == {"run", "micro", "macro"}
    assert value(rates, "feasible", "image_gap")["value"] == pytest.approx(1.5)
    assert value(rates, "feasible", "confidence")["value"] == pytest.approx(2)


def test_no_feasible_pair_is_nan_with_no_records():
    geometry = pd.DataFrame({"pair_id": ["p000", "p001"], "feasible": False})
    rates = contrast(margins_of(np.array([True, False])), geometry)
    empty = value(rates, "feasible", "dcc")
    assert np.isnan(empty["value"]) and empty["n"] == 0
    assert np.isnan(value(rates, "difference", "dcc")["value"])
    assert value(rates, "excluded", "dcc")["value"] == 0.5


def test_unknown_axis_is_outside_the_horizontal_share():
    margins = margins_of(np.array([True, True]), relation=np.array(["left", None] * 2))
    geometry = pd.DataFrame({"pair_id": ["p000", "p001"], "feasible": True})
    row = value(contrast(margins, geometry), "feasible", "horizontal", "pairs")
    assert row["value"] == 1 and row["n"] == 1


def test_geometry_is_checked():
    margins = margins_of(np.array([True, True]))
    geometry = pd.DataFrame({"pair_id": ["p000", "p001"], "feasible": True})
    with pytest.raises(SchemaError, match="got none for 'p001'"):
        contrast(margins, geometry.iloc[:1])
    with pytest.raises(SchemaError, match="got pair_id 'p000' again"):
        contrast(margins, pd.concat([geometry, geometry]))
    with pytest.raises(SchemaError, match="`feasible` is missing"):
        contrast(margins, geometry.drop(columns="feasible"))


def test_construct_audit_is_the_published_table():
    found = construct_audit(["accepted"] * 108 + ["no_majority"] * 2 + ["rejected"] * 4)
    printed = published_table("T26")
    assert found["outcome"].tolist() == ["accepted", "rejected", "no_majority"]
    assert found["count"].tolist() == printed["n"].tolist()[1:]
    assert (100 * found["value"]).round(2).tolist() == printed["rate"].tolist()[1:]
    assert (found["n"] == 114).all() and (found["low"] < found["value"]).all()


def test_construct_audit_always_says_accepted_and_rejected():
    assert construct_audit(["accepted"])["count"].tolist() == [1, 0]
    empty = construct_audit([])
    assert empty["n"].tolist() == [0, 0] and empty["value"].isna().all()
    with pytest.raises(SchemaError, match="got 'maybe'"):
        construct_audit(["accepted", "maybe"])
