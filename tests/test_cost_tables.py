"""Tables and figures of measured costs, and their files. All measurements here are made up."""

import json

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.measurements import COLUMNS, read_measurements
from vca_core.metrics import (
    aims_met,
    analysis_growth,
    bootstrap_ratios,
    cost_ratios,
    growth,
    judge,
    peer_ratios,
)
from vca_core.records import SchemaError
from vca_core.tables.cost import amount

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
figures = pytest.importorskip("vca_core.figures")

CONTEXTS = "original+blank x yes_no+true_false"
MACHINE = {"processor": "made up", "cores": 2, "memory_gb": 8, "system": "Linux", "python": "3.11",
           "threads": 2, "workers": 0, "date": "2026-01-05", "torch": "2.0"}  # fmt: skip


def written(folder):
    """Files of the form that the benchmarks write."""
    own = {"version": "0", "context_set": "c", "note": "", "n_item_contexts": 12, "repeat": 0}
    own |= {"peak_bytes": 2e9, "loaded_bytes": 1e9}
    rows = [
        own | {"part": "cost", "model": m, "data": d, "tool": tool, "seconds": s}
        for m in ("mini", "large")
        for d in ("pairs", "single")
        for tool, s in (("accuracy", 2.0), ("audit", 1.6), ("bound", 1.2))
    ]
    rows += [
        own | {"part": "growth", "model": "mini", "data": "pairs", "tool": "audit"}
        | {"seconds": 1.0 * n, "n_item_contexts": 12 * n, "note": f"{n} times"}
        for n in (1, 4, 16)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "cost.csv", index=False)
    peers = [
        own | {"part": "peers", "model": "mini", "data": "d", "context_set": CONTEXTS}
        | {"tool": tool, "seconds": s}
        for tool, s in (("vca_core", 1.0), ("lmms-eval", 20.0), ("glance", 3.0))
    ]  # fmt: skip
    pd.DataFrame(peers).to_csv(folder / "peers.csv", index=False)
    margins = pd.DataFrame(
        {"tool": ["glance"] * 2, "model": "mini", "context_set": CONTEXTS, "interface": "yes_no",
         "context": ["original", "blank"], "n": 4, "same_decisions": [4, 3], "n_redone": 2,
         "max_difference": [0.5, 2.0], "max_unexplained": [1e-6, 2e-6]}
    )  # fmt: skip
    margins.to_csv(folder / "peers_margins.csv", index=False)
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    return read_measurements(folder)


@pytest.fixture
def measured(tmp_path):
    return written(tmp_path)


@pytest.fixture
def nothing(tmp_path):
    return read_measurements(tmp_path / "none")


@pytest.fixture
def ax():
    with matplotlib.rc_context():
        figures.use_style()
        yield plt.subplots()[1]
    plt.close("all")


def test_read_measurements_missing_files_are_empty_with_their_columns(measured, nothing):
    assert len(measured.cost) == 15 and measured.machine == MACHINE
    assert measured.analysis.empty and measured.bootstrap.empty
    assert nothing.machine == {}
    for name, columns in COLUMNS.items():
        frame = getattr(nothing, name)
        assert frame.empty and list(frame.columns) == list(columns)


def test_read_measurements_names_file_and_column(tmp_path):
    pd.DataFrame({"n_records": [1]}).to_csv(tmp_path / "analysis.csv", index=False)
    with pytest.raises(SchemaError, match=r"analysis\.csv: column `seconds` is missing"):
        read_measurements(tmp_path)


def test_columns_are_those_that_the_benchmarks_write():
    pytest.importorskip("torch", reason="live extra is not installed")
    from benchmarks import analysis_scale, cost, peers

    assert set(COLUMNS["cost"]) == set(cost.COLUMNS)
    assert set(COLUMNS["peers"]) == set(peers.COLUMNS)
    assert set(COLUMNS["analysis"]) <= set(analysis_scale.COLUMNS)


def test_ratios_table_shows_range_aim_and_whether_it_is_met(measured):
    names = {"audit ÷ accuracy": "Audit", "bound ÷ accuracy": "Bound"}
    table = tables.ratios_table(judge(cost_ratios(measured.cost)), names)
    audit, bound = "0.800 [0.800, 0.800]", "0.600 [0.600, 0.600]"
    assert table.to_dict("records")[:2] == [
        {"Model": "mini", "Data": "pairs", "Audit": audit, "Bound": bound, "Aim": "≤ 0.75",
         "Met": "no", "Repeats": 1},
        {"Model": "mini", "Data": "single statements", "Audit": audit, "Bound": bound,
         "Aim": "≤ 1.2", "Met": "yes", "Repeats": 1},
    ]  # fmt: skip
    assert table["Model"].tolist() == ["mini", "mini", "large", "large"]


def test_peers_table_one_row_a_tool_and_none_over_itself(measured):
    table = tables.peers_table(judge(peer_ratios(measured.peers))).set_index("Tool")
    assert table.loc["vca_core", ["Ours ÷ tool", "Aim", "Met"]].tolist() == ["–"] * 3
    assert table.loc["lmms-eval", ["Ours ÷ tool", "Aim", "Met"]].tolist() == [
        "20.0 [20.0, 20.0]",
        "≥ 10",
        "yes",
    ]
    assert table.loc["glance", "Met"] == "no"
    assert set(table["Interface"]) == {"Yes/No and True/False"}
    assert set(table["Peak memory"]) == {"2.00 GB"}


def test_margins_table_sums_counts_and_takes_the_largest(measured):
    (row,) = tables.margins_table(measured.peers_margins).to_dict("records")
    assert row["Same decisions"] == "7 of 8"
    assert row["Largest difference (nats)"] == "2.000"
    assert row["Left by its rule (nats)"] == "2e-06"


def test_amount_has_the_unit_of_its_measure():
    assert amount("peak memory", 1.234e9) == "1.23 GB"
    assert amount("bootstrap ÷ scipy", 1 / 321) == "1/321"
    assert amount("resamples of the largest cache", 2.345) == "2.35 s"
    plain = [amount("x", value) for value in (0.7504, 1.2345, 2.345, 12.34, 123.4, np.nan)]
    assert plain == ["0.750", "1.234", "2.35", "12.3", "123", "–"]


def test_aims_table_says_what_was_not_measured(measured):
    table = tables.aims_table(aims_met(cost_ratios(measured.cost))).set_index("Measure")
    met = table["Met by"]
    assert met["audit ÷ accuracy, pairs"] == "0 of 2"
    assert met["bound ÷ audit"] == "4 of 4"
    assert met["bootstrap ÷ scipy"] == "not measured"
    assert table["Aim"].tolist() == [
        "≤ 0.75", "≤ 1.2", "≥ 0.7", "≥ 10", "≥ 6", "≤ 1.3", "≤ 4 GB", "≤ 10 s", "≤ 1/200",
    ]  # fmt: skip


def test_machine_sentence_names_the_machine_or_says_that_nobody_did():
    said = tables.machine_sentence(MACHINE)
    assert said.startswith("Measured on 5 January 2026: made up (Linux), 2 cores, 8 GB of memory")
    assert said.endswith("Python 3.11, torch 2.0.")
    assert "not recorded" in tables.machine_sentence({})


def test_tables_of_nothing_have_one_row_that_says_so(nothing):
    made = [
        tables.ratios_table(judge(cost_ratios(nothing.cost)), {"audit ÷ accuracy": "x"}),
        tables.peers_table(judge(peer_ratios(nothing.peers))),
        tables.margins_table(nothing.peers_margins),
        tables.growth_table(growth(nothing.cost), "Items"),
        tables.growth_table(analysis_growth(nothing.analysis), "Records"),
        tables.bootstrap_table(judge(bootstrap_ratios(nothing.bootstrap))),
    ]
    for table in made:
        assert len(table) == 1 and table.iloc[0].tolist()[0] == "not measured"
        assert set(table.iloc[0, 1:]) == {"–"}


def test_plot_ratios_puts_aims_at_the_points(measured, ax):
    ratios = judge(cost_ratios(measured.cost))
    both = ratios[ratios["measure"].isin(["audit ÷ accuracy", "bound ÷ accuracy"])]
    figures.plot_ratios(
        both.assign(run=both["model"] + both["data"]), ax, rows="run", series="measure",
        title="t", label="l",
    )  # fmt: skip
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(lines["audit ÷ accuracy"].get_xdata(), 0.8)
    assert list(lines["aim"].get_xdata()) == [0.75, 1.2, 0.75, 1.2]
    assert list(lines["aim"].get_ydata()) == list(lines["audit ÷ accuracy"].get_ydata())
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "aim"


def test_plot_ratios_on_a_logarithmic_scale_draws(measured, ax):
    ratios = judge(peer_ratios(measured.peers))
    rows = ratios[ratios["measure"].str.contains("÷")]
    figures.plot_ratios(rows, ax, rows="model", series="tool", title="t", label="l", log=True)
    assert ax.get_xscale() == "log" and ax.get_xlim()[0] > 0
    ax.figure.canvas.draw()


def test_plot_growth_flat_line_lies_on_the_dashed_one(measured, ax):
    figures.plot_growth(growth(measured.cost), ax, title="t", label="l")
    reference, line = ax.lines
    np.testing.assert_allclose(line.get_ydata(), reference.get_ydata()[0])
    assert list(line.get_xdata()) == [1, 4, 16]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("kind", ["ratios", "growth"])
def test_plots_of_nothing_say_so(nothing, ax, kind):
    if kind == "ratios":
        frame = judge(cost_ratios(nothing.cost))
        figures.plot_ratios(frame, ax, rows="model", series="measure", title="t", label="l")
    else:
        figures.plot_growth(growth(nothing.cost), ax, title="t", label="l")
    assert [text.get_text() for text in ax.texts] == ["not measured"]


def test_plot_token_ratio_draws_a_line_per_series(ax):
    frame = pd.DataFrame(
        {"picture_share": [0.0, 1.0] * 2, "series": list("aabb"), "value": [3, 1, 3, 0.5]}
    )
    figures.plot_token_ratio(frame, ax)
    assert [line.get_label() for line in ax.lines[1:]] == ["a", "b"]
