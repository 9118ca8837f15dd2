"""Published numbers, by table and row: from the counts, and from records that must give them.

The records are invented (their counts are solved from the tables) and serve tests alone.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import (
    audit_support,
    balanced_rates,
    decision_survival,
    permutation_calibration,
    rates_by,
    sensitivity_rates,
    support_rates,
)
from vca_core.published import (
    published,
    published_cells,
    published_rates,
    published_runs,
    published_table,
)

RECORDS = Path(__file__).parents[2] / "shared/conformance/reconstructed_qwen_llava.jsonl"
POINTS = 0.005 + 1e-9  # half of the last printed decimal, and the float's own rounding
NATS = 0.0005 + 1e-9
BALANCED = 0.0101  # T15 averages strata that were rounded first, which moves six cells by 0.01

RUNS = [(m, d) for m in ("Qwen", "LLaVA") for d in ("vsr", "gsr_coco")]
ALL_RUNS = [(m, d) for m in ("Qwen", "InternVL", "LLaVA", "Ministral") for d in ("vsr", "gsr_coco")]
run = pytest.mark.parametrize("model, dataset", RUNS)
every_run = pytest.mark.parametrize("model, dataset", ALL_RUNS)


@pytest.fixture(scope="module")
def audit():
    if not RECORDS.is_file():
        pytest.skip("the reconstructed records of ../shared/conformance are not here")
    records = pd.read_json(RECORDS, lines=True, dtype={"sample_id": str, "pair_id": str})
    records = records.rename(columns={"margin_text": "margin_text_only", "gold": "label"})
    records["label"] = records["label"].str.lower()
    records["dataset"] = records["dataset"].map({"VSR": "vsr", "GSR-COCO": "gsr_coco"})
    return audit_support(records)


@pytest.fixture(scope="module")
def rates(audit):
    """Value in percent by (function, model, dataset, stratum, metric)."""
    functions = {
        "support": support_rates,
        "survival": decision_survival,
        "sensitivity": sensitivity_rates,
        "permutation": permutation_calibration,
        "balanced": balanced_rates,
        "prediction": lambda a, **k: rates_by(a, "prediction", **k),
        "label": lambda a, **k: rates_by(a, "label", **k),
    }
    found = {}
    for name, function in functions.items():
        frame = function(audit, n_resamples=2, rng=np.random.default_rng(0))
        key = {"balanced": "stratified_by"}.get(name, "stratum")
        stratum = frame[key] if key in frame else None
        for (_, row), side in zip(
            frame.iterrows(), stratum if stratum is not None else [None] * len(frame), strict=True
        ):
            found[name, row["model"], row["dataset"], side, row["metric"]] = 100 * row["value"]
    return found


@run
@pytest.mark.parametrize("metric", ["text_only_same", "blank_same", "both_same", "any_changes"])
def test_t12_decision_survival(rates, model, dataset, metric):
    printed = published("T12", model=model, dataset=dataset)[metric]
    assert rates["survival", model, dataset, None, metric] == pytest.approx(printed, abs=POINTS)


@run
@pytest.mark.parametrize("answer", ["yes", "no"])
@pytest.mark.parametrize("metric", ["accuracy", "dependent", "dcc", "strict"])
@pytest.mark.parametrize("table, column", [("T13", "prediction"), ("T14", "label")])
def test_t13_t14_strata(rates, table, column, model, dataset, answer, metric):
    printed = published(table, model=model, dataset=dataset, **{column: answer})[metric]
    assert rates[column, model, dataset, answer, metric] == pytest.approx(printed, abs=POINTS)


@run
@pytest.mark.parametrize("table, column", [("T13", "prediction"), ("T14", "label")])
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_t13_t14_sizes(audit, table, column, model, dataset, answer):
    rows = audit.query("model == @model and dataset == @dataset")
    printed = published(table, model=model, dataset=dataset, **{column: answer})["n"]
    assert (rows[column] == answer).sum() == printed


@run
@pytest.mark.parametrize("column", ["prediction", "label"])
@pytest.mark.parametrize("metric", ["dcc", "cu"])
def test_t15_balanced(rates, model, dataset, column, metric):
    printed = published("T15", model=model, dataset=dataset)[f"{column}_{metric}"]
    assert rates["balanced", model, dataset, column, metric] == pytest.approx(printed, abs=BALANCED)


@run
@pytest.mark.parametrize("metric", ["dependent", "strict", "dependent_mismatch", "strict_mismatch"])
def test_t28_sensitivity(rates, model, dataset, metric):
    printed = published("T28", model=model, dataset=dataset)[metric]
    assert rates["sensitivity", model, dataset, None, metric] == pytest.approx(printed, abs=POINTS)


@run
def test_t28_mean_image_gap(rates, model, dataset):
    printed = published("T28", model=model, dataset=dataset)["mean_image_gap"]
    found = rates["sensitivity", model, dataset, None, "mean_image_gap"] / 100
    assert found == pytest.approx(printed, abs=NATS)


@run
@pytest.mark.parametrize("metric", ["dcc", "permutation_dcc", "difference"])
def test_t29_permutation(rates, model, dataset, metric):
    printed = published("T29", model=model, dataset=dataset)[metric]
    assert rates["permutation", model, dataset, None, metric] == pytest.approx(printed, abs=POINTS)


@pytest.mark.parametrize(
    "model, dataset, metric, printed",
    [
        ("LLaVA", "vsr", "original_only", 49.72),  # the largest of the range
        ("Qwen", "vsr", "permutation_only", 15.13),  # the largest of the range
        ("LLaVA", "gsr_coco", "permutation_only", 0.91),  # the smallest of the range
    ],
)
def test_headline_range_of_permutation_assignments(rates, model, dataset, metric, printed):
    ends = published("headline_ranges", quantity=metric)
    assert printed in (ends["low"], ends["high"])
    assert rates["permutation", model, dataset, None, metric] == pytest.approx(printed, abs=POINTS)


@pytest.mark.parametrize("model", ["Qwen", "LLaVA"])
@pytest.mark.parametrize("metric", ["accuracy", "dcc"])
def test_headline_examples(rates, model, metric):
    printed = published("headline_examples", model=model, dataset="gsr_coco")[metric]
    assert rates["support", model, "gsr_coco", None, metric] == pytest.approx(printed, abs=POINTS)


@run
def test_rates_of_records_equal_those_of_the_counts(rates, model, dataset):
    for view, name in (("headline", "support"), ("prediction", "prediction"), ("label", "label")):
        frame = published_rates(view).query("model == @model and dataset == @dataset")
        for row in frame.to_dict("records"):
            key = (name, model, dataset, row.get("stratum"), row["metric"])
            assert rates[key] == pytest.approx(100 * row["value"], rel=1e-12)


@every_run
def test_counts_give_every_printed_stratum(model, dataset):
    for table, column in (("T13", "prediction"), ("T14", "label")):
        frame = published_rates(column).query("model == @model and dataset == @dataset")
        for row in frame.query("metric != 'cu'").to_dict("records"):
            where = {"model": model, "dataset": dataset, column: row["stratum"]}
            printed = published(table, **where)
            assert row["n"] == printed["n"]
            assert 100 * row["value"] == pytest.approx(printed[row["metric"]], abs=POINTS)


@every_run
def test_counts_give_survival_balance_and_sensitivity(model, dataset):
    where = {"model": model, "dataset": dataset}
    for row in (
        published_rates("survival")
        .query("model == @model and dataset == @dataset")
        .to_dict("records")
    ):
        printed = published("T12", **where)[row["metric"]]
        assert 100 * row["value"] == pytest.approx(printed, abs=POINTS)
    balanced = published_rates("balanced").query("model == @model and dataset == @dataset")
    for row in balanced.query("metric in ('dcc', 'cu')").to_dict("records"):
        printed = published("T15", **where)[f"{row['stratified_by']}_{row['metric']}"]
        assert 100 * row["value"] == pytest.approx(printed, abs=BALANCED)
    counts = published_runs().query("model == @model and dataset == @dataset").iloc[0]
    printed = published("T28", **where)
    for metric in ("dependent", "strict"):
        assert 100 * counts[metric] / counts["n"] == pytest.approx(printed[metric], abs=POINTS)
    printed = published("T29", **where)["dcc"]
    assert 100 * counts["dcc"] / counts["n"] == pytest.approx(printed, abs=POINTS)


@every_run
def test_strict_by_stratum_lies_in_the_range_of_its_cells(model, dataset):
    cells = published_cells().query("model == @model and dataset == @dataset")
    total = published_runs().query("model == @model and dataset == @dataset")["strict"].item()
    for column in ("prediction", "label"):
        rates = published_rates(column).query("model == @model and dataset == @dataset")
        strict = rates.query("metric == 'strict'").set_index("stratum")
        counts = (strict["value"] * strict["n"]).round(9)
        assert counts.sum() == total
        bounds = cells.groupby(column)[["strict_min", "strict_max"]].sum().loc[counts.index]
        assert (counts >= bounds["strict_min"]).all() and (counts <= bounds["strict_max"]).all()


@pytest.mark.parametrize("quantity", ["cu", "support_advantaged_error"])
def test_headline_ranges_follow_from_the_counts(quantity):
    rates = published_rates("cells").query("metric == @quantity")["value"] * 100
    printed = published("headline_ranges", quantity=quantity)
    assert (rates.min(), rates.max()) == pytest.approx(
        (printed["low"], printed["high"]), abs=POINTS
    )


@pytest.mark.parametrize("column", ["prediction", "label"])
def test_balanced_ranges_follow_from_the_counts(column):
    rates = published_rates("balanced").query("stratified_by == @column and metric == 'cu'")
    values = 100 * rates["value"]
    printed = published("balanced_ranges", quantity=f"{column}_cu")
    assert (values.min(), values.max()) == pytest.approx(
        (printed["low"], printed["high"]), abs=POINTS
    )


def test_published_runs_are_the_eight_runs_with_their_sizes():
    runs = published_runs()
    assert list(zip(runs["model"], runs["dataset"], strict=True)) == ALL_RUNS
    assert runs["n"].tolist() == [1249, 880] * 4
    assert runs["n"].sum() == published("protocol_constants", name="main_records")["value"]
    cells = ["dcc", "cu", "support_advantaged_error", "wrong_not_dependent"]
    assert (runs[cells].sum(axis=1) == runs["n"]).all()
    # Pooled counts that other tables of the paper print.
    assert runs[["dependent", "dcc", "cu"]].sum().tolist() == [5536, 4443, 1624]


def test_published_rates_carry_their_source_and_no_interval():
    for view in ("headline", "cells", "prediction", "label", "balanced", "survival"):
        frame = published_rates(view)
        assert "2607.27069" in frame.attrs["source"]
        assert frame[["low", "high"]].isna().all(axis=None)
        assert frame["value"].between(0, 1).all()


def test_published_refuses_what_is_not_there():
    with pytest.raises(ValueError, match="Unknown table 'T99'; expected one of"):
        published_table("T99")
    with pytest.raises(ValueError, match="One row of T12 must fit .*, got 0"):
        published("T12", model="Qwen", dataset="pairs")
    with pytest.raises(ValueError, match="got 2"):
        published("T12", model="Qwen")
    with pytest.raises(ValueError, match="Unknown view 'gold'"):
        published_rates("gold")


def test_published_keeps_protocol_constants():
    assert published("protocol_constants", name="bootstrap_seed")["value"] == 20260719
    assert published("headline_examples", model="Qwen")["accuracy"] == 90.91
    assert len(published_table("checkpoints")) == 4
    assert published_table("verbaliser_token_ids")["yes"].tolist() == [9834, 13059]
