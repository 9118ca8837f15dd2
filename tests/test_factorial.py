"""The factorial's audit: events read off by hand, a slow definition, and refused designs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import agreement_outcomes, agreement_rates, audit_factorial, source_effects
from vca_core.records import SchemaError

STATES = ("supports", "opposes", "absent")
BARE = ["model", "dataset", "sample_id", "stem_id", "visual_state", "text_state",
        "margin_original", "margin_text_only", "margin_blank"]  # fmt: skip


def stem(name, cells, controls, model="m"):
    """Nine rows from margins by (picture, note), and one control per note."""
    rows = []
    for i, visual in enumerate(STATES):
        for j, text in enumerate(STATES):
            rows.append((model, "d", f"{name}-{visual}-{text}", name, visual, text,
                         cells[i][j], controls[j], controls[j] - 0.5))  # fmt: skip
    frame = pd.DataFrame(rows, columns=BARE)
    return frame.assign(label=np.where(frame["visual_state"] == "supports", "yes", "no"))


@pytest.fixture
def margins():
    silent = [0.0, 0.0, 0.0]
    return pd.concat(
        [
            stem("dcc", [[2, -1, 0], [1, -2, 0], silent], [0, 0, 0]),
            # C-U under a stronger control; yes turns to no, no stays but gives way.
            stem("flip", [[1, -0.5, 0], [-1, -1, 0], silent], [3, -3, 0]),
            # The first tie is no response; the second is wrong.
            stem("stuck", [[1, 0, 0], [1, 1, 0], silent], [3, 0, 0]),
            # A control that ties is C-U; the picture pulls away; a reversed margin of zero is yes.
            stem("away", [[1, 0, 0], [2, -1, 0], silent], [1, -1, 0]),
        ],
        ignore_index=True,
    )


@pytest.fixture
def neutral():
    rows = [("flip", "supports", 0.5), ("flip", "opposes", -1.0), ("stuck", "supports", 2.0)]
    frame = pd.DataFrame(rows, columns=["stem_id", "text_state", "margin_original"])
    return frame.assign(model="m", dataset="other", visual_state="absent")


def by_cell(audit):
    return audit.set_index(["stem_id", "text_state"])


def rates(function, audit, **options):
    options = {"n_resamples": 20, "rng": np.random.default_rng(0)} | options
    return function(audit, **options)


def test_audit_factorial_read_off(margins, neutral):
    audit = by_cell(audit_factorial(margins, neutral))
    assert list(audit["response"]) == [1, 1, 2, 0.5, 0, 1, -1, 1]
    assert list(audit["delta_visual"]) == [1, 1, 2, 0.5, 0, -1, -1, 1]
    assert list(audit["responsive"]) == [True, True, True, True, False, True, False, True]
    assert list(audit["answer_flip"]) == [False, False, True, False, False, False, False, True]
    assert list(audit["cu"]) == [False, False, True, True, True, False, True, True]
    assert list(audit["correct"]) == [True] * 5 + [False] + [True] * 2
    assert list(audit["label"]) == ["yes", "no"] * 4
    assert list(audit["exceeds_neutral"].isna()) == [True, True, False, False, False, *[True] * 3]
    assert list(audit["exceeds_neutral"].dropna()) == [True, False, False]  # a tie is no excess
    assert list(audit["neutral_contrast"].dropna()) == [0.5, 0, -1]


def test_agreement_outcomes_read_off(margins):
    found = rates(agreement_outcomes, audit_factorial(margins))
    run = found[found["pooling"] == "run"].set_index("metric")
    assert dict(run["value"] * 8) == {
        "dcc": 2, "cu_answer_flip": 2, "cu_same_answer": 1, "cu_unresponsive": 2, "wrong": 1,
    }  # fmt: skip


def test_agreement_rates_read_off(margins, neutral):
    found = rates(agreement_rates, audit_factorial(margins, neutral))
    run = found[found["pooling"] == "run"].set_index("metric")
    hits = (run["value"] * run["n"]).round(9)
    assert dict(zip(run.index, zip(hits, run["n"], strict=True), strict=True)) == {
        "accuracy": (7, 8),
        "cu_given_correct": (5, 7),
        "responsive_mass": (3, 7),
        "nonresponsive_mass": (2, 7),
        "responsive_given_cu": (3, 5),
        "answer_flip_given_cu": (2, 5),
        "exceeds_neutral_given_cu": (1, 3),
        "response_above_0.1": (3, 5),
        "response_above_0.5": (2, 5),  # 0.5 itself is not above
        "response_above_1": (1, 5),
    }
    assert run.loc["exceeds_neutral_given_cu", "n_clusters"] == 2
    assert set(run["interval_kind"]) == {"wilson"}


def test_audit_factorial_needs_its_own_columns_alone(margins):
    bare = audit_factorial(margins[BARE])
    full = audit_factorial(margins)
    assert bare["exceeds_neutral"].isna().all() and bare["margin_neutral"].isna().all()
    pd.testing.assert_frame_equal(bare[full.columns.intersection(bare.columns)], full[bare.columns])
    square = margins[(margins[["visual_state", "text_state"]] != "absent").all(axis=1)]
    pd.testing.assert_frame_equal(audit_factorial(square), full)


@pytest.mark.parametrize("column", [c for c in BARE if c != "sample_id"])
def test_audit_factorial_names_the_missing_column(margins, column):
    with pytest.raises(SchemaError, match=f"`{column}` is missing"):
        audit_factorial(margins.drop(columns=column))


def test_a_missing_cell_is_named(margins):
    cut = margins.drop(index=margins.index[margins["sample_id"] == "flip-opposes-supports"])
    rule = r"stem 'flip' without \('opposes', 'supports'\) \(model 'm', data set 'd'\)"
    with pytest.raises(SchemaError, match=rule):
        audit_factorial(cut)
    # A cell that other stems have may not be missing either.
    with pytest.raises(SchemaError, match=r"stem 'flip' without \('absent', 'absent'\)"):
        audit_factorial(margins[margins["sample_id"] != "flip-absent-absent"])
    with pytest.raises(SchemaError, match=r"stem 'dcc' without .*\('opposes', 'supports'\)"):
        audit_factorial(margins[margins["visual_state"] == margins["text_state"]])


def test_a_doubled_cell_is_named(margins):
    again = margins[margins["stem_id"] == "stuck"].assign(sample_id=lambda f: f["sample_id"] + "b")
    with pytest.raises(SchemaError, match=r"stem 'stuck' with \('supports', 'supports'\) more"):
        audit_factorial(pd.concat([margins, again]))


@pytest.mark.parametrize(
    "sample, label, rule",
    [
        ("flip-supports-supports", "no", r"must be 'yes' in the cell .*got 'no'.*stem 'flip'"),
        ("dcc-opposes-opposes", "yes", r"must be 'no' in the cell .*got 'yes'.*stem 'dcc'"),
        ("away-opposes-absent", "yes", r"must be 'no' in the cell \('opposes', 'absent'\)"),
        ("away-absent-opposes", "maybe", r"must be one of .*got 'maybe'.*1 of 36 rows"),
    ],
)
def test_a_label_that_does_not_fit_its_cell_is_named(margins, sample, label, rule):
    margins.loc[margins["sample_id"] == sample, "label"] = label
    with pytest.raises(SchemaError, match=rule):
        audit_factorial(margins)


def test_labels_may_be_missing_and_are_free_where_sources_differ(margins):
    free = margins.assign(label=margins["label"].astype(object))
    free.loc[free["visual_state"] == "absent", "label"] = "yes"
    free.loc[(free["visual_state"] != free["text_state"]), "label"] = None
    pd.testing.assert_frame_equal(audit_factorial(free), audit_factorial(margins))


@pytest.mark.parametrize("column", ["visual_state", "text_state", "stem_id"])
def test_an_unknown_state_or_a_null_stem_is_named(margins, column):
    margins.loc[3, column] = None
    with pytest.raises(SchemaError, match=f"`{column}` must .*'dcc-opposes-supports'.*1 of 36"):
        audit_factorial(margins)


def test_a_margin_that_is_not_finite_is_named_in_the_reversed_cell_too(margins, neutral):
    for sample in ("flip-opposes-supports", "flip-supports-supports"):
        broken = margins.copy()
        broken.loc[broken["sample_id"] == sample, "margin_original"] = np.nan
        with pytest.raises(SchemaError, match=f"`margin_original` must be finite.*'{sample}'"):
            audit_factorial(broken)
    neutral.loc[0, "margin_original"] = np.inf
    with pytest.raises(SchemaError, match="`margin_original` must be finite, got inf"):
        audit_factorial(margins, neutral)


def test_neutral_must_be_unique_and_of_the_same_stems(margins, neutral):
    with pytest.raises(SchemaError, match="one picture per stem and note, got stem 'flip'"):
        audit_factorial(margins, pd.concat([neutral, neutral]))
    with pytest.raises(SchemaError, match="`neutral` must hold the factorial's stems.*'dcc'"):
        audit_factorial(margins, neutral.assign(model="other"))
    with pytest.raises(SchemaError, match="`text_state` is missing.*asked of `neutral`"):
        audit_factorial(margins, neutral.drop(columns="text_state"))


def slow_events(frame, neutral):
    """Take the definitions cell by cell, in a loop."""
    m = {(r.stem_id, r.visual_state, r.text_state): r for r in frame.itertuples()}
    control = {(r.stem_id, r.text_state): r.margin_original for r in neutral.itertuples()}
    events = {}
    for name in frame["stem_id"].unique():
        for state, other, gold in (("supports", "opposes", True), ("opposes", "supports", False)):
            own, far = m[name, state, state], m[name, other, state].margin_original
            says_yes = own.margin_original >= 0
            d = 1 if says_yes else -1
            dependent = d * own.margin_original > max(
                d * own.margin_text_only, d * own.margin_blank
            )
            response = d * own.margin_original - d * far
            near = control[name, state]
            events[name, state] = (
                says_yes == gold and not dependent,
                response > 0,
                (far >= 0) != says_yes,
                d * (own.margin_original - near) > 0,
            )
    return events


# A few round numbers, so that ties and zeros are common; and any finite number.
margin = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0]) | st.floats(-50, 50)
nine = st.lists(st.lists(margin, min_size=3, max_size=3), min_size=3, max_size=3)
stems = st.lists(st.tuples(nine, st.lists(margin, min_size=3, max_size=3), margin), min_size=1,
                 max_size=5)  # fmt: skip


def built(drawn):
    frame = pd.concat([stem(f"s{i}", cells, c) for i, (cells, c, _) in enumerate(drawn)])
    rows = [("m", f"s{i}", text, near) for i, (*_, near) in enumerate(drawn) for text in STATES[:2]]
    names = ["model", "stem_id", "text_state", "margin_original"]
    return frame.reset_index(drop=True), pd.DataFrame(rows, columns=names)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(stems, st.randoms(use_true_random=False))
def test_audit_factorial_is_its_slow_definition_in_any_order(drawn, random):
    frame, neutral = built(drawn)
    order = list(range(len(frame)))
    random.shuffle(order)
    audit = by_cell(audit_factorial(frame.iloc[order], neutral))
    events = audit[["cu", "responsive", "answer_flip", "exceeds_neutral"]]
    rows = zip(audit.index, events.to_numpy(), strict=True)
    got = {key: tuple(map(bool, row)) for key, row in rows}
    assert got == slow_events(frame, neutral)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(stems)
def test_flip_implies_responsive_and_parts_add_up(drawn):
    frame, neutral = built(drawn)
    audit = audit_factorial(frame, neutral)
    assert audit.loc[audit["answer_flip"], "responsive"].all()
    right = audit[audit["correct"]]
    assert (right["response"] == right["delta_visual"]).all()
    outcomes = rates(agreement_outcomes, audit, n_resamples=3)
    assert outcomes.groupby("pooling")["value"].sum().to_numpy() == pytest.approx([1, 1, 1])
    found = rates(agreement_rates, audit, n_resamples=3)
    value = found[found["pooling"] == "run"].set_index("metric")["value"]
    assert value["responsive_mass"] + value["nonresponsive_mass"] == pytest.approx(
        value["cu_given_correct"], nan_ok=True
    )
    assert not value["answer_flip_given_cu"] > value["responsive_given_cu"]
    sizes = value[["responsive_given_cu", *(f"response_above_{t}" for t in ("0.1", "0.5", "1"))]]
    assert (sizes.isna().all()) or (sizes.diff().dropna() <= 0).all()
    effects = source_effects(frame, n_resamples=3, rng=np.random.default_rng(0))
    mean = effects.assign(given=effects["given"].fillna("")).set_index(["effect", "given"])["value"]
    for effect in ("visual", "text"):
        difference = mean[effect, "supports"] - mean[effect, "opposes"]
        assert difference == pytest.approx(mean["interaction", ""], abs=1e-9)
