"""What users bring to the metrics: columns that are missing or misspelt, ties, other interfaces."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from vca_core import metrics
from vca_core.metrics.filtering import rank_panel
from vca_core.metrics.probability import probability_difference
from vca_core.metrics.ranking import ranking_rates
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank", "mean_color", "mismatch", "relation_erased",
            "irrelevant_erased")  # fmt: skip
AUDIT_RATES = [
    metrics.support_rates,
    metrics.outcome_decomposition,
    metrics.decision_survival,
    metrics.balanced_rates,
    metrics.sensitivity_rates,
    metrics.permutation_calibration,
    metrics.gap_summary,
    metrics.control_variants,
    metrics.control_sets,
    metrics.mean_color_comparison,
    metrics.visual_dependence,
    metrics.empirical_null,
]


def generator():
    return np.random.default_rng(4)


def quick(function, frame, **options):
    return function(frame, n_resamples=3, rng=generator(), **options)


@pytest.fixture
def audit():
    rng = generator()
    frame = pd.DataFrame(rng.integers(-2, 3, (32, 7)).astype(float),
                         columns=[f"margin_{c}" for c in CONTEXTS])  # fmt: skip
    frame["sample_id"] = [f"s{i % 16:02d}" for i in range(32)]
    frame["pair_id"] = [f"p{i % 16 // 2}" for i in range(32)]
    frame["polarity"] = ["true", "false"] * 16
    frame["label"] = ["yes", "no"] * 16
    frame["model"] = ["a"] * 16 + ["b"] * 16
    return metrics.audit_support(frame.assign(dataset="d"))


@pytest.mark.parametrize("function", AUDIT_RATES, ids=lambda f: f.__name__)
def test_a_missing_column_is_named_or_not_needed(audit, function):
    for column in audit.columns:
        try:
            quick(function, audit.drop(columns=column))
        except SchemaError as error:
            assert f"`{column}`" in str(error), (column, str(error))


def test_a_missing_column_of_filters_is_named_or_not_needed(audit):
    kept = metrics.kept_records(audit, ["vca", "confidence"], coverages=(0.5,))
    for column in audit.columns:
        for function in (metrics.filtered_rates, metrics.filter_overlaps):
            options = {} if function is metrics.filtered_rates else {"coverage": 0.5}
            try:
                function(audit.drop(columns=column), kept, n_resamples=3, rng=generator(),
                         **options)  # fmt: skip
            except SchemaError as error:
                assert f"`{column}`" in str(error), (column, str(error))


def test_a_misspelt_cluster_is_no_cluster_of_its_own(audit):
    call = {"n_resamples": 3, "rng": generator(), "cluster": "pairid"}
    with pytest.raises(SchemaError, match="`pairid` is missing"):
        ranking_rates(audit, ["correct"], ["image_gap"], **call)
    with pytest.raises(SchemaError, match="`pairid` is missing"):
        metrics.surface_agreement(audit, audit, **call)


@pytest.mark.parametrize(
    "function",
    [metrics.visual_dependence, metrics.control_sets, metrics.support_rates, metrics.gap_summary],
    ids=lambda f: f.__name__,
)
def test_one_name_may_stand_for_by(audit, function):
    first, second = (quick(function, audit, by=by) for by in ("model", ("model",)))
    pd.testing.assert_frame_equal(first, second)


def test_events_that_are_no_events_are_refused(audit):
    bad = audit.assign(event=2)
    with pytest.raises(SchemaError, match="`event` must hold events"):
        ranking_rates(bad, ["event"], ["image_gap"], n_resamples=3, rng=generator())
    with pytest.raises(ValueError, match="`n_resamples` must be at least 1, got -1"):
        metrics.support_rates(audit, n_resamples=-1, rng=generator())


@pytest.mark.parametrize("column", ["interface", "wording"])
def test_filters_refuse_two_interfaces_or_wordings(audit, column):
    both = pd.concat([audit.assign(**{column: "one"}), audit.assign(**{column: "two"})])
    with pytest.raises(SchemaError, match=f"one `{column}`, got 'one', 'two'"):
        metrics.panel_score(both, "vca")


@pytest.mark.parametrize("values", [["True", "False"], [True, None], [1.0, np.nan]])
def test_a_feasible_that_is_no_truth_value_is_refused_or_kept_apart(audit, values):
    pairs = metrics.audit_pairs(audit)
    geometry = pd.DataFrame({"pair_id": [f"p{i}" for i in range(8)]})
    geometry["feasible"] = pd.Series([True] * 6 + values, dtype=object)
    with pytest.raises(SchemaError, match="`feasible` must be true or false, got .* 'p[67]'"):
        metrics.feasibility_contrast(audit.assign(relation="left"), pairs.assign(relation="left"),
                                     geometry, n_resamples=3, rng=generator())  # fmt: skip


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(-80, 80), st.floats(-80, 80))
def test_probability_difference_is_exact_in_ties_and_signs(x, y):
    found = probability_difference(np.array([x]), np.array([y]))[0]
    assert found == pytest.approx(expit(x) - expit(y), abs=1e-14)  # sinh(40) is 40 ulp off
    assert found == probability_difference(np.array([-y]), np.array([-x]))[0]
    assert np.sign(found) == np.sign(x - y)


def test_models_in_another_order_leave_a_panel_as_it_is():
    means = pd.DataFrame(generator().normal(size=(3, 40)))
    for order in itertools.permutations(range(3)):
        pd.testing.assert_series_equal(
            rank_panel(means.iloc[list(order)], ranked=False), rank_panel(means, ranked=False)
        )
