"""The published set of increments, its tables and its figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from test_increments import frame, increments

from vca_core import figures, tables
from vca_core.metrics import leave_one_edit_out_auroc
from vca_core.records import SchemaError


@pytest.fixture(scope="module")
def outcomes():
    return frame(9, n_edits=24)


@pytest.fixture(scope="module")
def rows(outcomes):
    rng = np.random.default_rng(1)
    return leave_one_edit_out_auroc(outcomes, n_resamples=50, rng=rng, ridges=(0.1, 1.0))


SETTINGS = {
    "main": {},
    "original_pair": {"target": "edit_strict", "within": {"source_consistent": True}},
    "pair_dependent": {"within": {"relation_consistent": True}, "added": "pair_dependent"},
    "signed_margin": {"baseline": ("model", "relation", "margin_original_rank")},
    "model": {"by": "model"},
    "held_out_model": {"by": "model", "hold_out": "model"},
}


@pytest.mark.parametrize("variant", SETTINGS)
def test_each_variant_is_its_own_call_at_the_same_seed(outcomes, rows, variant):
    setting = {"target": "edit_visible"} | SETTINGS[variant]
    want = increments(outcomes, **setting)
    if "by" in setting:
        want = want[want["stratum"].notna()]
    got = rows[(rows["variant"] == variant) & (rows["target"] == setting["target"])]
    pd.testing.assert_frame_equal(
        got.drop(columns="variant").reset_index(drop=True), want.reset_index(drop=True)
    )


def test_sweep_has_every_ridge_once_and_both_targets(outcomes, rows):
    sweep = rows[rows["variant"].isin(["main", "ridge"])]
    assert not sweep.duplicated(["target", "ridge", "metric"]).any()
    assert set(sweep["ridge"]) == {0.1, 1.0} and len(sweep) == 2 * 2 * 3
    other = sweep[(sweep["ridge"] == 0.1) & (sweep["target"] == "edit_strict")]
    want = increments(outcomes, "edit_strict", ridge=0.1)
    assert other["value"].tolist() == want["value"].tolist()


def test_without_a_model_is_the_main_row_of_the_others(outcomes, rows):
    got = rows[rows["variant"] == "without_model"]
    assert got["within"].tolist() == [f"model != {m}" for m in "cab" for _ in range(3)]
    for model in "cab":
        want = increments(outcomes[outcomes["model"] != model])
        of = got[got["within"] == f"model != {model}"]
        assert of["value"].tolist() == pytest.approx(want["value"].tolist(), abs=1e-12)
        assert (of["n"] == 48).all()


def test_axes_are_fitted_by_themselves(outcomes, rows):
    got = rows[rows["variant"] == "axis"]
    assert got["within"].unique().tolist() == ["axis = horizontal", "axis = vertical"]
    want = increments(outcomes, within={"axis": "vertical"})
    assert got["value"].tolist()[3:] == want["value"].tolist()


def test_original_pair_may_be_another_column():
    outcomes = frame(9, n_edits=8)
    rng = np.random.default_rng(1)
    rows = leave_one_edit_out_auroc(
        outcomes, original_pair="relation_consistent", n_resamples=5, rng=rng, ridges=()
    )
    assert "relation_consistent" in set(rows[rows["variant"] == "original_pair"]["within"])
    with pytest.raises(SchemaError, match="Column `source_consistent` is missing"):
        leave_one_edit_out_auroc(outcomes.drop(columns="source_consistent"), rng=rng)


def test_increments_table_says_what_each_row_is_of(rows):
    table = tables.increments_table(rows[rows["variant"] == "main"])
    names = ["Target", "Setting", "Edits", "n", "Baseline (%)", "Augmented (%)"]
    assert list(table) == [*names, "Difference (points)"]
    assert table["Target"].tolist() == ["Flip and visibility", "Strict composite"]
    value, low, high = (
        100 * rows.query("variant == 'main' and metric == 'increment'")[part].iloc[0]
        for part in ("value", "low", "high")
    )
    assert table["Difference (points)"][0] == f"{value:.2f} [{low:.1f}, {high:.1f}]"
    table = tables.increments_table(rows)
    assert {"Added", "Ridge"} < set(table)
    assert not table.duplicated(["Target", "Setting", "Added", "Ridge"]).any()
    assert {"all records", "original pair right", "within Rel.", "signed-margin rank",
            "without a", "a held out", "a", "horizontal"} < set(table["Setting"])  # fmt: skip


def test_plot_increments_draws_one_row_per_setting(rows):
    fig, ax = plt.subplots()
    figures.plot_increments(rows[rows["target"] == "edit_visible"], ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "all records, ridge 1" and "within Rel., + Pair D, ridge 1" in names
    shown = rows[(rows["metric"] == "increment") & (rows["target"] == "edit_visible")]
    assert len(names) == len(shown)
    points = np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() == "o"])
    np.testing.assert_array_equal(np.sort(points), np.sort(shown["value"]))
    plt.close(fig)
    fig, ax = plt.subplots()
    figures.plot_increments(rows[rows["variant"] == "main"], ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["all records"]
    assert len(fig.legends[0].get_texts()) == 2
    plt.close(fig)
