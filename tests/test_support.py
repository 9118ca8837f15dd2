import time
import tracemalloc

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
    support_rates,
)
from vca_core.records import SchemaError


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


def test_audit_support_reads_off_events(margins):
    audit = audit_support(margins)
    assert list(audit["direction"]) == [1, -1, -1, 1, 1, 1, -1, -1]
    assert list(audit["prediction"]) == ["yes", "no", "no", "yes", "yes", "yes", "no", "no"]
    assert list(audit["image_gap"]) == [1, -1, 2, 0, 1, 4, 2, 1]
    assert list(audit["dependent"]) == [True, False, True, False, True, True, True, True]
    # A control at exactly zero does not favour the other answer.
    assert list(audit["strict"]) == [False, False, True, False, True, True, False, False]
    assert list(audit["correct"]) == [True, True, False, False, True, True, True, True]
    assert list(audit["dcc"]) == [True, False, False, False, True, True, True, True]
    assert list(audit["cu"]) == [False, True, False, False, False, False, False, False]
    assert list(audit["support_advantaged_error"]) == [False, False, True] + [False] * 5
    assert list(audit["wrong_not_dependent"]) == [False, False, False, True] + [False] * 4


def test_audit_support_keeps_rows_order_and_columns(margins):
    shuffled = margins.sample(frac=1, random_state=3).assign(extra=range(8))
    audit = audit_support(shuffled)
    pd.testing.assert_frame_equal(audit[shuffled.columns], shuffled)


def test_audit_support_needs_no_labels(margins):
    labelled = audit_support(margins)
    for bare in (margins.drop(columns="label"), margins.assign(label=None)):
        audit = audit_support(bare)
        for column in ("dependent", "strict", "image_gap", "direction"):
            pd.testing.assert_series_equal(audit[column], labelled[column])
        assert audit[["correct", "dcc", "cu", "support_advantaged_error"]].isna().all(axis=None)
        rates = support_rates(audit, n_resamples=50, rng=generator()).set_index("metric")
        assert rates.loc["dependent", "value"] == 6 / 8
        assert rates.loc[["accuracy", "dcc", "cu"], "value"].isna().all()
        assert (rates.loc[["accuracy", "dcc", "cu"], "n"] == 0).all()
        survival = decision_survival(audit, n_resamples=50, rng=generator())
        assert values(survival)["text_only_same"] == 2 / 6
        balanced = balanced_rates(audit, n_resamples=50, rng=generator())
        assert balanced.query("stratified_by == 'label'")["value"].isna().all()


def test_audit_support_with_some_labels_counts_only_those(margins):
    margins.loc[[0, 2], "label"] = None
    audit = audit_support(margins)
    assert audit.loc[[0, 2], ["correct", "dcc", "cu"]].isna().all(axis=None)
    rates = support_rates(audit, n_resamples=50, rng=generator()).set_index("metric")
    assert rates.loc["accuracy", ["value", "n"]].tolist() == [5 / 6, 6]
    assert rates.loc["dependent", "n"] == 8


@pytest.mark.parametrize("bad, shown", [(np.nan, "nan"), (np.inf, "inf"), (None, "nan")])
def test_audit_support_refuses_a_margin_that_is_not_finite(margins, bad, shown):
    margins.loc[3, "margin_blank"] = bad
    expected = (
        rf"`margin_blank` must be finite, got {shown} for sample_id 'b-false' "
        r"\(model 'toy', 1 of 8 rows\)\."
    )
    with pytest.raises(SchemaError, match=expected):
        audit_support(margins)


def test_audit_support_refuses_text_for_a_margin(margins):
    with pytest.raises(SchemaError, match="`margin_blank` must hold numbers in nats"):
        audit_support(margins.assign(margin_blank="1.0"))


def test_audit_support_refuses_a_missing_column(margins):
    with pytest.raises(SchemaError, match="`margin_text_only` is missing.*Score the context"):
        audit_support(margins.drop(columns="margin_text_only"))


def test_audit_support_refuses_a_record_that_stands_twice(margins):
    with pytest.raises(SchemaError, match="sample_id 'a-true'.*2 rows repeat"):
        audit_support(pd.concat([margins, margins.head(1)]))


def test_audit_support_allows_one_sample_in_two_wordings_and_models(margins):
    other = margins.assign(wording="short")
    assert len(audit_support(pd.concat([margins, other, margins.assign(model="b")]))) == 24


def test_audit_support_refuses_an_unknown_label(margins):
    margins.loc[1, "label"] = "No"
    with pytest.raises(SchemaError, match="must be 'yes', 'no' or null, got 'No'.*'a-false'"):
        audit_support(margins)


def test_support_rates_are_means_over_records(margins):
    rates = support_rates(audit_support(margins), n_resamples=50, rng=generator())
    assert values(rates) == {"accuracy": 6 / 8, "dependent": 6 / 8, "dcc": 5 / 8, "cu": 1 / 8}
    assert (rates["n"] == 8).all()
    assert (rates["n_clusters"] == 6).all()  # two pairs and four single samples
    assert (rates["low"] <= rates["value"]).all() and (rates["value"] <= rates["high"]).all()


def test_support_rates_match_a_loop_over_rows(margins):
    audit = audit_support(margins)
    got = support_rates(audit, n_resamples=200, rng=generator()).set_index("metric")
    rng = np.random.default_rng(int(generator().integers(2**63)))
    # Clusters in sorted order: pairs a and b, then samples c, d, e, f.
    members = [[0, 1], [2, 3], [4], [5], [6], [7]]
    means = []
    for drawn in rng.integers(6, size=(200, 6)):
        rows = np.concatenate([members[c] for c in drawn])
        means.append(audit.iloc[rows][["dependent", "dcc"]].astype(float).mean().to_numpy())
    expected = np.quantile(means, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(got.loc[["dependent", "dcc"], ["low", "high"]], expected.T)


def test_support_rates_do_not_depend_on_row_order_or_other_runs(margins):
    both = pd.concat([margins, margins.assign(model="other")], ignore_index=True)
    alone = support_rates(audit_support(margins), n_resamples=100, rng=generator())
    mixed = audit_support(both.sample(frac=1, random_state=5))
    together = support_rates(mixed, n_resamples=100, rng=generator())
    for model in ("toy", "other"):
        part = together[together["model"] == model].drop(columns="model").reset_index(drop=True)
        pd.testing.assert_frame_equal(part, alone.drop(columns="model"))


def test_support_rates_pool_models_in_the_clusters_of_their_pairs(margins):
    both = audit_support(pd.concat([margins, margins.assign(model="other")], ignore_index=True))
    alone = support_rates(audit_support(margins), n_resamples=100, rng=generator())
    pooled = support_rates(both, n_resamples=100, rng=generator(), by="dataset")
    columns = ["metric", "value", "low", "high", "n_clusters"]
    pd.testing.assert_frame_equal(pooled[columns], alone[columns])
    assert (pooled["n"] == 16).all()
    micro = support_rates(both, n_resamples=20, rng=generator(), by=())
    assert list(micro.columns[:1]) == ["metric"]


def test_support_rates_refuse_two_interfaces_in_a_run(margins):
    audit = audit_support(pd.concat([margins, margins.assign(interface="true_false")]))
    with pytest.raises(SchemaError, match="one `interface`, got 'yes_no', 'true_false'"):
        support_rates(audit, n_resamples=20, rng=generator())
    by = ("model", "dataset", "interface")
    assert len(support_rates(audit, n_resamples=20, rng=generator(), by=by)) == 8


def test_support_rates_need_an_audit(margins):
    with pytest.raises(SchemaError, match="`dependent` is missing.*audit_support"):
        support_rates(margins, rng=generator())


def test_support_rates_of_no_rows_are_empty(margins):
    audit = audit_support(margins.head(0))
    for rate in (support_rates, outcome_decomposition, decision_survival, gap_summary):
        assert len(rate(audit, n_resamples=20, rng=generator())) == 0
    for by in (("model", "dataset"), ()):
        strata = rates_by(audit, "dataset", n_resamples=20, rng=generator(), by=by)
        assert len(strata) == 0 and "stratum" in strata
    pooled = support_rates(audit, n_resamples=20, rng=generator(), by=())
    assert pooled["value"].isna().all() and (pooled["n"] == 0).all()


def test_support_rates_of_one_row_have_no_interval(margins):
    rates = support_rates(audit_support(margins.head(1)), n_resamples=20, rng=generator())
    assert values(rates) == {"accuracy": 1, "dependent": 1, "dcc": 1, "cu": 0}
    assert rates[["low", "high"]].isna().all(axis=None)
    assert (rates["n_clusters"] == 1).all()


def test_support_rates_of_equal_clusters_have_no_width(margins):
    same = margins.assign(margin_original=2.0, margin_text_only=0.0, margin_blank=0.0, label="yes")
    rates = support_rates(audit_support(same), n_resamples=50, rng=generator()).set_index("metric")
    assert (rates["low"] == rates["value"]).all() and (rates["high"] == rates["value"]).all()


def test_support_rates_of_eight_runs_take_under_two_seconds():
    rng = np.random.default_rng(0)
    parts = []
    for model in "abcd":
        for dataset, n in (("vsr", 1249), ("gsr_coco", 880)):
            pair = [f"p{i // 2}" for i in range(n)] if dataset == "gsr_coco" else None
            columns = ("margin_original", "margin_text_only", "margin_blank")
            frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=columns)
            frame["sample_id"] = [f"s{i}" for i in range(n)]
            label = rng.choice(["yes", "no"], n)
            parts.append(frame.assign(model=model, dataset=dataset, pair_id=pair, label=label))
    audit = audit_support(pd.concat(parts, ignore_index=True))
    start = time.process_time()
    rates = support_rates(audit, n_resamples=5000, rng=generator())
    elapsed = time.process_time() - start
    tracemalloc.start()
    support_rates(audit, n_resamples=5000, rng=generator())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rates) == 32
    assert elapsed < 2  # processor seconds, so that a busy machine does not matter
    assert peak < 500e6
