"""Rates within strata against the published tables, a slow loop, and limits."""

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import natural_correspondence, outcomes_by_stratum
from vca_core.metrics.edit_strata import strata_rates
from vca_core.metrics.edits import TARGETS
from vca_core.published import published_table
from vca_core.resampling import resample_counts
from vca_core.stats import percentile_interval

OPTIONS = {"n_resamples": 30}


def generator():
    return np.random.default_rng(7)


def random_outcomes(n=30, models=("b", "a"), seed=1):
    rng = np.random.default_rng(seed)
    parts = []
    for model in models:
        frame = pd.DataFrame({"edit_id": [f"e{i}" for i in range(n)]})
        frame["sample_id"] = "s" + frame["edit_id"]
        frame["relation_consistent"] = rng.random(n) < 0.7
        frame["joint"] = frame["relation_consistent"] & (rng.random(n) < 0.6)
        frame["edit_relation"] = rng.random(n) < 0.8
        frame["edit_visible"] = frame["edit_relation"] & (rng.random(n) < 0.8)
        frame["edit_strict"] = frame["edit_visible"] & frame["relation_consistent"]
        frame["correct"] = pd.array(rng.random(n) < 0.8, dtype="boolean")
        frame["dependent"] = rng.random(n) < 0.5
        parts.append(frame.assign(model=model, dataset="edits"))
    return pd.concat(parts, ignore_index=True)


def look_up(rates, metric="edit_visible"):
    rates = rates[rates["metric"] == metric]
    head = rates["model"].where(rates["pooling"] == "run", rates["pooling"])
    return rates.set_index([head, "stratum"])


def test_published_strata_follow_from_their_counts():
    """Records with the counts behind T04 and T23 give both tables, macro row included."""
    table = published_table("T23").set_index("model")
    parts = []
    for model, row in table.drop("Macro").iterrows():
        n_rel, n_joint = int(row["n_relation_consistent"]), int(row["n_joint"])
        n = int(row["n_edits"])
        in_joint = round(row["edit_visible_within_joint"] / 100 * n_joint)
        in_rel = round(row["edit_visible_within_relation_consistent"] / 100 * n_rel)
        all_visible = round(row["edit_visible"] / 100 * n)
        i = np.arange(n)  # joint first, then the rest of Rel, then the others
        visible = (
            (i < in_joint)
            | ((i >= n_joint) & (i < n_joint + in_rel - in_joint))
            | ((i >= n_rel) & (i < n_rel + all_visible - in_rel))
        )
        more = round(row["edit_relation"] / 100 * n) - all_visible
        hidden = np.flatnonzero(~visible)[:more]
        frame = pd.DataFrame({"edit_id": [f"e{k}" for k in i], "edit_visible": visible})
        frame["edit_relation"] = visible | np.isin(i, hidden)
        frame["relation_consistent"], frame["joint"] = i < n_rel, i < n_joint
        frame["edit_strict"] = visible & (i < n_rel)
        parts.append(frame.assign(model=model, dataset="edits", sample_id=frame["edit_id"]))
    found = outcomes_by_stratum(pd.concat(parts), **OPTIONS, rng=generator())
    visible, relation = look_up(found), look_up(found, "edit_relation")
    strict = look_up(found, "edit_strict")
    base_rates = published_table("T20")
    for model, row in table.iterrows():
        at = "macro" if model == "Macro" else model
        got = {
            "edit_relation": relation.loc[(at, "overall"), "value"],
            "edit_visible": visible.loc[(at, "overall"), "value"],
            "edit_visible_within_relation_consistent": visible.loc[
                (at, "relation_consistent"), "value"
            ],
            "edit_visible_within_joint": visible.loc[(at, "joint"), "value"],
            "pair_dependent_increment": visible.loc[(at, "pair_dependent_increment"), "value"],
        }
        for name, value in got.items():
            assert round(100 * value, 2) == pytest.approx(row[name], abs=1e-9), (model, name)
        assert visible.loc[(at, "relation_consistent"), "n"] == row["n_relation_consistent"]
        assert visible.loc[(at, "joint"), "n"] == row["n_joint"]
        printed = base_rates[(base_rates["model"] == model) & (base_rates["n"] == 108)]
        for rate in printed["base_rate"]:
            assert round(100 * strict.loc[(at, "overall"), "value"], 2) == rate
    assert round(100 * visible.loc[("macro", "joint_minus_overall"), "value"], 2) == 14.77


def test_strata_rates_are_plain_means_and_their_differences():
    outcomes = random_outcomes()
    found = look_up(outcomes_by_stratum(outcomes, **OPTIONS, rng=generator()))
    rel = outcomes[outcomes["relation_consistent"]]
    joint = outcomes[outcomes["joint"]]
    means = {part: frame.groupby("model")["edit_visible"].mean()
             for part, frame in (("overall", outcomes), ("relation_consistent", rel),
                                 ("joint", joint))}  # fmt: skip
    for part, by_model in means.items():
        for model in ("a", "b"):
            assert found.loc[(model, part), "value"] == pytest.approx(by_model[model], rel=1e-12)
        assert found.loc[("macro", part), "value"] == pytest.approx(by_model.mean(), rel=1e-12)
    increment = found.xs("pair_dependent_increment", level="stratum")
    assert increment.loc["a", "value"] == pytest.approx(
        means["joint"]["a"] - means["relation_consistent"]["a"], abs=1e-12
    )
    assert increment.loc["micro", "value"] == pytest.approx(
        joint["edit_visible"].mean() - rel["edit_visible"].mean(), abs=1e-12
    )
    assert increment.loc["macro", "value"] == pytest.approx(
        (means["joint"] - means["relation_consistent"]).mean(), abs=1e-12
    )
    assert increment.loc["macro", "n"] == len(joint) and increment.loc["macro", "n_models"] == 2


def test_intervals_are_those_of_a_loop_over_resampled_edits():
    outcomes = random_outcomes(n=12)
    found = look_up(outcomes_by_stratum(outcomes, **OPTIONS, rng=generator()))
    seed = int(generator().integers(2**63))
    names = sorted(outcomes["edit_id"].unique())
    drawn = []
    for counts in resample_counts(12, **OPTIONS, rng=np.random.default_rng(seed)):
        for row in counts:
            copies = [outcomes[outcomes["edit_id"] == e] for e, k in zip(names, row, strict=True)
                      for _ in range(int(k))]  # fmt: skip
            sample = pd.concat(copies)
            rel, joint = sample[sample["relation_consistent"]], sample[sample["joint"]]
            of_models = [part.groupby("model")["edit_visible"].mean().reindex(["a", "b"])
                         for part in (joint, rel)]  # fmt: skip
            gap = of_models[0] - of_models[1]
            drawn.append([gap["a"], gap.mean(skipna=False), joint["edit_visible"].mean()])
    for j, where in enumerate(
        [("a", "pair_dependent_increment"), ("macro", "pair_dependent_increment"),
         ("micro", "joint")]
    ):  # fmt: skip
        column = np.array(drawn)[:, j]
        want = percentile_interval(column)
        assert found.loc[where, ["low", "high"]].tolist() == pytest.approx(list(want), abs=1e-12)
        assert found.loc[where, "n_undefined"] == np.isnan(column).sum()


def test_models_on_the_same_edits_are_paired():
    outcomes = random_outcomes(models=("b",))
    twin = pd.concat([outcomes, outcomes.assign(model="a")])
    found = look_up(outcomes_by_stratum(twin, **OPTIONS, rng=generator()))
    for name in ("b", "micro", "macro"):
        np.testing.assert_allclose(
            found.loc[name, ["value", "low", "high"]], found.loc["a", ["value", "low", "high"]]
        )


def test_empty_stratum_is_nan_with_its_n_and_leaves_the_macro():
    outcomes = random_outcomes()
    outcomes.loc[outcomes["model"] == "a", "joint"] = False
    found = look_up(outcomes_by_stratum(outcomes, **OPTIONS, rng=generator()))
    empty = found.loc[("a", "joint")]
    assert np.isnan(empty["value"]) and np.isnan(empty["low"]) and empty["n"] == 0
    assert np.isnan(found.loc[("a", "pair_dependent_increment"), "value"])
    macro = found.loc[("macro", "joint")]
    assert macro["n_models"] == 1
    assert macro["value"] == pytest.approx(found.loc[("b", "joint"), "value"])


def test_all_strata_empty_and_no_records():
    outcomes = random_outcomes().assign(joint=False)
    found = look_up(outcomes_by_stratum(outcomes, **OPTIONS, rng=generator()))
    assert found.loc[("macro", "joint"), ["value", "low", "high"]].isna().all()
    assert found.loc[("macro", "joint"), "n_models"] == 0
    nothing = outcomes_by_stratum(outcomes.iloc[:0], **OPTIONS, rng=generator())
    assert len(nothing) == 0 and {"stratum", "metric", "value"} <= set(nothing)


def test_one_edit_has_no_interval():
    outcomes = random_outcomes(n=1).assign(relation_consistent=True, joint=True)
    found = outcomes_by_stratum(outcomes, **OPTIONS, rng=generator())
    assert found["low"].isna().all() and found["value"].notna().all()


def test_means_of_numbers_and_null_targets():
    frame = random_outcomes(n=4, models=("m",)).assign(x=[1.0, 3.0, np.nan, 5.0])
    frame["half"] = pd.array([True, True, True, None], dtype="boolean")
    found = strata_rates(frame, ("x",), {"half": "half"}, {}, **OPTIONS, rng=generator())
    run = found[found["pooling"] == "run"].iloc[0]
    assert run["value"] == 2.0 and run["n"] == 2


def test_natural_correspondence_splits_the_rightly_answered():
    outcomes = random_outcomes()
    found = look_up(natural_correspondence(outcomes, **OPTIONS, rng=generator()))
    right = outcomes[outcomes["correct"]]
    for stratum, part in (("dcc", right[right["dependent"]]), ("cu", right[~right["dependent"]])):
        row = found.loc[("micro", stratum)]
        assert row["n"] == len(part)
        assert row["value"] == pytest.approx(part["edit_visible"].mean(), rel=1e-12)
    difference = found.loc[("micro", "dcc"), "value"] - found.loc[("micro", "cu"), "value"]
    assert found.loc[("micro", "difference"), "value"] == pytest.approx(difference, abs=1e-12)


def test_unlabelled_sources_are_in_neither_part():
    outcomes = random_outcomes()
    outcomes.loc[outcomes.index[:10], "correct"] = pd.NA
    found = look_up(natural_correspondence(outcomes, **OPTIONS, rng=generator()))
    counted = found.loc[("micro", "dcc"), "n"] + found.loc[("micro", "cu"), "n"]
    assert counted == outcomes["correct"].fillna(False).sum()


@pytest.mark.parametrize("column", [*TARGETS, "joint", "relation_consistent", "edit_id", "model"])
def test_missing_column_is_named(column):
    with pytest.raises(ValueError, match=f"`{column}` is missing"):
        outcomes_by_stratum(random_outcomes().drop(columns=column), **OPTIONS, rng=generator())
