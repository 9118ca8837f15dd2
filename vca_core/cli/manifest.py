"""``vca manifest``: public dataset files and users' tables to manifests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from vca_core.cli.errors import plain_errors
from vca_core.manifests import (
    RefusedRow,
    gsr_coco_manifest,
    inverse_pairs,
    table_manifest,
    vsr_manifest,
)
from vca_core.records import Sample, SchemaError, write_manifest

app = typer.Typer(
    no_args_is_help=True,
    help="Make a manifest: one yes/no statement on one image a line, before any model is run.",
)

Out = Annotated[Path, typer.Option("--out", help="Manifest to write (JSONL).")]
Images = Annotated[
    Path | None,
    typer.Option("--images", help="Image folder to check; not needed for a text-only run."),
]
N_RELATIONS = 8


@app.command()
def vsr(
    annotations: Annotated[Path, typer.Option(help="Public VSR annotation file (JSONL).")],
    out: Out,
    images: Images = None,
    inverse: Annotated[
        bool,
        typer.Option(
            "--inverse-pairs", help="Add the inverse statements of the positive candidates."
        ),
    ] = False,
) -> None:
    """Statements of the nine VSR relation families the paper audits.

    The random test split gives 1,249 queries (667 yes, 582 no).

    With --inverse-pairs each of the 539 true statements in left/right,
    above/below and front/behind is joined by its inverse, label no,
    `polarity` false, under the same `pair_id`. The paper kept 504 such pairs,
    by fields that the public file lacks. The rows whose `polarity` is not
    false are still the 1,249.

    Example: vca manifest vsr --annotations test.jsonl --images images --out vsr.jsonl
    """
    with plain_errors():
        _keep_input(annotations, out)
        outside: Counter[str] = Counter()
        samples = vsr_manifest(annotations, images=images, outside=outside)
        samples = inverse_pairs(samples) if inverse else samples
        _write(samples, out)
    shown = ", ".join(f"{name} {n}" for name, n in outside.most_common(N_RELATIONS))
    more = len(outside) - N_RELATIONS
    if outside:
        typer.echo(
            f"{outside.total()} rows of {len(outside)} relations outside the nine families "
            f"left out: {shown}" + (f" and {more} more" if more > 0 else "")
        )
    if inverse:
        typer.echo(
            "The paper kept 504 inverse pairs of the test split, by fields the public file lacks."
        )


@app.command("gsr-coco")
def gsr_coco(
    pairs: Annotated[Path, typer.Option(help="Two-object COCO file of What'sUp (JSON).")],
    out: Out,
    images: Images = None,
) -> None:
    """Pairs of a true and a false statement from What'sUp's two-object COCO file.

    The public file gives 440 pairs, 880 statements. --images is the COCO
    val2017 folder.

    Example: vca manifest gsr-coco --pairs coco_qa_two_obj.json --images val2017 --out gsr.jsonl
    """
    with plain_errors():
        _keep_input(pairs, out)
        _write(gsr_coco_manifest(pairs, images=images), out)


@app.command()
def table(
    file: Annotated[Path, typer.Argument(help="Your table, .csv or .jsonl, in UTF-8.")],
    out: Out,
    images: Images = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set; the file's name if left out.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict/--skip-bad",
            help="Stop at refused rows, or go on and write them to OUT.refused.jsonl.",
        ),
    ] = True,
) -> None:
    """Your own statements or questions.

    Columns: image, label (yes/no, true/false, 1/0), and question or
    statement; optional id, pair_id, polarity (true/false), relation, subject,
    object, subject_box, object_box ("x,y,width,height" in pixels). Any other
    column is an error. A statement without a question is turned into one.
    Leave "Answer yes or no." out of a question: the prompt adds it.

    Example: vca manifest table mine.csv --images photos --out mine.jsonl
    """
    refused: list[RefusedRow] | None = None if strict else []
    with plain_errors():
        _keep_input(file, out)
        try:
            samples = table_manifest(file, dataset=dataset, images=images, refused=refused)
        finally:
            if refused is not None:
                _write_refused(refused, out)
        _write(samples, out)


def _keep_input(file: Path, out: Path) -> None:
    if out.resolve() == file.resolve():
        raise SchemaError(f"`--out` must not be the input file, got {out.resolve()} for both.")


def _write_refused(refused: Sequence[RefusedRow], out: Path) -> None:
    side = out.with_name(out.name + ".refused.jsonl")
    # a list of an earlier run would be taken for this one's
    side.unlink(missing_ok=True)
    if not refused:
        return
    side.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row._asdict(), default=str) for row in refused]
    side.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    for row in refused[:N_RELATIONS]:
        typer.echo(f"Refused: {row}", err=True)
    typer.echo(f"{len(refused)} rows refused, written with their reasons to {side}", err=True)


def _write(samples: Sequence[Sample], out: Path) -> None:
    n = write_manifest(samples, out)
    summary = Table(title=f"{n} samples written to {out.name}", title_justify="left")
    for name in ("relation", "queries", "yes", "no"):
        summary.add_column(name, justify="left" if name == "relation" else "right")
    counts = Counter((s.relation or "none given", s.label) for s in samples)
    for relation in dict.fromkeys(s.relation or "none given" for s in samples):
        yes, no = counts[relation, "yes"], counts[relation, "no"]
        summary.add_row(relation, str(yes + no), str(yes), str(no))
    summary.add_section()
    labels = Counter(s.label for s in samples)
    summary.add_row("all", str(n), str(labels["yes"]), str(labels["no"]))
    Console(markup=False).print(summary)
    pairs = len({s.pair_id for s in samples if s.pair_id is not None})
    images = len({s.image for s in samples if s.image is not None})
    typer.echo(f"{pairs} pairs, {images} images")
