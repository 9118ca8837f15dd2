"""``vca book``: the book, made for someone's own scores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import vca_core

VARIABLE = "VCA_PARAMS"  # read by book/_ext/vca_book.py


def book(
    scores: Annotated[
        Path, typer.Option(help="Scores folder: <dataset>/<interface>/<model>.parquet.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the book; only _build/ in it is used.")],
) -> None:
    """Make the book for your own scores; every page says whose they are.

    Runs from a clone, and leaves the project's own book alone. A second call runs only the pages
    whose scores changed. Other parameters of the notebooks can be set in the environment:
    VCA_PARAMS='{"n_resamples": 500, "interface": "true_false"}'.

    Example: vca book --scores my_scores --out my_book
    """
    root = _project_root()
    _check_folders(root, scores, out)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    command += [str(root), "--path-output", str(out.resolve()), "-n", "-W", "--keep-going"]
    params = json.dumps(_given() | {"scores_dir": str(scores.resolve())})
    typer.echo(f"Making the book for the scores in {scores} ...")
    done = subprocess.run(
        command, env={**os.environ, VARIABLE: params}, capture_output=True, text=True
    )
    if done.returncode:
        _fail(_reason(done.stdout + done.stderr))
    typer.echo(f"First page: {out.resolve() / '_build' / 'html' / 'book' / 'intro.html'}")


def _fail(message: str) -> None:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(1)


def _project_root() -> Path:
    """Find the clone: the folder we stand in if it is one, else the one this package lies in."""
    for folder in (Path.cwd(), Path(vca_core.__file__).resolve().parents[1]):
        if (folder / "_config.yml").is_file() and (folder / "book" / "_ext").is_dir():
            return folder
    _fail("`vca book` runs from a clone of the project: its notebooks are not installed with it.")


def _check_folders(root: Path, scores: Path, out: Path) -> None:
    if find_spec("jupyter_book") is None:
        _fail("Jupyter Book is not installed; add it with: pip install -e '.[book]'")
    if not scores.is_dir():
        _fail(f"No scores folder at {scores.resolve()}.")
    if not any(scores.rglob("*.parquet")):
        _fail(f"No <dataset>/<interface>/<model>.parquet under {scores.resolve()}.")
    if out.resolve() == root.resolve():
        _fail("`--out` must not be the project's own folder: its _build holds the project's book.")
    if out.exists() and not out.is_dir():
        _fail(f"`--out` must be a folder, got the file {out.resolve()}.")


def _given() -> dict:
    """Parameters that the caller has put into the environment."""
    try:
        given = json.loads(os.environ.get(VARIABLE) or "{}")
    except json.JSONDecodeError as error:
        _fail(f"{VARIABLE} must be a JSON object: {error}")
    if not isinstance(given, dict):
        _fail(f"{VARIABLE} must be a JSON object, got {given!r}")
    return given


def _reason(log: str) -> str:
    """Lines of a failed build that say why: warnings, and what the extension found."""
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if "Extension error" in line), None)
    if start is not None:
        return "\n".join(lines[start + 1 :]).split("Traceback (most recent call last):\n  File")[0]
    told = [line for line in lines if "WARNING" in line or "ERROR" in line]
    return "\n".join(told or lines[-20:])
