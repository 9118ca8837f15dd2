"""The filters' scores, panels of models, and what is kept."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import (
    audit_support,
    confidence_score,
    keep_groups,
    kept_records,
    panel_score,
    probability_gap,
    shortcut_score,
    visnec_style,
)
from vca_core.metrics.filter_scores import FILTERS, LABEL_FREE
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank")


def logit(p):
    return math.log(p / (1 - p))


@pytest.fixture
def records():
    """Four statements whose two-way probabilities are round."""
    rows = [  # p(yes) with the image, without it, blank; label
        ("a", 0.9, 0.5, 0.6, "yes"),
        ("b", 0.8, 0.9, 0.7, "yes"),
        ("c", 0.4, 0.2, 0.9, "no"),
        ("d", 0.75, 0.75, 0.25, "no"),
    ]
    frame = pd.DataFrame(rows, columns=["sample_id", *(f"margin_{c}" for c in CONTEXTS), "label"])
    for context in CONTEXTS:
        frame[f"margin_{context}"] = frame[f"margin_{context}"].map(logit)
    return frame.assign(model="m", dataset="d")


def benchmark(n_models=3, n_pairs=9, seed=0, digits=6):
    """Random margins of pairs, and two statements without a pair, the same for all models."""
    rng = np.random.default_rng(seed)
    names = [(f"p{i:02}", side) for i in range(n_pairs) for side in ("true", "false")]
    rows = [
        {"model": f"m{m}", "sample_id": f"{pair}-{side}", "pair_id": pair, "label": label}
        for m in range(n_models)
        for pair, side in names
        for label in [{"true": "yes", "false": "no"}[side]]
    ]
    alone = {"pair_id": None, "label": "yes"}
    rows += [{"model": f"m{m}", "sample_id": s} | alone for m in range(n_models) for s in "xy"]
    frame = pd.DataFrame(rows).assign(dataset="d")
    for context in CONTEXTS:
        frame[f"margin_{context}"] = rng.normal(size=len(frame)).round(digits)
    return frame


def test_shortcut_score_by_hand(records):
    # Gold probabilities: a .9/.5, b .8/.9, c .6/.8, d .25/.25 with and without the image.
    assert shortcut_score(records) == pytest.approx([-0.8, 1.0, 1.0, 0.0])
    other = shortcut_score(records, text_evidence="probability")
    assert other == pytest.approx([0.5 - 0.8, 0.9 + 0.2, 0.8 + 0.4, 0.0])  # a: a tie says yes
    with pytest.raises(ValueError, match="'above_chance' or 'probability', got 'loud'"):
        shortcut_score(records, text_evidence="loud")


def test_visnec_style_is_the_fall_of_the_gold_loss(records):
    expected = [math.log(0.9 / 0.5), math.log(0.8 / 0.9), math.log(0.6 / 0.8), 0.0]
    assert visnec_style(records) == pytest.approx(expected)


def test_visnec_style_of_large_margins_stays_finite(records):
    far = records.assign(margin_original=-900.0, margin_text_only=900.0)
    assert visnec_style(far) == pytest.approx([-900, -900, 900, 900])


def test_confidence_score_by_hand(records):
    assert confidence_score(records) == pytest.approx([logit(p) for p in (0.9, 0.8, 0.6, 0.75)])
    assert confidence_score(records, scale="probability") == pytest.approx([0.9, 0.8, 0.6, 0.75])
    with pytest.raises(ValueError, match="'margin' or 'probability', got 'odds'"):
        confidence_score(records, scale="odds")


def test_probability_gap_by_hand_has_the_sign_of_the_image_gap(records):
    # c decides no: .6 with the image, .8 without it, .1 under the blank one.
    assert probability_gap(records) == pytest.approx([0.3, -0.1, -0.2, 0.0])
    gap = audit_support(records)["image_gap"]
    assert (np.sign(probability_gap(records)) == np.sign(gap)).all()


def test_each_score_needs_its_own_columns_alone(records):
    for name, entry in FILTERS.items():
        needed = [f"margin_{context}" for context in entry.contexts]
        bare = records[["model", "dataset", "sample_id", *needed, "label"]]
        assert len(panel_score(bare, name)) == 4
        with pytest.raises(SchemaError, match=f"`{needed[-1]}` is missing"):
            panel_score(bare.drop(columns=needed[-1]), name)


@pytest.mark.parametrize("name", FILTERS)
def test_labels_are_asked_for_by_the_filters_that_use_them(records, name):
    bare = records.drop(columns="label")
    holes = records.assign(label=["yes", None, "no", None])
    if name in LABEL_FREE:
        assert panel_score(bare, name).equals(panel_score(records, name))
    else:
        with pytest.raises(SchemaError, match=f"filter '{name}', got none for sample_id 'a'.*4 of"):
            panel_score(bare, name)
        with pytest.raises(SchemaError, match="'b' .*2 of 4 rows.*'vca', .*need no labels"):
            panel_score(holes, name)


def slow_panel(frame, name, models):
    """Panel score in the words of the definition, group by group."""
    group = frame["pair_id"].fillna(frame["sample_id"])
    score = {
        "vca": lambda f: audit_support(f)["image_gap"].to_numpy(),
        "shortcut": lambda f: -shortcut_score(f),
        "visnec": visnec_style,
        "confidence": confidence_score,
        "probability_gap": probability_gap,
    }[name](frame)
    panel = dict.fromkeys(sorted(set(group)), 0.0)
    for model in models:
        means = {
            g: np.mean([s for s, own, m in zip(score, group, frame["model"], strict=True)
                        if own == g and m == model])
            for g in panel
        }  # fmt: skip
        for g in panel:
            if name in ("vca", "confidence"):
                below = sum(
                    means[other] < means[g] or (means[other] == means[g] and other >= g)
                    for other in panel
                )
                panel[g] += below / len(panel) / len(models)
            else:
                panel[g] += means[g] / len(models)
    return panel


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("digits", [6, 0])
def test_panel_score_matches_the_slow_definition(name, digits):
    frame = benchmark(digits=digits)
    for models in (("m0", "m1", "m2"), ("m2",)):
        expected = slow_panel(frame, name, models)
        found = panel_score(frame, name, models=models)
        assert found.to_dict() == pytest.approx(expected, rel=1e-12)


def test_panel_score_breaks_ties_by_group_id():
    frame = pd.DataFrame({"sample_id": list("cab"), "margin_original": [1.0, -1.0, 1.0]})
    panel = panel_score(frame.assign(model="m", dataset="d"), "confidence")
    assert panel.to_dict() == pytest.approx({"a": 1.0, "b": 2 / 3, "c": 1 / 3})
    assert list(keep_groups(0 * panel, 0.67)) == ["a", "b"]


def test_panel_score_ranks_a_column_of_ones_own_and_ranks_on_demand():
    frame = benchmark(n_models=1)
    own = frame.assign(mine=audit_support(frame)["image_gap"])
    assert panel_score(own, "mine").equals(panel_score(own, "vca"))
    raw = panel_score(own, "vca", ranked=False)
    assert raw.to_dict() == pytest.approx(
        own.groupby(own["pair_id"].fillna(own["sample_id"]))["mine"].mean().to_dict()
    )
    assert sorted(panel_score(own, "visnec", ranked=True) * 11) == pytest.approx(range(1, 12))


def test_equal_sums_of_ranks_stay_equal():
    assert 0.1 + 0.2 + 0.3 != 0.2 + 0.3 + 0.1  # what the sum of rounded ranks would do to a and b
    ranks = {"a": (1, 2, 3), "b": (2, 3, 1), "c": (3, 1, 2)} | {
        f"d{i}": [i] * 3 for i in range(4, 11)
    }
    rows = [(m, g, s) for g, own in ranks.items() for m, s in zip("xyz", own, strict=True)]
    frame = pd.DataFrame(rows, columns=["model", "sample_id", "mine"]).assign(dataset="d")
    panel = panel_score(frame, "mine")
    assert panel["a"] == panel["b"] == panel["c"] == 0.2
    assert list(keep_groups(panel, 0.8))[-1] == "a"


def test_keep_groups_rounds_the_count():
    scores = pd.Series(np.arange(440.0), [f"g{i:03}" for i in range(440)])
    assert [len(keep_groups(scores, c)) for c in (0.25, 0.5, 0.75, 1)] == [110, 220, 330, 440]
    assert list(keep_groups(scores, 2 / 440)) == ["g439", "g438"]
    for wrong in (0, -0.5, 50, math.nan):
        with pytest.raises(SchemaError, match=r"share in \(0, 1\], got"):
            keep_groups(scores, wrong)
    with pytest.raises(SchemaError, match="finite, got nan for group 'g001'"):
        keep_groups(scores.where(scores != 1), 0.5)


def test_panel_score_refuses_what_cannot_be_compared():
    frame = benchmark()
    with pytest.raises(SchemaError, match="names \\['gpt'\\].*there are \\['m0', 'm1', 'm2'\\]"):
        panel_score(frame, "vca", models=["gpt"])
    with pytest.raises(SchemaError, match="one data set, got 'd', 'e'"):
        panel_score(pd.concat([frame, frame.assign(dataset="e")]), "vca")
    with pytest.raises(SchemaError, match=r"sample_id 'p00-true' in model 'm0' \(1 of 20"):
        panel_score(frame.iloc[1:], "vca")
    with pytest.raises(SchemaError, match="more than once"):
        panel_score(pd.concat([frame, frame.iloc[:1]]), "vca")
    with pytest.raises(SchemaError, match="`pid` is missing.*by name are shortcut"):
        panel_score(frame, "pid")
    with pytest.raises(
        SchemaError, match="`mine` must be finite, got nan for sample_id 'p00-true'"
    ):
        panel_score(frame.assign(mine=np.nan), "mine")
    with pytest.raises(SchemaError, match="'x' as `pair_id` and as the `sample_id`"):
        panel_score(frame.assign(pair_id=frame["pair_id"].replace("p00", "x")), "vca")
    one = (frame["model"] == "m1") & (frame["pair_id"] == "p00")
    with pytest.raises(SchemaError, match="same in every model, got 'p00', 'other' for .*2 state"):
        panel_score(frame.assign(pair_id=frame["pair_id"].mask(one, "other")), "vca")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(2, 4), st.integers(1, 9), st.integers(0, 99), st.sampled_from(sorted(FILTERS)),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_selection_is_nested_whole_and_independent_of_row_order(n_models, n_pairs, seed, name, r):
    audit = audit_support(benchmark(n_models, n_pairs, seed, digits=0))
    coverages = (0.2, 0.25, 0.5, 0.75, 1.0)
    kept = kept_records(audit, [name], coverages)
    group = audit["pair_id"].fillna(audit["sample_id"])
    assert kept["full", 1.0].all()
    columns = [(name, c) for c in coverages[:-1]] + [("full", 1.0)]
    for small, large in zip(columns, columns[1:], strict=False):
        assert kept.loc[kept[small], [large]].all(axis=None)
    for column, coverage in zip(columns, coverages, strict=True):
        by_group = kept[column].groupby([audit["model"], group]).agg(["all", "any"])
        assert (by_group["all"] == by_group["any"]).all()
        n_kept = by_group["all"].groupby("model").sum()
        assert (n_kept == round(coverage * (n_pairs + 2))).all()
    order = list(range(len(audit)))
    r.shuffle(order)
    pd.testing.assert_frame_equal(kept_records(audit.iloc[order], [name], coverages),
                                  kept.iloc[order])  # fmt: skip


def test_probability_gap_keeps_the_sign_of_the_image_gap_near_certainty():
    frame = pd.DataFrame(
        {"margin_original": [60.0, 50.0, -60.0], "margin_text_only": [50.0, 60.0, -50.0]}
    )
    frame["margin_blank"] = -frame["margin_original"]
    assert np.sign(
        probability_gap(frame.assign(model="m", dataset="d", sample_id=["a", "b", "c"]))
    ).tolist() == [1, -1, 1]
