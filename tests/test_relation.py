import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import audit_pairs, audit_support, pair_decomposition, relation_rates
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank")
EVENTS = ("relation_consistent", "pair_credit", "pair_dependent", "joint")


def generator():
    return np.random.default_rng(20260719)


def frame_of(rows):
    names = ["pair_id", "polarity", *(f"margin_{context}" for context in CONTEXTS)]
    frame = pd.DataFrame(rows, columns=names)
    counts = frame.groupby("pair_id", dropna=False).cumcount().astype(str)
    frame.insert(0, "sample_id", frame["pair_id"].fillna("alone") + "-" + counts)
    return frame.assign(model="toy", dataset="pairs", interface="yes_no", wording="canonical")


@pytest.fixture
def margins():
    """Six pairs whose events can be read off, and a statement without a pair."""
    return frame_of(
        [
            ("joint", "true", 3.0, 1.0, -1.0),
            ("joint", "false", -2.0, 1.0, 0.0),
            # Consistent; text supports the false statement's no more than the image does.
            ("half", "false", -1.0, -2.0, 0.5),
            ("half", "true", 2.0, 0.0, 1.0),
            # Both dependent and both yes: no discrimination, and no separation.
            ("both", "true", 2.0, 1.0, 1.0),
            ("both", "false", 2.0, 1.0, 1.0),
            # Consistent without the image as with it, in every context.
            ("prior", "true", 1.0, 1.0, 2.0),
            ("prior", "false", -1.0, -1.0, -0.5),
            # Both no, and still set apart by the image.
            ("low", "true", -1.0, -1.0, -1.0),
            ("low", "false", -3.0, -1.0, -1.0),
            # Exactly zero answers yes: the true statement is accepted, the false one not rejected.
            ("zero", "true", 0.0, -1.0, -1.0),
            ("zero", "false", -0.0, -1.0, -1.0),
            (None, None, 1.0, 0.0, 0.0),
        ]
    )


def test_audit_pairs_events_read_off(margins):
    pairs = audit_pairs(margins).set_index("pair_id")
    assert pairs.index.tolist() == ["joint", "half", "both", "prior", "low", "zero"]
    expected = {
        "relation_consistent": [True, True, False, True, False, False],
        "relation_text_only": [False, True, False, True, False, False],
        "relation_blank": [False, False, False, True, False, False],
        "pair_credit": [True, True, False, False, True, False],
        "pair_dependent": [True, False, True, False, False, True],
        "joint": [True, False, False, False, False, False],
    }
    for event, values in expected.items():
        assert pairs[event].dtype == bool
        assert pairs[event].tolist() == values, event


def test_audit_pairs_gaps_read_off(margins):
    pairs = audit_pairs(margins).set_index("pair_id")
    assert pairs["relation_gap_original"].tolist() == [5, 3, 0, 2, 2, 0]
    assert pairs["relation_gap_text_only"].tolist() == [0, 2, 0, 2, 0, 0]
    assert pairs["relation_gap_blank"].tolist() == [-1, 0.5, 0, 2.5, 0, 0]
    assert pairs["interaction_gap"].tolist() == [5, 1, 0, -0.5, 2, 0]


def test_audit_pairs_names_the_true_statement(margins):
    relation = margins.assign(relation=[f"r{i}" for i in range(len(margins))])
    pairs = audit_pairs(relation).set_index("pair_id")
    assert pairs.loc["half", ["sample_id", "relation", "n_false"]].tolist() == ["half-1", "r3", 1]
    assert "relation" not in audit_pairs(margins)


def test_audit_pairs_takes_the_highest_of_several_false_statements():
    pair = audit_pairs(
        frame_of(
            [
                ("p", "false", -2.0, 1.0, 0.0),
                ("p", "true", 4.0, 0.5, 2.0),
                ("p", "false", -1.0, 0.0, 0.5),
            ]
        )
    ).iloc[0]
    assert pair["n_false"] == 2 and pair["joint"]
    gaps = pair[[f"relation_gap_{context}" for context in CONTEXTS]].tolist()
    assert gaps == [5, -0.5, 1.5] and pair["interaction_gap"] == 3.5


@pytest.mark.parametrize(
    "changed, consistent, dependent",
    [((1.0, 0.0, 0.0), False, True), ((-1.0, -2.0, 0.0), True, False)],
)
def test_one_false_statement_is_enough_to_break_a_pair(changed, consistent, dependent):
    rows = [("p", "true", 2.0, 1.0, 1.0), ("p", "false", -3.0, 0.0, 0.0)]
    pair = audit_pairs(frame_of([*rows, ("p", "false", *changed)])).iloc[0]
    assert audit_pairs(frame_of(rows))["joint"].all() and not pair["joint"]
    assert pair["relation_consistent"] == consistent and pair["pair_dependent"] == dependent


def test_audit_pairs_needs_no_labels_and_takes_an_audited_frame(margins):
    wrong = margins.assign(label="neither")
    labelled = margins.assign(label="yes", relation="left")
    first = audit_pairs(margins)
    pd.testing.assert_frame_equal(audit_pairs(wrong), first)
    audited = audit_pairs(audit_support(labelled))
    pd.testing.assert_frame_equal(audited.drop(columns="relation"), first)


def test_audit_pairs_without_an_image_effect_credits_nothing(margins):
    original = margins["margin_original"]
    flat = audit_pairs(margins.assign(margin_text_only=original, margin_blank=original))
    assert not flat[["pair_credit", "pair_dependent", "joint"]].any(axis=None)
    assert (flat["interaction_gap"] == 0).all()
    assert (flat["relation_text_only"] == flat["relation_consistent"]).all()


def test_audit_pairs_with_silent_controls_has_the_original_gap_as_interaction(margins):
    silent = audit_pairs(margins.assign(margin_text_only=0.0, margin_blank=0.0))
    assert (silent["interaction_gap"] == silent["relation_gap_original"]).all()
    assert (silent["joint"] == silent["relation_consistent"]).all()


def test_audit_pairs_keeps_models_interfaces_and_wordings_apart(margins):
    other = [
        margins.assign(model="other", margin_blank=9.0),
        margins.assign(interface="true_false", margin_blank=9.0),
        margins.assign(wording="synonym_1", margin_blank=9.0),
        margins.assign(dataset="more", margin_blank=9.0),
    ]
    pairs = audit_pairs(pd.concat([margins, *other]))
    assert len(pairs) == 5 * 6
    pd.testing.assert_frame_equal(pairs.iloc[:6], audit_pairs(margins))
    without = margins.drop(columns=["interface", "wording"])
    events = ["pair_id", *EVENTS]
    pd.testing.assert_frame_equal(audit_pairs(without)[events], audit_pairs(margins)[events])


def test_joint_keeps_its_interaction_where_the_rounded_gaps_are_equal():
    step = 2.0**-52
    true, false = (1.5 + step, 1.5, 0.0), (-3.0, -3.0 + 2 * step, 0.0)
    pair = audit_pairs(frame_of([("p", "true", *true), ("p", "false", *false)])).iloc[0]
    assert pair["joint"] and pair["pair_credit"]
    assert pair["relation_gap_original"] == pair["relation_gap_text_only"] == 4.5
    assert pair["interaction_gap"] == 3 * step


@pytest.mark.parametrize(
    "column",
    ["model", "dataset", "sample_id", "pair_id", "polarity", *(f"margin_{c}" for c in CONTEXTS)],
)
def test_audit_pairs_names_a_missing_column(margins, column):
    with pytest.raises(SchemaError, match=f"`{column}` is missing"):
        audit_pairs(margins.drop(columns=column))


def test_audit_pairs_refuses_a_pair_that_is_none(margins):
    two = margins.assign(polarity=margins["polarity"].where(margins["pair_id"] != "low", "true"))
    rule = "`pair_id` must name one true and at least one false statement, got "
    with pytest.raises(SchemaError, match=f"{rule}2 true for pair_id 'low' .*1 of 6 pairs"):
        audit_pairs(two)
    single = margins.drop(index=[1, 9])
    with pytest.raises(SchemaError, match=f"{rule}1 true for pair_id 'joint' .*2 of 6 pairs"):
        audit_pairs(single)
    doubled = pd.concat([margins, margins.iloc[[4]].assign(sample_id="again")])
    with pytest.raises(SchemaError, match=f"{rule}2 true and 1 false for pair_id 'both'"):
        audit_pairs(doubled)
    with pytest.raises(SchemaError, match=f"{rule}1 false for pair_id 'half' .model 'toy'"):
        audit_pairs(margins.drop(index=3))


def test_audit_pairs_refuses_an_unknown_polarity(margins):
    margins.loc[3, "polarity"] = None
    with pytest.raises(SchemaError, match="`polarity` must be 'true' or 'false'.*'half-1'"):
        audit_pairs(margins)


def test_audit_pairs_refuses_a_margin_that_is_no_number_and_a_repeated_record(margins):
    with pytest.raises(SchemaError, match="`margin_blank` must be finite, got nan.*'half-0'"):
        audit_pairs(margins.assign(margin_blank=margins["margin_blank"].where(lambda v: v != 0.5)))
    with pytest.raises(SchemaError, match="must stand once"):
        audit_pairs(pd.concat([frame_of([("p", "true", 1, 0, 0), ("p", "false", 1, 0, 0)])] * 2))


def test_audit_pairs_says_when_there_is_no_pair_and_keeps_an_empty_frame_empty(margins):
    with pytest.raises(SchemaError, match="got null in all 13 rows"):
        audit_pairs(margins.assign(pair_id=None))
    empty = audit_pairs(margins.iloc[:0])
    assert len(empty) == 0 and list(empty.columns) == list(audit_pairs(margins).columns)
    assert len(relation_rates(empty, n_resamples=5, rng=generator())) == 0


def test_relation_rates_are_means_over_pairs(margins):
    pairs = audit_pairs(margins)
    rates = relation_rates(pairs, n_resamples=200, rng=generator()).set_index("metric")
    assert rates["value"].to_dict() == {
        "relation_consistent": 3 / 6,
        "relation_text_only": 2 / 6,
        "relation_blank": 1 / 6,
        "pair_credit": 3 / 6,
        "pair_dependent": 3 / 6,
        "joint": 1 / 6,
        "relation_gap_original": 2,
        "relation_gap_text_only": pytest.approx(4 / 6),
        "relation_gap_blank": pytest.approx(2 / 6),
        "interaction_gap": pytest.approx(7.5 / 6),
    }
    assert (rates["n"] == 6).all() and (rates["n_clusters"] == 6).all()
    assert (rates["low"] <= rates["value"]).all() and (rates["value"] <= rates["high"]).all()


def test_relation_rates_resample_pairs_over_pooled_models(margins):
    pairs = audit_pairs(margins)
    twice = pd.concat([pairs, pairs.assign(model="other")])
    once = relation_rates(pairs, by="dataset", n_resamples=300, rng=generator())
    pooled = relation_rates(twice, by="dataset", n_resamples=300, rng=generator())
    assert (pooled["n"] == 12).all() and (pooled["n_clusters"] == 6).all()
    for column in ("value", "low", "high"):  # a second copy of every pair tells nothing new
        np.testing.assert_allclose(pooled[column], once[column], rtol=1e-12)


def test_relation_rates_do_not_depend_on_the_order_of_rows(margins):
    backwards = audit_pairs(margins.iloc[::-1])
    first = relation_rates(audit_pairs(margins), n_resamples=50, rng=generator())
    second = relation_rates(backwards, n_resamples=50, rng=generator())
    pd.testing.assert_frame_equal(first, second, rtol=1e-12)


def test_pair_decomposition_puts_each_pair_into_one_part(margins):
    parts = pair_decomposition(audit_pairs(margins), n_resamples=50, rng=generator())
    share = parts.set_index("metric")["value"]
    assert (share * 6).round(9).to_dict() == {
        "joint": 1,  # joint
        "consistent_credit": 1,  # half
        "consistent_only": 1,  # prior
        "credit_only": 1,  # low
        "neither": 2,  # both, zero
    }
    assert (parts["n"] == 6).all()
    with pytest.raises(SchemaError, match="`audit_pairs` first"):
        pair_decomposition(margins, n_resamples=5, rng=generator())


def test_relation_rates_refuse_mixed_interfaces_and_margins(margins):
    pairs = audit_pairs(pd.concat([margins, margins.assign(interface="true_false")]))
    with pytest.raises(SchemaError, match="one `interface`"):
        relation_rates(pairs, n_resamples=5, rng=generator())
    with pytest.raises(SchemaError, match="`relation_consistent` is missing.*`audit_pairs` first"):
        relation_rates(margins, n_resamples=5, rng=generator())


def test_without_polarity_the_label_says_which_statement_is_true(margins):
    labelled = margins.assign(label=margins["polarity"].map({"true": "yes", "false": "no"}))
    for frame in (labelled.drop(columns="polarity"), labelled.assign(polarity=None)):
        pd.testing.assert_frame_equal(audit_pairs(frame), audit_pairs(margins))
    with pytest.raises(SchemaError, match="`polarity` is missing"):
        audit_pairs(margins.drop(columns="polarity"))
    some = labelled.assign(polarity=margins["polarity"].where(margins.index > 0))
    with pytest.raises(SchemaError, match="`polarity` must be 'true' or 'false'.*'joint-0'"):
        audit_pairs(some)
