"""The edit check, read off hand-made edits and against a slow definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import (
    audit_pairs,
    audit_support,
    edit_outcomes,
    restrict_edits,
    source_records,
)
from vca_core.metrics.edits import ROLES, TARGETS, axis_of
from vca_core.records import SchemaError

AS_IT_SHOULD = dict(zip(ROLES, (1.0, -1.0, -1.0, 1.0, 1.0, 1.0), strict=True))


def statements(n=3, model="m", **columns):
    """Audit-ready margins of `n` pairs: dependent both, and answered rightly."""
    rows = [
        (f"p{i}-{polarity}", f"p{i}", polarity, label, sign * (i + 1.0), sign * 0.5, -sign * 0.5)
        for i in range(n)
        for polarity, label, sign in (("true", "yes", 1), ("false", "no", -1))
    ]
    names = ["sample_id", "pair_id", "polarity", "label"]
    names += [f"margin_{c}" for c in ("original", "text_only", "blank")]
    frame = pd.DataFrame(rows, columns=names).assign(model=model, dataset="pairs", relation="left")
    return frame.assign(interface="yes_no", wording="canonical", **columns)


def probes(edit_id, pair_id="p0", model="m", **margins):
    """Six probes of an edit, as they should be but for those given."""
    rows = [(f"{edit_id}-{role}", role, m) for role, m in (AS_IT_SHOULD | margins).items()]
    frame = pd.DataFrame(rows, columns=["sample_id", "probe_role", "margin_original"])
    frame = frame.assign(edit_id=edit_id, pair_id=pair_id, model=model, dataset="edits")
    return frame.assign(interface="yes_no", wording="canonical")


def judge(edits, margins=None):
    margins = statements() if margins is None else margins
    return edit_outcomes(edits, audit_support(margins), audit_pairs(margins))


def events(outcomes):
    return outcomes.set_index("edit_id")[[*TARGETS]].astype(int).apply(tuple, axis=1).to_dict()


def test_edit_outcomes_of_hand_made_edits():
    edits = pd.concat(
        [
            probes("all"),
            probes("no-subject", subject_present=-0.1),
            probes("no-object", object_present=-3),
            probes("inverse-before", source_inverse=2),
            probes("not-before", source_queried=-2),
            probes("still-queried", edited_queried=0.5),
            probes("not-inverse", edited_inverse=-0.5),
            probes("both-no", edited_inverse=-0.5, edited_queried=-0.5),
        ]
    )
    assert events(judge(edits)) == {
        "all": (1, 1, 1),
        "no-subject": (1, 0, 0),
        "no-object": (1, 0, 0),
        "inverse-before": (1, 1, 0),
        "not-before": (1, 1, 0),
        "still-queried": (0, 0, 0),
        "not-inverse": (0, 0, 0),
        "both-no": (0, 0, 0),
    }


def test_margin_of_zero_answers_yes_in_every_role():
    zeros = {role: probes(role, **{role: 0.0}) for role in ROLES}
    got = events(judge(pd.concat(zeros.values())))
    assert got == {
        "source_queried": (1, 1, 1),
        "source_inverse": (1, 1, 0),  # yes to the inverse before
        "edited_queried": (0, 0, 0),  # yes to what no longer holds
        "edited_inverse": (1, 1, 1),
        "subject_present": (1, 1, 1),
        "object_present": (1, 1, 1),
    }


margin = st.sampled_from([-1.0, -0.0, 0.0, 1.0]) | st.floats(-9, 9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(*[margin] * 6), min_size=1, max_size=12))
def test_edit_outcomes_are_the_products_of_the_paper(rows):
    edits = pd.concat(
        [
            probes(f"e{i}", f"p{i % 3}", **dict(zip(ROLES, row, strict=True)))
            for i, row in enumerate(rows)
        ]
    )
    found = judge(edits.sample(frac=1, random_state=0)).set_index("edit_id")
    for i, row in enumerate(rows):
        z = {role: int(m >= 0) for role, m in zip(ROLES, row, strict=True)}
        relation = (1 - z["edited_queried"]) * z["edited_inverse"]
        visible = relation * z["subject_present"] * z["object_present"]
        strict = visible * z["source_queried"] * (1 - z["source_inverse"])
        got = found.loc[f"e{i}", [*TARGETS, "source_consistent"]].astype(int).tolist()
        assert got == [relation, visible, strict, z["source_queried"] * (1 - z["source_inverse"])]
    # Strict successes are the visible ones within the source condition (identity 12).
    within = found.loc[found["source_consistent"], "edit_visible"]
    assert found["edit_strict"].sum() == within.sum()


def test_edit_outcomes_carry_the_source_and_keep_the_order():
    margins = pd.concat([statements(model="z"), statements(model="a")])
    edits = pd.concat([probes("e1", "p2", "z"), probes("e0", "p1", "z"), probes("e0", "p1", "a")])
    found = judge(edits, margins)
    assert found[["model", "edit_id", "pair_id"]].apply(tuple, axis=1).tolist() == [
        ("z", "e1", "p2"),
        ("z", "e0", "p1"),
        ("a", "e0", "p1"),
    ]
    row = found.iloc[0]
    assert row["dataset"] == "edits" and row["sample_id"] == "p2-true"
    assert row["margin_original"] == row["confidence"] == 3.0
    assert row["image_gap"] == 2.5 and row["interaction_gap"] == 5.0
    assert row["axis"] == "horizontal" and row["direction"] == 1
    assert row[["dependent", "correct", "relation_consistent", "joint", "pair_credit"]].all()


def test_confidence_is_absolute_and_labels_are_not_needed():
    margins = statements().drop(columns=["label", "relation"])
    margins.loc[0, "margin_original"] = -2.0  # the true statement of p0
    found = judge(probes("e0"), margins).iloc[0]
    assert found["confidence"] == 2.0 and found["margin_original"] == -2.0
    assert pd.isna(found["correct"]) and found["relation"] is None and found["axis"] is None
    assert not found["relation_consistent"]


def test_edit_outcomes_of_no_edits_is_empty():
    found = judge(probes("e0").iloc[:0])
    assert len(found) == 0 and "edit_visible" in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e[e["probe_role"] != "object_present"],
         "got none of 'object_present' for edit_id 'e0' .model 'm', 1 of 1"),
        (lambda e: pd.concat([e, e.iloc[[1]]]),
         "got more than one of 'source_inverse' for edit_id 'e0'"),
        (lambda e: e.replace("object_present", "object_there"),
         "`probe_role` must be one of source_queried.*got 'object_there' for sample_id"),
        (lambda e: e.assign(pair_id=None), "`pair_id` must be given, got None"),
        (lambda e: e.assign(edit_id=None), "`edit_id` must be given, got None"),
        (lambda e: e.drop(columns="probe_role"), "Column `probe_role` is missing"),
        (lambda e: e.drop(columns="margin_original"), "Column `margin_original` is missing"),
        (lambda e: e.assign(margin_original=np.nan), "must be finite, got nan"),
        (lambda e: e.assign(pair_id="p9"),
         "got none for pair_id 'p9' of edit_id 'e0' .model 'm', 1 of 1 edits"),
        (lambda e: e.assign(model="other"), "got none for pair_id 'p0'.*model 'other'"),
        (lambda e: e.assign(interface="true_false"), "one `interface`, got 'true_false', 'yes_no'"),
    ],
)  # fmt: skip
def test_edit_outcomes_refuses(change, said):
    with pytest.raises(SchemaError, match=said):
        judge(change(probes("e0")))


def test_pairs_of_two_data_sets_are_refused():
    margins = pd.concat([statements(), statements().assign(dataset="photos")])
    with pytest.raises(SchemaError, match="pair_id 'p0' .model 'm'. in several data sets"):
        judge(probes("e0"), margins)


@pytest.mark.parametrize("column", ["relation_consistent", "joint", "pair_id", "sample_id"])
def test_missing_pair_column_is_named(column):
    margins = statements()
    pairs = audit_pairs(margins).drop(columns=column)
    with pytest.raises(SchemaError, match=f"Column `{column}` is missing"):
        edit_outcomes(probes("e0"), audit_support(margins), pairs)


def test_source_records_are_of_the_true_statement():
    margins = statements()
    margins.loc[margins["sample_id"] == "p1-false", "margin_original"] = 4.0  # false accepted
    margins.loc[margins["sample_id"] == "p2-true", "margin_original"] = -4.0  # true rejected
    audit, pairs = audit_support(margins), audit_pairs(margins)
    found = source_records(audit.sample(frac=1, random_state=1), pairs)
    assert found["pair_id"].tolist() == ["p0", "p1", "p2"]
    assert found["relation_consistent"].tolist() == [True, False, False]
    assert found["false_only"].tolist() == [True, False, pd.NA]
    assert found["direction"].tolist() == [1, 1, -1]


def test_source_records_need_each_true_statement_once():
    margins = statements()
    audit, pairs = audit_support(margins), audit_pairs(margins)
    with pytest.raises(SchemaError, match="none for sample_id 'p1-true' .model 'm', 1 of 3 pairs"):
        source_records(audit[audit["sample_id"] != "p1-true"], pairs)
    with pytest.raises(SchemaError, match="once in `audit`, got sample_id 'p1-true'"):
        source_records(pd.concat([audit, audit[audit["sample_id"] == "p1-true"]]), pairs)


@pytest.mark.parametrize(
    ("relation", "axis"),
    [
        ("left", "horizontal"),
        ("to the right of", "horizontal"),
        ("at_the_left_side_of", "horizontal"),
        ("Above", "vertical"),
        ("below", "vertical"),
        ("in front of", "depth"),
        ("behind", "depth"),
        ("touching", None),
        ("leftover", None),
        (None, None),
        (np.nan, None),
    ],
)
def test_axis_of_a_relation(relation, axis):
    assert axis_of(relation) == axis


def test_restrict_edits_to_those_named_with_scored_pairs():
    pairs = audit_pairs(pd.concat([statements(2), statements(1, model="n")]))
    edits = pd.concat(
        [probes("e0", "p0"), probes("e1", "p1"), probes("e2", "p2")]
        + [probes("e0", "p0", "n"), probes("e1", "p1", "n")]
    )
    kept = restrict_edits(edits, pairs, ["e1", "e2", "e0"])
    assert kept[["model", "edit_id"]].drop_duplicates().apply(tuple, axis=1).tolist() == [
        ("m", "e0"),
        ("m", "e1"),
        ("n", "e0"),
    ]
    assert len(kept) == 18
    assert restrict_edits(edits, pairs, ["e1"])["model"].unique().tolist() == ["m"]
    with pytest.raises(SchemaError, match=r"none of 3 edits \(1 accepted, 2 with scores\)"):
        restrict_edits(edits, pairs, ["e2"])
