"""Expected errors on the command line: the message on the error stream, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vca_core.records import SchemaError


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
        if (error.name or "").split(".")[0] not in ("torch", "torchvision", "transformers"):
            raise
        typer.echo(
            f"Error: live scoring needs {error.name}: pip install -e '.[live]' -c "
            "constraints-live.txt (or `make test` once).",
            err=True,
        )
        raise typer.Exit(2) from None
    except (OSError, RuntimeError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
