import numpy as np
import pandas as pd
import pytest

from vca_core import metrics, tables
from vca_core.published import published_rates, published_table
from vca_core.records import SchemaError


@pytest.fixture
def audit():
    rng = np.random.default_rng(3)
    contexts = ("original", "text_only", "blank", "mismatch")
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=[f"margin_{c}" for c in contexts])
    frame["sample_id"] = [f"s{i}" for i in range(40)]
    frame["label"] = rng.choice(["yes", "no"], 40)
    frame["relation"] = ["left", "above"] * 20
    return metrics.audit_support(frame.assign(model="mini-qwen", dataset="pairs"))


def rates(function, audit, *args):
    return function(audit, *args, n_resamples=50, rng=np.random.default_rng(0))


def long(**values):
    row = {"model": "m", "dataset": "vsr", "low": np.nan, "high": np.nan, "n": 5, "n_clusters": 5}
    return pd.DataFrame([row | {"metric": k, "value": v} for k, v in values.items()])


def test_support_table_multiplies_and_rounds_once():
    frame = long(accuracy=0.78184, dependent=0.5, dcc=2 / 3, cu=0.0)
    frame.loc[0, ["low", "high"]] = [0.76049, 0.80251]
    table = tables.support_table(frame)
    assert table.to_dict("records") == [
        {
            "Model": "m",
            "Data": "VSR",
            "n": 5,
            "Acc (%)": "78.18 [76.0, 80.3]",
            "Dep (%)": "50.00",
            "D-CC (%)": "66.67",
            "C-U (%)": "0.00",
        }
    ]


def test_support_table_shows_an_empty_rate_with_its_n():
    frame = long(accuracy=np.nan, dependent=0.5, dcc=np.nan, cu=np.nan)
    frame.loc[frame["metric"] != "dependent", "n"] = 0
    row = tables.support_table(frame).iloc[0]
    assert row["n"] == 0 and row["Acc (%)"] == "–"
    assert row["Dep (%)"] == "50.00 (n = 5)"


def test_tables_show_every_run_in_order(audit):
    both = pd.concat([audit, audit.assign(model="another", dataset="my own")])
    table = tables.support_table(rates(metrics.support_rates, both))
    assert table["Model"].tolist() == ["mini-qwen", "another"]
    assert table["Data"].tolist() == ["Scene pairs", "my own"]


@pytest.mark.parametrize(
    "show, function, args, columns",
    [
        ("support_table", "support_rates", (), 4),
        ("cells_table", "outcome_decomposition", (), 5),
        ("survival_table", "decision_survival", (), 4),
        ("balanced_table", "balanced_rates", (), 4),
        ("sensitivity_table", "sensitivity_rates", (), 5),
        ("permutation_table", "permutation_calibration", (), 5),
        ("gaps_table", "gap_summary", (), 9),
        ("strata_table", "rates_by", ("prediction",), 6),
        ("relation_table", "rates_by", ("relation",), 5),
    ],
)
def test_each_table_shows_each_metric_of_its_rates(audit, show, function, args, columns):
    frame = rates(getattr(metrics, function), audit, *args)
    table = getattr(tables, show)(frame)
    shown = table.drop(columns=["Model", "Data", "n"], errors="ignore")
    assert not (shown == "–").any(axis=None)
    cells = shown.filter(regex=r"\((%|nats|points)\)|Ties")
    assert cells.shape[1] >= min(columns, 4)
    one = frame.iloc[0]
    if show in ("support_table", "cells_table", "survival_table"):
        assert cells.iloc[0, 0].startswith(f"{100 * one['value']:.2f} [")


def test_strata_table_names_splits_and_missing_strata(audit):
    audit.loc[3, "relation"] = None
    table = tables.strata_table(rates(metrics.rates_by, audit, "relation"))
    assert table["Stratum"].tolist() == ["above", "left", "not given"]
    both = pd.concat([rates(metrics.rates_by, audit, c) for c in ("prediction", "label")])
    assert tables.strata_table(both)["Split by"].unique().tolist() == ["prediction", "gold answer"]


def test_gaps_table_is_in_nats_and_counts_ties(audit):
    table = tables.gaps_table(rates(metrics.gap_summary, audit))
    row = table.iloc[0]
    assert row["50 % (nats)"].startswith(f"{audit['image_gap'].median():.3f} [")
    assert row["Ties"] == "0"


def test_permutation_table_gives_the_difference_in_points(audit):
    frame = rates(metrics.permutation_calibration, audit)
    value = frame.set_index("metric").loc["difference", "value"]
    cell = tables.permutation_table(frame)["Difference (points)"].item()
    assert cell.startswith(f"{100 * value:.2f} [")


@pytest.mark.parametrize(
    "view, show",
    [
        ("headline", "support_table"),
        ("cells", "cells_table"),
        ("prediction", "strata_table"),
        ("label", "strata_table"),
        ("balanced", "balanced_table"),
        ("survival", "survival_table"),
    ],
)
def test_published_rates_fit_the_same_tables(view, show):
    table = getattr(tables, show)(published_rates(view))
    assert len(table) == (16 if show == "strata_table" else 8)
    assert table["Data"].unique().tolist() == ["VSR", "GSR-COCO"]


def test_published_headline_reads_as_printed():
    table = tables.support_table(published_rates("headline"))
    row = table.query("Model == 'LLaVA' and Data == 'GSR-COCO'").iloc[0]
    assert (row["Acc (%)"], row["D-CC (%)"]) == ("81.93", "55.68")


def test_a_table_needs_a_long_frame():
    with pytest.raises(SchemaError, match="`metric` is missing"):
        tables.support_table(pd.DataFrame({"value": [1.0]}))


NASTY = "<b>x</b> | $a$ `c` *d* [e](f) {term}`g` {{h}} ![](i) ``` ~~~ # & www.example.org"


def test_to_myst_shows_data_letter_by_letter():
    docutils_core = pytest.importorskip("docutils.core")
    parser = pytest.importorskip("myst_parser.parsers.docutils_")
    table = tables.to_myst(pd.DataFrame({"Model": [NASTY], "Acc (%)": ["1.00"]}), "Cap.", "tab-x")
    tree = docutils_core.publish_doctree(
        table.to_markdown(),
        parser=parser.Parser(),
        settings_overrides={
            "myst_enable_extensions": ["dollarmath", "colon_fence", "linkify"],
            "report_level": 1,
            "halt_level": 2,
        },
    )
    (found,) = tree.findall(lambda node: node.tagname == "table")
    assert found["names"] == ["tab-x"]
    assert next(found.findall(lambda node: node.tagname == "title")).astext() == "Cap."
    entries = [entry.astext() for entry in found.findall(lambda node: node.tagname == "entry")]
    assert entries == ["Model", "Acc (%)", NASTY, "1.00"]
    kinds = {node.tagname for node in found.findall() if hasattr(node, "tagname")}
    assert not kinds & {"math", "reference", "literal", "strong", "emphasis", "image", "raw"}


def test_to_myst_takes_a_caption_with_code():
    docutils_core = pytest.importorskip("docutils.core")
    parser = pytest.importorskip("myst_parser.parsers.docutils_")
    text = tables.to_myst(pd.DataFrame({"a": [1]}), "Of `pairs`.", "tab-x").to_markdown()
    tree = docutils_core.publish_doctree(
        text, parser=parser.Parser(), settings_overrides={"report_level": 1, "halt_level": 2}
    )
    title = next(tree.findall(lambda node: node.tagname == "title"))
    assert title.astext() == "Of pairs." and title.children[1].tagname == "literal"


def test_to_myst_escapes_html_for_the_screen():
    bundle = tables.to_myst(
        pd.DataFrame({"Model": ["<script>alert(1)</script>"]}), "5 < 6", "tab-x"
    )._repr_mimebundle_()
    assert set(bundle) == {"text/markdown", "text/html"}
    assert "<script>" not in bundle["text/html"]
    assert "<caption>5 &lt; 6</caption>" in bundle["text/html"]
    assert "<script>" not in bundle["text/markdown"]


def test_to_myst_shows_a_missing_cell_as_a_dash():
    text = tables.to_myst(pd.DataFrame({"a": [None, ""]}), "c", "t").to_markdown()
    assert text.splitlines()[4:] == ["* - a", "* - –", "* -", "~~~"]


def test_to_myst_refuses_a_name_that_is_no_target():
    with pytest.raises(ValueError, match="letters, digits and hyphens, got 'tab 1'"):
        tables.to_myst(pd.DataFrame({"a": [1]}), "c", "tab 1")


def test_a_row_over_models_says_how_it_was_pooled():
    rates = pd.DataFrame(
        {
            "model": ["m", None, None],
            "pooling": ["run", "micro", "macro"],
            "metric": "accuracy",
            "value": [0.5, 0.6, 0.7],
            "low": np.nan,
            "high": np.nan,
            "n": 10,
        }
    )
    shown = tables.support_table(rates)
    assert shown["Model"].tolist() == ["m", "All models (micro)", "Mean of models (macro)"]
    without = tables.support_table(rates.drop(columns="model")[1:])
    assert without["Model"].tolist() == ["All models (micro)", "Mean of models (macro)"]


def test_published_view_is_folded_labelled_and_as_printed():
    view = tables.published_view(
        "T29", {"model": "Model", "dataset": "Data", "difference": "Difference"}, "tab-x"
    )
    text = view.to_markdown()
    assert text.startswith("~~~~{dropdown} Published values: T29\n~~~{list-table} Published, not")
    assert text.endswith("\n~~~\n~~~~")
    first = published_table("T29", as_text=True).iloc[0]
    bounds = f"[{first['difference_low']}, {first['difference_high']}]"
    assert view.table.loc[0, "Difference"] == f"{first['difference']} {bounds}"
    assert view.table.loc[1, "Data"] == "GSR-COCO"
    assert "<details><summary>Published values: T29</summary>" in view.to_html()
    zeros = published_table("T13", as_text=True).query("prediction == 'no'").iloc[0]
    assert zeros["strict"] == "0.00"  # trailing zeros are printed too
