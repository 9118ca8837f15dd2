"""The ``vca`` command: a Typer front to the steps, one file a group of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from vca_core import __version__
from vca_core.cli import annotate, audit, book, cache, doctor, manifest, scenes, score
from vca_core.cli import filter as filtering

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=(
        "Visual Credit Audit: did the image support a vision-language model's decision? "
        "The usual order: manifest or scenes, doctor, score, verify, audit, book."
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vca_core {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold options that come before the command."""


app.add_typer(scenes.app, name="scenes")
app.add_typer(manifest.app, name="manifest")
app.command()(doctor.doctor)
app.command()(score.score)
app.command("import")(cache.import_)
app.command()(cache.verify)
app.command()(audit.audit)
app.command("filter")(filtering.filter_)
app.add_typer(annotate.app, name="annotate")
app.command()(book.book)
