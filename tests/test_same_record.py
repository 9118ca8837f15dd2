"""Same-record checks and the conditional AUROC, against a count of pairs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from vca_core.metrics import conditional_roc_auc, enough_of_both, same_record_checks
from vca_core.records import SchemaError
from vca_core.resampling import resample_counts
from vca_core.stats import percentile_interval

OPTIONS = {"n_resamples": 25}


def generator():
    return np.random.default_rng(5)


def sources(n=40, models=("b", "a"), seed=2):
    rng = np.random.default_rng(seed)
    parts = []
    for model in models:
        frame = pd.DataFrame({"pair_id": [f"p{i:02d}" for i in range(n)]})
        frame["sample_id"] = frame["pair_id"] + "-true"
        frame["margin_original"] = rng.normal(1, 1, n).round(1)  # with ties
        frame["image_gap"] = rng.normal(0, 1, n).round(1)
        frame["direction"] = np.where(frame["margin_original"] >= 0, 1, -1)
        says_no = rng.random(n) < 0.6
        frame["relation_consistent"] = (frame["direction"] > 0) & says_no
        frame["false_only"] = pd.Series(says_no, dtype="boolean").where(frame["direction"] > 0)
        parts.append(frame.assign(model=model, dataset="pairs"))
    return pd.concat(parts, ignore_index=True)


def slow(frame, n_bins):
    """Share of (event, no event) pairs in one bin of the margin that the gap puts in order."""
    known = frame[frame["false_only"].notna()]
    rank = known["margin_original"].rank(pct=True)
    place = np.ceil(rank * n_bins)
    won = total = 0
    for i in known.index[known["false_only"] == True]:  # noqa: E712
        for j in known.index[known["false_only"] == False]:  # noqa: E712
            if place[i] == place[j]:
                total += 1
                gap = known.loc[i, "image_gap"] - known.loc[j, "image_gap"]
                won += 1 if gap > 0 else 0.5 if gap == 0 else 0
    return won / total if total else np.nan


def conditional(frame, n_bins=5, **options):
    options = OPTIONS | options
    return conditional_roc_auc(frame, "false_only", "image_gap", "margin_original", n_bins=n_bins,
                               rng=generator(), **options)  # fmt: skip


@pytest.mark.parametrize("n_bins", [1, 2, 5, 100])
def test_conditional_roc_auc_counts_ordered_pairs_within_bins(n_bins):
    frame = sources()
    found = conditional(frame, n_bins).set_index("pooling")["value"]
    want = [slow(part, n_bins) for _, part in frame.groupby("model", sort=False)]
    assert found["run"].tolist() == pytest.approx(want, rel=1e-12)
    assert found["macro"] == pytest.approx(np.mean(want), rel=1e-12)


def test_one_bin_is_the_plain_roc_auc():
    frame = sources(models=("m",))
    known = frame.dropna(subset="false_only")
    want = roc_auc_score(known["false_only"].astype(bool), known["image_gap"])
    assert conditional(frame, 1)["value"].iloc[0] == pytest.approx(want, rel=1e-12)


def test_gap_that_only_repeats_the_margin_ranks_nothing_within_ties():
    frame = sources(models=("m",)).assign(direction=1)
    frame["margin_original"] = np.repeat([1.0, 2.0], 20)
    frame["image_gap"] = frame["margin_original"] - 0.5
    frame["false_only"] = pd.array([i % 20 < 5 or i > 25 for i in range(40)], dtype="boolean")
    assert conditional(frame, 1)["value"].iloc[0] > 0.6
    assert conditional(frame, 2)["value"].tolist() == [0.5, 0.5]


def test_conditional_intervals_are_those_of_a_loop_with_the_bins_kept():
    frame = sources(n=15, models=("m",))
    row = conditional(frame, 3).iloc[0]
    known = frame["false_only"].notna()
    place = np.ceil(frame.loc[known, "margin_original"].rank(pct=True) * 3).reindex(frame.index)
    seed = int(generator().integers(2**63))
    drawn = []
    for counts in resample_counts(15, **OPTIONS, rng=np.random.default_rng(seed)):
        for weights in counts:
            won = total = 0.0
            for which in (1, 2, 3):
                part = frame[known & (place == which)]
                y, w = part["false_only"].astype(bool), weights[part.index]
                pairs = w[y].sum() * w[~y].sum()
                if pairs:
                    roc = roc_auc_score(y, part["image_gap"], sample_weight=w)
                    won, total = won + pairs * roc, total + pairs
            drawn.append(won / total if total else np.nan)
    assert [row["low"], row["high"]] == pytest.approx(list(percentile_interval(drawn)), rel=1e-9)


def test_one_class_is_nan_for_the_model_and_the_mean():
    frame = sources()
    frame.loc[(frame["model"] == "a") & frame["false_only"].notna(), "false_only"] = True
    found = conditional(frame).set_index(["pooling", "model"])
    assert found.loc[("run", "b"), "value"] >= 0
    assert np.isnan(found.loc[("run", "a"), "value"]) and found.loc[("run", "a"), "n"] > 0
    assert found.loc["macro", "value"].isna().all()


def test_conditional_roc_auc_of_nothing_and_of_no_bins():
    assert len(conditional(sources().iloc[:0])) == 0
    with pytest.raises(ValueError, match="at least 1, got 0"):
        conditional(sources(), 0)


def test_same_record_checks_rank_both_targets():
    frame = sources()
    found = same_record_checks(frame, **OPTIONS, rng=generator())
    kinds = found[["target", "score"]].drop_duplicates().apply(tuple, axis=1).tolist()
    assert kinds == [
        ("relation_consistent", "image_gap"),
        ("relation_consistent", "margin_original"),
        ("false_only", "image_gap"),
        ("false_only", "margin_original"),
    ]
    one = found.query("model == 'a' and metric == 'roc_auc' and score == 'image_gap'")
    mine = frame[frame["model"] == "a"]
    accepted = mine[mine["direction"] > 0]
    want = [roc_auc_score(mine["relation_consistent"], mine["image_gap"]),
            roc_auc_score(accepted["relation_consistent"], accepted["image_gap"])]  # fmt: skip
    assert one["value"].tolist() == pytest.approx(want, rel=1e-12)
    assert one["n"].tolist() == [len(mine), len(accepted)]
    within = found[found["metric"] == "conditional_roc_auc"]
    assert within["pooling"].tolist() == ["run", "run", "macro"]
    assert list(found.columns) == list(within.columns)


@pytest.mark.parametrize("column", ["false_only", "relation_consistent", "image_gap"])
def test_missing_column_is_named(column):
    with pytest.raises(SchemaError, match=f"`{column}` is missing"):
        same_record_checks(sources().drop(columns=column), **OPTIONS, rng=generator())


def with_negatives(model, n_no):
    """Give the records of one model whose false statement is accepted `n_no` times."""
    frame = sources(models=(model,), seed=3).assign(direction=1)
    says_no = np.arange(len(frame)) >= n_no
    return frame.assign(relation_consistent=says_no, false_only=pd.array(says_no, "boolean"))


@pytest.mark.parametrize(("n_no", "kept"), [(0, 0), (4, 0), (5, 40), (35, 40), (36, 0)])
def test_enough_of_both_counts_the_rarer_class(n_no, kept):
    assert len(enough_of_both(with_negatives("a", n_no), "false_only")) == kept
    assert len(enough_of_both(with_negatives("a", n_no), "false_only", min_class=0)) == 40


def test_enough_of_both_counts_inside_each_model_and_data_set():
    frame = pd.concat([with_negatives("a", 4), with_negatives("b", 9)])
    both = pd.concat([frame, with_negatives("a", 6).assign(dataset="more")], ignore_index=True)
    found = enough_of_both(both, "false_only")[["dataset", "model"]].drop_duplicates()
    assert found.to_numpy().tolist() == [["pairs", "b"], ["more", "a"]]


def test_model_with_few_of_a_class_has_no_roc_auc_and_no_part_in_the_mean():
    few, enough = with_negatives("a", 4), with_negatives("b", 9)
    both = pd.concat([few, enough], ignore_index=True)
    found = same_record_checks(both, **OPTIONS, rng=generator())
    alone = same_record_checks(enough, **OPTIONS, rng=generator())
    a = found[found["model"] == "a"]
    assert a.loc[a["metric"] == "base_rate", "value"].tolist() == pytest.approx([0.9] * 4)
    assert a.loc[a["metric"] != "base_rate", ["value", "low", "high"]].isna().all(axis=None)
    assert (a["n_yes"] == 36).all() and (a["n_no"] == 4).all() and (a["n"] == 40).all()
    over = ["pooling", "target", "score", "metric", "value", "low", "high", "n", "n_yes", "n_no"]
    rest = [f[f["pooling"] != "run"][over].reset_index(drop=True) for f in (found, alone)]
    pd.testing.assert_frame_equal(*rest)
    assert (rest[0]["n_no"] == 9).all() and rest[0]["value"].notna().all()
    all_in = same_record_checks(both, min_class=1, **OPTIONS, rng=generator())
    assert (
        all_in["value"].notna().all() and (all_in.query("pooling == 'macro'")["n_no"] == 13).all()
    )


def test_no_model_with_enough_leaves_empty_means_with_their_numbers():
    both = pd.concat([with_negatives("a", 4), with_negatives("b", 0)], ignore_index=True)
    found = same_record_checks(both, **OPTIONS, rng=generator())
    assert found.loc[found["metric"] != "base_rate", ["value", "low", "high"]].isna().all(axis=None)
    macro = found[found["pooling"] == "macro"]
    assert (macro["n"] == 80).all() and (macro["n_yes"] == 76).all() and (macro["n_no"] == 4).all()


def test_same_record_checks_of_nothing():
    found = same_record_checks(sources().iloc[:0], **OPTIONS, rng=generator())
    assert len(found) == 0 and {"value", "n_yes", "n_no"} < set(found)
