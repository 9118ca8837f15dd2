"""Ratios of measured costs, growth, and the project's aims. All measurements here are made up."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.metrics import (
    aims_met,
    analysis_figures,
    analysis_growth,
    bootstrap_ratios,
    cost_ratios,
    growth,
    judge,
    peer_ratios,
)
from vca_core.metrics.aims import AIMS, Aim
from vca_core.metrics.cost import ANALYSIS_PEAK, RECORDS, RESAMPLES
from vca_core.records import SchemaError

quick = settings(max_examples=40, deadline=None, derandomize=True)
TURNS = [
    ("accuracy", 0, 2.0, 110, 100), ("audit", 0, 1.0, 130, 100), ("bound", 0, 0.8, 90, 100),
    ("accuracy", 1, 4.0, 120, 100), ("audit", 1, 4.0, 130, 100), ("bound", 1, 2.0, 90, 100),
    ("accuracy", 2, 2.0, 110, 100), ("audit", 2, 3.0, 120, 100), ("bound", 2, 1.5, 90, 100),
]  # fmt: skip


def turns(rows=TURNS, model="m", data="pairs", part="cost"):
    names = ["tool", "repeat", "seconds", "peak_bytes", "loaded_bytes"]
    return pd.DataFrame(rows, columns=names).assign(model=model, data=data, part=part)


def one(ratios, measure):
    (row,) = ratios[ratios["measure"] == measure].to_dict("records")
    return row


def test_cost_ratios_are_taken_within_a_repeat():
    found = one(cost_ratios(turns()), "audit ÷ accuracy")
    # 0.5, 1.0, 1.5; the ratio of the two medians would be 3 / 2 = 1.5
    assert (found["n"], found["low"], found["value"], found["high"]) == (3, 0.5, 1.0, 1.5)
    assert one(cost_ratios(turns()), "bound ÷ audit")["value"] == 0.5
    assert one(cost_ratios(turns()), "bound ÷ accuracy")["value"] == pytest.approx(0.5)


def test_cost_ratios_memory_with_and_without_the_loaded_model():
    ratios = cost_ratios(turns())
    assert one(ratios, "audit ÷ accuracy, peak memory")["value"] == pytest.approx(120 / 110)
    above = one(ratios, "audit ÷ accuracy, above the loaded model")
    assert (above["low"], above["value"], above["high"]) == (1.5, 2.0, 3.0)


def test_cost_ratios_of_nothing_above_the_loaded_model_are_nan():
    frame = turns()
    frame["loaded_bytes"] = frame["peak_bytes"]
    above = one(cost_ratios(frame), "audit ÷ accuracy, above the loaded model")
    assert above["n"] == 0 and np.isnan(above["value"])


def test_cost_ratios_keep_models_and_data_apart_in_their_order():
    parts = [turns(model=m, data=d) for m in ("z", "a") for d in ("single", "pairs")]
    other = turns(part="growth", model="x")
    found = cost_ratios(pd.concat([*parts, other], ignore_index=True))
    order = list(dict.fromkeys(zip(found["model"], found["data"], strict=True)))
    assert order == [("z", "single"), ("z", "pairs"), ("a", "single"), ("a", "pairs")]
    assert len(found) == 4 * 5 and set(found["n"]) == {3}


def test_cost_ratios_leave_out_a_repeat_that_lacks_a_tool():
    found = one(cost_ratios(turns(TURNS[:-2])), "audit ÷ accuracy")
    assert (found["n"], found["value"]) == (2, 0.75)


def test_cost_ratios_refuse_a_tool_measured_twice_and_missing_columns():
    with pytest.raises(SchemaError, match=r"once per .* got \(audit, m, pairs, 0\)"):
        cost_ratios(turns([*TURNS, TURNS[1]]))
    with pytest.raises(SchemaError, match="`loaded_bytes` is missing"):
        cost_ratios(turns().drop(columns="loaded_bytes"))


@quick
@given(st.floats(0.01, 100))
def test_cost_ratios_do_not_depend_on_the_clock(factor):
    slower = turns().assign(seconds=lambda f: factor * f["seconds"])
    values = [cost_ratios(frame)["value"] for frame in (turns(), slower)]
    np.testing.assert_allclose(*values, rtol=1e-12)


def peers():
    rows = [
        ("vca_core", 0, 1.0), ("lmms-eval", 0, 10.0), ("glance", 0, 5.0),
        ("vca_core", 1, 4.0), ("lmms-eval", 1, 20.0), ("glance", 1, 8.0),
        ("vca_core", 2, 1.0), ("lmms-eval", 2, 20.0), ("glance", 2, 5.0),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["tool", "repeat", "seconds"])
    frame["peak_bytes"] = frame["tool"].map({"vca_core": 1e9, "lmms-eval": 2e9, "glance": 3e9})
    return frame.assign(model="m", data="d", context_set="c", n_item_contexts=40)


def test_peer_ratios_speeds_and_ratios_within_a_repeat():
    found = peer_ratios(peers())
    speed = found[found["measure"] == "item-contexts per second"].set_index("tool")
    assert speed.loc["lmms-eval", ["low", "value", "high"]].tolist() == [2, 2, 4]
    assert speed.loc["vca_core", ["low", "value", "high"]].tolist() == [10, 40, 40]
    ratio = found[found["measure"] == "vca_core ÷ lmms-eval"]
    assert ratio[["n", "low", "value", "high"]].to_numpy().tolist() == [[3, 5, 10, 20]]
    assert not (found["measure"] == "vca_core ÷ vca_core").any()
    peak = found[found["measure"] == "peak memory"].set_index("tool")["value"]
    assert peak.to_dict() == {"vca_core": 1e9, "lmms-eval": 2e9, "glance": 3e9}


def test_peer_ratios_without_ours_in_a_repeat_count_the_others():
    frame = peers().drop(index=0)
    ratio = one(peer_ratios(frame), "vca_core ÷ lmms-eval")
    assert (ratio["n"], ratio["value"]) == (2, 12.5)


def test_growth_is_one_where_time_is_in_proportion():
    rows = [("audit", 0, 3.0 * n, 1, 0) for n in (1, 4, 16)]
    frame = turns(rows, part="growth").assign(n_item_contexts=[20, 80, 320])
    found = growth(pd.concat([frame, turns().assign(n_item_contexts=20)]))
    assert found["series"].tolist() == ["m"] * 3
    assert found["times"].tolist() == [1, 4, 16]
    np.testing.assert_allclose(found["value"], 1, rtol=1e-12)


def test_growth_starts_at_the_smallest_and_takes_medians_of_repeats():
    frame = pd.DataFrame({"n_records": [40, 10, 10, 10], "seconds": [8.0, 1.0, 9.0, 1.0]})
    found = analysis_growth(frame)
    assert found[["size", "times", "seconds", "value"]].to_numpy().tolist() == [
        [10, 1, 1, 1],
        [40, 4, 8, 2],
    ]


def test_analysis_figures_are_those_of_the_size_that_the_aims_name():
    frame = pd.DataFrame({"n_records": [RECORDS // 4, RECORDS], "resample_seconds": [9.0, 2.0]})
    found = analysis_figures(frame.assign(peak_bytes=[5e9, 3e9]))
    assert found.set_index("measure")["value"].to_dict() == {ANALYSIS_PEAK: 3e9, RESAMPLES: 2.0}
    assert analysis_figures(frame[:1].assign(peak_bytes=1)).empty


def test_bootstrap_ratios_divide_the_times():
    frame = pd.DataFrame(
        {"ours": ["a"], "other": ["b"], "seconds": [0.002], "other_seconds": [0.5]}
    )
    (row,) = judge(bootstrap_ratios(frame)).to_dict("records")
    assert row["value"] == pytest.approx(1 / 250)
    assert row["aim"] == 1 / 200 and row["at_most"] and row["met"]


def test_judge_knows_most_from_least_and_data_from_data():
    frame = pd.DataFrame(
        [
            ("audit ÷ accuracy", "pairs", 0.75),
            ("audit ÷ accuracy", "single", 0.75),
            ("audit ÷ accuracy", "pairs", 0.7501),
            ("bound ÷ audit", "pairs", 0.7),
            ("bound ÷ audit", "pairs", 0.69),
            ("bound ÷ accuracy", "pairs", 0.1),
            ("bound ÷ audit", "pairs", np.nan),
        ],
        columns=["measure", "data", "value"],
    )
    found = judge(frame)
    assert found["met"].tolist() == [True, True, False, True, False, pd.NA, pd.NA]
    assert found["aim"].tolist()[:5] == [0.75, 1.2, 0.75, 0.7, 0.7]
    assert found.index.equals(frame.index)


def test_aims_met_counts_values_and_names_the_worst():
    ratios = pd.DataFrame({"measure": ["x", "x", "y", "y"], "value": [1.0, 3.0, 1.0, 3.0]})
    aims = [Aim("x", "", 2, True), Aim("y", "", 2, False), Aim("z", "", 2, True)]
    found = aims_met(ratios, ratios[:0], aims=aims).set_index("measure")
    assert found[["n", "n_met"]].to_numpy().tolist() == [[2, 1], [2, 1], [0, 0]]
    assert found.loc["x", ["best", "worst"]].tolist() == [1, 3]
    assert found.loc["y", ["best", "worst"]].tolist() == [3, 1]
    assert np.isnan(found.loc["z", "worst"])


def test_aims_are_about_measures_that_are_computed():
    ends = pd.DataFrame({"n_records": [RECORDS], "resample_seconds": [1.0], "peak_bytes": [1e9]})
    scipy = pd.DataFrame({"ours": ["a"], "other": ["b"], "seconds": [1.0], "other_seconds": [2.0]})
    both = pd.concat([turns(), turns(data="single")], ignore_index=True)
    frames = cost_ratios(both), peer_ratios(peers()), analysis_figures(ends)
    found = aims_met(*frames, bootstrap_ratios(scipy))
    assert len(found) == len(AIMS) and (found["n"] > 0).all()
