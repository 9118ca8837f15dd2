"""Same-record checks and the conditional AUROC, against a count of pairs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from vca_core.metrics import conditional_roc_auc, same_record_checks
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
