import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import audit_support, permutation_calibration, sensitivity_rates
from vca_core.records import SchemaError


def generator():
    return np.random.default_rng(20260719)


@pytest.fixture
def margins():
    rows = [
        # id, label, original, text_only, blank, mismatch
        (
            "1",
            "yes",
            2.0,
            -1.0,
            -1.0,
            -0.5,
        ),  # strict with and without mismatch; permuted: dependent
        ("2", "yes", 2.0, 1.0, -1.0, 3.0),  # dependent, not with mismatch; permuted: dependent
        ("3", "no", -2.0, -1.0, 1.0, -0.5),  # dependent, also with mismatch; permuted: not
        ("4", "no", -2.0, -3.0, 1.0, -4.0),  # correct, not dependent; permuted: dependent
        ("5", "no", 2.0, -1.0, -1.0, 1.0),  # wrong, strict, mismatch keeps; permuted: dependent
        ("6", "no", -1.0, 0.0, 1.0, 1.0),  # dependent; a control at zero is not strict
    ]
    names = [
        "sample_id",
        "label",
        *(f"margin_{c}" for c in ("original", "text_only", "blank", "mismatch")),
    ]
    return pd.DataFrame(rows, columns=names).assign(model="toy", dataset="queries")


def values(rates):
    return rates.set_index("metric")["value"].to_dict()


def test_sensitivity_rates_read_off(margins):
    audit = audit_support(margins)
    found = values(sensitivity_rates(audit, n_resamples=50, rng=generator()))
    assert found.pop("mean_image_gap") == pytest.approx((3 + 1 + 1 - 1 + 3 + 1) / 6)
    assert found == {
        "dependent": 5 / 6,
        "strict": 2 / 6,
        "dependent_mismatch": 4 / 6,
        "strict_mismatch": 1 / 6,
    }


def test_permutation_calibration_read_off(margins):
    rates = permutation_calibration(audit_support(margins), n_resamples=50, rng=generator())
    assert values(rates) == pytest.approx(
        {
            "dcc": 4 / 6,
            "permutation_dcc": 3 / 6,  # 1, 2 and 4
            "difference": 1 / 6,
            "original_only": 2 / 6,  # 3 and 6
            "permutation_only": 1 / 6,  # 4
        }
    )


def test_permutation_calibration_interval_is_paired(margins):
    # 1 and 2 are alike in both, so only 3, 4 and 6 move the difference.
    audit = audit_support(margins)
    rates = permutation_calibration(audit, n_resamples=300, rng=generator()).set_index("metric")
    rng = np.random.default_rng(int(generator().integers(2**63)))
    change = np.array([0, 0, 1, -1, 0, 1.0])
    expected = np.quantile(change[rng.integers(6, size=(300, 6))].mean(axis=1), [0.025, 0.975])
    np.testing.assert_allclose(rates.loc["difference", ["low", "high"]].astype(float), expected)


def test_permutation_of_the_same_image_changes_nothing(margins):
    same = margins.assign(margin_mismatch=margins["margin_original"])
    rates = permutation_calibration(audit_support(same), n_resamples=50, rng=generator())
    found = values(rates)
    assert found["difference"] == found["original_only"] == found["permutation_only"] == 0
    # The same image supports the decision just as much: a tie, so nothing is left dependent.
    sensitivity = values(sensitivity_rates(audit_support(same), n_resamples=5, rng=generator()))
    assert sensitivity["dependent_mismatch"] == sensitivity["strict_mismatch"] == 0


@pytest.mark.parametrize("rate", [sensitivity_rates, permutation_calibration])
def test_mismatch_that_was_not_scored_is_nan(margins, rate):
    for bare in (margins.drop(columns="margin_mismatch"), margins.assign(margin_mismatch=np.nan)):
        rates = rate(audit_support(bare), n_resamples=20, rng=generator())
        empty = rates[rates["value"].isna()]
        assert len(empty) == (5 if rate is permutation_calibration else 2)
        assert (empty["n"] == 0).all()


@pytest.mark.parametrize("rate", [sensitivity_rates, permutation_calibration])
def test_mismatch_scored_in_part_is_refused(margins, rate):
    margins.loc[2, "margin_mismatch"] = np.nan
    with pytest.raises(SchemaError, match=r"`margin_mismatch` must be finite.*'3'.*1 of 6 rows"):
        rate(audit_support(margins), n_resamples=20, rng=generator())


def test_permutation_calibration_counts_labelled_records_alone(margins):
    margins.loc[0, "label"] = None
    rates = permutation_calibration(audit_support(margins), n_resamples=20, rng=generator())
    assert (rates["n"] == 5).all()
    assert values(rates)["dcc"] == 3 / 5


def test_a_tie_with_the_permuted_image_or_at_zero_is_no_event(margins):
    margins["margin_mismatch"] = [-1.0, 1.0, 1.0, 3.0, 0.0, 0.0]  # equal to a control, or zero
    audit = audit_support(margins)
    permuted = values(permutation_calibration(audit, n_resamples=20, rng=generator()))
    assert permuted["permutation_dcc"] == 0  # 1, 2 and 6 tie with their stronger control
    sensitivity = values(sensitivity_rates(audit, n_resamples=20, rng=generator()))
    assert sensitivity["strict_mismatch"] == 1 / 6  # 1; a mismatch at zero does not oppose 5
