"""Tables and figures of the robustness page: percent once, a dash for nothing, every run drawn."""

import numpy as np
import pandas as pd
import pytest

from vca_core import metrics, tables
from vca_core.metrics.control_variants import VARIANTS
from vca_core.metrics.proxies import SIGNALS

CONTEXTS = (
    "original", "text_only", "blank", "mean_color", "mismatch", "relation_erased",
    "irrelevant_erased",
)  # fmt: skip


def options():
    return {"n_resamples": 20, "rng": np.random.default_rng(1)}


@pytest.fixture
def audit(rng):
    parts = []
    for model in ("mini-qwen", "a $b"):
        columns = [f"margin_{c}" for c in CONTEXTS]
        frame = pd.DataFrame(rng.normal(size=(40, 7)), columns=columns)
        frame["margin_original"] += np.tile([0.7, -0.7], 20)
        frame["pair_id"] = [f"p{i // 2}" for i in range(40)]
        frame["polarity"] = ["true", "false"] * 20
        frame["sample_id"] = frame["pair_id"] + frame["polarity"]
        frame["label"] = ["yes", "no"] * 20
        parts.append(frame.assign(model=model, dataset="pairs"))
    return metrics.audit_support(pd.concat(parts, ignore_index=True))


@pytest.fixture
def ranking(audit):
    signals = metrics.variant_gaps(metrics.proxy_signals(audit))
    scores = [*SIGNALS, *(v for v in VARIANTS if v != "max_control_gap")]
    return metrics.proxy_comparison(
        signals, metrics.audit_pairs(audit), "relation_consistent", scores=scores, **options()
    )


def percent_of(frame, **where):
    rows = frame
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return f"{100 * rows['value'].item():.2f}"


def test_variants_table_shows_every_variant(audit, ranking):
    rates = metrics.control_variants(audit, **options())
    table = tables.variants_table(rates, {"SRC": ranking})
    assert len(table) == 6 and not (table == "–").any(axis=None)
    first = table.iloc[0]
    shown = percent_of(rates, pooling="macro", variant="text_only_gap", metric="agreement")
    assert first["Mean agreement (%)"].startswith(f"{shown} [")
    least = percent_of(rates, pooling="min", variant="text_only_gap", metric="agreement")
    assert first["Least agreement (%)"] == least
    headline = table.set_index("Controls").loc["Larger of the two (headline)"]
    gap = percent_of(ranking, pooling="macro", score="image_gap", metric="roc_auc")
    assert headline["SRC AUROC (%)"].startswith(f"{gap} [") and headline["Mean rho"] == "1.000"


def test_proxies_table_shows_every_signal_and_data_set(ranking):
    table = tables.proxies_table({"SRC": ranking})
    assert len(table) == len(SIGNALS) and not (table == "–").any(axis=None)
    shown = percent_of(ranking, pooling="macro", score="confidence", metric="average_precision")
    assert table["SRC AUPRC (%)"].iloc[0].startswith(f"{shown} [")
    both = pd.concat([ranking, ranking.assign(dataset="mine")])
    assert "SRC AUROC, mine (%)" in tables.proxies_table({"SRC": both})
    assert tables.proxies_table({"SRC": ranking.head(0)}).columns.tolist() == ["Signal"]


def test_proxies_table_says_what_was_not_scored(audit):
    bare = metrics.proxy_signals(audit.drop(columns="margin_mismatch"))
    ranked = metrics.proxy_comparison(
        bare, metrics.audit_pairs(bare), "relation_consistent", **options()
    )
    cells = tables.proxies_table({"SRC": ranked}).set_index("Signal")["SRC AUROC (%)"]
    assert cells["Permutation drop"] == "– (n = 0)"


def test_proxies_reading_counts_among_signals_that_have_a_value():
    values = {"confidence": 0.9, "visnec_style": np.nan, "fpvg_style": 0.7, "image_gap": 0.6}
    frame = pd.DataFrame({"score": list(values), "value": list(values.values())})
    frame = frame.assign(low=frame["value"] - 0.15, high=frame["value"] + 0.1, metric="roc_auc")
    frame = frame.assign(pooling="macro", dataset="pairs")
    variant = frame.tail(1).assign(score="text_only_gap", value=0.99)  # no signal of that table
    ranking = pd.concat([frame, variant], ignore_index=True)
    text = tables.proxies_reading({"the outcome": ranking})
    assert text == (
        "On the outcome the image gap has a mean AUROC of 60.00 %, and confidence, the size of "
        "the original margin, 90.00 %; of the 2 other signals that could be computed, 2 rank it "
        "better than the gap does, 1 of them with an interval wholly above the gap's."
    )
    both = pd.concat([ranking, ranking.assign(dataset="mine")])
    named = tables.proxies_reading({"the outcome": both})
    assert "the outcome (Scene pairs)" in named and "the outcome (mine)" in named
    unknown = ranking.assign(value=ranking["value"].where(ranking["score"] != "image_gap"))
    for nothing in (unknown, ranking.head(0)):
        text = tables.proxies_reading({"the outcome": nothing})
        assert text.startswith("There is no AUROC on the outcome: it needs ")


def test_proxies_reading_leaves_out_what_was_not_scored(audit):
    bare = metrics.proxy_signals(audit.drop(columns=["margin_mismatch", "margin_relation_erased"]))
    ranked = metrics.proxy_comparison(
        bare, metrics.audit_pairs(bare), "relation_consistent", **options()
    )
    text = tables.proxies_reading({"relation consistency": ranked})
    # left: confidence, VisNec-style, sufficiency
    assert "of the 3 other signals that could be computed" in text and "nan" not in text


def test_control_tables_show_sets_runs_and_all(audit):
    rates = metrics.control_sets(audit, **options())
    sets = tables.control_sets_table(rates)
    assert sets["Controls"].tolist() == [
        "Text, blank (headline)",
        "Text, mean colour",
        "Text, blank, mismatch",
    ]
    shown = percent_of(rates, pooling="micro", control_set="mismatch", metric="dependent")
    assert sets["Dep (%)"].iloc[2].startswith(f"{shown} [") and (sets["n"] == 80).all()
    overlap = tables.control_overlap_table(rates)
    assert overlap["Model"].tolist() == ["mini-qwen", "a $b", "All models (micro)"]
    assert overlap["Data"].tolist() == ["Scene pairs", "Scene pairs", "all"]
    assert overlap["n"].tolist() == [40, 40, 80]


@pytest.mark.parametrize(
    "show, function, columns",
    [
        ("mean_color_table", "mean_color_comparison", 6),
        ("visual_dependence_table", "visual_dependence", 4),
        ("null_table", "empirical_null", 6),
        ("null_differences_table", "empirical_null", 4),
    ],
)
def test_run_tables_show_every_metric(audit, show, function, columns):
    frame = getattr(metrics, function)(audit, **options())
    if function == "empirical_null":
        frame = metrics.empirical_null(audit, audit, **options())
    table = getattr(tables, show)(frame)
    cells = table.drop(columns=["Model", "Data", "n"])
    assert cells.shape == (2, columns) and not cells.isin(["–"]).any(axis=None)
    bare = audit.drop(columns=["margin_mean_color", "margin_mismatch", "label"])
    empty = getattr(tables, show)(
        getattr(metrics, function)(metrics.audit_support(bare), **options())
    )
    assert empty.astype(str).apply(lambda column: column.str.contains("–")).any(axis=None)


def test_figures_draw_every_run(audit):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    figures = pytest.importorskip("vca_core.figures")
    rates = metrics.control_variants(audit, **options())
    null = metrics.empirical_null(audit, audit, **options())
    with matplotlib.rc_context():
        figures.use_style()
        ax = figures.plot_agreement(rates, plt.subplots()[1])
        assert len(ax.lines) == 5 and len(ax.get_yticks()) == 2
        runs = rates.query("pooling == 'run' and variant == 'text_only_gap'")
        drawn = runs.query("metric == 'agreement'")["value"]
        np.testing.assert_allclose(ax.lines[0].get_xdata(), drawn)
        assert ax.get_yticklabels()[1].get_text() == "a \\$b\nScene pairs"
        ax.figure.canvas.draw()
        names = {"selector_difference": "selector", "permutation_difference": "permutation"}
        other = figures.plot_run_estimates(
            null, plt.subplots()[1], names, title="t", label="l", null=0
        )
        assert [text.get_text() for text in other.figure.legends[0].texts] == [*names.values()]
        other.figure.canvas.draw()
        assert not other.texts
        nothing = null.assign(value=np.nan, low=np.nan, high=np.nan)
        empty = figures.plot_run_estimates(
            nothing, plt.subplots()[1], names, title="t", label="l", null=0
        )
        assert [text.get_text() for text in empty.texts] == ["not in these scores"]
        plt.close("all")
