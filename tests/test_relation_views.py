"""Tables and figures of the relation axis."""

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.metrics import audit_pairs, audit_support, pair_decomposition, relation_rates
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank")


@pytest.fixture(autouse=True)
def close_figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    with matplotlib.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


@pytest.fixture
def pairs():
    values = np.random.default_rng(3).normal(size=(60, 3))
    frame = pd.DataFrame(values, columns=[f"margin_{context}" for context in CONTEXTS])
    frame["pair_id"] = np.repeat([f"p{i}" for i in range(30)], 2)
    frame["polarity"] = ["true", "false"] * 30
    frame["sample_id"] = [f"s{i}" for i in range(60)]
    first = frame.assign(model="mini-qwen", dataset="pairs")
    return audit_pairs(pd.concat([first, first.assign(model="a $b", dataset="my own")]))


@pytest.fixture
def responses():
    names = ["model", *(f"margin_{c}" for c in (*CONTEXTS, "reversed")), "delta_visual"]
    rows = [("follows", 2.5, 0.5, 0.5, -0.5, 3.0), ("against $", 2.5, 0.5, 0.5, 5.5, -3.0)]
    frame = pd.DataFrame(rows, columns=names).assign(dataset="supported", sample_id="q")
    return audit_support(frame)


def rates(function, pairs):
    return function(pairs, n_resamples=20, rng=np.random.default_rng(0))


def test_relation_axis_table_shows_percent_and_the_number_of_pairs(pairs):
    found = rates(relation_rates, pairs)
    table = tables.relation_axis_table(found)
    assert table["Model"].tolist() == ["mini-qwen", "a $b"]
    assert table["Data"].tolist() == ["Scene pairs", "my own"]
    assert (table["n"] == 30).all()
    value = found.query("metric == 'pair_dependent'")["value"].iloc[0]
    assert table["Pair D (%)"].iloc[0].startswith(f"{100 * value:.2f} [")
    assert list(table.columns[3:]) == [
        f"{name} (%)"
        for name in (
            "Rel",
            "PairCredit",
            "Joint",
            "Pair D",
            "Rel, text only",
            "Rel, blank",
        )
    ]


def test_relation_gaps_table_is_in_nats(pairs):
    found = rates(relation_rates, pairs)
    table = tables.relation_gaps_table(found)
    row = found.query("metric == 'interaction_gap'").iloc[0]
    text = f"{row['value']:.3f} [{row['low']:.2f}, {row['high']:.2f}]"
    assert table["Interaction (nats)"].iloc[0] == text
    assert "H, text only (nats)" in table


def test_pair_parts_table_has_the_five_parts(pairs):
    table = tables.pair_parts_table(rates(pair_decomposition, pairs))
    shares = table.iloc[0, 3:].str.split(" ").str[0].astype(float)
    assert len(shares) == 5 and shares.sum() == pytest.approx(100, abs=0.03)


def test_null_control_table_signs_its_margins(responses):
    row = tables.null_control_table(responses.assign(margin_blank=0.0)).iloc[0]
    assert row.to_dict() == {
        "Dependent": "yes",
        "Response function": "follows",
        "Original": "+2.50",
        "No image": "+0.50",
        "Blank": "0",
        "Image gap": "+2.00",
        "Reversed": "-0.50",
        "Visual effect": "+3.00",
    }
    with pytest.raises(SchemaError, match="`delta_visual` is missing"):
        tables.null_control_table(responses.drop(columns="delta_visual"))


def test_plot_pair_parts_stacks_to_one(pairs, ax):
    from vca_core import figures

    parts = rates(pair_decomposition, pairs)
    figures.plot_pair_parts(parts, ax)
    width = np.array([[bar.get_width() for bar in bars] for bars in ax.containers])
    np.testing.assert_allclose(width.sum(axis=0), 1)
    shares = parts.pivot(index="metric", columns="model", values="value")
    np.testing.assert_allclose(width[0], shares.loc["joint", ["mini-qwen", "a $b"]])
    assert [bars.get_label() for bars in ax.containers][2] == "Rel, no PairCredit"


def test_plot_interaction_draws_one_row_per_run(pairs, ax):
    from vca_core import figures

    found = rates(relation_rates, pairs).query("metric == 'interaction_gap'")
    figures.plot_interaction(rates(relation_rates, pairs), ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["mini-qwen\nScene pairs", "a \\$b\nmy own"]
    points = [line.get_xdata() for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(points[0], found["value"])
    assert "own scale" in ax.get_xlabel()


def test_plot_null_controls_draws_every_function(responses, ax):
    from vca_core import figures

    figures.plot_null_controls(responses, ax)
    lines = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 4]
    np.testing.assert_allclose(lines, [[2.5, 0.5, 0.5, -0.5], [2.5, 0.5, 0.5, 5.5]])
    assert [text.get_text() for text in ax.texts] == ["follows", "against \\$"]
    ax.figure.canvas.draw()  # a name with a dollar sign is no maths


def test_figures_of_no_pairs_are_empty_and_not_an_error(pairs, ax):
    from vca_core import figures

    none = audit_pairs(
        pd.DataFrame(
            columns=["model", "dataset", "sample_id", "pair_id", "polarity"]
            + [f"margin_{context}" for context in CONTEXTS]
        )
    )
    assert len(tables.relation_axis_table(rates(relation_rates, none))) == 0
    figures.plot_pair_parts(rates(pair_decomposition, none), ax)
