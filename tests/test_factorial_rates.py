"""Rates of agreement decisions: published counts and intervals, empty cells, neutral control."""

import numpy as np
import pandas as pd
import pytest
from test_factorial import rates, stem

from vca_core.metrics import (
    agreement_outcomes,
    agreement_rates,
    agreement_rates_of_counts,
    audit_factorial,
    neutral_contrast,
)
from vca_core.published import published, published_table
from vca_core.records import SchemaError

POINTS = 0.005 + 1e-9  # half of the last printed decimal, and the float's own rounding
COLUMNS = {
    "cu": "cu_given_correct",
    "responsive": "responsive_given_cu",
    "exceeds_neutral": "exceeds_neutral_given_cu",
    "answer_flip": "answer_flip_given_cu",
}


@pytest.fixture(scope="module")
def counts():
    """Give the counts of T03: the integers that its percentages of C-U fit."""
    table = published_table("T03")
    table = table[table["model"] != "Pooled"].copy()
    for event in ("responsive", "exceeds_neutral", "answer_flip"):
        table[f"n_{event}"] = (table[event] / 100 * table["n_cu"]).round().astype(int)
    return table


@pytest.fixture(scope="module")
def published_audit(counts):
    """Invented decisions with the published counts: the first ones of each model have the event."""
    parts = []
    for row in counts.to_dict("records"):
        place = np.arange(row["n_agreement"])
        frame = pd.DataFrame({"stem_id": [f"s{i // 2}" for i in place]})
        cu = place < row["n_cu"]
        frame = frame.assign(
            sample_id=[f"x{i}" for i in place],
            cu=cu,
            correct=place < row["n_correct"],
            dcc=(place < row["n_correct"]) & ~cu,
            responsive=place < row["n_responsive"],
            answer_flip=place < row["n_answer_flip"],
            exceeds_neutral=pd.array(place < row["n_exceeds_neutral"], dtype="boolean"),
            response=2.0,
        )
        parts.append(frame.assign(model=row["model"], dataset="d"))
    return pd.concat(parts, ignore_index=True)


def wide(found, pooling="run"):
    return found[found["pooling"] == pooling].pivot(index="model", columns="metric", values="value")


def test_agreement_rates_give_the_published_table(published_audit):
    found = rates(agreement_rates, published_audit)
    run = wide(found)
    micro, macro = (found[found["pooling"] == p].set_index("metric") for p in ("micro", "macro"))
    for model in run.index:
        for column, metric in COLUMNS.items():
            printed = published("T03", model=model)[column]
            assert 100 * run.loc[model, metric] == pytest.approx(printed, abs=POINTS), (
                model,
                column,
            )
    for column, metric in COLUMNS.items():
        assert 100 * micro.loc[metric, "value"] == pytest.approx(
            published("T03", model="Pooled")[column], abs=POINTS
        )
    assert (micro.loc["cu_given_correct", "n"], micro.loc["answer_flip_given_cu", "n"]) == (
        1510,
        682,
    )
    text = published_table("factorial_text").set_index("quantity")["value"]
    for quantity, metric in (
        ("model_macro_cu_fraction", "cu_given_correct"),
        ("model_macro_responsive", "responsive_given_cu"),
        ("model_macro_answer_flip", "answer_flip_given_cu"),
    ):
        assert 100 * macro.loc[metric, "value"] == pytest.approx(float(text[quantity]), abs=POINTS)
    assert set(micro["interval_kind"]) == set(macro["interval_kind"]) == {"stem_bootstrap"}


@pytest.mark.parametrize(
    "model, metric, low, high",
    [
        ("Qwen", "responsive_given_cu", 98.76, 100.00),  # 305 of 305
        ("InternVL", "responsive_given_cu", 77.04, 85.38),  # 270 of 331
        ("LLaVA", "responsive_given_cu", 67.56, 100.00),  # 8 of 8
        ("LLaVA", "answer_flip_given_cu", 67.56, 100.00),
        ("InternVL", "exceeds_neutral_given_cu", 93.40, 97.69),  # 318 of 331; not what is printed
    ],
)
def test_model_intervals_are_the_published_wilson_ones(published_audit, model, metric, low, high):
    found = rates(agreement_rates, published_audit).set_index(["model", "metric"])
    bounds = 100 * found.loc[(model, metric), ["low", "high"]].to_numpy(dtype=float)
    assert bounds == pytest.approx([low, high], abs=POINTS)


def test_rates_of_counts_are_the_rates_of_records(counts, published_audit):
    whole = rates(agreement_rates, published_audit)
    found = agreement_rates_of_counts(counts)
    for pooling in ("run", "micro", "macro"):
        key = ["model", "metric"] if pooling == "run" else ["metric"]
        columns = ["value", "n"] + (["low", "high"] if pooling == "run" else [])
        got = found[found["pooling"] == pooling].set_index(key)[columns].sort_index()
        want = whole[whole["pooling"] == pooling].set_index(key)[columns].sort_index()
        pd.testing.assert_frame_equal(got, want.loc[got.index])
    assert found.loc[found["pooling"] != "run", ["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    "column, value, rule",
    [
        ("n_responsive", 332, "from 0 to `n_correct`, got 332 of 310 .*'LLaVA'"),
        ("n_responsive", 306, "`n_nonresponsive` must .* got -1 of 400 .*'Qwen'"),
        ("n_cu", 8.5, "`n_cu` must be a whole number"),
        ("n_cu", np.nan, "`n_cu` must be a whole number"),
        ("n_correct", -1, "from 0 to `n_agreement`, got -1"),
    ],
)
def test_rates_of_counts_refuse_impossible_counts(counts, column, value, rule):
    with pytest.raises(SchemaError, match=rule):
        agreement_rates_of_counts(counts.assign(**{column: value}))


def test_rates_of_counts_name_the_missing_column(counts):
    with pytest.raises(SchemaError, match="`n_answer_flip` is missing"):
        agreement_rates_of_counts(counts.drop(columns="n_answer_flip"))


@pytest.fixture
def margins(rng):
    frame = pd.concat(
        [
            stem(f"s{i:02d}", rng.normal(size=(3, 3)) + [[1], [-1], [0]], rng.normal(size=3), model)
            for model in ("b", "a")
            for i in range(12)
        ],
        ignore_index=True,
    )
    return frame


def near_of(margins):
    """Neutral pictures: some margin for each stem and speaking note."""
    near = margins[(margins["visual_state"] == "absent") & (margins["text_state"] != "absent")]
    return near.assign(dataset="near", margin_original=near["margin_original"] / 2)


def test_no_cu_decision_is_nan_with_n_zero_and_left_out_of_macro(margins):
    # Model a always follows the picture, with controls that oppose: nothing is left uncredited.
    sure = (margins["model"] == "a").to_numpy()
    margins.loc[sure, "margin_original"] = margins["visual_state"].map(
        {"supports": 5.0, "opposes": -5.0, "absent": 0.0}
    )
    margins.loc[sure, ["margin_text_only", "margin_blank"]] = 0.0
    audit = audit_factorial(margins, near_of(margins))
    found = rates(agreement_rates, audit).set_index(["pooling", "metric", "model"]).sort_index()
    empty = found.loc[("run", "responsive_given_cu", "a")]
    assert np.isnan(empty["value"]) and np.isnan(empty["low"]) and empty["n"] == 0
    other = found.loc[("run", "responsive_given_cu", "b")]
    for pooling in ("micro", "macro"):
        pooled = found.loc[(pooling, "responsive_given_cu")].iloc[0]
        assert pooled["value"] == pytest.approx(other["value"]) and pooled["n_models"] == 1
    contrast = rates(neutral_contrast, audit).set_index(["pooling", "model", "metric"]).sort_index()
    assert contrast.loc[("run", "a"), "value"].isna().all()
    assert (contrast.loc[("run", "a"), "n"] == 0).all()


def test_pooled_intervals_keep_a_stems_decisions_of_all_models(margins):
    one = margins[margins["model"] == "b"]
    twin = pd.concat([one, one.assign(model="c")], ignore_index=True)
    poolings = [
        rates(agreement_rates, audit_factorial(frame), n_resamples=200).query("pooling == 'micro'")
        for frame in (one, twin)
    ]
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(*(frame[column] for frame in poolings))


def test_runs_of_two_interfaces_are_audited_apart_and_refused_in_one_rate(margins):
    both = pd.concat([margins.assign(interface="yes_no"),
                      margins.assign(interface="true_false", margin_original=1.0)])  # fmt: skip
    audit = audit_factorial(both)
    assert (audit.loc[audit["interface"] == "true_false", "response"] == 0).all()
    for function in (agreement_rates, agreement_outcomes):
        with pytest.raises(SchemaError, match="one `interface`"):
            rates(function, audit)
    with pytest.raises(SchemaError, match="`responsive` is missing.*Call `audit_factorial` first"):
        rates(agreement_rates, audit.drop(columns="responsive"))


def test_neutral_contrast_is_the_mean_over_cu_decisions(margins):
    audit = audit_factorial(margins, near_of(margins))
    found = rates(neutral_contrast, audit)
    found = found.set_index(["pooling", "model", "metric"]).sort_index()["value"]
    for model in ("a", "b"):
        cu = audit[audit["cu"] & (audit["model"] == model)]
        own = found.loc[("run", model)]
        assert own["neutral_contrast"] == pytest.approx(cu["neutral_contrast"].mean())
        assert own["original_support"] - own["neutral_support"] == pytest.approx(
            own["neutral_contrast"]
        )
        assert own["original_support"] == pytest.approx(cu["margin_original"].abs().mean())
        assert own["exceeds_neutral"] == pytest.approx(cu["exceeds_neutral"].mean())
    assert set(found.loc["micro"].index.get_level_values("metric")) == {"exceeds_neutral"}
    without = rates(neutral_contrast, audit_factorial(margins))
    assert without["value"].isna().all() and (without["n"] == 0).all()
