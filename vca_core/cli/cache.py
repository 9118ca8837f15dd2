"""``vca import`` and ``vca verify``: what concerns a scores cache as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vca_core import cache
from vca_core.cli.errors import plain_errors
from vca_core.records import SchemaError


def import_(
    file: Annotated[Path, typer.Argument(help="Records as .jsonl, .csv or .parquet.")],
    out: Annotated[Path, typer.Option(help="Root of the scores cache.")],
    map: Annotated[
        list[str] | None,
        typer.Option(help="FIELD=COLUMN, where the file calls a field otherwise; repeat."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model of all rows.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Data set of all rows.")] = None,
    interface: Annotated[
        str | None, typer.Option(help="Interface of all rows; default yes_no.")
    ] = None,
) -> None:
    """Bring in margins or losses that another tool scored.

    Wide: a row per statement with margin_original, margin_text_only, margin_blank, … Long: a row
    per statement and context with context and margin, or loss_yes and loss_no. Also needed:
    sample_id, model, dataset; label yes/no where accuracy is wanted; for relation pairs pair_id and
    polarity, true or false (without polarity the label says which statement is true). A margin is
    loss(no) - loss(yes) in nats, positive for yes.

    Example: vca import scores.jsonl --map margin_text_only=margin_text --map label=gold
    --out my_scores
    """
    with plain_errors():
        mapping = {}
        for entry in map or []:
            field, _, column = entry.partition("=")
            if not field or not column or field in mapping:
                raise SchemaError(f"--map must be FIELD=COLUMN, each field once, got {entry!r}.")
            mapping[field] = column
        done = cache.import_scores(
            file, out, mapping=mapping, model=model, dataset=dataset, interface=interface
        )
    for path, rows in done.files.items():
        typer.echo(f"{path}: {rows} rows")
    if done.replaced:
        typer.echo(f"{done.replaced} rows of an earlier import were replaced.")
    if done.errors:
        typer.echo(f"{done.errors} rows have no finite margin and are error rows.", err=True)
    if done.ignored:
        typer.echo(f"Columns not imported: {', '.join(done.ignored)}", err=True)


def verify(
    scores: Annotated[Path, typer.Argument(help="Root of the scores cache.")],
    update: Annotated[
        bool, typer.Option(help="Record the present files in MANIFEST.sha256 first.")
    ] = False,
) -> None:
    """Check schema, arithmetic, duplicates, run records and MANIFEST.sha256.

    Example: vca verify cached_scores
    """
    with plain_errors():
        if update:
            cache.update_manifest(scores, cache.covered_files(scores))
        report = cache.verify(scores)
    for note in report.notes:
        typer.echo(f"Note: {note}")
    for fault in report.faults:
        typer.echo(f"Fault: {fault}", err=True)
    typer.echo(
        f"{report.files} files, {report.rows} rows ({report.errors} error rows), "
        f"{len(report.faults)} faults"
    )
    if report.faults:
        raise typer.Exit(1)
