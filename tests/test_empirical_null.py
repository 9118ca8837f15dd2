"""The empirical null: read off, against the definitions written out, and in its limits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics.empirical_null import NULLS, empirical_null
from vca_core.metrics.robustness import permutation_calibration
from vca_core.metrics.support import audit_support
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank", "mismatch")
COLUMNS = [f"margin_{c}" for c in CONTEXTS]
margin = st.sampled_from([-2.0, -0.0, 0.0, 0.5, 1.0]) | st.floats(-30, 30)
random_margins = settings(max_examples=30, deadline=None, derandomize=True)


def options(n_resamples=4):
    return {"n_resamples": n_resamples, "rng": np.random.default_rng(20260725)}


def margins_of(rows, interface="yes_no"):
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(model="m", dataset="d", interface=interface)
    return frame.assign(sample_id=[f"s{i}" for i in range(len(frame))])


def values(rates):
    return rates.set_index("metric")["value"].to_dict()


@pytest.fixture
def audit():
    return audit_support(
        margins_of(
            [
                (2.0, -1.0, 1.0, 3.0),  # dependent; so is the permuted image, either way
                (2.0, 1.0, -1.0, -3.0),  # dependent; the permuted image selects no, and supports it
                (-1.0, 0.0, 0.5, 0.5),  # dependent; the permuted image ties with the blank
                (-1.0, -2.0, 0.5, -3.0),  # not; the permuted image is, either way
            ]
        )
    )


@pytest.fixture
def other():
    return margins_of(
        [
            (1.0, 0.5, 0.0, 0.0),  # agrees on yes, dependent
            (-1.0, 0.5, 0.0, 0.0),  # says no, dependent; yes is not supported here
            (-1.0, -2.0, 0.0, 0.0),  # agrees on no, not dependent
            (1.0, 2.0, 0.0, 0.0),  # says yes, not dependent; no is, above neither control
        ],
        interface="true_false",
    )


def test_empirical_null_read_off(audit, other):
    assert values(empirical_null(audit, other, **options())) == {
        "dependent": 3 / 4,
        "selector": 3 / 4,  # 1, 2 and 4
        "permutation": 2 / 4,  # 1 and 4
        "cross_interface": 1 / 4,  # 1
        "cross_reverse": 2 / 4,  # 1 and 3; 2 and 4 are asked for the answer they did not give
        "other_dependent": 2 / 4,  # 1 and 2
        "selector_difference": 0,
        "permutation_difference": 1 / 4,
        "cross_interface_difference": 2 / 4,
        "cross_reverse_difference": 1 / 4,
    }


@random_margins
@given(st.lists(st.tuples(*[margin] * 8), min_size=1, max_size=15))
def test_empirical_null_is_the_written_out_definition(rows):
    here = margins_of([r[:4] for r in rows])
    there = margins_of([r[4:] for r in rows], "true_false")
    found = values(empirical_null(audit_support(here), audit_support(there), **options()))

    def sign(x):
        return 1 if x >= 0 else -1

    def event(d, image, t, b):
        return d * image > max(d * t, d * b)

    slow = {name: [] for name in ("dependent", *NULLS, "other_dependent")}
    for o, t, b, m, o2, t2, b2, _ in rows:
        slow["dependent"].append(event(sign(o), o, t, b))
        slow["selector"].append(event(sign(m), m, t, b))
        slow["permutation"].append(event(sign(o), m, t, b))
        slow["cross_interface"].append(event(sign(o), o2, t2, b2))
        slow["cross_reverse"].append(event(sign(o2), o, t, b))
        slow["other_dependent"].append(event(sign(o2), o2, t2, b2))
    for name, events in slow.items():
        assert found[name] == pytest.approx(np.mean(events), rel=1e-12)
    for name in NULLS:
        want = np.mean(slow["dependent"]) - np.mean(slow[name])
        assert found[f"{name}_difference"] == pytest.approx(want, abs=1e-12)


@random_margins
@given(st.lists(st.tuples(*[margin] * 4), min_size=1, max_size=15))
def test_the_item_itself_is_no_null(rows):
    frame = margins_of(rows).assign(margin_mismatch=lambda f: f["margin_original"])
    audit = audit_support(frame)
    found = values(empirical_null(audit, frame.assign(interface="true_false"), **options()))
    for name in (*NULLS, "other_dependent"):
        assert found[name] == found["dependent"]
    # The selector is the audit of the permuted image.
    permuted = audit_support(margins_of(rows).assign(margin_original=[r[3] for r in rows]))
    selected = values(empirical_null(audit_support(margins_of(rows)), **options()))["selector"]
    assert selected == permuted["dependent"].mean()


def test_permutation_is_that_of_the_calibration(audit):
    right = audit.assign(label=audit["prediction"])  # all correct: D-CC is Dep
    labelled = audit_support(right[[*COLUMNS, "model", "dataset", "sample_id", "label"]])
    found = values(empirical_null(labelled, **options()))
    calibration = values(permutation_calibration(labelled, **options()))
    assert found["permutation"] == calibration["permutation_dcc"]
    assert found["permutation_difference"] == calibration["difference"]


def test_difference_is_paired_and_clustered(audit, other):
    paired = audit.assign(pair_id=["p", "p", "q", "q"])
    rates = empirical_null(paired, other, **options(400)).set_index("metric")
    assert (rates["n_clusters"] == 2).all()
    rng = np.random.default_rng(int(np.random.default_rng(20260725).integers(2**63)))
    change = np.array([[0, 1], [1, -1]])  # Dep less permutation, by pair
    drawn = change[rng.integers(2, size=(400, 2))].mean(axis=(1, 2))
    want = np.quantile(drawn, [0.025, 0.975])
    np.testing.assert_allclose(
        rates.loc["permutation_difference", ["low", "high"]].astype(float), want
    )


def test_what_was_not_scored_is_nan_with_n_zero(audit, other):
    without = empirical_null(audit.drop(columns="margin_mismatch"), other, **options())
    empty = without[without["value"].isna()]
    assert sorted(empty["metric"]) == sorted(
        f"{name}{end}" for name in NULLS[:2] for end in ("", "_difference")
    )
    alone = empirical_null(audit, **options()).set_index("metric")
    crossed = [f"{name}{end}" for name in NULLS[2:] for end in ("", "_difference")]
    assert alone.index[alone["value"].isna()].tolist() != []
    assert set(alone.index[alone["n"] == 0]) == {*crossed, "other_dependent"}
    assert empirical_null(audit.head(0), **options()).empty


def test_frames_that_do_not_match_are_refused(audit, other):
    with pytest.raises(SchemaError, match="s3"):
        empirical_null(audit, other.head(3), **options())
    audit.loc[1, "margin_mismatch"] = np.nan
    with pytest.raises(SchemaError, match=r"`margin_mismatch` must be finite.*'s1'.*1 of 4 rows"):
        empirical_null(audit, other, **options())
    with pytest.raises(SchemaError, match="`direction` is missing"):
        empirical_null(other, other, **options())
