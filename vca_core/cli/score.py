"""``vca score``: a checkpoint on a manifest, into the scores cache."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from vca_core import run
from vca_core.checkpoints import compare_checkpoint
from vca_core.cli.errors import plain_errors
from vca_core.cli.options import pixel_budget
from vca_core.manifests.images import N_LISTED, missing_fault, require_folder
from vca_core.records import CONTEXTS, INTERFACES, SchemaError, read_manifest


def score(
    checkpoint: Annotated[str, typer.Option(help="Checkpoint folder or hub name.")],
    manifest: Annotated[Path, typer.Option(help="Manifest (JSONL).")],
    out: Annotated[Path, typer.Option(help="Root of the scores cache.")],
    images: Annotated[
        Path | None, typer.Option(help="Image folder; default: the manifest's own folder.")
    ] = None,
    contexts: Annotated[
        str, typer.Option(help=f"Comma-separated, of {', '.join(CONTEXTS)}.")
    ] = ",".join(run.PRIMARY),
    interface: Annotated[
        str, typer.Option(help="yes_no, true_false, or both: yes_no,true_false.")
    ] = "yes_no",
    model: Annotated[
        str | None, typer.Option(help="Name of the scores file; default: the checkpoint's name.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps.")] = "cpu",
    dtype: Annotated[
        str, typer.Option(help="auto (the checkpoint's own), float32, bfloat16, float16.")
    ] = "auto",
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Most prompts per forward; default: what fits.")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=1e6, help="GB a forward may take; default: a part of what is free."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Share nothing: one whole prompt a row; the reference.")
    ] = False,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that read images ahead of the model.")
    ] = 1,
    engine: Annotated[
        str, typer.Option(help="local, or ray: several devices or machines.")
    ] = "local",
    actors: Annotated[
        int | None,
        typer.Option(min=1, help="Models that Ray runs; default: one a GPU, or two on CPUs."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Score this many whole groups (pairs); 0: all.")
    ] = 0,
    system: Annotated[
        str | None, typer.Option(help="Replaces the family's system message; '' for none.")
    ] = None,
    pixels: Annotated[
        str | None,
        typer.Option(help="Qwen3-VL: least,most pixels after resizing; the paper: 50176,50176."),
    ] = None,
    trust_remote_code: Annotated[
        bool,
        typer.Option(help="RISK: runs Python code that the checkpoint ships, with your rights."),
    ] = False,
) -> None:
    """Score yes/no decisions under each context; resumes where an earlier run stopped.

    Ctrl-C is safe: what is scored stays, and the same command goes on from there.

    Example: vca score --checkpoint models/mini-internvl --manifest scenes/pairs/manifest.jsonl
    --contexts original,text_only,blank --out my_scores
    """
    with plain_errors():
        wanted = _names(contexts, CONTEXTS, "context")
        surfaces = _names(interface, INTERFACES, "interface")
        samples = read_manifest(manifest)
        folder = images or manifest.parent
        if set(wanted) != {"text_only"}:
            _look_for_images(samples, folder)
        from vca_core.backends import load_backend

        backend = load_backend(
            checkpoint,
            device=device,
            dtype=dtype,
            system=system,
            pixels=pixel_budget(pixels),
            trust_remote_code=trust_remote_code,
        )
        typer.echo(compare_checkpoint(backend, backend.fingerprint()).sentence(), err=True)
        for dataset in dict.fromkeys(s.dataset for s in samples):
            _score_one(
                [s for s in samples if s.dataset == dataset],
                backend,
                model=model or backend.checkpoint,
                contexts=wanted,
                interface=surfaces,
                out_dir=out,
                image_dir=folder,
                batch_size=batch_size,
                memory=None if memory is None else int(memory * 1e9),
                limit=limit,
                exact=exact,
                workers=workers,
                engine=engine,
                actors=actors,
            )


def _look_for_images(samples, folder: Path) -> None:
    """List missing images before a long run; they become error rows, but not all of them can be."""
    root = require_folder(folder)
    names = list(dict.fromkeys(s.image for s in samples if s.image is not None))
    missing = [name for name in names if missing_fault(name, root)]
    if missing and len(missing) == len(names):
        raise SchemaError(
            f"None of the {len(names)} images of the manifest is in {root.resolve()}, "
            f"for example {missing[0]!r}: name their folder with --images."
        )
    for name in missing[:N_LISTED]:
        typer.echo(f"Missing image: {name}", err=True)
    if missing:
        typer.echo(
            f"{len(missing)} of {len(names)} images are missing; their rows will be error rows.",
            err=True,
        )


def _score_one(samples, backend, **options) -> None:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    surfaces = options["interface"]
    name = f"{options['model']} on {samples[0].dataset}, {' and '.join(surfaces)}"
    command = shlex.join(
        ["vca", *(Path(a).name if Path(a).is_absolute() else a for a in sys.argv[1:])]
    )
    with Progress(*columns, console=console, transient=True) as bars:
        reading, scoring = bars.add_task(f"Reading {name}"), bars.add_task(f"Scoring {name}")
        progress = run.Progress(
            identify=lambda done, total: bars.update(reading, completed=done, total=total),
            score=lambda done, total: bars.update(scoring, completed=done, total=total),
            say=lambda text: bars.console.print(text, markup=False, highlight=False),
        )
        try:
            outcomes = run.score_manifest(
                samples, backend, command=command, progress=progress, **options
            )
        except KeyboardInterrupt:
            typer.echo("\nStopped. What is scored is kept; the same command resumes.", err=True)
            raise typer.Exit(130) from None
    for surface, outcome in zip(surfaces, outcomes, strict=True):
        _report(outcome, f"{options['model']} on {samples[0].dataset}, {surface}")


def _report(outcome: run.Outcome, name: str) -> None:
    typer.echo(
        f"{outcome.path}: {outcome.wanted} rows wanted, {outcome.scored} scored now "
        f"({outcome.forwards} distinct probes), {outcome.wanted - outcome.scored} from the cache."
    )
    if outcome.low_mass:
        typer.echo(
            f"Warning: in {outcome.low_mass} rows the two answer words hold under 0.1 % of the "
            "probability: the model would say something else. See `vca doctor`.",
            err=True,
        )
    failed = outcome.errors.total()
    if failed:
        typer.echo(f"{name}: {failed} rows could not be scored and are error rows:", err=True)
        for reason, count in outcome.errors.most_common(10):
            typer.echo(f"  {count} × {reason}", err=True)
        if failed == outcome.scored:
            raise SchemaError(f"{name}: no row could be scored.")


def _names(text: str, known: tuple[str, ...], what: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise SchemaError(f"Unknown {what} {unknown or text!r}; expected of {list(known)}.")
    return names
