"""Expected errors on the command line: the message on the error stream, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vca_core.records import SchemaError

LIVE = ("torch", "torchvision", "transformers")
"""Modules of the live extra that a command may need."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print what is wrong and exit: 1 for bad data, 2 for a file or checkpoint that fails."""
    try:
        yield
    except typer.Exit:  # click's Exit is a RuntimeError
        raise
    except SchemaError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    except ImportError as error:
        if (error.name or "").split(".")[0] not in LIVE:
            raise
        typer.echo(
            f"Error: this needs {error.name}, which is part of the live extra: run `make env-live` "
            "(or pip install -e '.[live]' -c constraints-live.txt).",
            err=True,
        )
        raise typer.Exit(2) from None
    except (OSError, RuntimeError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
