"""``vca annotate``: the human audit of edited images, sheets out and decisions in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from vca_core.annotate import CRITERIA, edits_from_samples, export_sheets, import_sheets
from vca_core.cli.errors import plain_errors
from vca_core.records import read_manifest

app = typer.Typer(
    no_args_is_help=True,
    help="Let people judge edited images: blinded sheets out, consensus and agreement back.",
)


@app.command()
def export(
    manifest: Annotated[Path, typer.Option(help="Manifest of the edits (JSONL).")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not hold a key yet.")],
    images: Annotated[
        Path | None, typer.Option(help="Image folder; default: the manifest's own folder.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=1, help="Sheets to write.")] = 3,
    repeats: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of the edits shown twice.")
    ] = 0.10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of orders and ids.")] = 20260719,
) -> None:
    """Write one blinded, shuffled HTML sheet an annotator, and the key.

    Each annotator gets one file of OUT/sheets, opens it in a browser, offline
    too, and sends back the file it saves. OUT/key.json says which item is
    which edit: it stays with you.

    Example: vca annotate export --manifest scenes/edits/manifest.jsonl --out edit_audit
    """
    with plain_errors():
        edits = edits_from_samples(read_manifest(manifest))
        key = export_sheets(
            edits,
            images or manifest.parent,
            out,
            annotators=annotators,
            repeats=repeats,
            rng=np.random.default_rng(seed),
        )
    for sheet in sorted((out / "sheets").glob("sheet-*.html")):
        typer.echo(f"{sheet}: {sheet.stat().st_size / 1e6:.1f} MB")
    typer.echo(f"{len(edits)} edits. Keep {key}, and send nobody more than one sheet.")


@app.command("import")
def import_(
    decisions: Annotated[list[Path], typer.Argument(help="Files that the sheets saved.")],
    key: Annotated[Path, typer.Option(help="key.json of the export.")],
    out: Annotated[Path, typer.Option(help="Folder for consensus.csv and agreement.csv.")],
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Take what is there; what is open stays open.")
    ] = False,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of edits.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 20260719,
) -> None:
    """Read the decisions back: consensus of each edit, and agreement.

    A criterion holds when most annotators said yes (unsure is not yes); an
    edit is accepted when all four hold. Agreement compares the answers as
    given, with 95 % intervals over resampled edits.

    Example: vca annotate import decisions-*.json --key edit_audit/key.json --out edit_audit
    """
    with plain_errors():
        report = import_sheets(
            key,
            decisions,
            incomplete=incomplete,
            n_resamples=resamples,
            rng=np.random.default_rng(seed),
        )
        out.mkdir(parents=True, exist_ok=True)
        for name in ("consensus", "agreement"):
            frame = getattr(report, name)
            frame.to_csv(out / f"{name}.csv", index=False, lineterminator="\n")
    outcomes = report.consensus["outcome"].value_counts()
    _print(_consensus_table(report.consensus))
    _print(_agreement_table(report.agreement))
    said = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items())
    typer.echo(f"{len(report.consensus)} edits: {said}. Written to {out}.")


def _print(table: pd.DataFrame) -> None:
    cells = table.map(lambda cell: str(cell).replace("|", "\\|"))
    typer.echo(cells.to_markdown(index=False, disable_numparse=True) + "\n")


def _consensus_table(edits: pd.DataFrame) -> pd.DataFrame:
    """Yes answers of all answers, a column a criterion."""
    shown = edits[["edit_id"]].copy()
    for criterion in CRITERIA:
        yes, n = edits[f"{criterion}_yes"], edits[f"{criterion}_n"]
        shown[criterion] = yes.astype(str) + "/" + n.astype(str)
    return shown.assign(outcome=edits["outcome"])


def _agreement_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Value, interval and n in a cell, a column a criterion."""
    cells = [
        f"{_number(row.value)} [{_number(row.low)}, {_number(row.high)}] n={row.n}"
        for row in frame.itertuples()
    ]
    keys = ["metric", "annotators"]
    wide = frame.assign(cell=cells).pivot(index=keys, columns="criterion", values="cell")
    order = pd.MultiIndex.from_frame(frame[keys].drop_duplicates())
    return wide.loc[order, list(CRITERIA)].reset_index()


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"
