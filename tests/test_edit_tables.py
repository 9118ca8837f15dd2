"""Tables and figures of the edit check: what they show, and empty cells."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from vca_core import figures, metrics, tables
from vca_core.published import published_table
from vca_core.tables.edits_published import COLUMNS

OPTIONS = {"n_resamples": 10}


def generator():
    return np.random.default_rng(0)


@pytest.fixture
def outcomes():
    rng = np.random.default_rng(4)
    parts = []
    for model in ("b", "a"):
        frame = pd.DataFrame({"edit_id": [f"e{i:02d}" for i in range(20)]})
        frame["pair_id"] = frame["sample_id"] = "s" + frame["edit_id"]
        for name, share in (("relation_consistent", 0.8), ("dependent", 0.5), ("correct", 0.9)):
            frame[name] = rng.random(20) < share
        frame["joint"] = frame["relation_consistent"] & frame["dependent"]
        frame["edit_relation"] = rng.random(20) < 0.7
        frame["edit_visible"] = frame["edit_relation"] & (rng.random(20) < 0.7)
        frame["edit_strict"] = frame["edit_visible"] & frame["relation_consistent"]
        frame["margin_original"], frame["image_gap"] = rng.normal(size=(2, 20))
        frame["confidence"] = frame["margin_original"].abs()
        parts.append(frame.assign(model=model, dataset="edits"))
    return pd.concat(parts, ignore_index=True)


def strata(outcomes):
    return metrics.outcomes_by_stratum(outcomes, **OPTIONS, rng=generator())


def quadrants(outcomes):
    found = metrics.confidence_quadrants(outcomes)
    events = ["edit_visible", "edit_strict"]
    return [
        metrics.quadrant_rates(found, **OPTIONS, rng=generator()),
        metrics.quadrant_rates(found, events, cluster="edit_id", **OPTIONS, rng=generator()),
    ]


def test_strata_table_has_a_row_per_model_and_pooling(outcomes):
    table = tables.edit_strata_table(strata(outcomes))
    assert table["Model"].tolist() == ["b", "a", "All models (micro)", "Mean of models (macro)"]
    assert table["n"].tolist() == [20, 20, 40, 40] and "Data" not in table
    in_joint = outcomes[(outcomes["model"] == "b") & outcomes["joint"]]
    shown = table.loc[0, "Flip and vis., in Joint (%)"]
    assert shown.startswith(f"{100 * in_joint['edit_visible'].mean():.2f} [")
    assert shown.endswith(f"(n = {len(in_joint)})")
    assert "Pair D increment (points)" in table


def test_strata_tables_show_an_empty_stratum_as_a_dash(outcomes):
    rates = strata(outcomes.assign(joint=False))
    assert set(tables.edit_strata_table(rates)["Flip and vis., in Joint (%)"]) == {"– (n = 0)"}
    contrasts = tables.edit_contrasts_table(rates)
    assert set(contrasts["Joint less overall, flip and vis. (points)"]) == {"–"}
    assert contrasts["n"].tolist() == [0] * 4


def test_two_data_sets_are_told_apart(outcomes):
    both = pd.concat([outcomes, outcomes.assign(dataset="photos")])
    assert tables.edit_strata_table(strata(both))["Data"].tolist()[::4] == ["Scene edits", "photos"]


def test_correspondence_table(outcomes):
    rates = metrics.natural_correspondence(outcomes, **OPTIONS, rng=generator())
    table = tables.correspondence_table(rates).set_index("Model")
    right = outcomes[outcomes["correct"] & outcomes["dependent"]]
    wrong = outcomes[outcomes["correct"] & ~outcomes["dependent"]]
    row = table.loc["All models (micro)"]
    assert (row["n, dependent"], row["n, not dependent"]) == (len(right), len(wrong))
    assert "n" not in table and not table.astype(str).apply(lambda c: c.str.contains("n =")).any(
        axis=None
    )
    rate = 100 * right["edit_visible"].mean()
    assert row["Correct, dependent (%)"].startswith(f"{rate:.2f}")


def test_correspondence_table_of_a_model_with_one_kind(outcomes):
    alone = outcomes.assign(dependent=outcomes["dependent"] | (outcomes["model"] == "b"))
    rates = metrics.natural_correspondence(alone, **OPTIONS, rng=generator())
    table = tables.correspondence_table(rates).set_index("Model")
    assert table.loc["b", "n, not dependent"] == 0
    assert (
        table.loc["b", ["Correct, not dependent (%)", "Difference (points)"]].tolist() == ["–"] * 2
    )
    mean, other = (
        table.loc[name, "Difference (points)"].split(" ")[0]
        for name in ("Mean of models (macro)", "a")
    )
    assert mean == other  # the one model with both kinds


def test_ranking_table_stacks_checks_and_names_scores(outcomes):
    rates = metrics.ranking_rates(outcomes, ["edit_visible"], ["image_gap", "confidence"],
                                  cluster="edit_id", **OPTIONS, rng=generator())  # fmt: skip
    table = tables.ranking_table(pd.concat([rates, rates.assign(target="my own event")]))
    assert table["Event"].unique().tolist() == ["Flip and visibility", "my own event"]
    assert table["Score"].unique().tolist() == ["Image gap", "Confidence"]
    assert len(table) == 2 * 2 * 4 and list(table)[:3] == ["Event", "Score", "Model"]
    one = tables.ranking_table(rates[rates["score"] == "image_gap"])
    assert "Score" not in one and "All models (ranks pooled)" in set(one["Model"])


def test_shared_margin_table_puts_four_numbers_in_a_row():
    def long(metric, value, **keys):
        row = {"dataset": "pairs", "model": None, "pooling": "macro", "low": 0.1, "high": 0.9}
        if "score" in keys:
            row |= {"n_yes": 3, "n_no": 2}
        return row | {"metric": metric, "value": value, "n": 5} | keys

    both = {"target": "false_only"}
    rates = pd.DataFrame(
        [
            long("roc_auc", 0.7583, score="margin_original", **both),
            long("roc_auc", 0.7297, score="image_gap", **both),
            long("conditional_roc_auc", 0.4488, score="image_gap", **both),
            long("roc_auc", 0.2, score="image_gap", **both) | {"pooling": "rank"},
        ]
    )
    table = tables.shared_margin_table(rates, pd.DataFrame([long("increment", -0.0031, **both)]))
    assert table.to_dict("records") == [
        {
            "Target": "False statement alone",
            "Model": "Mean of models (macro)",
            "n yes": 3,
            "n no": 2,
            "True margin (%)": "75.83 [10.0, 90.0]",
            "Gap (%)": "72.97 [10.0, 90.0]",
            "Gap within margin bins (%)": "44.88 [10.0, 90.0]",
            "Gap beside margin (points)": "-0.31 [10.0, 90.0]",
        }
    ]


def test_shared_margin_table_without_any_increment():
    keys = {"pooling": "run", "target": "false_only", "score": "image_gap", "metric": "roc_auc"}
    row = {"model": "m", "value": np.nan, "low": np.nan, "high": np.nan, "n": 5, "n_yes": 4}
    rates = pd.DataFrame([keys | row | {"n_no": 1}])
    table = tables.shared_margin_table(rates, pd.DataFrame())
    shown = ["False statement alone", "m", 4, 1, "–", "–", "–", "–"]
    assert table.iloc[0].tolist() == shown


def test_quadrant_shares_table_has_a_column_per_quadrant(outcomes):
    found = metrics.confidence_quadrants(outcomes)
    rates = metrics.quadrant_rates(found, by=["model"], **OPTIONS, rng=generator())
    table = tables.quadrant_shares_table(rates)
    assert list(table)[:3] == ["Model", "n", "high, dependent (%)"] and len(table.columns) == 6
    assert table["n"].tolist() == [20, 20]
    total = table.iloc[:, 2:].map(lambda text: float(text.split(" ")[0])).sum(axis=1)
    assert total.tolist() == pytest.approx([100, 100])


def test_increments_table_names_the_original_pairs_as_the_paper_does():
    row = {"added": "image_gap_rank", "baseline": "model", "hold_out": "edit_id", "ridge": 1.0,
           "stratum": None, "n_clusters": 9, "metric": "increment", "value": 0.1, "low": 0.0,
           "high": 0.2, "n": 30}  # fmt: skip
    settings = [("edit_strict", "source_consistent"), ("edit_strict", "relation_consistent"),
                ("edit_strict", "")]  # fmt: skip
    rows = [row | {"target": target, "within": within} for target, within in settings]
    table = tables.increments_table(pd.DataFrame(rows))
    assert table[["Target", "Setting"]].to_numpy().tolist() == [
        ["Flip and visibility", "original pair right"],
        ["Strict composite", "within Rel."],
        ["Strict composite", "all records"],
    ]


def test_quadrants_table_sets_decisions_beside_edits(outcomes):
    table = tables.quadrants_table(*quadrants(outcomes))
    assert table["Confidence"].tolist() == ["high", "high", "low", "low"]
    assert table["Image support"].tolist() == ["dependent", "not dependent"] * 2
    assert (table["n"] == 40).all() and list(table)[-1] == "Strict (%)"


def test_construct_table_says_who_judged():
    found = tables.construct_table(
        {
            "people": metrics.construct_audit(["accepted"] * 3 + ["no_majority"]),
            "check": metrics.construct_audit([]),
        }
    )
    assert found["Outcome"].tolist() == [
        "Feasible", "Accepted", "Rejected", "No majority", "Feasible", "Accepted", "Rejected"
    ]  # fmt: skip
    assert found["n"].tolist() == [4, 3, 0, 1, 0, 0, 0]
    assert found["Share (%)"].tolist()[0] == "100.00"
    assert found["Share (%)"].tolist()[1].startswith("75.00 [")
    assert found["Share (%)"].tolist()[4:] == ["–"] * 3


def test_annotation_agreement_table_has_a_column_per_criterion():
    columns = ["metric", "annotators", "criterion", "value", "low", "high", "n", "n_undefined"]
    rows = [
        ("pairwise_agreement", "1 and 2", "original_valid", 0.9012, 0.8, 0.95, 114, 0),
        ("pairwise_agreement", "1 and 2", "edited_flipped", 0.963, 0.9, 1.0, 113, 0),
        ("fleiss_kappa", "all", "original_valid", 0.6125, 0.5, 0.75, 114, 9),
        ("fleiss_kappa", "all", "edited_flipped", np.nan, np.nan, np.nan, 114, 9),
    ]
    table = tables.annotation_agreement_table(pd.DataFrame(rows, columns=columns))
    first = table.iloc[0]
    assert first["Measure"] == "Pairwise agreement (%)" and first["Annotators"] == "1 and 2"
    assert first["Original valid"] == "90.12 [80.0, 95.0]"
    assert first["Edited flipped"] == "96.30 [90.0, 100.0] (n = 113)"
    second = table.iloc[1]
    assert second["Measure"] == "Fleiss' kappa" and second["Original valid"] == "0.613 [0.50, 0.75]"
    assert second["Edited flipped"] == "–" and second["Objects visible"] == "–"


def test_feasibility_table_keeps_units_apart():
    columns = ["model", "pooling", "stratum", "metric", "value", "low", "high", "n"]
    rows = [
        (None, "pairs", "feasible", "center_gap", 0.42683, 0.4, 0.45, 114),
        (None, "pairs", "excluded", "center_gap", 0.5038, 0.48, 0.52, 326),
        (None, "pairs", "difference", "center_gap", -0.077, -0.101, -0.0531, 114),
        ("m", "run", "feasible", "image_gap", 1.23456, 1.1, 1.3, 114),
        ("m", "run", "excluded", "image_gap", np.nan, np.nan, np.nan, 0),
        ("m", "run", "difference", "image_gap", np.nan, np.nan, np.nan, 114),
    ]
    table = tables.feasibility_table(pd.DataFrame(rows, columns=columns))
    assert table.iloc[0].tolist() == [
        "Center gap, of its side", "–", "114 / 326", "42.68 [40.0, 45.0]", "50.38 [48.0, 52.0]",
        "-7.70 [-10.1, -5.3]",
    ]  # fmt: skip
    assert table.iloc[1].tolist() == [
        "Mean image gap (nats)", "m", "114 / 0", "1.235 [1.10, 1.30]", "–", "–"
    ]  # fmt: skip


def test_figures_draw_what_they_are_given(outcomes):
    fig, ax = plt.subplots()
    figures.plot_edit_strata(strata(outcomes), ax)
    assert [t.get_text() for t in ax.get_yticklabels()][:2] == ["b", "a"]
    assert len(ax.get_legend_handles_labels()[1]) == 3
    rates = metrics.ranking_rates(outcomes, ["edit_visible"], ["image_gap", "confidence"],
                                  cluster="edit_id", **OPTIONS, rng=generator())  # fmt: skip
    fig, ax = plt.subplots()
    figures.plot_ranking(rates, ax)
    assert ax.get_title() == "Ranking: flip and visibility"
    drawn = np.concatenate([line.get_xdata() for line in ax.get_lines()])
    for value in rates.query("metric == 'roc_auc'")["value"]:
        assert np.isclose(drawn, value).any()
    plt.close("all")


def test_quadrants_are_four_tiles_that_say_their_numbers():
    printed = published_table("T21")
    names = ["high_dependent", "high_uncredited", "low_dependent", "low_uncredited"]
    rates = pd.DataFrame(
        [
            {"quadrant": name, "metric": metric, "value": row[column] / 100, "n": row["n"]}
            for name, row in zip(names, printed.to_dict("records"), strict=True)
            for metric, column in (("share", "share"), ("correct", "accuracy"))
        ]
    )
    edits = rates.assign(metric=rates["metric"].replace("correct", "edit_visible"))
    edits.loc[edits["quadrant"] == "low_uncredited", ["value", "n"]] = np.nan, 0
    fig, ax = plt.subplots()
    figures.plot_quadrants(rates, edits, ax)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == "share 43.6 %\nAcc 86.1 %\nedits followed 86.1 %"
    assert texts[3].endswith("edits followed –") and len(ax.patches) == 4
    assert ax.patches[3].get_facecolor() == (1, 1, 1, 1)
    plt.close("all")


@pytest.mark.parametrize("table", list(COLUMNS))
def test_published_edits_show_each_column_that_is_printed(table):
    printed = published_table(table, as_text=True)
    bounds = {f"{column}_{end}" for column in printed for end in ("low", "high")}
    aside = {"units", "note", "of", "low", "high"} | bounds
    assert set(printed) - aside <= set(COLUMNS[table]) <= set(printed)
    shown = tables.published_edits(table, name="tab-x").to_markdown()
    place = "running text" if "quantity" in printed else table
    assert shown.startswith(f"~~~~{{dropdown}} Published values: {place}")
