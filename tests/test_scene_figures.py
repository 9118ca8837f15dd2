import numpy as np
import pandas as pd
import pytest
from PIL import Image

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
scene_figures = pytest.importorskip("vca_core.scene_figures")


@pytest.fixture(autouse=True)
def close_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


def picture(value):
    return Image.new("RGB", (8, 6), (value, 0, 0))


def shown(ax):
    return np.asarray(ax.images[0].get_array())


def test_plot_pictures_fills_axes_in_order_and_switches_off_the_rest():
    axes = plt.subplots(2, 2)[1].ravel()
    named = {"a $b": picture(1), "is the red circle to the left of it?": picture(2)}
    scene_figures.plot_pictures(named, axes, width=10)
    assert [shown(ax)[0, 0, 0] for ax in axes[:2]] == [1, 2]
    assert axes[0].get_title(loc="left") == "a \\$b"
    lines = axes[1].get_title(loc="left").split("\n")
    assert " ".join(lines) == "is the red circle to the left of it?"
    assert max(map(len, lines)) <= 10
    assert [ax.axison for ax in axes] == [True, True, False, False]
    axes[0].figure.canvas.draw()


def test_plot_pictures_refuses_more_pictures_than_axes():
    with pytest.raises(ValueError, match="2 pictures"):
        scene_figures.plot_pictures({"a": picture(1), "b": picture(2)}, [plt.subplots()[1]])


def test_plot_picture_table_heads_columns_and_names_rows():
    axes = plt.subplots(2, 2)[1]
    cells = [[picture(1), picture(2)], [picture(3), None]]
    scene_figures.plot_picture_table(cells, ["up", "down"], ["note one", "note two"], axes)
    assert [ax.get_title(loc="left") for ax in axes[0]] == ["note one", "note two"]
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["up", "down"]
    assert shown(axes[1, 0])[0, 0, 0] == 3 and not axes[1, 1].axison
    with pytest.raises(ValueError):
        scene_figures.plot_picture_table(cells, ["up"], ["note one", "note two"], axes)


def test_plot_relation_matrix_writes_each_relation_in_its_color():
    relations = pd.DataFrame(
        {"red": [None, "left"], "blue": ["right", None]}, index=["red", "blue"], dtype=object
    )
    ax = plt.subplots()[1]
    assert scene_figures.plot_relation_matrix(relations, ax, "Two colours") is ax
    ax.figure.canvas.draw()
    assert sorted(text.get_text() for text in ax.texts if text.get_text()) == ["left", "right"]
    colors = ax.collections[0].get_facecolors().reshape(2, 2, 4)
    wanted = scene_figures.RELATION_COLORS
    np.testing.assert_allclose(colors[0, 1, :3], wanted["right"])
    np.testing.assert_allclose(colors[1, 0, :3], wanted["left"])
    assert colors[0, 0, 3] == 0  # empty
    assert ax.get_title(loc="left") == "Two colours"
