"""Whose scores a book shows: the note on top of each page when they aren't this project's own."""

from __future__ import annotations

import html
from pathlib import Path

import pyarrow.parquet as pq
from sphinx.errors import ExtensionError

OWN = "cached_scores"


def models_in(folder: Path) -> list[str]:
    """Models that a scores folder holds, by name."""
    names: set[str] = set()
    for path in folder.rglob("*.parquet"):
        names |= set(pq.read_table(path, columns=["model"])["model"].unique().to_pylist())
    return sorted(map(str, names))


def banner_for(root: Path, params: dict) -> str:
    """HTML of the note, empty for the project's own scores."""
    folder = (root / params.get("scores_dir", OWN)).resolve()
    if folder == (root / OWN).resolve():
        return ""
    models = models_in(folder)
    if not models:
        raise ExtensionError(
            f"No scores under {folder}: expected <dataset>/<interface>/<model>.parquet."
        )
    shown = [m for m in models if m in params.get("models", [])] or models
    names = ", ".join(html.escape(name) for name in shown)
    return (
        '<div class="admonition note vca-banner">'
        '<p class="admonition-title">Whose scores these are</p>'
        "<p>This copy of the book was made from the scores in the folder "
        f"<code>{html.escape(folder.name)}</code>, of: {names}. They are not this project's own. "
        "Values called published come from the paper, not from these scores.</p></div>\n"
    )
