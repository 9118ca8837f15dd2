"""The map of the paper: complete, true to the reference values, and to pages that exist."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.coverage import coverage, misfits, text_ranges
from vca_core.published import load_reference, published, published_runs, published_table
from vca_core.stats import wilson_interval
from vca_core.tables.core import DATASETS
from vca_core.tables.myst import Linked

ROOT = Path(__file__).resolve().parents[1]
ITEMS = coverage()
TABLES = ITEMS[ITEMS["kind"] == "table"]
PAGES = sorted(set(ITEMS["page"].dropna()) | set(ITEMS["shown_page"].dropna()))
TARGETS = sorted(
    {
        (row[page], row[target])
        for row in ITEMS.to_dict("records")
        for page, target in (("page", "target"), ("shown_page", "shown_target"))
        if isinstance(row[target], str)
    }
)


def test_every_table_of_the_paper_is_listed_once():
    assert TABLES["item"].tolist() == [f"T{i:02d}" for i in range(1, 38)]
    assert ITEMS["item"].is_unique
    assert set(ITEMS["kind"]) == {"table", "figure", "equation", "analysis"}


def test_values_say_what_the_reference_holds():
    for row in TABLES.to_dict("records"):
        printed = published_table(row["item"])
        assert (row["values"] == "printed") == (not printed.empty), row["item"]
        if printed.empty:
            assert row["left"] == printed.attrs["recoverable"]
    assert set(ITEMS["values"]) <= set(ITEMS.attrs["values"])


def test_every_item_has_a_page_or_a_reason_and_all_its_words():
    assert (ITEMS["page"].isna() == (ITEMS["not_computed"] != "")).all()
    assert (ITEMS["page"].isna() == (ITEMS["data"] == "")).all()
    for column in ("item", "title", "section", "values"):
        assert ITEMS[column].str.len().min() > 0
    lost = ITEMS[(ITEMS["values"] != "printed") & ITEMS["page"].notna()]
    assert (lost["left"] != "").all()


@pytest.mark.parametrize("page", PAGES)
def test_page_named_exists(page):
    assert (ROOT / f"{page}.md").is_file()


@pytest.mark.parametrize("page, target", TARGETS, ids=lambda name: name.rpartition("/")[2])
def test_target_named_stands_on_its_page(page, target):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    made = rf'(name="{target}"|name: {target}$|\({target}\)$)'
    assert re.search(made, text, flags=re.M), f"{page}.md makes no {target}"


def test_data_named_are_data_sets_of_this_project():
    for words in ITEMS["data"]:
        if words and not words.startswith("none: "):
            assert set(words.split(", ")) <= set(DATASETS)


def test_every_range_of_the_running_text_is_listed():
    shown = {(row["low"], row["high"]) for row in text_ranges().to_dict("records")}
    for entry in load_reference("vca_tables.json")["tables"].values():
        for row in entry["rows"]:
            whole = {"quantity", "low", "high"} <= set(row) and "value" not in row
            if whole and row["quantity"] != "ridge_values":
                assert (row["low"], row["high"]) in shown, row


def test_ranges_of_the_text_follow_from_the_tables():
    ranges = text_ranges()
    given = ranges[ranges["tables"] != ""]
    assert len(given) > 10
    tolerance = 0.01 + 1e-9  # a difference of two rounded numbers
    for end in ("low", "high"):
        assert (given[end] - given[f"tables_{end}"]).abs().max() <= tolerance
    assert ranges.loc[ranges["tables"] == "", ["tables_low", "tables_high"]].isna().all(axis=None)


def test_a_range_is_that_of_a_slow_definition():
    row = text_ranges().set_index("title").loc["Support-advantaged errors"]
    rates = [
        100 * run["support_advantaged_error"] / run["n"]
        for run in published_runs().to_dict("records")
    ]
    assert (row["low"], row["high"]) == pytest.approx((min(rates), max(rates)), abs=0.005)
    # Dep less D-CC, both as printed, may differ from the rate itself by one printed digit.
    assert (row["tables_low"], row["tables_high"]) == pytest.approx(
        (min(rates), max(rates)), abs=0.01
    )


def follows(where):
    rows = misfits().set_index("where")
    assert rows.index.is_unique and len(rows) == 10
    return rows.loc[where]


def test_misfits_of_strict_isolation_follow_from_the_counts():
    runs = published_runs().query("dataset == 'gsr_coco'").set_index("model")
    neither = runs.eval("dependent - text_only_same - blank_same + both_same") - runs["strict"]
    assert neither[neither != 0].to_dict() == {"Qwen": 2, "Ministral": 1}
    printed = follows("T12 against T13, Qwen on GSR-COCO")
    assert "377" in printed["printed"] and printed["follows"].startswith("379")
    assert follows("T12 against T13, Ministral on GSR-COCO")["follows"].startswith("216")


def test_misfits_of_the_edit_check_follow_from_its_tables():
    quadrants = published_table("T21").query("not dependent")
    visible = (quadrants["edit_visible"] * quadrants["n_edit_records"] / 100).round().sum()
    assert (quadrants["n_edit_records"].sum(), visible) == (93, 23)
    row = follows("Natural correspondence (T09) against T21")
    assert "93" in row["follows"] and "23" in row["follows"] and "100" in row["printed"]
    third = published("T24", target="edit_visible_given_relation_consistent")
    total = published("T04", model="Macro")["n_relation_consistent"]
    assert (third["n_edit_records"], total) == (259, 258)
    src = published_table("T20").query("outcome == 'relation_consistent'").set_index("model")
    mean = src["high_minus_low"].drop("Macro").mean()
    assert (mean, src.loc["Macro", "high_minus_low"]) == (pytest.approx(32.895), 32.88)


def test_misfits_of_gain_interval_and_visual_dependence():
    gain = published("robustness_text", quantity="visual_gain_at_50pct_visnec_style")["value"]
    in_table = published("T25", coverage=50, filter="VisNec-style")["visual_gain"]
    assert (gain, in_table, round(100 * 537 / 1760, 2)) == (30.52, 30.51, 30.51)
    assert 100 * np.array(wilson_interval(318, 331)) == pytest.approx([93.40, 97.69], abs=0.005)
    rates = [round(100 * (992 - right / 2) / 992, 2) for right in (1137, 1138)]
    assert rates == [42.69, 42.64] and follows("T32, Qwen on VSR")["printed"] == "42.67"


def test_linked_cell_is_a_role_in_the_book_and_text_elsewhere():
    frame = pd.DataFrame({"a": ["1 < 2", Linked("page, tab-x", "{numref}`tab-x`")]}, dtype=object)
    table = tables.to_myst(frame, caption="c", name="tab-y")
    assert "* - {numref}`tab-x`" in table.to_markdown() and "1 \\< 2" in table.to_markdown()
    assert "page, tab-x" in table.to_html() and "numref" not in table.to_html()


def test_coverage_table_links_pages_and_gives_reasons():
    table = tables.coverage_table(ITEMS).set_index("In the paper")
    first = table.loc["T01"]
    assert first["Computed here"].myst == (
        "{doc}`/notebooks/01_support_audit`, {numref}`tab-support-rates`"
    )
    assert first["On"] == "Scene pairs, Scene queries"
    assert first["Published values"].startswith("rebuilt: Acc, Dep, D-CC and C-U")
    assert first["Published values"].myst.endswith("{numref}`tab-published-rates`")
    definition = table.loc["Image gap and dependence (number lost)", "Computed here"]
    assert definition.myst.endswith("{eq}`eq-image-gap`")
    assert table.loc["Blur and patch shuffle", "Computed here"].startswith("Not computed: left to")
    assert table.loc["Blur and patch shuffle", "On"] == "–"


def test_values_table_counts_each_table_once():
    table = tables.values_table(TABLES, ITEMS.attrs["values"])
    assert table["Tables"].sum() == len(TABLES) == 37
    assert table["Computed here"].sum() == TABLES["page"].notna().sum()
    assert table["Published values"].tolist()[0] == "printed: every value is printed"
    printed = TABLES[TABLES["values"] == "printed"]
    assert printed["shown_target"].str.startswith("tab-published-").all()
    assert table["Shown here"].tolist()[0] == len(printed)


def test_ranges_table_keeps_the_printed_digits():
    table = tables.ranges_table(text_ranges()).set_index("Range")
    assert (
        table.loc["C-U", "In the text"] == table.loc["C-U", "From the tables"] == "12.73 to 26.25"
    )
    rho = "Rank correlation of the gaps with a mean-colour blank"
    assert table.loc[rho, "In the text"] == "0.912 to 0.999"
    assert table.loc["Gap within 0.01 of zero", ["From the tables", "Tables"]].tolist() == [
        "–",
        "–",
    ]
    assert tables.misfits_table(misfits()).columns.tolist()[-1] == "From other printed numbers"
