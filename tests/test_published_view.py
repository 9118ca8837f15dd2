"""Published tables as a reader sees them: words for keys, a unit for each number, true labels."""

import ast
import json
import re
from pathlib import Path

import pytest

from vca_core import tables
from vca_core.published import load_reference, published_table
from vca_core.tables.edits_published import COLUMNS
from vca_core.tables.published import text_table

ROOT = Path(__file__).resolve().parents[1]
WORDS = {key: item for key, item in load_reference("words.json").items() if isinstance(item, dict)}
UNITS = {"percent": "%", "native margin": "nats", "ridge penalty": "penalty"}


def calls_of_notebooks():
    """Table and columns of each `published_view` and `published_edits` of the book."""
    found = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            if cell["cell_type"] != "code":
                continue
            for node in ast.walk(ast.parse("".join(cell["source"]))):
                name = node.func.attr if is_method(node) else ""
                if name in ("published_view", "published_edits"):
                    table = ast.literal_eval(node.args[0])
                    given = {k.arg: k.value for k in node.keywords}
                    columns = COLUMNS.get(table) if name == "published_edits" else None
                    columns = columns or ast.literal_eval(given["columns"])
                    found.append(pytest.param(table, columns, id=f"{path.stem[:2]}-{table}"))
    return found


def is_method(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


CALLS = calls_of_notebooks()


def test_the_calls_of_the_book_are_found():
    assert len(CALLS) > 25


@pytest.mark.parametrize("table, columns", CALLS)
def test_no_key_stands_in_a_published_table_of_the_book(table, columns):
    view = tables.published_view(table, columns, "tab-x")
    texts = [view.caption, view.folded, *view.table.columns, *view.table.to_numpy().ravel()]
    assert not [text for text in texts if "_" in text]
    assert not re.search(r"unless|\bor points|or percent", view.caption)
    assert len(view.table) > 0 and not (view.table == "").any(axis=None)


@pytest.mark.parametrize("table, columns", CALLS)
def test_fold_and_caption_name_a_table_of_the_paper_or_its_text(table, columns):
    view = tables.published_view(table, columns, "tab-x")
    place = table if re.fullmatch(r"T\d\d", table) else "running text"
    assert view.folded == f"Published values: {place}"
    assert view.caption.startswith(f"Published, not computed here: {place} of the paper. ")


@pytest.mark.parametrize("table", WORDS)
def test_every_quantity_has_words_and_its_unit(table):
    rows = published_table(table).to_dict("records")
    assert list(WORDS[table]) == [row["quantity"] for row in rows]
    for row in rows:
        said, unit = WORDS[table][row["quantity"]] or (None, None)
        units = row.get("units")
        if said and isinstance(units, str) and not units.startswith("patches"):
            assert unit == UNITS.get(units, units)
    shown = text_table(table)
    assert shown["Quantity"].is_unique
    assert shown["Unit"].isin(["%", "points", "count", "nats", "correlation", "penalty"]).all()
    assert not (shown.iloc[:, 1] == "–").any()


def test_a_range_an_interval_a_whole_and_a_share_are_told_apart():
    edits = text_table("incremental_text").set_index("Quantity")["Value"]
    assert edits["The same within one model, over models"] == "1.26 to 4.06"
    assert edits["Flip and visibility: gap rank, all records"] == "1.10 [-0.05, 2.26]"
    assert edits["InternVL: edits in Rel"] == "25 of 108"
    sets = text_table("control_sets_text").set_index("Quantity")["Value"]
    assert sets["Same in all three (% of records)"] == "7646 (89.78 %)"
    assert sets["C-U in any (% of records)"] == "2274 (26.70 %)"
    assert sets["Same in all three, over runs"] == "78.46 to 98.48"
    assert text_table("headline_ranges").columns.tolist() == ["Quantity", "Range", "Unit"]


def test_the_caption_says_what_the_marks_mean_where_there_are_any():
    captions = {
        table: tables.published_view(table, {"model": "Model", "n": "n"}, "tab-x").caption
        for table in ("headline_ranges", "edited_outcome_text", "incremental_text", "T26")
    }
    ranges = {table: "low to high" in caption for table, caption in captions.items()}
    intervals = {table: "Brackets" in caption for table, caption in captions.items()}
    assert list(ranges.values()) == [True, False, True, False]
    assert list(intervals.values()) == [False, True, True, False]


def test_cells_have_the_words_of_the_computed_table_beside_them():
    edits = tables.published_edits("T20", "tab-x").table
    assert edits["Outcome"].iloc[0] == tables.edits.CHECKS["edit_strict"]
    assert edits["Model"].iloc[-1] == "Mean of models (macro)"
    split = tables.published_edits("T21", "tab-x").table
    assert set(split["Image support"]) == {"dependent", "not dependent"}
    variants = tables.published_view("T30", {"signal": "Controls"}, "tab-x").table["Controls"]
    assert variants.tolist() == list(tables.robustness.VARIANTS.values())
    signals = tables.published_view("T33", {"signal": "Signal"}, "tab-x").table["Signal"]
    assert signals.tolist() == list(tables.robustness.SIGNALS.values())
    sets = tables.published_view("T31", {"control_set": "Controls"}, "tab-x").table["Controls"]
    assert set(sets) == set(tables.robustness.CONTROL_SETS.values())
    filters = tables.published_view("T25", {"filter": "Filter"}, "tab-x").table["Filter"]
    assert set(filters) <= set(tables.filtering.FILTERS.values())
    factorial = tables.published_view("T03", {"model": "Model"}, "tab-x").table["Model"]
    assert factorial.iloc[-1] == "All models (micro)"


def test_text_of_another_subject_and_of_the_table_beside_it_is_left_out():
    assert not text_table("incremental_text")["Quantity"].str.contains("context").any()
    factorial = text_table("factorial_text")["Quantity"]
    assert len(factorial) == sum(row is not None for row in WORDS["factorial_text"].values())
    assert len(factorial) < len(published_table("factorial_text"))
