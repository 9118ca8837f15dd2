"""Confidence against dependence: the split, the join to edits, and the published table."""

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import confidence_quadrants, join_quadrants, quadrant_rates
from vca_core.published import published_table
from vca_core.records import SchemaError

OPTIONS = {"n_resamples": 20}


def generator():
    return np.random.default_rng(3)


def decisions(margins, dependent, **columns):
    frame = pd.DataFrame({"margin_original": margins, "dependent": dependent})
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    return frame.assign(**({"model": "m", "dataset": "d", "pair_id": frame["sample_id"]} | columns))


def test_the_median_and_its_ties_are_high():
    # |m| is 1, 2, 2, 3: the median is 2.
    frame = decisions([-1.0, 2, -2, 3], [True, True, False, False])
    found = confidence_quadrants(frame)
    assert found["confidence"].tolist() == [1, 2, 2, 3]
    assert found["confident"].tolist() == [False, True, True, True]
    assert found["quadrant"].tolist() == [
        "low_dependent", "high_dependent", "high_uncredited", "high_uncredited"
    ]  # fmt: skip


def test_the_split_is_within_each_run():
    one = decisions([1.0, 2, 3], [True] * 3)
    other = decisions([10.0, 20, 30], [True] * 3, dataset="e")
    both = confidence_quadrants(pd.concat([one, other]).sample(frac=1, random_state=0))
    assert both.sort_values("margin_original")["confident"].tolist() == [False, True, True] * 2
    pooled = confidence_quadrants(pd.concat([one, other]), by=())
    assert pooled["confident"].tolist() == [False] * 3 + [True] * 3


def test_shares_sum_to_one_and_rates_are_inside():
    rng = generator()
    frame = decisions(rng.normal(size=60), rng.random(60) < 0.5, correct=rng.random(60) < 0.7)
    found = confidence_quadrants(frame)
    rates = quadrant_rates(found, **OPTIONS, rng=generator()).set_index(["quadrant", "metric"])
    assert rates.xs("share", level="metric")["value"].sum() == pytest.approx(1)
    for name, part in found.groupby("quadrant"):
        row = rates.loc[(name, "correct")]
        assert row["n"] == len(part)
        assert row["value"] == pytest.approx(part["correct"].mean(), rel=1e-12)


def test_empty_quadrant_is_nan_with_no_records():
    found = confidence_quadrants(decisions([1.0, 2.0], [True, True], correct=True))
    rates = quadrant_rates(found, **OPTIONS, rng=generator()).set_index(["quadrant", "metric"])
    assert rates.loc[("low_uncredited", "share"), "value"] == 0
    assert np.isnan(rates.loc[("low_uncredited", "correct"), "value"])
    assert rates.loc[("low_uncredited", "correct"), "n"] == 0


def test_runs_have_shares_of_their_own():
    frame = pd.concat([decisions([1.0, 2.0], [True, False], model=m) for m in ("x", "y")])
    found = confidence_quadrants(frame)
    rates = quadrant_rates(found, (), by=("model", "dataset"), **OPTIONS, rng=generator())
    assert rates["model"].unique().tolist() == ["x", "y"] and set(rates["metric"]) == {"share"}
    assert rates.groupby("model")["value"].sum().tolist() == [1, 1]


def test_published_quadrants_follow_from_their_counts():
    """Records with T21's counts give T21, and its totals D-CC, C-U and the edits of T04."""
    table = published_table("T21")
    statements, edits = [], []
    for row in table.to_dict("records"):
        name = f"{row['confidence']}_{'dependent' if row['dependent'] else 'uncredited'}"
        i = np.arange(row["n"])
        correct = i < round(row["accuracy"] / 100 * row["n"])
        statements.append(pd.DataFrame({"quadrant": name, "correct": correct}))
        n = row["n_edit_records"]
        counts = {t: round(row[t] / 100 * n) for t in ("edit_visible", "edit_strict")}
        events = {target: np.arange(n) < count for target, count in counts.items()}
        edits.append(pd.DataFrame({"quadrant": name, **events}))
    named = []
    for parts in (statements, edits):
        frame = pd.concat(parts, ignore_index=True)
        ids = frame.index.astype(str)
        named.append(frame.assign(model="all", dataset="d", sample_id=ids, edit_id=ids))
    assert len(named[0]) == 8516 and len(named[1]) == 432
    assert named[1][["edit_visible", "edit_strict"]].sum().tolist() == [208, 162]
    credited = named[0]["quadrant"].str.endswith("dependent")
    assert [credited.sum(), named[0].loc[credited, "correct"].sum()] == [5536, 4443]
    found = quadrant_rates(named[0], **OPTIONS, rng=generator())
    swaps = quadrant_rates(named[1], ("edit_visible", "edit_strict"), cluster="edit_id", **OPTIONS,
                           rng=generator())  # fmt: skip
    for rates, columns in (
        (found, {"share": "share", "correct": "accuracy"}),
        (swaps, {"edit_visible": "edit_visible", "edit_strict": "edit_strict"}),
    ):
        wide = rates.pivot(index="quadrant", columns="metric", values="value")
        for row in table.to_dict("records"):
            name = f"{row['confidence']}_{'dependent' if row['dependent'] else 'uncredited'}"
            for metric, column in columns.items():
                assert round(100 * wide.loc[name, metric], 2) == row[column], (name, column)


def test_edits_take_the_quadrant_of_their_source_in_the_whole_run():
    audit = decisions([1.0, 2.0, 3.0, 9.0], [True, False, True, False])
    edits = pd.DataFrame({"model": "m", "pair_id": ["s3", "s2"], "sample_id": ["s3", "s2"]})
    found = join_quadrants(edits, confidence_quadrants(audit))
    # Of the two alone, 3 would be below the median.
    assert found["quadrant"].tolist() == ["high_uncredited", "high_dependent"]
    queries = decisions([5.0], [True], dataset="queries", pair_id=None, sample_id="s3")
    with_queries = confidence_quadrants(pd.concat([audit, queries]))
    assert join_quadrants(edits, with_queries)["quadrant"].equals(found["quadrant"])


@pytest.mark.parametrize("ids", [["s3", "s9"], ["s9", "s9"]])
def test_edit_without_an_audited_source_is_refused(ids):
    audit = confidence_quadrants(decisions([1.0, 2.0, 3.0, 9.0], [True] * 4))
    edits = pd.DataFrame({"model": "m", "pair_id": ids, "sample_id": ids})
    with pytest.raises(SchemaError, match="got none or several for sample_id 's9'"):
        join_quadrants(edits, audit)
    twice = pd.concat([audit, audit.assign(dataset="e")])
    with pytest.raises(SchemaError, match="got none or several for sample_id 's3'"):
        join_quadrants(edits.assign(pair_id="s3", sample_id="s3").iloc[:1], twice)


def test_missing_columns_are_named():
    frame = decisions([1.0], [True])
    with pytest.raises(SchemaError, match="`dependent` is missing.*audit_support"):
        confidence_quadrants(frame.drop(columns="dependent"))
    with pytest.raises(SchemaError, match="`quadrant` is missing.*confidence_quadrants"):
        quadrant_rates(frame, **OPTIONS, rng=generator())
    with pytest.raises(SchemaError, match="`correct` is missing"):
        quadrant_rates(confidence_quadrants(frame), **OPTIONS, rng=generator())
