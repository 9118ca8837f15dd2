"""Other aggregations and sets of controls: read off, against slow definitions, as identities."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from vca_core.metrics.control_sets import control_sets, mean_color_comparison
from vca_core.metrics.control_variants import (
    VARIANTS,
    control_variants,
    rank_correlation,
    variant_gaps,
)
from vca_core.metrics.robustness import sensitivity_rates
from vca_core.metrics.support import audit_support
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank", "mean_color", "mismatch")
margin = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 2.0]) | st.floats(-50, 50)
record = st.tuples(*[margin] * 5, st.sampled_from(["yes", "no", None]), st.integers(0, 3))
random_margins = settings(max_examples=20, deadline=None, derandomize=True)


def options(n_resamples=4):
    return {"n_resamples": n_resamples, "rng": np.random.default_rng(20260719)}


@st.composite
def frames(draw):
    rows = draw(st.lists(record, min_size=1, max_size=20))
    frame = pd.DataFrame(rows, columns=[*(f"margin_{c}" for c in CONTEXTS), "label", "pair"])
    frame["pair_id"] = [None if p == 0 else f"p{p}" for p in frame.pop("pair")]
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    frame["dataset"] = ["d" if i % 3 else "e" for i in range(len(frame))]
    return audit_support(frame.assign(model="m"))


@pytest.fixture
def audit():
    rows = [
        # id, label, original, text_only, blank, mean_color, mismatch
        ("1", "yes", 2.0, -1.0, 1.0, -1.0, 3.0),  # dependent in all but with mismatch
        ("2", "yes", 2.0, 3.0, -1.0, -1.0, 0.0),  # text above: dependent over blank and the mean
        ("3", "no", -2.0, -1.0, -2.0, -1.0, 1.0),  # tied with blank: with mean colour dependent
        ("4", "no", 1.0, 0.0, -1.0, 2.0, 0.0),  # wrong; not dependent with mean colour
        ("5", "no", -1.0, -2.0, -2.0, -2.0, 2.0),  # correct, dependent in none
    ]
    columns = ["sample_id", "label", *(f"margin_{c}" for c in CONTEXTS)]
    return audit_support(pd.DataFrame(rows, columns=columns).assign(model="m", dataset="d"))


def of_run(frame, key):
    return frame.query("pooling == 'run'").set_index([key, "metric"])["value"]


def test_control_variants_read_off(audit):
    assert audit["dependent"].tolist() == [True, False, False, True, False]
    found = of_run(control_variants(audit, **options()), "variant")
    assert found.xs("agreement", level="metric").to_dict() == {
        "text_only_gap": 4 / 5,  # 3 is dependent over text alone
        "blank_only_gap": 4 / 5,  # 2 over blank alone
        "mean_control_gap": 3 / 5,  # 2 and 3 over the mean of the two
        "max_control_gap": 1,
        "probability_max": 1,
        "minimum_js": 3 / 5,  # 2 and 5 moved the other way; 3 is tied
    }


def test_variant_gaps_are_the_written_out_formulas(audit):
    gaps = variant_gaps(audit)

    def sigma(x):
        return 1 / (1 + math.exp(-x))

    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    def js(x, y):
        p, q = sigma(x), sigma(y)
        return (kl(p, (p + q) / 2) + kl(q, (p + q) / 2)) / 2

    for row in gaps.to_dict("records"):
        d = 1 if row["margin_original"] >= 0 else -1
        o, t, b = (d * row[f"margin_{c}"] for c in CONTEXTS[:3])
        want = [o - t, o - b, o - (t + b) / 2, o - max(t, b), sigma(o) - max(sigma(t), sigma(b))]
        want.append(min(js(o, t), js(o, b)))
        assert [row[v] for v in VARIANTS] == pytest.approx(want, rel=1e-12, abs=1e-15)


def test_variants_keep_their_order_where_answers_are_certain():
    margins = pd.DataFrame({"margin_original": [60.0, 60, 60], "margin_text_only": [50.0, 40, 55]})
    margins = margins.assign(margin_blank=-5.0, model="m", dataset="d", sample_id=["a", "b", "c"])
    audit = audit_support(margins)
    gaps = variant_gaps(audit)
    for variant in ("probability_max", "minimum_js"):  # 1 - 1 = 0 in plain floats
        assert gaps[variant].rank().tolist() == [2, 3, 1]
    agreement = of_run(control_variants(audit, **options()), "variant")
    assert agreement["probability_max", "agreement"] == agreement["minimum_js", "agreement"] == 1


@random_margins
@given(frames())
def test_agreement_of_the_probability_is_one_and_of_the_divergence_dep_plus_ties(audit):
    found = control_variants(audit, by=("model",), **options())
    micro = of_run(found, "variant")
    assert micro["probability_max", "agreement"] == 1
    assert micro["max_control_gap", "agreement"] == 1
    tied = (audit["margin_original"] == audit["margin_text_only"]) | (
        audit["margin_original"] == audit["margin_blank"]
    )
    want = (audit["dependent"] | tied).mean()
    assert micro["minimum_js", "agreement"] == pytest.approx(want, abs=1e-12)
    assert (variant_gaps(audit)["minimum_js"] >= 0).all()


@random_margins
@given(frames())
def test_poolings_summarise_the_runs(audit):
    found = control_variants(audit, **options())
    runs = found.query("pooling == 'run'").groupby(["variant", "metric"])
    for pooling, summary in (("macro", "mean"), ("min", "min")):
        pooled = found[found["pooling"] == pooling].set_index(["variant", "metric"])["value"]
        for key, values in runs["value"]:
            want = getattr(values.to_numpy(), summary)()
            assert pooled[key] == pytest.approx(want, rel=1e-12, nan_ok=True)
    micro = found.query("pooling == 'micro'")
    assert set(micro["metric"]) == {"agreement"} and (micro["n"] == len(audit)).all()
    assert found.loc[found["pooling"] != "run", ["model", "dataset"]].isna().all(axis=None)


def test_spearman_is_the_correlation_of_ranks(rng):
    x, y = rng.integers(0, 6, 40).astype(float), rng.normal(size=40)
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic, rel=1e-12)
    assert rank_correlation(y, np.exp(y)) == pytest.approx(1)
    assert rank_correlation(y[:2], -y[:2]) == pytest.approx(-1)
    assert np.isnan(rank_correlation(np.ones(4), y[:4])) and np.isnan(
        rank_correlation(y[:1], x[:1])
    )


def test_control_sets_read_off(audit):
    found = of_run(control_sets(audit, **options()), "control_set")
    assert found.to_dict() == {
        ("headline", "dependent"): 2 / 5,  # 1 and 4
        ("headline", "cu"): 3 / 5,  # 2, 3 and 5
        ("headline", "agreement"): 1,
        ("headline", "cu_jaccard"): 1,
        ("mean_color", "dependent"): 2 / 5,  # 1 and 3
        ("mean_color", "cu"): 2 / 5,  # 2 and 5
        ("mean_color", "agreement"): 3 / 5,
        ("mean_color", "cu_jaccard"): 2 / 3,
        ("mismatch", "dependent"): 1 / 5,  # 4
        ("mismatch", "cu"): 4 / 5,
        ("mismatch", "agreement"): 4 / 5,
        ("mismatch", "cu_jaccard"): 3 / 4,
        ("all", "agreement"): 2 / 5,  # 2 and 5
        ("all", "cu_intersection"): 2 / 5,
        ("all", "cu_union"): 4 / 5,
        ("all", "cu_retained"): 2 / 3,
    }


@random_margins
@given(frames())
def test_a_further_control_only_removes_credit(audit):
    found = control_sets(audit, by=("model",), **options())
    value = of_run(found, "control_set")
    sensitivity = sensitivity_rates(audit, by=("model",), **options()).set_index("metric")["value"]
    assert value["mismatch", "dependent"] == sensitivity["dependent_mismatch"]
    drop = sensitivity["dependent"] - sensitivity["dependent_mismatch"]
    assert value["mismatch", "agreement"] == pytest.approx(1 - drop, abs=1e-12)
    if value["mismatch", "cu"] > 0:
        ratio = value["headline", "cu"] / value["mismatch", "cu"]
        assert value["mismatch", "cu_jaccard"] == pytest.approx(ratio, rel=1e-12)
    assert not value["all", "cu_intersection"] > value["headline", "cu"]  # NaN without labels
    assert not value["all", "cu_union"] < value["mismatch", "cu"]


@random_margins
@given(frames())
def test_micro_counts_all_runs_and_the_slow_definition_agrees(audit):
    found = control_sets(audit, **options())
    micro = found.query("pooling == 'micro'").set_index(["control_set", "metric"])["value"]
    dependent, cu = {}, {}
    for name, controls in (
        ("headline", ("text_only", "blank")),
        ("mean_color", ("text_only", "mean_color")),
        ("mismatch", ("text_only", "blank", "mismatch")),
    ):
        dependent[name] = [
            r["direction"] * r["margin_original"]
            > max(r["direction"] * r[f"margin_{c}"] for c in controls)
            for r in audit.to_dict("records")
        ]
        right = audit["correct"].fillna(False).to_numpy(dtype=bool)
        cu[name] = {i for i in range(len(audit)) if right[i] and not dependent[name][i]}
    for name in dependent:
        assert micro[name, "dependent"] == pytest.approx(np.mean(dependent[name]))
        both, either = cu["headline"] & cu[name], cu["headline"] | cu[name]
        want = len(both) / len(either) if either else np.nan
        assert micro[name, "cu_jaccard"] == pytest.approx(want, nan_ok=True)
    n = audit["correct"].notna().sum()
    union, shared = set.union(*cu.values()), set.intersection(*cu.values())
    rows = found.query("pooling == 'micro' and control_set == 'all'").set_index("metric")
    assert rows.loc["cu_union", "n"] == n
    if n:
        assert round(rows.loc["cu_union", "value"] * n, 9) == len(union)
        assert round(rows.loc["cu_intersection", "value"] * n, 9) == len(shared)


def test_mean_color_comparison_read_off(audit):
    found = mean_color_comparison(audit, **options()).set_index("metric")["value"]
    rho = spearmanr([1, -1, 0, 1, -1], [3, -1, 1, -1, -1]).statistic
    want = {"accuracy": 4 / 5, "dcc": 1 / 5, "dcc_mean_color": 2 / 5, "difference": 1 / 5}
    assert found.to_dict() == pytest.approx(
        want | {"dependent_agreement": 3 / 5, "spearman_rho": rho}
    )


def test_mean_color_that_is_the_blank_changes_nothing(audit):
    same = audit.assign(margin_mean_color=audit["margin_blank"])
    found = mean_color_comparison(same, **options(50)).set_index("metric")
    assert found.loc["difference", ["value", "low", "high"]].tolist() == [0, 0, 0]
    assert found.loc["dependent_agreement", "value"] == 1
    assert found.loc["spearman_rho", "value"] == pytest.approx(1)


def test_contexts_that_were_not_scored_are_nan(audit):
    bare = audit.drop(columns=["margin_mean_color", "margin_mismatch"])
    both = pd.concat([audit.assign(dataset="full"), bare])
    found = control_sets(both, **options())
    run = found["pooling"] == "run"
    unscored = (found["dataset"] == "d") & (found["control_set"] != "headline")
    assert found.loc[unscored, "value"].isna().all() and (found.loc[unscored, "n"] == 0).all()
    assert (found.loc[run & ~unscored, "n"] > 0).all()
    micro = found[~run & (found["metric"] == "agreement")]
    assert micro["n"].tolist() == [10, 5, 5, 5]
    compared = mean_color_comparison(both, **options()).query("dataset == 'd'")
    assert compared["value"].isna().all() and (compared["n"] == 0).all() and len(compared) == 6


@pytest.mark.parametrize("rate", [control_sets, mean_color_comparison])
def test_context_scored_in_part_is_refused(audit, rate):
    audit.loc[2, "margin_mean_color"] = np.nan
    with pytest.raises(SchemaError, match=r"`margin_mean_color` must be finite.*'3'.*1 of 5 rows"):
        rate(audit, **options())


@pytest.mark.parametrize("rate", [control_variants, control_sets, mean_color_comparison])
def test_a_frame_without_the_audit_is_refused_by_column(audit, rate):
    with pytest.raises(SchemaError, match="`direction` is missing"):
        rate(audit.drop(columns="direction"), **options())


@pytest.mark.parametrize("rate", [control_variants, control_sets, mean_color_comparison])
def test_an_empty_frame_gives_no_runs(audit, rate):
    found = rate(audit.head(0), **options())
    assert found.columns[:2].tolist() == ["model", "dataset"]
    assert found["value"].isna().all()


def test_intervals_are_paired_and_clustered(audit):
    doubled = pd.concat([audit.assign(pair_id=audit["sample_id"], sample_id=audit["sample_id"] + x)
                         for x in "ab"])  # fmt: skip
    for rate in (control_variants, control_sets, mean_color_comparison):
        one = rate(audit.assign(pair_id=audit["sample_id"]), **options(200))
        two = rate(doubled, **options(200))
        np.testing.assert_allclose(one[["low", "high"]], two[["low", "high"]])
