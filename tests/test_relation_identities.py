"""What holds on the relation axis for any margins: ties, zeros, very different sizes."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import audit_pairs, audit_support, pair_decomposition

CONTEXTS = ("original", "text_only", "blank")
EVENTS = ("relation_consistent", "pair_credit", "pair_dependent", "joint")


margin = (
    st.sampled_from([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0])
    | st.floats(-50, 50)
    | st.sampled_from([2.0**-60, -(2.0**-60), 1.0 + 2.0**-52, 1.0 - 2.0**-53, 5e-324])
)
three = st.tuples(margin, margin, margin)
random_pairs = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def frames(draw, most_false=3):
    rows = []
    for number in range(draw(st.integers(1, 8))):
        rows.append((f"p{number}", "true", *draw(three)))
        for _ in range(draw(st.integers(1, most_false))):
            rows.append((f"p{number}", "false", *draw(three)))
    names = ["pair_id", "polarity", *(f"margin_{context}" for context in CONTEXTS)]
    frame = pd.DataFrame(rows, columns=names)
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    return frame.assign(model="m", dataset="d")


def slow_pair(statements):
    """Write the definition down, pair by pair, in exact fractions."""
    margins = {
        polarity: [
            [Fraction(value) for value in row]
            for row in part[[f"margin_{c}" for c in CONTEXTS]].to_numpy()
        ]
        for polarity, part in statements.groupby("polarity")
    }
    (true,), falses = margins["true"], margins["false"]
    consistent = [true[c] >= 0 and all(false[c] < 0 for false in falses) for c in range(3)]
    gap = [true[c] - max(false[c] for false in falses) for c in range(3)]
    dependent = []
    for m in (true, *falses):
        d = 1 if m[0] >= 0 else -1
        dependent.append(d * m[0] > max(d * m[1], d * m[2]))
    return consistent, gap, gap[0] - max(gap[1:]), all(dependent)


@random_pairs
@given(frames())
def test_audit_pairs_matches_the_slow_definition(margins):
    pairs = audit_pairs(margins)
    for found in pairs.to_dict("records"):
        statements = margins[margins["pair_id"] == found["pair_id"]]
        consistent, gap, interaction, dependent = slow_pair(statements)
        names = ("relation_consistent", "relation_text_only", "relation_blank")
        assert [found[name] for name in names] == consistent
        assert found["pair_credit"] == (interaction > 0)
        assert found["pair_dependent"] == dependent
        assert found["joint"] == (consistent[0] and dependent)
        assert found["n_false"] == len(statements) - 1
        assert found["interaction_gap"] == float(interaction)
        for context, exact in zip(CONTEXTS, gap, strict=True):
            assert found[f"relation_gap_{context}"] == float(exact)


@random_pairs
@given(frames())
def test_joint_implies_a_positive_interaction(margins):
    pairs = audit_pairs(margins)
    assert (pairs.loc[pairs["joint"], "interaction_gap"] > 0).all()
    assert pairs.loc[pairs["joint"], "pair_credit"].all()
    near = pairs["relation_gap_original"] - pairs[
        ["relation_gap_text_only", "relation_gap_blank"]
    ].max(axis=1)
    np.testing.assert_allclose(pairs["interaction_gap"], near, rtol=1e-12, atol=1e-12)


@random_pairs
@given(frames())
def test_shares_of_pairs_keep_their_bounds(margins):
    pairs = audit_pairs(margins)
    n, rate = len(pairs), pairs[list(EVENTS)].sum()
    consistent, credit, dependent, joint = rate[list(EVENTS)]
    assert joint <= min(consistent, dependent, credit)
    assert joint >= consistent + dependent - n
    parts = pair_decomposition(pairs, n_resamples=2, rng=np.random.default_rng(0))
    count = (parts.set_index("metric")["value"] * n).round(9)
    assert count.sum() == n and count["joint"] == joint
    assert count[["joint", "consistent_credit", "consistent_only"]].sum() == consistent
    assert count[["joint", "consistent_credit", "credit_only"]].sum() == credit
    gap = {context: pairs[f"relation_gap_{context}"].mean() for context in CONTEXTS}
    highest = gap["original"] - max(gap["text_only"], gap["blank"])
    slack = 1e-12 * (1 + pairs.filter(like="gap").abs().to_numpy().max())
    assert pairs["interaction_gap"].mean() <= highest + slack


@random_pairs
@given(frames(most_false=1))
def test_pair_dependence_is_bounded_by_dep_and_consistency_by_accuracy(margins):
    label = margins["polarity"].map({"true": "yes", "false": "no"})
    audit = audit_support(margins.assign(label=label))
    pairs = audit_pairs(audit)
    assert 2 * pairs["pair_dependent"].sum() <= audit["dependent"].sum()
    by_polarity = audit.groupby("polarity")["correct"].sum()
    consistent = pairs["relation_consistent"].sum()
    assert by_polarity.sum() - len(pairs) <= consistent <= by_polarity.min()


@random_pairs
@given(frames(), st.randoms(use_true_random=False))
def test_row_order_changes_no_pair(margins, random):
    order = list(range(len(margins)))
    random.shuffle(order)
    first = audit_pairs(margins).set_index("pair_id")
    shuffled = audit_pairs(margins.iloc[order]).set_index("pair_id").loc[first.index]
    pd.testing.assert_frame_equal(first, shuffled)


@random_pairs
@given(frames(), margin.map(abs))
def test_a_shared_offset_moves_no_gap(margins, offset):
    """What both statements share cancels: the interaction is a difference of differences."""
    rounded = margins.assign(
        **{f"margin_{c}": np.round(margins[f"margin_{c}"] * 64) / 64 for c in CONTEXTS}
    )
    step = math.floor(offset * 64) / 64
    moved = rounded.assign(margin_blank=rounded["margin_blank"] + step)
    first, second = audit_pairs(rounded), audit_pairs(moved)
    for column in ("relation_gap_blank", "interaction_gap", "pair_credit"):
        pd.testing.assert_series_equal(first[column], second[column])
