"""What filtering does to the held-out model: slow definitions, limits, refusals."""

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.metrics import (
    audit_support,
    filter_overlaps,
    filtered_differences,
    filtered_rates,
    keep_groups,
    kept_records,
    panel_score,
    support_rates,
)
from vca_core.metrics.filter_scores import FILTERS, LABEL_FREE
from vca_core.records import SchemaError
from vca_core.resampling import resample_counts

METRICS = ["accuracy", "blind_gap", "visual_gain", "dependent"]
OPTIONS = {"n_resamples": 30}


def benchmark(n_models=3, n_pairs=12, seed=1):
    rng = np.random.default_rng(seed)
    sides = {"true": "yes", "false": "no"}
    rows = [
        {"model": f"m{m}", "sample_id": f"p{i:02}-{s}", "pair_id": f"p{i:02}", "label": sides[s]}
        for m in range(n_models)
        for i in range(n_pairs)
        for s in sides
    ]
    frame = pd.DataFrame(rows).assign(dataset="d")
    for context in ("original", "text_only", "blank"):
        frame[f"margin_{context}"] = rng.normal(size=len(frame))
    return frame


@pytest.fixture
def audit():
    return audit_support(benchmark())


@pytest.fixture
def kept(audit):
    return kept_records(audit)


def rates_of(audit, kept, function=filtered_rates, **options):
    return function(audit, kept, **OPTIONS, rng=np.random.default_rng(0), **options)


def macro(rates):
    rows = rates[rates["pooling"] == "macro"]
    return rows.set_index(["filter", "coverage", "metric"]).sort_index()


def slow_outcomes(audit, name, coverage):
    """Rates of each held-out model on what the others keep, by looking at single decisions."""
    models = list(audit["model"].unique())
    for held_out in models:
        panel = panel_score(audit, name, models=[m for m in models if m != held_out])
        inside = audit["pair_id"].isin(keep_groups(panel, coverage))
        own = audit[(audit["model"] == held_out) & inside]
        gold = own["label"] == "yes"
        accuracy = ((own["margin_original"] >= 0) == gold).mean()
        text = ((own["margin_text_only"] >= 0) == gold).mean()
        dependent = own["dependent"].mean()
        yield held_out, [accuracy, text - 0.5, accuracy - text, dependent], own


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("coverage", [0.25, 0.5, 0.75])
def test_filtered_rates_match_the_slow_definition(audit, kept, name, coverage):
    rates = rates_of(audit, kept).query("filter == @name and coverage == @coverage")
    all_values = []
    for held_out, values, own in slow_outcomes(audit, name, coverage):
        found = rates[rates["model"] == held_out].set_index("metric")
        assert found.loc[METRICS, "value"].tolist() == pytest.approx(values, rel=1e-12, abs=1e-15)
        assert (found["n"] == len(own)).all() and (found["n_clusters"] == len(own) / 2).all()
        all_values.append(values)
    over = macro(rates).loc[(name, coverage)]
    assert over.loc[METRICS, "value"].tolist() == pytest.approx(np.mean(all_values, axis=0))
    assert (over["n"] == 3 * 24 * coverage).all() and (over["n_models"] == 3).all()


def test_intervals_resample_groups_under_a_fixed_selection(audit, kept):
    seed = int(np.random.default_rng(0).integers(2**63))
    draws = np.vstack(
        list(resample_counts(12, n_resamples=30, rng=np.random.default_rng(seed)))
    )  # (resamples, pairs), the pairs in the order of their names
    columns = ("vca", 0.5), ("confidence", 0.5)
    means = {column: [] for column in columns}
    for weights in draws:
        times = audit["pair_id"].map(
            dict(zip(sorted(audit["pair_id"].unique()), weights, strict=True))
        )
        for column in columns:
            w = times * kept[column]
            by_model = [(audit["dependent"] * w)[audit["model"] == m].sum() /
                        w[audit["model"] == m].sum() for m in ("m0", "m1", "m2")]  # fmt: skip
            means[column].append(np.mean(by_model))
    found = macro(rates_of(audit, kept)).loc[("vca", 0.5, "dependent")]
    assert found[["low", "high"]].tolist() == pytest.approx(
        np.quantile(means[columns[0]], [0.025, 0.975]), rel=1e-12
    )
    found = rates_of(audit, kept, filtered_differences)
    found = found.query("filter == 'confidence' and metric == 'dependent'").iloc[0]
    assert found[["low", "high"]].tolist() == pytest.approx(
        np.quantile(np.subtract(*means.values()), [0.025, 0.975]), rel=1e-12
    )


def test_gain_is_accuracy_less_chance_less_blind_gap(audit, kept):
    wide = rates_of(audit, kept).pivot_table(
        index=["pooling", "model", "filter", "coverage"], columns="metric", values="value",
        dropna=False,
    ).dropna(how="all")  # fmt: skip
    expected = wide["accuracy"] - 0.5 - wide["blind_gap"]
    assert wide["visual_gain"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-12)


def test_full_benchmark_is_the_mean_of_the_runs(audit, kept):
    runs = support_rates(audit, n_resamples=2, rng=np.random.default_rng(0))
    full = macro(rates_of(audit, kept)).loc[("full", 1.0)]
    for metric in ("accuracy", "dependent"):
        mean = runs.loc[runs["metric"] == metric, "value"].mean()
        assert full.loc[metric, "value"] == pytest.approx(mean, rel=1e-12)


def test_differences_are_those_of_the_rates(audit, kept):
    rates = macro(rates_of(audit, kept))["value"]
    found = rates_of(audit, kept, filtered_differences, coverage=0.75)
    assert found["filter"].unique().tolist() == [name for name in FILTERS if name != "vca"]
    for row in found.to_dict("records"):
        expected = rates["vca", 0.75, row["metric"]] - rates[row["filter"], 0.75, row["metric"]]
        assert row["value"] == pytest.approx(expected, abs=1e-12)
        assert row["low"] <= row["value"] <= row["high"]


def test_a_filter_does_not_differ_from_its_copy(audit):
    kept = kept_records(audit.assign(copy=audit["image_gap"]), ["vca", "copy"])
    found = rates_of(audit, kept, filtered_differences)
    assert (found[["value", "low", "high"]] == 0).all(axis=None)
    overlap = rates_of(audit, kept, filter_overlaps).iloc[0]
    assert overlap[["value", "low", "high"]].tolist() == [1, 1, 1] and overlap["n"] == 3 * 6


def test_overlap_is_the_mean_jaccard_of_kept_pairs(audit, kept):
    found = rates_of(audit, kept, filter_overlaps, first="confidence").set_index("filter")
    for name in found.index:
        shares = []
        for m in ("m0", "m1", "m2"):
            a, b = (
                set(audit.loc[(audit["model"] == m) & kept[column, 0.5], "pair_id"])
                for column in ("confidence", name)
            )
            shares.append(len(a & b) / len(a | b))
        assert found.loc[name, "value"] == pytest.approx(np.mean(shares), rel=1e-12)


def test_unlabelled_records_give_dep_alone():
    audit = audit_support(benchmark().drop(columns="label"))
    with pytest.raises(SchemaError, match="`label` must be given for the filter 'shortcut'"):
        kept_records(audit)
    kept = kept_records(audit, LABEL_FREE)
    rates = rates_of(audit, kept)
    known = rates["metric"] == "dependent"
    assert rates.loc[known, "value"].notna().all()
    assert rates.loc[~known, "value"].isna().all() and (rates.loc[~known, "n"] == 0).all()
    differences = rates_of(audit, kept, filtered_differences)
    assert (differences["value"].notna() == (differences["metric"] == "dependent")).all()
    overlaps = rates_of(audit, kept, filter_overlaps)
    assert overlaps["value"].notna().all()
    shown = tables.filter_differences_table(differences, overlaps)
    assert set(shown["Acc (points)"]) == {"–"}
    assert not shown.map(lambda cell: "n =" in str(cell)).any(axis=None)
    shown = tables.filtering_table(rates)
    assert set(shown["Acc (%)"]) == {"–"} and "–" not in set(shown["Dep (%)"])


def test_one_model_cannot_be_left_out(audit):
    with pytest.raises(SchemaError, match="two models or more.* Got 'm0' alone on data set 'd'"):
        kept_records(audit[audit["model"] == "m0"])


def test_wrong_selections_are_refused(audit, kept):
    with pytest.raises(SchemaError, match="`kept` must have the rows of `audit`, got 71 rows"):
        rates_of(audit, kept.iloc[1:])
    with pytest.raises(SchemaError, match="'gap' at coverage 0.5, got there: \\['shortcut'"):
        rates_of(audit, kept, filter_overlaps, first="gap")


def test_data_sets_are_filtered_by_themselves(audit, kept):
    both = pd.concat([audit, audit_support(benchmark(2, 5)).assign(dataset="e")])
    found = rates_of(both, kept_records(both))
    alone = rates_of(audit, kept)
    pd.testing.assert_frame_equal(found[found["dataset"] == "d"], alone)
    assert found.loc[found["dataset"] == "e", "n_models"].max() == 2
