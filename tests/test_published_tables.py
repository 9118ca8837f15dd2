"""Every published number of the specification is in the package, digit by digit."""

import json
from pathlib import Path

import pandas as pd
import pytest

from vca_core.published import published, published_table

ROOT = Path(__file__).parents[1]
SPEC = ROOT.parent / "shared/spec/vca_tables.json"
REFERENCE = json.loads(
    (ROOT / "vca_core/reference/vca_tables.json").read_text(encoding="utf-8"), parse_float=str
)["tables"]
ITEMS = (
    json.loads(SPEC.read_text(encoding="utf-8"), parse_float=str)["items"] if SPEC.exists() else []
)
LOST = ["T01", "T05", "T06", "T07", "T08", "T09", "T11", "T16", "T17", "T19"]

# Column of the specification to column here; a column not named keeps its name.
RENAMED = {
    "acc": "accuracy",
    "agreement_decisions": "n_agreement",
    "answer_flip_pct": "answer_flip",
    "auprc": "average_precision",
    "auroc": "roc_auc",
    "baseline_auroc": "baseline_roc_auc",
    "c_u": "cu",
    "c_u_jaccard": "cu_jaccard",
    "c_u_n": "n_cu",
    "c_u_pct": "cu",
    "check": "outcome",
    "conditional_gap": "conditional_image_gap_roc_auc",
    "correct_n": "n_correct",
    "credit": "dependent",
    "credit_agreement": "dependent_agreement",
    "credited": "dependent",
    "cv_delta": "increment",
    "d_cc": "dcc",
    "d_cc_fixed": "dcc",
    "d_cc_mean_colour": "dcc_mean_color",
    "delta": "increment",
    "delta_paird": "pair_dependent_increment",
    "dep": "dependent",
    "dep_m": "dependent_mismatch",
    "diff": "difference",
    "edits": "n_edits",
    "ens_acc": "ensemble_accuracy",
    "ens_d_cc": "ensemble_dcc",
    "ens_dep": "ensemble_dependent",
    "flip_vis": "edit_visible",
    "flip_vis_within_joint": "edit_visible_within_joint",
    "flip_vis_within_rel_o": "edit_visible_within_relation_consistent",
    "gap": "image_gap_roc_auc",
    "gold": "label",
    "gold_balanced_c_u": "label_cu",
    "gold_balanced_d_cc": "label_dcc",
    "groups": "n_pairs",
    "gsr_coco_vd": "gsr_coco_visual_dependence",
    "high_minus_low_tertile": "high_minus_low",
    "joint_n": "n_joint",
    "keep": "coverage",
    "mean_g": "mean_image_gap",
    "mean_g_int": "interaction_gap",
    "mean_h_b": "relation_gap_blank",
    "mean_h_o": "relation_gap_original",
    "mean_h_t": "relation_gap_text_only",
    "n_plus_pct": "exceeds_neutral",
    "pair_d": "pair_dependent",
    "paircredit": "pair_credit",
    "pct": "percent",
    "pct_of_all": "percent_of_all",
    "perm_d_cc": "permutation_dcc",
    "plus_vca_auroc": "plus_vca_roc_auc",
    "prediction_balanced_c_u": "prediction_cu",
    "prediction_balanced_d_cc": "prediction_dcc",
    "records": "n_edit_records",
    "rel_b": "relation_blank",
    "rel_o": "relation_consistent",
    "rel_o_n": "n_relation_consistent",
    "rel_t": "relation_text_only",
    "relation_only": "edit_relation",
    "responsive_pct": "responsive",
    "src_auprc": "relation_consistent_average_precision",
    "src_auroc": "relation_consistent_roc_auc",
    "strict_m": "strict_mismatch",
    "strict_tb": "strict",
    "swap_flip_vis_auroc": "edit_visible_roc_auc",
    "swap_n": "n_edit_records",
    "swap_strict_auprc": "edit_strict_average_precision",
    "swap_strict_auroc": "edit_strict_roc_auc",
    "test_n": "n",
    "text_same": "text_only_same",
    "tf_acc": "true_false_accuracy",
    "tf_d_cc": "true_false_dcc",
    "tf_dep": "true_false_dependent",
    "true_margin": "true_margin_roc_auc",
    "vsr_vd": "vsr_visual_dependence",
}
# What one name of the specification is in a single table.
RENAMED_IN = {
    "T21": {"strict": "edit_strict"},
    "T29": {"delta": "difference", "delta_ci95": "difference_ci95"},
    "T35": {"n": "n_pairs"},
    "control_aggregation_text": {"auroc": "edit_visible_roc_auc"},
}


def key_of(item):
    head = item["id"].split("_")[0]
    return head if head[0] == "T" and head[1:].isdigit() else item["id"]


def renamed(table, row):
    """Row of the specification with this package's columns, the words of its cells unchanged."""
    found = {}
    for name, value in row.items():
        name = RENAMED_IN.get(table, {}).get(name, name)
        if name in ("ci95", "range"):
            found["low"], found["high"] = value
        elif name.endswith("_ci95"):
            stem = name.removesuffix("_ci95")
            stem = RENAMED.get(stem, stem)
            found[f"{stem}_low"], found[f"{stem}_high"] = value
        elif name != "where":  # the place in the paper of a single row
            found[RENAMED.get(name, name)] = value
    return found


def is_word(value):
    return isinstance(value, str) and not value.replace(".", "").replace("-", "").isdigit()


items = pytest.mark.skipif(not ITEMS, reason="../shared/spec/vca_tables.json is not here")


@items
def test_every_item_of_the_specification_is_there():
    assert [key_of(item) for item in ITEMS] == [key for key in REFERENCE if key != "hardware"]


@items
@pytest.mark.parametrize("item", ITEMS, ids=key_of)
def test_numbers_are_those_of_the_specification_digit_by_digit(item):
    table = key_of(item)
    if table == "environment":
        pytest.skip("its rows are per model here, and hold what the text says of each")
    wanted = [renamed(table, row) for row in item["rows"]]
    rows = REFERENCE[table]["rows"]
    assert [list(row) for row in rows] == [list(row) for row in wanted]
    for row, other in zip(rows, wanted, strict=True):
        for column, value in other.items():
            if not is_word(value):
                assert row[column] == value, (column, row)


@items
@pytest.mark.parametrize("item", ITEMS, ids=key_of)
def test_models_data_sets_and_places_are_those_of_the_specification(item):
    table = key_of(item)
    names = {"VSR": "vsr", "GSR-COCO": "gsr_coco", "Macro (4 models)": "Macro"}
    if table != "environment":
        for row, other in zip(REFERENCE[table]["rows"], item["rows"], strict=True):
            for column in {"model", "dataset", "signal", "filter", "against"} & set(other):
                assert row[column] == names.get(other[column], other[column])
    if table != "environment":
        assert REFERENCE[table]["where"] == item["locator"]
        assert REFERENCE[table]["caption"] == item["caption"]


@pytest.mark.parametrize("number", range(1, 38))
def test_each_table_of_the_paper_loads(number):
    table = f"T{number:02d}"
    frame = published_table(table)
    assert {"source", "caption", "where", "units"} <= set(frame.attrs)
    assert frame.empty == (table in LOST)
    assert bool(frame.attrs.get("recoverable")) == (table in LOST)


@pytest.mark.parametrize("table", REFERENCE)
def test_entry_is_complete_and_speaks_this_package(table):
    entry = REFERENCE[table]
    assert all(entry[key] for key in ("caption", "where", "units"))
    assert entry["rows"] or entry["recoverable"]
    assert "2607.27069" in published_table(table).attrs["source"]
    words = json.dumps(entry["rows"])
    for paper_word in ("c_u", "d_cc", "paircredit", "flip_vis", "rel_o", "auroc", "GSR-COCO"):
        assert paper_word not in words.replace("roc_auc", "")


@pytest.mark.parametrize("table", [t for t in REFERENCE if REFERENCE[t]["rows"]])
def test_interval_has_two_ordered_ends_around_its_value(table):
    for row in REFERENCE[table]["rows"]:
        for column in row:
            if column == "high" or column.endswith("_high"):
                stem = column.removesuffix("high")
                low, high = float(row[f"{stem}low"]), float(row[column])
                assert low <= high
                value = row.get(stem.rstrip("_") or "value", row.get("difference", low))
                assert low <= float(value) <= high


def test_published_table_keeps_printed_digits_where_asked():
    assert published_table("T02", as_text=True)["relation_consistent"].tolist()[0] == "82.50"
    assert published_table("T02")["relation_consistent"].tolist()[0] == 82.5
    assert published_table("T37", as_text=True)["spearman_rho"].tolist()[0] == "0.997"


def test_published_picks_a_row_of_the_new_tables():
    row = published("T24", target="edit_visible")
    assert (row["increment"], row["increment_low"], row["increment_high"]) == (1.10, -0.05, 2.26)
    assert published("T25", coverage=50, filter="VCA panel")["visual_gain"] == 33.64
    assert pd.isna(published("T20", model="Macro")["n"])
