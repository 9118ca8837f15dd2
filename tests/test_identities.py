"""Identities that hold for any margins (and any labels), on random ones with ties and zeros."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import (
    audit_support,
    balanced_rates,
    decision_survival,
    outcome_decomposition,
    permutation_calibration,
    rates_by,
    sensitivity_rates,
    support_rates,
)

CONTEXTS = ("original", "text_only", "blank", "mismatch")
# A few round numbers, so that ties and zeros are common; and any finite number.
margin = st.sampled_from([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0]) | st.floats(-50, 50)
record = st.tuples(*[margin] * 4, st.sampled_from(["yes", "no"]), st.integers(0, 3))
OPTIONS = {"n_resamples": 4}


@st.composite
def frames(draw, labelled=True):
    rows = draw(st.lists(record, min_size=1, max_size=25))
    names = [*(f"margin_{c}" for c in CONTEXTS), "label", "pair"]
    frame = pd.DataFrame(rows, columns=names)
    # Pairs of unequal sizes, and records without one.
    frame["pair_id"] = [None if p == 0 else f"p{p}" for p in frame.pop("pair")]
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    return frame.assign(model="m", dataset="d")


def rates(function, audit, *args):
    frame = function(audit, *args, **OPTIONS, rng=np.random.default_rng(0))
    return frame.set_index("metric")


def count(rates, metric):
    """Turn a rate into its integer count."""
    exact = rates.loc[metric, "value"] * rates.loc[metric, "n"]
    assert exact == pytest.approx(round(exact), abs=1e-9)
    return round(exact)


random_margins = settings(max_examples=40, deadline=None, derandomize=True)


@random_margins
@given(frames())
def test_accuracy_is_dcc_plus_cu_and_cells_sum_to_one(margins):
    audit = audit_support(margins)
    four = rates(support_rates, audit)["value"]
    assert four["dcc"] + four["cu"] == pytest.approx(four["accuracy"], rel=1e-12)
    assert four["dcc"] <= min(four["accuracy"], four["dependent"])
    cells = rates(outcome_decomposition, audit)["value"].drop("credited_precision")
    assert cells.sum() == pytest.approx(1, rel=1e-12)
    assert cells["dcc"] + cells["support_advantaged_error"] == pytest.approx(four["dependent"])
    events = audit[["dcc", "cu", "support_advantaged_error", "wrong_not_dependent"]]
    assert (events.sum(axis=1) == 1).all()


@random_margins
@given(frames())
def test_strata_recombine_to_the_run(margins):
    audit = audit_support(margins)
    whole = rates(support_rates, audit)
    tables = {c: rates(rates_by, audit, c) for c in ("prediction", "label")}
    for strata in tables.values():
        for metric in ("accuracy", "dependent", "dcc", "cu"):
            parts = strata.loc[metric]
            total = (parts["value"].fillna(0) * parts["n"]).sum()
            assert total == pytest.approx(count(whole, metric), abs=1e-9)
    # The diagonal is shared: predicted a and correct is gold a and correct.
    for metric in ("accuracy", "dcc"):
        sums = [
            (
                t.loc[metric].set_index("stratum")["value"].fillna(0)
                * t.loc[metric].set_index("stratum")["n"]
            )
            for t in tables.values()
        ]
        np.testing.assert_allclose(sums[0], sums[1], atol=1e-9)


@random_margins
@given(frames())
def test_balanced_cu_is_balanced_accuracy_minus_balanced_dcc(margins):
    found = rates(balanced_rates, audit_support(margins)).reset_index()
    for _, part in found.groupby("stratified_by"):
        value = part.set_index("metric")["value"]
        assert value["cu"] == pytest.approx(value["accuracy"] - value["dcc"], nan_ok=True)


@random_margins
@given(frames())
def test_strict_implies_dependent_and_orders_hold(margins):
    audit = audit_support(margins)
    assert (audit["dependent"] | ~audit["strict"]).all()
    value = rates(sensitivity_rates, audit)["value"]
    assert value["strict"] <= value["dependent"]
    assert value["dependent_mismatch"] <= value["dependent"]
    assert value["strict_mismatch"] <= min(value["strict"], value["dependent_mismatch"])


@random_margins
@given(frames())
def test_survival_counts_add_up(margins):
    audit = audit_support(margins)
    survival = rates(decision_survival, audit)
    n = survival["n"].iloc[0]
    assert n == audit["dependent"].sum()
    if n == 0:
        assert survival["value"].isna().all()
        return
    assert count(survival, "both_same") + count(survival, "any_changes") == n
    neither = (
        n
        - count(survival, "text_only_same")
        - count(survival, "blank_same")
        + count(survival, "both_same")
    )
    # A control at exactly zero answers yes, so it may leave a "no" without opposing it.
    zero = (margins["margin_text_only"] == 0) | (margins["margin_blank"] == 0)
    strict = audit["strict"].sum()
    assert strict <= neither <= strict + (zero & audit["dependent"]).sum()
    if not zero.any():
        assert neither == strict
    # A decision that is not dependent is kept by at least one control.
    says_yes = audit["direction"] > 0
    kept = ((audit["margin_text_only"] >= 0) == says_yes) | (
        (audit["margin_blank"] >= 0) == says_yes
    )
    assert (kept | audit["dependent"]).all()


@random_margins
@given(frames())
def test_permutation_difference_is_the_rise_of_cu(margins):
    audit = audit_support(margins)
    found = rates(permutation_calibration, audit)["value"]
    support = audit["direction"] * audit["margin_mismatch"]
    control = pd.concat(
        [audit["direction"] * audit[f"margin_{c}"] for c in ("text_only", "blank")], axis=1
    ).max(axis=1)
    cu_permuted = (audit["correct"] & ~(support > control)).astype(float).mean()
    assert found["difference"] == pytest.approx(found["dcc"] - found["permutation_dcc"], abs=1e-12)
    only = found["original_only"] - found["permutation_only"]
    assert found["difference"] == pytest.approx(only, abs=1e-12)
    assert found["difference"] == pytest.approx(
        cu_permuted - rates(support_rates, audit)["value"]["cu"], abs=1e-12
    )


@random_margins
@given(frames())
def test_adding_a_control_only_removes_dependence(margins):
    audit = audit_support(margins)
    value = rates(sensitivity_rates, audit)["value"]
    support = audit["direction"] * audit["margin_mismatch"]
    with_mismatch = audit["dependent"] & (audit["margin_original"].abs() > support)
    assert not (with_mismatch & ~audit["dependent"]).any()
    agreement = (with_mismatch == audit["dependent"]).mean()
    drop = value["dependent"] - value["dependent_mismatch"]
    assert agreement == pytest.approx(1 - drop, abs=1e-12)
    # C-U of the headline is a subset of C-U with the control, so Jaccard is a ratio of counts.
    cu = audit["cu"].astype(bool)
    wider = audit["correct"].astype(bool) & ~with_mismatch
    assert (wider | ~cu).all()
    assert (cu & wider).sum() == cu.sum()


@random_margins
@given(frames())
def test_flipping_all_signs_leaves_dependence_unchanged(margins):
    columns = [f"margin_{c}" for c in CONTEXTS]
    flipped = margins.assign(**{c: -margins[c] for c in columns})
    decided = margins["margin_original"] != 0  # exact ties go to yes on both sides
    first, second = audit_support(margins), audit_support(flipped)
    for event in ("dependent", "strict"):
        assert (first[event] == second[event])[decided].all()


@random_margins
@given(frames(), st.randoms(use_true_random=False))
def test_row_order_never_changes_an_event_or_an_interval(margins, random):
    order = list(range(len(margins)))
    random.shuffle(order)
    audit, shuffled = audit_support(margins), audit_support(margins.iloc[order])
    pd.testing.assert_frame_equal(audit.iloc[order], shuffled)
    pd.testing.assert_frame_equal(rates(support_rates, audit), rates(support_rates, shuffled))


@random_margins
@given(frames())
def test_labels_enter_only_correctness(margins):
    swapped = margins.assign(label=margins["label"].map({"yes": "no", "no": "yes"}))
    first, second = audit_support(margins), audit_support(swapped)
    for event in ("direction", "image_gap", "dependent", "strict"):
        pd.testing.assert_series_equal(first[event], second[event])
    assert (first["correct"] != second["correct"]).all()


@random_margins
@given(frames(), st.floats(0.01, 100))
def test_scaling_the_margins_changes_no_event(margins, scale):
    rounded = margins.assign(**{f"margin_{c}": margins[f"margin_{c}"].round(3) for c in CONTEXTS})
    scaled = rounded.assign(**{f"margin_{c}": rounded[f"margin_{c}"] * scale for c in CONTEXTS})
    first, second = audit_support(rounded), audit_support(scaled)
    for event in ("dependent", "strict", "dcc", "cu"):
        pd.testing.assert_series_equal(first[event], second[event])
