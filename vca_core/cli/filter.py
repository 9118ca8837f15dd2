"""``vca filter``: which statements of a benchmark to keep, chosen by the models scored on it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from vca_core.cache import load_margins
from vca_core.cli.errors import plain_errors
from vca_core.metrics.filter_scores import FILTERS
from vca_core.metrics.filtering import group_ids, keep_groups, panel_score
from vca_core.records import SchemaError

Score = StrEnum("Score", {name: name for name in FILTERS})


def filter_(
    scores: Annotated[Path, typer.Option(help="Root of the scores cache.")],
    coverage: Annotated[
        float, typer.Option(help="Share to keep, above 0 and at most 1: of pairs, where there are.")
    ] = 0.5,
    score: Annotated[
        Score, typer.Option(help="What is kept first; shortcut and visnec need labels.")
    ] = Score.vca,
    models: Annotated[
        list[str] | None, typer.Option(help="A model of the panel; repeat for more. Default: all.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="A data set to filter; repeat for more. Default: all.")
    ] = None,
    interface: Annotated[str, typer.Option(help="yes_no or true_false.")] = "yes_no",
    ranking: Annotated[
        bool, typer.Option("--ranking", help="Write a CSV with a row for every statement instead.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write; default: the screen.")] = None,
    drop_incomplete: Annotated[
        bool, typer.Option(help="Leave out samples with a missing or failed context.")
    ] = False,
) -> None:
    """Write the ids of the statements to keep, one on a line, best first.

    Scores are averaged over the models (ranks within each, for vca and confidence) and need no
    labels by default. A relation pair is kept or left out whole; each data set is filtered by
    itself. To judge what is kept use a model that had no part in the choice. A kept statement is
    one whose image moved the panel; that the image is needed is not shown by it.

    Example: vca filter --scores my_scores --coverage 0.5 --out kept.txt
    """
    with plain_errors():
        margins = load_margins(
            scores.resolve(),  # a relative folder is the caller's, not the project's
            interface=interface,
            models=tuple(models or ()),
            datasets=tuple(datasets or ()),
            contexts=FILTERS[score.value].contexts,
            incomplete="drop" if drop_incomplete else "refuse",
        )
        if drop_incomplete:
            margins = _shared(margins)
        parts = [_order(own, score.value, coverage) for _, own in margins.groupby("dataset")]
        statements = pd.concat(parts, ignore_index=True)
        if ranking:
            text = statements.to_csv(index=False, lineterminator="\n")
        else:
            text = "".join(f"{name}\n" for name in _plain_ids(statements))
        if out is None:
            typer.echo(text, nl=False)
        else:
            out.write_text(text, encoding="utf-8")


def _shared(margins: pd.DataFrame) -> pd.DataFrame:
    """Statements that every model of their data set has: what one lost, the panel loses."""
    have = margins.groupby(["dataset", "wording", "sample_id"])["model"].transform("nunique")
    return margins[have == margins.groupby("dataset")["model"].transform("nunique")]


def _order(margins: pd.DataFrame, score: str, coverage: float) -> pd.DataFrame:
    """Statements of one data set, best group first; says what is kept on the error stream."""
    panel = panel_score(margins, score)
    kept = keep_groups(panel, coverage)
    order = pd.Series(range(1, len(panel) + 1), keep_groups(panel, 1.0))
    group = group_ids(margins)
    statements = pd.DataFrame(
        {
            "dataset": margins["dataset"],
            "sample_id": margins["sample_id"],
            "group_id": group,
            "score": group.map(panel),
            "rank": group.map(order),
            "kept": group.isin(kept),
        }
    )
    statements = statements.drop_duplicates("sample_id").sort_values(["rank", "sample_id"])
    _say(margins, statements, kept, score)
    return statements


def _say(margins: pd.DataFrame, statements: pd.DataFrame, kept: pd.Index, score: str) -> None:
    n_groups, n = statements["group_id"].nunique(), len(statements)
    groups = "" if n_groups == n else f" ({len(kept)} of {n_groups} groups)"
    models = ", ".join(margins["model"].unique())
    typer.echo(
        f"{margins['dataset'].iloc[0]}: {statements['kept'].sum()} of {n} statements kept{groups}, "
        f"by {score} of {models}",
        err=True,
    )


def _plain_ids(statements: pd.DataFrame) -> pd.Series:
    """Kept ids; refuses ids that do not say which data set they are of."""
    twice = statements["sample_id"].duplicated()
    if twice.any():
        name = statements.loc[twice, "sample_id"].iloc[0]
        found = statements.loc[statements["sample_id"] == name, "dataset"]
        raise SchemaError(
            f"A list of ids must name each statement once, got {name!r} in the data sets "
            f"{', '.join(map(repr, found))}: choose one with --datasets, or take --ranking."
        )
    return statements.loc[statements["kept"], "sample_id"]
