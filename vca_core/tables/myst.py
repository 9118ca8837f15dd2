"""Numbered, captioned tables: MyST for the book, HTML for a notebook on screen."""

from __future__ import annotations

import html
import re

import pandas as pd

from vca_core.tables.core import NONE


class Linked(str):
    """A cell's text with `myst`, the roles that the book shows in its place."""

    def __new__(cls, text: str, myst: str) -> Linked:
        """Make a cell; a table outside the book shows `text`."""
        cell = super().__new__(cls, text)
        cell.myst = myst
        return cell


class MystTable:
    """A numbered, captioned table: MyST for the book, HTML for a notebook on screen."""

    def __init__(self, table: pd.DataFrame, caption: str, name: str, folded: str = "") -> None:
        self.table, self.caption, self.name = table, " ".join(caption.split()), name
        self.folded = folded

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/markdown": self.to_markdown(), "text/html": self.to_html()}

    def to_markdown(self) -> str:
        """Give a MyST `list-table` with caption and target, folded where it has a heading."""
        lines = [f"~~~{{list-table}} {self.caption}", f":name: {self.name}", ":header-rows: 1", ""]
        for row in (self.table.columns, *self.table.itertuples(index=False)):
            for i, cell in enumerate(row):
                lines.append(f"{'* -' if i == 0 else '  -'} {myst_cell(cell)}".rstrip())
        if self.folded:
            lines = [f"~~~~{{dropdown}} {self.folded}", *lines, "~~~"]
        return "\n".join([*lines, "~~~~" if self.folded else "~~~"])

    def to_html(self) -> str:
        """Give a plain HTML table with its caption; all text is escaped."""
        body = self.table.to_html(index=False, escape=True, border=0)
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        table = body.replace(">", f">\n  {caption}", 1)
        if not self.folded:
            return table
        return f"<details><summary>{html.escape(self.folded)}</summary>\n{table}\n</details>"


def myst_cell(cell: object) -> str:
    """Write what MyST shows letter by letter (ASCII punctuation gets a backslash), or a link."""
    if isinstance(cell, Linked):
        return cell.myst
    text = NONE if pd.isna(cell) else " ".join(str(cell).split())
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def to_myst(table: pd.DataFrame, caption: str, name: str, folded: str = "") -> MystTable:
    """Show a table in a notebook and, numbered and captioned, in the book.

    Parameters
    ----------
    table : DataFrame
        From one of the functions above. Cell text is data and is escaped, never interpreted.
    caption : str
        The author's own words; MyST in the book (maths and roles work).
    name : str
        Target of ``{numref}``, as in "tab-support-rates"; unique in the book.
    folded : str
        Heading under which the table is folded away; empty shows it.

    Returns
    -------
    MystTable
        Put it last in a cell. The book must render markdown outputs as MyST.

    Raises
    ------
    ValueError
        If `name` is not made of letters, digits and hyphens.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name):
        raise ValueError(f"`name` must be letters, digits and hyphens, got {name!r}.")
    return MystTable(table, caption, name, folded)
