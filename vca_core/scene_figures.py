"""Figures of the procedural world: pictures and frames in, axes out. Nothing is computed here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from PIL import Image

SMALL = 9
"""Font size of titles over small pictures, in points."""
_PASTEL = sns.color_palette("pastel")
RELATION_COLORS = {
    "left": _PASTEL[0],
    "right": _PASTEL[1],
    "above": _PASTEL[2],
    "below": _PASTEL[4],
}


def plot_picture(picture: Image.Image, ax: Axes, title: str = "", width: int = 20) -> Axes:
    """Show one picture at its own shape, framed, with a title broken into lines.

    Parameters
    ----------
    picture : Image
    ax : Axes
    title : str
    width : int
        Most characters in a line of the title.

    Returns
    -------
    Axes
    """
    ax.imshow(picture)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    ax.set_title(_lines(title, width), fontsize=SMALL, loc="left")
    return ax


def plot_pictures(
    pictures: Mapping[str, Image.Image], axes: Iterable[Axes], width: int = 20
) -> None:
    """Show pictures under their titles, one per axes in the axes' order.

    Parameters
    ----------
    pictures : mapping of title to Image
    axes : iterable of Axes
        At least as many as pictures; what is left over is switched off.
    width : int
        Most characters in a line of a title.

    Raises
    ------
    ValueError
        If there are more pictures than axes.
    """
    axes = list(axes)
    if len(axes) < len(pictures):
        raise ValueError(f"{len(pictures)} pictures need as many axes, got {len(axes)}.")
    for ax, (title, picture) in zip(axes, pictures.items(), strict=False):
        plot_picture(picture, ax, title, width)
    for ax in axes[len(pictures) :]:
        ax.set_axis_off()


def plot_picture_table(
    cells: Sequence[Sequence[Image.Image | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    axes: Sequence[Sequence[Axes]],
    width: int = 20,
) -> None:
    """Show pictures as a table: a heading over each column, a name beside each row.

    Parameters
    ----------
    cells : rows of Image or None
        None leaves its place empty.
    rows, columns : sequence of str
        Names and headings.
    axes : 2D array of Axes, of the shape of ``cells``
    width : int
        Most characters in a line of a heading.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    for row, name, line in zip(cells, rows, axes, strict=True):
        for picture, ax in zip(row, line, strict=True):
            if picture is None:
                ax.set_axis_off()
            else:
                plot_picture(picture, ax)
        line[0].set_ylabel(_lines(name, 16), fontsize=SMALL)
    for heading, ax in zip(columns, axes[0], strict=True):
        ax.set_title(_lines(heading, width), fontsize=SMALL, loc="left")


def plot_relation_matrix(relations: pd.DataFrame, ax: Axes, title: str = "") -> Axes:
    """Show which relation of `RELATION_COLORS` stands in each cell of a matrix.

    Parameters
    ----------
    relations : DataFrame of str
        Subjects down, objects across; a missing value leaves its cell empty.
    ax : Axes
    title : str

    Returns
    -------
    Axes
    """
    codes = {relation: code for code, relation in enumerate(RELATION_COLORS)}
    sns.heatmap(
        relations.apply(lambda column: column.map(codes)).astype(float),
        annot=relations.fillna(""),
        fmt="",
        cmap=ListedColormap(list(RELATION_COLORS.values())),
        vmin=0,
        vmax=len(codes) - 1,
        cbar=False,
        square=True,
        linewidths=1,
        annot_kws={"fontsize": SMALL, "color": "black"},
        ax=ax,
    )
    ax.grid(False)
    ax.tick_params(labelsize=SMALL, labelrotation=0, length=0)
    ax.set_xlabel("object", fontsize=SMALL)
    ax.set_ylabel("subject", fontsize=SMALL)
    ax.set_title(title, fontsize=SMALL, loc="left")
    return ax


def _lines(text: str, width: int) -> str:
    # Dollar signs would start maths in matplotlib.
    return "\n".join(textwrap.wrap(text, width)).replace("$", r"\$")
