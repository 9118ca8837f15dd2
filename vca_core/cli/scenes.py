"""``vca scenes``: the procedural world's data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from vca_core.cache.files import ROOT
from vca_core.cli.errors import plain_errors
from vca_core.records import read_manifest
from vca_core.scenes import DATASETS, build_scenes, check_pixels

app = typer.Typer(no_args_is_help=True, help="Build the scene data sets; pictures are not shipped.")


@app.callback()
def main() -> None:
    """Keep `build` a subcommand."""


@app.command()
def build(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Data sets of {', '.join(DATASETS)}; default all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Parent folder.")] = Path("scenes"),
    seed: Annotated[
        int | None, typer.Option(help="Another seed: fresh scenes, compared with nothing.")
    ] = None,
    accept_pixels: Annotated[
        bool, typer.Option(help="Record new pixel hashes where pictures differ.")
    ] = False,
) -> None:
    """Draw pictures and manifest, and compare both with the shipped manifest.

    Example: vca scenes build pairs --out scenes
    """
    with plain_errors():
        for name in names or list(DATASETS):
            shipped = ROOT / "cached_scores" / name / "manifest.jsonl"
            compare = shipped if seed is None and shipped.is_file() else None
            path = build_scenes(name, out, seed=seed, expected=compare, accept_pixels=accept_pixels)
            samples = read_manifest(path)
            check_pixels(
                track(samples, description=f"Checking {name}", transient=True), path.parent
            )
            same = "equal to the shipped manifest" if compare else "not compared"
            typer.echo(f"{path}: {len(samples)} samples, {same}")
