import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import (
    audit_support,
    balanced_rates,
    decision_survival,
    gap_summary,
    outcome_decomposition,
    rates_by,
)


def generator():
    return np.random.default_rng(20260719)


@pytest.fixture
def margins():
    """Eight records of one run, each event readable from its row."""
    rows = [
        # id, pair, label, original, text_only, blank
        ("a-true", "a", "yes", 2.0, 1.0, -1.0),  # correct, dependent; text keeps, blank does not
        ("a-false", "a", "no", -2.0, -3.0, 1.0),  # correct, text supports it more
        ("b-true", "b", "yes", -1.0, 1.0, 2.0),  # wrong, dependent, strict
        ("b-false", "b", "no", 1.0, 1.0, 0.5),  # wrong, tie with text: not dependent
        ("c-true", None, "yes", 0.0, -1.0, -1.0),  # zero decides yes; strict
        ("d-true", None, "yes", 3.0, -1.0, -2.0),  # correct, strict
        ("e-true", None, "no", -4.0, -1.0, -2.0),  # correct, dependent, both keep
        ("f-true", None, "no", -1.0, 0.0, 0.0),  # correct; controls at zero answer yes
    ]
    names = ["sample_id", "pair_id", "label", "margin_original", "margin_text_only", "margin_blank"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(model="toy", dataset="pairs", interface="yes_no", wording="canonical")


def values(rates):
    return rates.set_index("metric")["value"].to_dict()


def test_outcome_decomposition_sums_to_one(margins):
    audit = audit_support(margins)
    found = values(outcome_decomposition(audit, n_resamples=50, rng=generator()))
    assert found.pop("credited_precision") == 5 / 6
    assert found == {
        "dcc": 5 / 8,
        "cu": 1 / 8,
        "support_advantaged_error": 1 / 8,
        "wrong_not_dependent": 1 / 8,
    }


def test_outcome_decomposition_without_dependence_has_no_precision(margins):
    flat = margins.assign(margin_text_only=margins["margin_original"])
    rates = outcome_decomposition(audit_support(flat), n_resamples=50, rng=generator())
    row = rates.set_index("metric").loc["credited_precision"]
    assert np.isnan(row["value"]) and np.isnan(row["low"])
    assert row["n"] == 0 and row["n_undefined"] == 50


def test_decision_survival_counts_dependent_records(margins):
    rates = decision_survival(audit_support(margins), n_resamples=50, rng=generator())
    # Dependent: a-true, b-true, c, d, e, f. Text keeps a-true and e, blank keeps e alone.
    assert values(rates) == {
        "text_only_same": 2 / 6,
        "blank_same": 1 / 6,
        "both_same": 1 / 6,
        "any_changes": 5 / 6,
    }
    assert (rates["n"] == 6).all()


def test_rates_by_prediction_and_label(margins):
    audit = audit_support(margins)
    by = rates_by(audit, "prediction", n_resamples=50, rng=generator())
    yes = by[by["stratum"] == "yes"].set_index("metric")["value"].to_dict()
    assert yes == {"accuracy": 3 / 4, "dependent": 3 / 4, "dcc": 3 / 4, "cu": 0, "strict": 2 / 4}
    by = rates_by(audit, "label", n_resamples=50, rng=generator())
    no = by[by["stratum"] == "no"].set_index("metric")["value"].to_dict()
    assert no == {"accuracy": 3 / 4, "dependent": 2 / 4, "dcc": 2 / 4, "cu": 1 / 4, "strict": 0}


def test_rates_by_shows_an_empty_stratum_and_a_null_one(margins):
    margins["relation"] = ["left", "left", "above", "above", None, None, "left", "left"]
    both = pd.concat([margins, margins[margins["relation"] == "left"].assign(model="left only")])
    rates = rates_by(audit_support(both), "relation", n_resamples=50, rng=generator())
    n = rates.query("metric == 'dependent'").set_index(["model", "stratum"])["n"]
    assert n[("left only", "above")] == 0 and n[("toy", "above")] == 2
    assert rates.query("model == 'left only' and stratum == 'above'")["value"].isna().all()
    assert rates[rates["stratum"].isna() & (rates["model"] == "toy")]["n"].eq(2).all()


def test_rates_by_of_one_class_leaves_the_other_empty(margins):
    always_yes = margins.assign(margin_original=margins["margin_original"].abs())
    audit = audit_support(always_yes)
    by = rates_by(audit, "prediction", n_resamples=50, rng=generator())
    no = by[by["stratum"] == "no"]
    assert len(no) == 5 and no["value"].isna().all() and (no["n"] == 0).all()
    balanced = balanced_rates(audit, n_resamples=50, rng=generator())
    assert balanced.query("stratified_by == 'prediction'")["value"].isna().all()
    assert balanced.query("stratified_by == 'prediction'")["low"].isna().all()


def test_balanced_rates_average_the_two_strata(margins):
    audit = audit_support(margins)
    balanced = balanced_rates(audit, n_resamples=50, rng=generator())
    for column in ("prediction", "label"):
        strata = rates_by(audit, column, n_resamples=50, rng=generator())
        expected = strata.groupby("metric")["value"].mean()
        got = balanced[balanced["stratified_by"] == column].set_index("metric")["value"]
        pd.testing.assert_series_equal(got.sort_index(), expected, check_index_type=False)


def test_gap_summary_quantiles_and_near_zero_mass(margins):
    margins["margin_text_only"] = margins["margin_original"] - [0, 0.01, 0.1, 0.2, 0, 0, 0, 5]
    margins["margin_blank"] = margins["margin_text_only"]
    margins["margin_original"] = margins["margin_original"].abs() + 1
    margins["margin_text_only"] = margins["margin_original"] - [0, 0.005, 0.05, 0.2, 0, 0, 0, 5]
    margins["margin_blank"] = margins["margin_text_only"] - 1
    audit = audit_support(margins)
    found = values(gap_summary(audit, n_resamples=50, rng=generator()))
    assert found["tied"] == 4 / 8
    assert found["near_zero_0.01"] == 5 / 8
    assert found["near_zero_0.1"] == 6 / 8
    assert found["mean_image_gap"] == pytest.approx(5.255 / 8)
    assert found["quantile_0.5"] == pytest.approx(np.quantile(audit["image_gap"], 0.5))
    assert found["quantile_0.95"] == pytest.approx(np.quantile(audit["image_gap"], 0.95))


def test_gap_summary_quantile_intervals_match_a_loop(margins):
    audit = audit_support(margins)
    got = gap_summary(audit, n_resamples=100, rng=generator()).set_index("metric")
    rng = np.random.default_rng(int(generator().integers(2**63)))
    members = [[0, 1], [2, 3], [4], [5], [6], [7]]
    gap = audit["image_gap"].to_numpy()
    quantiles = [
        np.quantile(np.concatenate([gap[members[c]] for c in drawn]), 0.25)
        for drawn in rng.integers(6, size=(100, 6))
    ]
    expected = np.quantile(quantiles, [0.025, 0.975])
    np.testing.assert_allclose(got.loc["quantile_0.25", ["low", "high"]].astype(float), expected)


def test_gap_summary_near_zero_includes_its_threshold(margins):
    margins["margin_original"] = [0.01, 0.1, 0.02, 0.2, 0.0, 1, 1, 1]
    audit = audit_support(margins.assign(margin_text_only=0.0, margin_blank=0.0))
    found = values(gap_summary(audit, n_resamples=20, rng=generator()))
    assert (found["near_zero_0.01"], found["near_zero_0.1"]) == (2 / 8, 4 / 8)


def test_balanced_rates_intervals_match_a_loop(margins):
    audit = audit_support(margins)
    got = balanced_rates(audit, n_resamples=100, rng=generator())
    got = got.set_index(["stratified_by", "metric"])
    members = [[0, 1], [2, 3], [4], [5], [6], [7]]
    for metric, event in (("accuracy", "correct"), ("cu", "cu")):
        rng = np.random.default_rng(int(generator().integers(2**63)))
        means = []
        for drawn in rng.integers(6, size=(100, 6)):
            rows = audit.iloc[np.concatenate([members[c] for c in drawn])]
            sides = rows.astype({event: float}).groupby("label")[event].mean()
            means.append(sides.mean() if len(sides) == 2 else np.nan)
        expected = np.nanquantile(means, [0.025, 0.975])
        row = got.loc[("label", metric)]
        np.testing.assert_allclose(row[["low", "high"]].astype(float), expected)
        assert row["n_undefined"] == np.isnan(means).sum()
