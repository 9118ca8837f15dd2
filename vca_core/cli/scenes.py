"""``vca scenes``: the procedural world's data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vca_core.cache.files import ROOT
from vca_core.cli.errors import plain_errors
from vca_core.records import read_manifest
from vca_core.scenes import DATASETS, build_scenes, check_pixels
from vca_core.scenes.datasets import built_files

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
        int | None, typer.Option(min=0, help="Another seed: fresh scenes, compared with nothing.")
    ] = None,
    accept_pixels: Annotated[
        bool, typer.Option(help="Record new pixel hashes where pictures differ.")
    ] = False,
) -> None:
    """Draw pictures and manifest, and compare both with what is shipped.

    Example: vca scenes build pairs --out scenes
    """
    with plain_errors():
        for name in names or list(DATASETS):
            _build(name, out, seed, accept_pixels)


def _build(name: str, out: Path, seed: int | None, accept_pixels: bool) -> None:
    root = ROOT / "cached_scores"
    shipped = root / name / "manifest.jsonl"
    compare = shipped if seed is None and shipped.is_file() else None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        drawing = bars.add_task(f"Drawing {name}", total=None)
        path = build_scenes(
            name,
            out,
            seed=seed,
            expected=compare,
            accept_pixels=accept_pixels,
            on_image=lambda done, total: bars.update(drawing, completed=done, total=total),
        )
        samples = read_manifest(path)
        check_pixels(bars.track(samples, description=f"Checking {name}"), path.parent)
    for built, place in built_files(name).items():
        file = path.parent / built
        status = "not compared"
        if compare and (root / place).is_file():
            status = "equal to what is shipped" + ", new pixels accepted" * accept_pixels
        size = f"{len(read_manifest(file))} samples, " if file.suffix == ".jsonl" else ""
        typer.echo(f"{file}: {size}{status}")
