import numpy as np
import pandas as pd
import pytest

from vca_core import metrics
from vca_core.published import published_rates

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
figures = pytest.importorskip("vca_core.figures")
support = pytest.importorskip("vca_core.figures.support")


@pytest.fixture(autouse=True)
def close_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def ax():
    figures.use_style()
    return plt.subplots()[1]


@pytest.fixture
def audit():
    rng = np.random.default_rng(3)
    contexts = ("original", "text_only", "blank")
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=[f"margin_{c}" for c in contexts])
    frame["sample_id"] = [f"s{i}" for i in range(40)]
    frame["label"] = rng.choice(["yes", "no"], 40)
    first = frame.assign(model="mini-qwen", dataset="pairs")
    return metrics.audit_support(pd.concat([first, first.assign(model="a $b", dataset="vsr")]))


def rates(function, audit):
    return function(audit, n_resamples=50, rng=np.random.default_rng(0))


def test_plot_outcome_decomposition_stacks_to_one(audit, ax):
    frame = rates(metrics.outcome_decomposition, audit)
    assert figures.plot_outcome_decomposition(frame, ax) is ax
    shown = frame.pivot(index="model", columns="metric", values="value").loc["mini-qwen"]
    for container, metric in zip(ax.containers, support.CELLS, strict=True):
        assert container[0].get_width() == pytest.approx(shown[metric])
    last = ax.containers[-1]
    assert [bar.get_x() + bar.get_width() for bar in last] == pytest.approx([1, 1])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["mini-qwen\nScene pairs", "a \\$b\nVSR"]
    ax.figure.canvas.draw()  # a dollar sign in a name is no maths


def test_plot_rates_draws_values_and_intervals(audit, ax):
    frame = rates(metrics.support_rates, audit)
    assert figures.plot_rates(frame, ax) is ax
    for j, metric in enumerate(("accuracy", "dependent", "dcc", "cu")):
        rows = frame[frame["metric"] == metric]
        np.testing.assert_allclose(ax.lines[j].get_xdata(), rows["value"])
        segments = np.array(ax.collections[j].get_segments())
        np.testing.assert_allclose(segments[:, :, 0], rows[["low", "high"]])
    assert "(%)" in ax.get_xlabel() and ax.get_title(loc="left")
    ax.figure.canvas.draw()


def test_plot_gap_distribution_shows_the_quantiles(audit, ax):
    frame = rates(metrics.gap_summary, audit)
    assert figures.plot_gap_distribution(frame, ax) is ax
    medians = frame[frame["metric"] == "quantile_0.5"]["value"]
    drawn = [line.get_xdata() for line in ax.lines]
    for median in medians:
        assert any(np.allclose(x, median) for x in drawn)
    assert "nats" in ax.get_xlabel()
    ax.figure.canvas.draw()


def test_figures_take_published_rates_without_intervals(ax):
    figures.plot_rates(published_rates("headline"), ax)
    assert len(ax.get_yticks()) == 8
    ax.figure.canvas.draw()
    other = plt.subplots()[1]
    figures.plot_outcome_decomposition(published_rates("cells"), other)
    assert len(other.containers[0]) == 8
    other.figure.canvas.draw()


def test_figures_take_unlabelled_and_empty_runs(audit, ax):
    bare = metrics.audit_support(
        audit[["model", "dataset", "sample_id", *audit.filter(like="margin_")]]
    )
    figures.plot_rates(rates(metrics.support_rates, bare), ax)
    ax.figure.canvas.draw()
    for plot, function in (
        (figures.plot_gap_distribution, metrics.gap_summary),
        (figures.plot_outcome_decomposition, metrics.outcome_decomposition),
    ):
        plot(rates(function, bare.head(0)), plt.subplots()[1]).figure.canvas.draw()


@pytest.mark.parametrize("series", [None, "metric"])
def test_plot_forest_draws_points_intervals_and_nothing_for_nothing(audit, ax, series):
    frame = rates(metrics.support_rates, audit).query("dataset == 'vsr'")
    options = {"rows": "dataset", "title": "t", "label": "l", "null": 0.5, "series": series}
    assert figures.plot_forest(frame, ax, **options) is ax
    points = [line for line in ax.lines if line.get_marker() not in ("None", None)]
    np.testing.assert_allclose(np.concatenate([p.get_xdata() for p in points]), frame["value"])
    assert len(ax.collections) == (4 if series else 1)
    empty = plt.subplots()[1]
    figures.plot_forest(frame[:0], empty, **options)
    empty.figure.canvas.draw()
