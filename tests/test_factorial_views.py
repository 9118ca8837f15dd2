"""Tables and figures of the factorial: what they show, and what is left blank."""

import numpy as np
import pandas as pd
import pytest
from test_factorial import rates, stem

from vca_core import metrics, tables
from vca_core.published import published_table

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
figures = pytest.importorskip("vca_core.figures")
factorial = pytest.importorskip("vca_core.figures.factorial")


@pytest.fixture(autouse=True)
def close_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def margins(rng):
    cells = rng.normal(size=(2, 8, 3, 3)) + np.array([[1], [-1], [0]])
    controls = rng.normal(size=(2, 8, 3))
    return pd.concat(
        [
            stem(f"s{i}", cells[k, i], controls[k, i], model)
            for k, model in enumerate(("a $1", "b"))
            for i in range(8)
        ],
        ignore_index=True,
    )


@pytest.fixture
def audit(margins):
    return metrics.audit_factorial(margins)


def percent(row):
    return f"{100 * row['value']:.2f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def test_agreement_table_shows_counts_then_shares(audit):
    found = rates(metrics.agreement_rates, audit)
    table = tables.agreement_table(found)
    assert list(table.columns) == [
        "Model", "Decisions", "Correct n", "C-U n", "C-U of correct (%)", "Responsive (%)",
        "Above neutral (%)", "Answer flip (%)",
    ]  # fmt: skip
    assert list(table["Model"]) == ["a $1", "b", "All models (micro)", "Mean of models (macro)"]
    first = found[found["model"] == "a $1"].set_index("metric")
    assert table["Decisions"][0] == 16
    assert table["C-U n"][0] == first.loc["responsive_given_cu", "n"] > 0
    assert table["Responsive (%)"][0] == percent(first.loc["responsive_given_cu"])
    assert table["C-U of correct (%)"][0] == percent(first.loc["cu_given_correct"])
    assert table["Above neutral (%)"][0] == "– (n = 0)"  # there is no neutral control


def test_tables_name_the_data_set_where_there_are_two(audit, margins):
    two = pd.concat([audit, audit.assign(dataset="other")])
    table = tables.agreement_table(rates(metrics.agreement_rates, two))
    assert list(table["Data"]) == ["d", "d", "other", "other", "d", "d", "other", "other"]
    effects = rates(metrics.source_effects, pd.concat([margins, margins.assign(dataset="other")]))
    assert len(tables.effects_table(effects)) == 2 * 2 * 4


def test_response_and_magnitude_tables_have_their_own_denominators(audit):
    found = rates(metrics.agreement_rates, audit, thresholds=(0.25,))
    first = found[found["model"] == "b"].set_index("metric")
    table = tables.response_table(found).set_index("Model").loc["b"]
    assert table["Correct n"] == first.loc["responsive_mass", "n"]
    assert table["Correct (%)"] == percent(first.loc["accuracy"])
    assert table["C-U, unresponsive (%)"] == percent(first.loc["nonresponsive_mass"])
    sizes = tables.magnitude_table(found).set_index("Model").loc["b"]
    assert sizes["Above 0.25 nats (%)"] == percent(first.loc["response_above_0.25"])


def test_effects_table_ends_each_model_with_its_interaction(margins):
    effects = rates(metrics.source_effects, margins)
    table = tables.effects_table(effects)
    assert list(table["Model"]) == ["a $1"] * 4 + ["b"] * 4
    assert list(table["Other source"]) == ["supports", "opposes", "silent", "interaction"] * 2
    both = table.loc[3, ["Picture reversed (nats)", "Note reversed (nats)"]]
    row = effects[effects["effect"] == "interaction"].iloc[0]
    assert set(both) == {f"{row['value']:.3f} [{row['low']:.2f}, {row['high']:.2f}]"}


def test_source_and_neutral_tables_leave_nats_over_models_blank(audit, margins):
    table = tables.source_table(rates(metrics.source_rates, metrics.audit_sources(margins)))
    micro = table[table["Model"] == "All models (micro)"].iloc[0]
    assert micro["AUROC of gap (%)"] == "–" and micro["TPR (%)"] != "–"
    neutral = tables.neutral_table(rates(metrics.neutral_contrast, audit))
    assert (neutral["Contrast (nats)"] == "–").all() and (neutral["n"] == 0).all()


def test_factorial_text_table_shows_printed_values():
    table = tables.factorial_text_table().set_index("Quantity")
    row = table.loc["InternVL: responsive C-U"]
    assert row.to_dict() == {"Value": "81.57 [77.04, 85.38]", "Unit": "%", "Interval": "Wilson"}
    assert table.loc["Mean of models: C-U of correct"].tolist() == ["42.77", "%", "–"]
    assert len(table) < len(published_table("factorial_text"))


def test_plot_cells_writes_the_share_of_yes_and_the_margin(margins):
    cells = rates(metrics.cell_rates, margins)
    cells = cells[cells["model"] == "a $1"]
    ax = figures.plot_cells(cells, plt.subplots()[1], title="a $1")
    shown = cells.set_index(["metric", "visual_state", "text_state"])["value"]
    text = [t.get_text() for t in ax.texts]
    corner = shown["says_yes", "supports", "opposes"], shown["mean_margin", "supports", "opposes"]
    assert text[2] == f"{corner[0]:.0%}\n{corner[1]:+.1f}" and len(text) == 9
    assert ax.images[0].get_array()[0, 2] == pytest.approx(corner[0])
    ax.figure.canvas.draw()  # a dollar sign in a name is no maths
    square = cells[(cells[["visual_state", "text_state"]] != "absent").all(axis=1)]
    assert len(figures.plot_cells(square, plt.subplots()[1], title="").texts) == 4


def test_plot_agreement_outcomes_stacks_to_one(audit):
    frame = rates(metrics.agreement_outcomes, audit)
    ax = figures.plot_agreement_outcomes(frame, plt.subplots()[1])
    assert [bar.get_x() + bar.get_width() for bar in ax.containers[-1]] == pytest.approx([1] * 4)
    first = frame[frame["model"] == "b"].set_index("metric")["value"]
    for container, metric in zip(ax.containers, factorial.OUTCOMES, strict=True):
        assert container[1].get_width() == pytest.approx(first[metric])
    assert "All models (micro)" in ax.get_yticklabels()[2].get_text()
    ax.figure.canvas.draw()


def test_plot_source_effects_draws_seven_rows(margins):
    effects = rates(metrics.source_effects, margins)
    effects = effects[effects["model"] == "b"]
    ax = figures.plot_source_effects(effects, plt.subplots()[1], title="b")
    points = ax.lines[1].get_xdata()
    np.testing.assert_allclose(points, effects["value"])
    assert [t.get_text() for t in ax.get_yticklabels()][-1] == "Interaction"
    assert "nats" in ax.get_xlabel()
