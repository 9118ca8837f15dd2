"""Filtering: the arithmetic of the published tables, what the book shows of them, and figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.metrics import (
    audit_support,
    filter_overlaps,
    filtered_differences,
    filtered_rates,
    kept_records,
)
from vca_core.published import published, published_runs, published_table

RECORDS = Path(__file__).parents[2] / "shared/conformance/reconstructed_qwen_llava.jsonl"
POINTS = 0.005 + 1e-9  # half of the last printed decimal, and the float's own rounding
OPTIONS = {"n_resamples": 20}


def whole_number(percent, n):
    count = round(percent / 100 * n)
    assert 100 * count / n == pytest.approx(percent, abs=POINTS)
    return count


def test_t25_rates_are_counts_and_gain_is_their_difference():
    for row in published_table("T25").to_dict("records"):
        n = 4 * 2 * round(440 * row["coverage"] / 100)
        correct = whole_number(row["accuracy"], n)
        text = whole_number(row["blind_gap"] + 50, n)
        whole_number(row["dependent"], n)
        assert correct - text == whole_number(row["visual_gain"], n)


def test_t25_full_benchmark_is_the_mean_of_the_published_runs():
    row = published("T25", coverage=100)
    runs = published_runs().query("dataset == 'gsr_coco'")
    for metric, count in (("accuracy", "correct"), ("dependent", "dependent")):
        mean = 100 * (runs[count] / runs["n"]).mean()
        assert mean == pytest.approx(row[metric], abs=POINTS)


def test_published_differences_and_main_text_follow_from_t25():
    half = published_table("T25").query("coverage == 50").set_index("filter")
    for row in published_table("filtering_differences").to_dict("records"):
        expected = half.loc["VCA panel", row["metric"]] - half.loc[row["against"], row["metric"]]
        assert row["difference"] == pytest.approx(expected, abs=0.01 + 1e-9)  # of rounded rates
        assert row["low"] <= row["difference"] <= row["high"]
    for name, key in (("VCA panel", "vca"), ("Shortcut Score", "shortcut_score"),
                      ("Confidence panel", "confidence")):  # fmt: skip
        text = published("robustness_text", quantity=f"visual_gain_at_50pct_{key}")["value"]
        assert text == half.loc[name, "visual_gain"]


def test_reconstructed_records_at_full_coverage_give_the_published_rates():
    if not RECORDS.is_file():
        pytest.skip("the reconstructed records of ../shared/conformance are not here")
    records = pd.read_json(RECORDS, lines=True, dtype={"sample_id": str, "pair_id": str})
    records = records.rename(columns={"margin_text": "margin_text_only", "gold": "label"})
    records = records[records["dataset"] == "GSR-COCO"]
    audit = audit_support(records.assign(label=records["label"].str.lower()))
    rates = filtered_rates(audit, kept_records(audit), **OPTIONS, rng=np.random.default_rng(0))
    assert set(rates.query("pooling == 'macro'")["n"]) == {440, 880, 1320, 1760}
    for model in ("Qwen", "LLaVA"):
        own = rates.query("model == @model and coverage == 1").set_index("metric")["value"]
        printed = published_table("T13").query("model == @model and dataset == 'gsr_coco'")
        for metric in ("accuracy", "dependent"):
            count = (printed[metric] / 100 * printed["n"]).round().sum()
            assert own[metric] == pytest.approx(count / 880, rel=1e-12)
        assert 100 * own["dependent"] == pytest.approx(
            published("T28", model=model, dataset="gsr_coco")["dependent"], abs=POINTS
        )


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(7)
    rows = [
        {"model": m, "sample_id": f"p{i}-{s}", "pair_id": f"p{i}", "label": s}
        for m in ("a", "b$c", "d")
        for i in range(8)
        for s in ("yes", "no")
    ]
    margins = pd.DataFrame(rows).assign(dataset="pairs")
    for context in ("original", "text_only", "blank"):
        margins[f"margin_{context}"] = rng.normal(size=len(margins))
    audit = audit_support(margins)
    kept = kept_records(audit)
    return [
        function(audit, kept, **OPTIONS, rng=np.random.default_rng(0))
        for function in (filtered_rates, filtered_differences, filter_overlaps)
    ]


def test_filtering_table_has_a_row_for_each_row_of_t25_and_the_fifth_filter(frames):
    table = tables.filtering_table(frames[0])
    printed = published_table("T25")
    shown = list(zip(table["Kept (%)"], table["Filter"], strict=True))
    wanted = zip(printed["coverage"].astype(str), printed["filter"], strict=True)
    assert [row for row in shown if row[1] != "Probability gap"] == list(wanted)
    assert list(table.columns)[:3] == ["Kept (%)", "Filter", "n"]
    assert table["n"].tolist() == [48] + 5 * [12] + 5 * [24] + 5 * [36]
    first = frames[0].query("pooling == 'macro' and filter == 'full' and metric == 'visual_gain'")
    value, low, high = first[["value", "low", "high"]].iloc[0]
    cell = f"{100 * value:.2f} [{100 * low:.1f}, {100 * high:.1f}]"
    assert table["Visual gain (points)"].iloc[0] == cell


def test_filtering_table_names_the_data_where_there_are_several(frames):
    two = pd.concat([frames[0], frames[0].assign(dataset="gsr_coco")])
    table = tables.filtering_table(two)
    assert table["Data"].tolist() == 16 * ["Scene pairs"] + 16 * ["GSR-COCO"]


def test_filter_rotations_table_has_a_column_for_each_held_out_model(frames):
    table = tables.filter_rotations_table(frames[0], "visual_gain", 0.5)
    points = ["a (points)", "b$c (points)", "d (points)"]
    assert list(table.columns) == ["Kept (%)", "Filter", "n", *points]
    assert table["Kept (%)"].tolist() == ["100"] + 5 * ["50"]
    assert "a (%)" in tables.filter_rotations_table(frames[0], "accuracy", 0.25)


def test_filter_differences_table_joins_differences_and_overlap(frames):
    table = tables.filter_differences_table(*frames[1:])
    names = ["Acc (points)", "Blind gap (points)", "Visual gain (points)", "Dep (points)"]
    assert list(table.columns) == ["Kept (%)", "Against", *names, "Overlap (%)"]
    assert table["Against"].tolist() == [
        "Shortcut Score",
        "VisNec-style",
        "Confidence panel",
        "Probability gap",
    ]
    assert not table.map(lambda cell: "n =" in str(cell)).any(axis=None)


def test_published_filter_differences_are_as_printed():
    view = tables.published_filter_differences("tab-x")
    row = view.table.set_index("Against").loc["VisNec-style"]
    assert row["Visual gain (points)"] == "3.12 [1.32, 4.91]"
    assert row["Overlap (%)"] == "43.36"
    assert "31.19" in view.caption and "not computed here" in view.caption and view.folded


def test_plot_coverage_ends_every_line_at_the_whole_benchmark(frames):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    figures = pytest.importorskip("vca_core.figures")
    fig, axes = plt.subplots(2, 2)
    figures.plot_coverage(frames[0], axes.flat)
    whole = frames[0].query("pooling == 'macro' and filter == 'full'").set_index("metric")["value"]
    metrics = ("accuracy", "blind_gap", "visual_gain", "dependent")
    for ax, metric in zip(axes.flat, metrics, strict=True):
        lines = ax.get_lines()
        assert len(lines) == 5 and len({line.get_marker() for line in lines}) == 5
        for line in lines:
            assert len(line.get_xdata()) == 4
            assert line.get_xdata()[-1] == 1 and line.get_ydata()[-1] == whole[metric]
    assert len(fig.legends) == 1 and len(fig.legends[0].get_texts()) == 5
    plt.close(fig)
