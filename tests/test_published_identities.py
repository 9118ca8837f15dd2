"""Published numbers against each other: what one printed table says of another.

Percentages go through the integer counts they stand for wherever the denominator is printed.
"""

import numpy as np
import pytest
from scipy.stats import spearmanr

from vca_core.published import published, published_rates, published_runs, published_table
from vca_core.stats import wilson_interval

POINTS = 0.005 + 1e-9  # half of the last printed decimal, and the float's own rounding
TWO = 0.01 + 1e-9  # a difference of two printed numbers
MODELS = ["Qwen", "InternVL", "LLaVA", "Ministral"]
every_model = pytest.mark.parametrize("model", MODELS)


def integers(percent, n):
    """Give the counts that printed percentages of `n` stand for; fail where none fits."""
    percent, n = np.asarray(percent, float), np.asarray(n)
    counts = np.round(percent / 100 * n)
    assert np.abs(100 * counts / n - percent).max() <= POINTS
    return counts.astype(int)


def by_model(table, **where):
    rows = published_table(table).set_index("model")
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.loc[MODELS]


def near(value, tolerance=POINTS):
    return pytest.approx(value, abs=tolerance)


def test_t02_is_t18_in_short():
    short, long = by_model("T02"), by_model("T18")
    assert short.equals(long[short.columns])


def test_t18_events_imply_each_other():
    t = by_model("T18")
    joint, relation = integers(t["joint"], 440), integers(t["relation_consistent"], 440)
    pair, credit = integers(t["pair_dependent"], 440), integers(t["pair_credit"], 440)
    assert (joint <= np.minimum(np.minimum(relation, pair), credit)).all()
    assert (joint >= relation + pair - 440).all()
    runs = published_runs().query("dataset == 'gsr_coco'").set_index("model").loc[MODELS]
    assert (2 * pair <= runs["dependent"].to_numpy()).all()
    bound = t["relation_gap_original"] - t[["relation_gap_text_only", "relation_gap_blank"]].max(
        axis=1
    )
    assert (t["interaction_gap"] <= bound + 0.001).all()


@every_model
def test_t18_relation_consistency_lies_between_what_t14_allows(model):
    true, false = (
        published("T14", model=model, dataset="gsr_coco", label=label)["accuracy"]
        for label in ("yes", "no")
    )
    accepted, rejected = integers([true, false], 440)
    both = integers(by_model("T18").loc[model, "relation_consistent"], 440)
    assert accepted + rejected - 440 <= both <= min(accepted, rejected)


def test_t03_counts_give_its_rates_and_its_pooled_row():
    t = published_table("T03").set_index("model")
    counts = {
        column: integers(t.loc[MODELS, column], t.loc[MODELS, "n_cu"])
        for column in ("responsive", "exceeds_neutral", "answer_flip")
    }
    assert [c.sum() for c in counts.values()] == [621, 667, 219]
    assert (counts["answer_flip"] <= counts["responsive"]).all()
    assert t.loc[MODELS, ["n_correct", "n_cu"]].sum().tolist() == [1510, 682]
    for column, found in counts.items():
        assert 100 * found.sum() / 682 == near(t.loc["Pooled", column])
    assert (100 * t["n_cu"] / t["n_correct"]).to_numpy() == near(t["cu"].to_numpy())


def test_t03_gives_the_macro_rates_and_wilson_bounds_of_the_text():
    t = by_model("T03")
    for column, quantity in (
        ("cu", "model_macro_cu_fraction"),
        ("responsive", "model_macro_responsive"),
        ("answer_flip", "model_macro_answer_flip"),
    ):
        assert t[column].mean() == near(published("factorial_text", quantity=quantity)["value"])
    for model, k, n in (("qwen", 305, 305), ("internvl", 270, 331)):
        printed = published("factorial_text", quantity=f"{model}_responsive_given_cu")
        bounds = wilson_interval(k, n)
        assert 100 * np.array(bounds) == near([printed["low"], printed["high"]])
    printed = published("factorial_text", quantity="llava_two_100pct_rates_wilson_lower_bound")
    assert 100 * wilson_interval(8, 8).low == near(printed["value"])


def test_t04_is_part_of_t23_and_its_macro_row_follows():
    t04, t23 = published_table("T04"), published_table("T23")
    assert t04.equals(t23[t04.columns])
    t = t23.set_index("model")
    rates = [c for c in t if c.startswith(("edit_", "pair_"))]
    assert t.loc[MODELS, rates].mean().to_numpy() == near(t.loc["Macro", rates].tolist(), TWO)
    sums = t.loc[MODELS, ["n_relation_consistent", "n_joint"]].sum()
    assert sums.tolist() == [258, 170]
    inside = t["edit_visible_within_joint"] - t["edit_visible_within_relation_consistent"]
    assert inside.to_numpy() == near(t["pair_dependent_increment"].to_numpy(), TWO)


def test_t20_base_rates_follow_from_t04_and_t02():
    t04, t20 = by_model("T04"), published_table("T20")
    strict = integers(t04["edit_visible_within_relation_consistent"], t04["n_relation_consistent"])
    assert strict.tolist() == [68, 9, 56, 29]
    rows = by_model("T20", outcome="edit_strict")
    assert 100 * strict / 108 == near(rows["base_rate"].to_numpy())
    pooled = t20[t20["model"] == "Rank-pooled"].set_index("outcome")["base_rate"]
    visible = integers(t04["edit_visible"], 108)
    assert 100 * strict.sum() / 432 == near(pooled["edit_strict"])
    assert 100 * visible.sum() / 432 == near(pooled["edit_visible"])
    src = by_model("T20", outcome="relation_consistent")
    assert src["base_rate"].tolist() == by_model("T02")["relation_consistent"].tolist()


def test_macro_rankings_agree_between_t20_t22_t30_and_t33():
    src, strict = (
        by_model("T20", outcome=o)[["roc_auc", "average_precision"]].mean()
        for o in ("relation_consistent", "edit_strict")
    )
    macro = published("T20", model="Macro")
    gap = published("T33", signal="Raw image gap")
    assert src.to_numpy() == near([macro["roc_auc"], macro["average_precision"]])
    assert [macro["roc_auc"], macro["average_precision"]] == [
        gap["relation_consistent_roc_auc"],
        gap["relation_consistent_average_precision"],
    ]
    assert strict.to_numpy() == near(
        [gap["edit_strict_roc_auc"], gap["edit_strict_average_precision"]]
    )
    headline = published("T30", signal="max_control_gap")
    assert headline["relation_consistent_roc_auc"] == macro["roc_auc"]
    assert published("T22", target="relation_consistent")["image_gap_roc_auc"] == macro["roc_auc"]
    text = published_table("control_aggregation_text").set_index("signal")["edit_visible_roc_auc"]
    t30 = published_table("T30").set_index("signal")["edit_visible_roc_auc"]
    shared = text.index.intersection(t30.index)
    assert len(shared) == 4 and (text[shared] == t30[shared]).all()


def test_t21_quadrants_hold_every_record_once():
    t = published_table("T21")
    runs = published_runs()
    assert t["n"].sum() == 8516 and t["n_edit_records"].sum() == 432
    assert (100 * t["n"] / 8516).to_numpy() == near(t["share"].to_numpy())
    correct = integers(t["accuracy"], t["n"])
    assert t.loc[t["dependent"], "n"].sum() == runs["dependent"].sum() == 5536
    assert correct[t["dependent"]].sum() == runs["dcc"].sum() == 4443
    assert correct[~t["dependent"]].sum() == runs["cu"].sum() == 1624
    assert integers(t["edit_visible"], t["n_edit_records"]).sum() == 208
    assert integers(t["edit_strict"], t["n_edit_records"]).sum() == 162


def test_t24_increments_are_differences_of_its_columns():
    t = published_table("T24")
    found = t["plus_vca_roc_auc"] - t["baseline_roc_auc"]
    assert found.to_numpy() == near(t["increment"].to_numpy(), TWO)


def test_t25_gain_is_accuracy_less_half_less_blind_gap():
    t = published_table("T25")
    gain = t["accuracy"] - 50 - t["blind_gap"]
    assert gain.to_numpy() == near(t["visual_gain"].to_numpy(), TWO)
    kept = 4 * (880 * t["coverage"] // 100)
    for column in ("accuracy", "dependent"):
        integers(t[column], kept)


def test_t25_full_benchmark_is_the_mean_of_the_four_runs():
    rates = published_rates("headline").query("dataset == 'gsr_coco'")
    full = published("T25", coverage=100)
    for metric in ("accuracy", "dependent"):
        mean = rates.query("metric == @metric")["value"].mean()
        assert 100 * mean == near(full[metric])


def test_filtering_differences_follow_from_t25():
    half = published_table("T25").query("coverage == 50").set_index("filter")
    for row in published_table("filtering_differences").to_dict("records"):
        found = half.loc["VCA panel", row["metric"]] - half.loc[row["against"], row["metric"]]
        assert found == near(row["difference"], TWO)


def test_t26_and_t27_count_the_edit_set():
    t26 = published_table("T26")
    assert (100 * t26["n"] / 114).to_numpy() == near(t26["rate"].to_numpy())
    feasible, *outcomes = t26["n"]
    assert feasible == sum(outcomes) == 114
    sizes = published_table("human_edit_set").set_index("quantity")["value"]
    named = ["accepted_by_consensus", "rejected", "three_way_ties"]
    assert outcomes == sizes[named].tolist()
    t27 = published_table("T27").set_index("characteristic")
    difference = t27["feasible"] - t27["excluded"]
    assert difference.to_numpy() == near(t27["difference"].to_numpy(), TWO)
    assert (
        integers(t27.loc["Horizontal relation", ["feasible", "excluded"]], [114, 326]).sum() == 279
    )
    for model in MODELS:
        counts = integers(t27.loc[f"{model} source D-CC", ["feasible", "excluded"]], [114, 326])
        gold = published("T14", model=model, dataset="gsr_coco", label="yes")["dcc"]
        assert counts.sum() == integers(gold, 440)


def test_t28_order_and_mismatch_drop():
    t = published_table("T28")
    assert (t["strict"] <= t["dependent"]).all()
    assert (t["dependent_mismatch"] <= t["dependent"]).all()
    assert (t["strict_mismatch"] <= t[["strict", "dependent_mismatch"]].min(axis=1)).all()


def test_t29_difference_is_that_of_its_columns():
    t = published_table("T29")
    found = t["dcc"] - t["permutation_dcc"]
    assert found.to_numpy() == near(t["difference"].to_numpy(), TWO)


def test_t30_unsigned_divergence_credits_nearly_every_record():
    low = published("T28", model="InternVL", dataset="gsr_coco")["dependent"]
    assert published("T30", signal="minimum_js")["min_agreement"] == low


def test_t31_follows_from_t28_t37_and_the_counts():
    n = published_runs()["n"].to_numpy()
    t28, t37 = published_table("T28"), published_table("T37")
    rows = published_table("T31").set_index("control_set")
    fixed, mean, mismatch = rows.index
    pooled = integers(t28["dependent_mismatch"], n).sum()
    assert 100 * pooled / 8516 == near(rows.loc[mismatch, "dependent"])
    assert 100 * (1 - (5536 - pooled) / 8516) == near(rows.loc[mismatch, "agreement"])
    correct = integers(t37["accuracy"], n)
    mean_cu = (correct - integers(t37["dcc_mean_color"], n)).sum()
    assert 100 * mean_cu / 8516 == near(rows.loc[mean, "cu"])
    mismatch_cu = integers(rows.loc[mismatch, "cu"], 8516)
    assert 100 * 1624 / mismatch_cu == near(rows.loc[mismatch, "cu_jaccard"])
    assert 100 * 5536 / 8516 == near(rows.loc[fixed, "dependent"])
    both = published("control_sets_text", quantity="cu_intersection")["value"]
    assert 100 * both / (1624 + mean_cu - both) == near(rows.loc[mean, "cu_jaccard"])


def test_t32_is_a_count_of_control_answers_in_seven_of_eight_cells():
    t, fits = by_model("T32"), {}
    for run in published_runs().to_dict("records"):
        printed = t.loc[run["model"], f"{run['dataset']}_visual_dependence"]
        right = np.arange(2 * run["n"] + 1)  # correct answers, the two controls together
        rates = 100 * (run["correct"] - right / 2) / run["correct"]
        fits[run["model"], run["dataset"]] = right[np.abs(rates - printed) <= POINTS].tolist()
    assert [key for key, counts in fits.items() if not counts] == [("Qwen", "vsr")]
    assert [1326] in fits.values() and [865] in fits.values()


def test_t34_ranks_the_models_as_the_text_says():
    t34, t37 = published_table("T34"), published_table("T37")
    for dataset, tail in (("vsr", "vsr"), ("gsr_coco", "gsr")):
        rows = t34["dataset"] == dataset
        for metric in ("accuracy", "dcc"):
            rho = spearmanr(t34.loc[rows, f"ensemble_{metric}"], t37.loc[rows, metric]).statistic
            printed = published("surface_text", quantity=f"{metric}_rank_rho_{tail}")["value"]
            assert rho == near(printed)


def test_t35_rates_are_counts_and_its_jaccard_fits_them():
    t = published_table("T35")
    integers(t["item_flip"], 2 * t["n_pairs"])
    flips = integers(t["pair_flip"], t["n_pairs"])
    both = np.round(flips * t["pair_jaccard"] / (100 - t["pair_jaccard"]))
    assert (both + flips <= t["n_pairs"]).all()
    assert (100 * both / (both + flips)).to_numpy() == near(t["pair_jaccard"].to_numpy())
    assert (t["pair_flip"] < t["item_flip"]).all()


def test_t36_rates_are_counts():
    t = published_table("T36")
    n = np.where(t["form"] == "paraphrase", 600, 200)
    twice = np.where(t["form"] == "paraphrase", 400, 200)  # two synonyms against one wording
    for column in ("accuracy", "dcc"):
        integers(t[column], n)
    for column in ("prediction_agreement", "dependent_agreement"):
        integers(t[column], twice)


def test_t37_is_the_accuracy_and_dcc_of_the_counts():
    t, runs = published_table("T37"), published_runs()
    assert t["n"].tolist() == runs["n"].tolist()
    assert integers(t["accuracy"], t["n"]).tolist() == runs["correct"].tolist()
    assert integers(t["dcc"], t["n"]).tolist() == runs["dcc"].tolist()
    assert t["dcc"].tolist() == published_table("T29")["dcc"].tolist()
