"""Increments of held-out AUROC: limits, a slow loop with pipelines, and what must not matter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from vca_core.metrics import incremental_roc_auc, leave_one_edit_out_auroc
from vca_core.metrics.increments import BASELINE
from vca_core.records import SchemaError

RELATIONS = ("above", "below", "left", "right")


def frame(seed, gap_decides=False, n_edits=40, models=("c", "a", "b")):
    """Outcomes of one row per (model, edit), by the contract of `edit_outcomes`."""
    rng = np.random.default_rng(seed)
    relation = [RELATIONS[i % 4] for i in range(n_edits)]
    parts = []
    for k, model in enumerate(models):
        part = pd.DataFrame({"edit_id": [f"e{i:02d}" for i in range(n_edits)]})
        part["sample_id"] = "s" + part["edit_id"]
        part["relation"] = relation
        part["margin_original"] = rng.normal(1, 2, n_edits).round(1)
        part["image_gap"] = rng.normal(0, 1 + k, n_edits)
        noise = part["margin_original"] + rng.normal(0, 2, n_edits) > 1
        median = part["image_gap"].median()
        part["edit_visible"] = part["image_gap"] > median if gap_decides else noise
        parts.append(part.assign(model=model, dataset="edits"))
    outcomes = pd.concat(parts, ignore_index=True)
    outcomes["axis"] = np.where(outcomes["relation"].isin(["left", "right"]), "horizontal",
                                "vertical")  # fmt: skip
    outcomes["direction"] = np.where(outcomes["margin_original"] >= 0, 1, -1)
    outcomes["confidence"] = outcomes["margin_original"].abs()
    outcomes["relation_consistent"] = outcomes["margin_original"] > 0
    outcomes["source_consistent"] = outcomes["margin_original"] >= 0
    outcomes["edit_strict"] = outcomes["edit_visible"] & outcomes["source_consistent"]
    outcomes["pair_dependent"] = rng.random(len(outcomes)) < 0.5
    return outcomes


def increments(outcomes, target="edit_visible", **options):
    options = {"n_resamples": 50, "rng": np.random.default_rng(1)} | options
    return incremental_roc_auc(outcomes, target, **options)


def by_metric(rows):
    return rows.set_index("metric")[["value", "low", "high"]]


def test_gap_that_decides_the_event_is_added_in_full():
    rows = by_metric(increments(frame(3, gap_decides=True), n_resamples=400))
    assert rows.loc["augmented_roc_auc", "value"] > 0.99
    assert rows.loc["increment", "value"] > 0.3
    assert rows.loc["increment", "low"] > 0.2


def test_gap_that_is_noise_adds_nothing():
    """Held out, noise costs a little: intervals cover 0 or lie just below it, hardly ever above."""
    found = [by_metric(increments(frame(seed), n_resamples=300)).loc["increment"]
             for seed in range(12)]  # fmt: skip
    assert sum(row["low"] <= 0 <= row["high"] for row in found) >= 8
    assert sum(row["low"] > 0 for row in found) <= 1
    assert max(abs(row["value"]) for row in found) < 0.02


def slow_auroc(outcomes, target, numbers, groups, ridge=1.0):
    """Leave-one-group-out with scikit-learn's own pieces, in a plain loop."""
    data = outcomes.copy()
    for name in ("confidence", "image_gap", "margin_original"):
        data[f"{name}_rank"] = data.groupby("model")[name].rank(pct=True)
    log_odds = np.full(len(data), np.nan)
    for group in data[groups].unique():
        held_out = (data[groups] == group).to_numpy()
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["model", "relation"]),
            ("passthrough", list(numbers)),
        )
        fit = make_pipeline(
            columns, LogisticRegression(C=1 / ridge, solver="lbfgs", tol=1e-12, max_iter=5000)
        )
        fit.fit(data[~held_out], data.loc[~held_out, target])
        log_odds[held_out] = fit.decision_function(data[held_out])
    return log_odds, roc_auc_score(data[target], log_odds)


@pytest.mark.parametrize(
    ("hold_out", "ridge", "baseline"),
    [
        ("edit_id", 1.0, ("direction", "confidence_rank")),
        ("edit_id", 0.1, ("margin_original_rank",)),
        ("model", 10.0, ("direction", "confidence_rank")),
    ],
)
def test_incremental_roc_auc_is_a_slow_loop_of_pipelines(hold_out, ridge, baseline):
    outcomes = frame(8, n_edits=24)
    rows = increments(
        outcomes, hold_out=hold_out, ridge=ridge, baseline=("model", "relation", *baseline)
    )
    _, base = slow_auroc(outcomes, "edit_visible", baseline, hold_out, ridge)
    _, more = slow_auroc(outcomes, "edit_visible", (*baseline, "image_gap_rank"), hold_out, ridge)
    assert rows["value"].tolist() == pytest.approx([base, more, more - base], abs=1e-12)
    assert (rows["n"] == 72).all() and (rows["n_clusters"] == 24).all()
    assert (rows["hold_out"] == hold_out).all() and (rows["ridge"] == ridge).all()


def test_intervals_resample_edits_and_pair_the_two_predictions():
    outcomes = frame(5, n_edits=24)
    rows = by_metric(increments(outcomes, n_resamples=60))
    numbers = ("direction", "confidence_rank")
    scores = [slow_auroc(outcomes, "edit_visible", n, "edit_id")[0]
              for n in (numbers, (*numbers, "image_gap_rank"))]  # fmt: skip
    rng = np.random.default_rng(int(np.random.default_rng(1).integers(2**63)))
    draws = []
    for _ in range(60):
        again = np.concatenate(
            [np.flatnonzero(outcomes["edit_id"] == f"e{i:02d}") for i in rng.integers(24, size=24)]
        )
        y = outcomes["edit_visible"].to_numpy()[again]
        draws.append([roc_auc_score(y, s[again]) for s in scores])
    draws = np.array(draws)
    draws = np.column_stack([draws, draws[:, 1] - draws[:, 0]])
    want = np.quantile(draws, [0.025, 0.975], axis=0).T
    np.testing.assert_allclose(rows[["low", "high"]].to_numpy(), want, atol=1e-12)


def test_increments_do_not_depend_on_the_order_of_rows():
    outcomes = frame(2)
    shuffled = outcomes.sample(frac=1, random_state=7)
    first, second = (increments(f, by="model") for f in (outcomes, shuffled))
    key = ["stratum", "metric"]
    pd.testing.assert_frame_equal(
        first.sort_values(key, ignore_index=True), second.sort_values(key, ignore_index=True)
    )


def test_within_ranks_before_it_selects_and_by_fits_nothing_again():
    outcomes = frame(4)
    rows = increments(outcomes, within={"axis": "horizontal"})
    ranks = outcomes.groupby("model")[["confidence", "image_gap"]].rank(pct=True)
    inside = outcomes.assign(
        confidence_rank=ranks["confidence"], image_gap_rank=ranks["image_gap"]
    )[outcomes["axis"] == "horizontal"]
    again = increments(inside)
    assert rows["value"].tolist() == again["value"].tolist()
    assert (rows["n"] == 60).all() and (rows["n_clusters"] == 20).all()
    assert (rows["within"] == "axis = horizontal").all()
    rows = increments(outcomes, by="axis")
    whole = rows[rows["stratum"].isna()]
    pd.testing.assert_frame_equal(whole.reset_index(drop=True), increments(outcomes))
    log_odds, _ = slow_auroc(outcomes, "edit_visible", ("direction", "confidence_rank"), "edit_id")
    here = outcomes["axis"] == "vertical"
    want = roc_auc_score(outcomes.loc[here, "edit_visible"], log_odds[here])
    assert rows[rows["stratum"] == "vertical"]["value"].iloc[0] == pytest.approx(want, abs=1e-12)


def test_features_are_added_one_by_one_to_one_baseline():
    outcomes = frame(6)
    both = increments(outcomes, added=("image_gap_rank", "pair_dependent"))
    for name in ("image_gap_rank", "pair_dependent"):
        alone = increments(outcomes, added=name)
        part = both[both["added"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(part, alone)


def test_only_the_columns_that_are_used_are_needed():
    outcomes = frame(6)
    whole = increments(outcomes)
    few = outcomes[["model", "edit_id", "relation", "direction", "confidence", "image_gap",
                    "edit_visible"]]  # fmt: skip
    pd.testing.assert_frame_equal(increments(few), whole)
    few = few.assign(edit_visible=few["edit_visible"].astype("boolean"))
    few.loc[0, "edit_visible"] = pd.NA
    assert (increments(few)["n"] == 119).all()


def test_one_class_is_nan_with_its_n():
    outcomes = frame(6)
    outcomes["edit_visible"] = False
    rows = increments(outcomes, by="model")
    assert rows[["value", "low", "high"]].isna().all(axis=None)
    assert sorted(set(rows["n"])) == [40, 120]
    outcomes.loc[outcomes["edit_id"] == "e07", "edit_visible"] = True  # its fit sees no event
    assert increments(outcomes)["value"].isna().all()
    assert (increments(outcomes)["n_undefined"] == 50).all()
    none = increments(outcomes, within={"relation": "behind"})
    assert none["value"].isna().all() and (none["n"] == 0).all()


def test_a_constant_feature_adds_nothing():
    outcomes = frame(6).assign(constant=3.0)
    rows = increments(outcomes, added="constant").set_index("metric")
    assert rows.loc["increment", "value"] == pytest.approx(0, abs=1e-12)


def test_one_model_of_few_edits_gives_a_frame(recwarn):
    outcomes = frame(6, n_edits=3, models=("a",))
    rows = leave_one_edit_out_auroc(outcomes, n_resamples=20, rng=np.random.default_rng(1))
    assert rows[rows["variant"] == "held_out_model"]["value"].isna().all()
    assert not recwarn.list


@pytest.mark.parametrize("column", [*BASELINE[:3], "confidence", "image_gap", "edit_id"])
def test_a_missing_column_is_named(column):
    with pytest.raises(SchemaError, match=f"Column `{column}` is missing"):
        increments(frame(6).drop(columns=column))


def test_bad_outcomes_are_refused_by_name():
    outcomes = frame(6)
    with pytest.raises(SchemaError, match=r"once per \(model, edit_id\), got edit_id 'e00'"):
        increments(pd.concat([outcomes, outcomes.iloc[:1]]))
    with pytest.raises(SchemaError, match="`edit_id` must name a group .* got 1 null in 120"):
        increments(outcomes.assign(edit_id=outcomes["edit_id"].where(outcomes.index != 4)))
    gap = outcomes["image_gap"].where(outcomes.index != 5)
    with pytest.raises(SchemaError, match=r"`image_gap` must be finite, got nan .*'e05'.*1 of 120"):
        increments(outcomes.assign(image_gap=gap))
    with pytest.raises(
        SchemaError, match="`relation` must not be null, got (None|nan) for model 'c'"
    ):
        increments(outcomes.assign(relation=outcomes["relation"].where(outcomes.index > 0, None)))
    with pytest.raises(ValueError, match="`ridge` must be above 0"):
        increments(outcomes, ridge=0)
