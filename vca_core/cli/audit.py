"""`vca audit`: print the tables of the support audit from a folder of scores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from vca_core import metrics, tables
from vca_core.cache import count_rows, load_margins, stream_margins


class Table(StrEnum):
    """Which table to print."""

    headline = "headline"
    cells = "cells"
    strata = "strata"
    balanced = "balanced"
    survival = "survival"
    sensitivity = "sensitivity"
    permutation = "permutation"


class Format(StrEnum):
    """How to print it."""

    json = "json"
    csv = "csv"
    md = "md"


TABLES = {
    Table.headline: (metrics.support_rates, tables.support_table),
    Table.cells: (metrics.outcome_decomposition, tables.cells_table),
    Table.balanced: (metrics.balanced_rates, tables.balanced_table),
    Table.survival: (metrics.decision_survival, tables.survival_table),
    Table.sensitivity: (metrics.sensitivity_rates, tables.sensitivity_table),
    Table.permutation: (metrics.permutation_calibration, tables.permutation_table),
}
COUNTED = {
    Table.headline: metrics.headline_events,
    Table.cells: metrics.cell_events,
    Table.survival: metrics.survival_events,
}
"""Tables that need only counts of events, so that large scores need not fit in memory."""
LARGE = 5_000_000
"""Rows of scores from which these tables are read in parts."""
CONTEXTS = ("original", "text_only", "blank")


def audit(
    scores: Annotated[Path, typer.Option(help="Root of the scores cache.")],
    interface: Annotated[str, typer.Option(help="yes_no or true_false.")] = "yes_no",
    models: Annotated[
        list[str] | None, typer.Option(help="A model to show; repeat for more. Default: all.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="A data set to show; repeat for more. Default: all.")
    ] = None,
    table: Annotated[Table, typer.Option(help="Which table.")] = Table.headline,
    format: Annotated[
        Format, typer.Option(help="md: rounded, in percent; json, csv: unrounded fractions.")
    ] = Format.md,
    drop_incomplete: Annotated[
        bool, typer.Option(help="Leave out samples with a missing or failed context.")
    ] = False,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 20260719,
) -> None:
    """Print a table of the support audit, with 95 % clustered bootstrap intervals.

    The tables sensitivity and permutation also need the context mismatch.
    Of more than five million rows of scores, headline, cells and survival are
    computed in parts, in bounded memory and with the same result.

    Example: vca audit --scores cached_scores --datasets pairs --table cells --format csv
    """
    contexts = CONTEXTS
    if table in (Table.sensitivity, Table.permutation):
        contexts = (*CONTEXTS, "mismatch")
    try:
        root = scores.resolve()  # a relative folder is the caller's, not the project's
        chosen = {
            "interface": interface,
            "models": tuple(models or ()),
            "datasets": tuple(datasets or ()),
        }
        options = {"contexts": contexts, "incomplete": "drop" if drop_incomplete else "refuse"}
        # What is wrong with a folder that is not there, `load_margins` says.
        if table in COUNTED and root.is_dir() and count_rows(root, **chosen) > LARGE:
            parts = stream_margins(root, **chosen, **options)
            rates, shown = _rates_in_parts(parts, table, resamples, seed)
        else:
            margins = load_margins(root, **chosen, **options)
            rates, shown = _rates(metrics.audit_support(margins), table, resamples, seed)
        typer.echo(_render(rates, shown, format))
    except (ValueError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None


def _rates_in_parts(
    parts: Iterable[pd.DataFrame], table: Table, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """As `_rates`, from frames of margins with whole clusters."""
    counts = metrics.count_events(map(metrics.audit_support, parts), COUNTED[table])
    rates = metrics.rates_of_events(counts, n_resamples=resamples, rng=np.random.default_rng(seed))
    return rates, TABLES[table][1](rates)


def _rates(
    audited: pd.DataFrame, table: Table, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Long frame of rates, and its rounded table."""
    if table is Table.strata:
        rates = pd.concat(
            [
                metrics.rates_by(
                    audited, column, n_resamples=resamples, rng=np.random.default_rng(seed)
                )
                for column in ("prediction", "label")
                if column in audited.columns
            ],
            ignore_index=True,
        )
        return rates, tables.strata_table(rates)
    rate, show = TABLES[table]
    rates = rate(audited, n_resamples=resamples, rng=np.random.default_rng(seed))
    return rates, show(rates)


def _render(rates: pd.DataFrame, shown: pd.DataFrame, format: Format) -> str:
    if format is Format.md:
        cells = shown.map(lambda cell: str(cell).replace("|", "\\|"))
        return cells.to_markdown(index=False, disable_numparse=True)
    if format is Format.csv:
        return rates.to_csv(index=False, lineterminator="\n").rstrip("\n")
    rows = rates.astype(object).where(rates.notna(), None).to_dict("records")
    return json.dumps(rows, indent=1, allow_nan=False, ensure_ascii=False)
