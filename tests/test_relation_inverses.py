import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import audit_pairs, pair_inverses, relation_rates
from vca_core.records import SchemaError


@pytest.fixture
def statements():
    rows = [
        ("s0", "yes", 2.0, 0.0, 1.0),
        ("s1", "no", -1.0, 0.0, 0.0),
        ("s2", "yes", 1.0, 1.0, 0.0),
    ]
    names = ["sample_id", "label", "margin_original", "margin_text_only", "margin_blank"]
    frame = pd.DataFrame(rows, columns=names).assign(pair_id=None, polarity=None, relation="left")
    frame = frame.assign(dataset="own", interface="yes_no", wording="canonical")
    return pd.concat([frame.assign(model="a"), frame.assign(model="b")], ignore_index=True)


@pytest.fixture
def inverses():
    rows = [("s2-inverse", "s2", -1.0, 0.0, 0.0), ("s0-inverse", "s0", -3.0, 0.0, -1.0)]
    names = ["sample_id", "pair_id", "margin_original", "margin_text_only", "margin_blank"]
    frame = pd.DataFrame(rows, columns=names).assign(polarity="false", label="no", relation="right")
    frame = frame.assign(dataset="own_inverse", interface="yes_no", wording="canonical")
    return pd.concat([frame.assign(model="a"), frame.assign(model="b")], ignore_index=True)


def test_pair_inverses_makes_pairs_of_the_statements_own_data_set(statements, inverses):
    paired = pair_inverses(statements, inverses)
    assert list(paired.columns) == list(statements.columns)
    assert (paired["dataset"] == "own").all()
    one = paired[paired["model"] == "a"].set_index("sample_id")
    assert one.index.tolist() == ["s0", "s2", "s2-inverse", "s0-inverse"]  # s1 has no inverse
    assert one["pair_id"].tolist() == ["s0", "s2", "s2", "s0"]
    assert one["polarity"].tolist() == ["true", "true", "false", "false"]
    assert one["label"].tolist() == ["yes", "yes", "no", "no"]
    pairs = audit_pairs(paired)
    assert pairs[["model", "pair_id"]].to_numpy().tolist() == [
        ["a", "s0"],
        ["a", "s2"],
        ["b", "s0"],
        ["b", "s2"],
    ]
    assert pairs["interaction_gap"].tolist() == [3, 1, 3, 1]
    assert pairs["relation"].tolist() == ["left"] * 4


def test_pair_inverses_gives_the_pairs_of_a_frame_that_has_them(statements, inverses):
    both = pd.concat(
        [
            statements[statements["sample_id"] != "s1"].assign(
                polarity="true", pair_id=lambda frame: frame["sample_id"]
            ),
            inverses.assign(dataset="own"),
        ]
    )
    pd.testing.assert_frame_equal(
        audit_pairs(pair_inverses(statements, inverses)), audit_pairs(both[statements.columns])
    )


def test_pair_inverses_needs_no_pair_columns_in_the_statements(statements, inverses):
    bare = statements.drop(columns=["pair_id", "polarity", "interface", "wording"])
    one = inverses[inverses["model"] == "a"]
    pairs = audit_pairs(pair_inverses(bare, one))
    assert pairs["pair_id"].tolist() == ["s0", "s2"]


def test_pair_inverses_takes_several_inverses_of_one_statement(statements, inverses):
    more = inverses.assign(sample_id=inverses["sample_id"] + "-2", margin_original=-0.5)
    pairs = audit_pairs(pair_inverses(statements, pd.concat([inverses, more])))
    assert (pairs["n_false"] == 2).all() and len(pairs) == 4
    assert pairs["relation_gap_original"].tolist() == [2.5, 1.5] * 2


def test_pair_inverses_without_any_inverse_is_empty_and_audited_as_such(statements, inverses):
    pairs = audit_pairs(pair_inverses(statements, inverses.iloc[:0]))
    assert len(pairs) == 0
    assert len(relation_rates(pairs, n_resamples=5, rng=np.random.default_rng(0))) == 0


def test_pair_inverses_refuses_an_inverse_without_its_true_statement(statements, inverses):
    rule = "`pair_id` of an inverse must be the sample_id of one true statement, got "
    lone = statements[(statements["sample_id"] != "s2") | (statements["model"] == "a")]
    with pytest.raises(SchemaError, match=f"{rule}none for pair_id 's2' .model 'b'.*1 such"):
        pair_inverses(lone, inverses)
    with pytest.raises(SchemaError, match=f"{rule}none for pair_id 's2' .*'true_false'.*2 such"):
        pair_inverses(statements[:3], inverses[:2].assign(interface="true_false"))
    with pytest.raises(SchemaError, match=f"{rule}none for pair_id None"):
        pair_inverses(statements, inverses.assign(pair_id=None))


def test_pair_inverses_refuses_a_statement_of_two_data_sets(statements, inverses):
    both = pd.concat([statements, statements.assign(dataset="more")])
    with pytest.raises(SchemaError, match="got more than one for pair_id 's0' .model 'a'"):
        pair_inverses(both, inverses)


@pytest.mark.parametrize("column", ["model", "dataset", "sample_id"])
def test_pair_inverses_names_a_missing_column(statements, inverses, column):
    with pytest.raises(SchemaError, match=f"`{column}` is missing"):
        pair_inverses(statements.drop(columns=column), inverses)
    with pytest.raises(SchemaError, match="`pair_id` is missing"):
        pair_inverses(statements, inverses.drop(columns="pair_id"))
