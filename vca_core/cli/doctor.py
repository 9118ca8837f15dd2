"""``vca doctor``: everything that can be said about a checkpoint before scoring with it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from PIL import Image

from vca_core import drift
from vca_core.checkpoints import compare_checkpoint
from vca_core.cli.errors import plain_errors
from vca_core.cli.options import pixel_budget
from vca_core.probes import build_probes, probe_text
from vca_core.records import INTERFACES, VERBALIZERS, Sample
from vca_core.run_record import package_versions

EXAMPLE = Sample(
    sample_id="doctor",
    dataset="doctor",
    image="doctor.png",
    question="Is the red circle to the left of the blue square?",
    statement="The red circle is to the left of the blue square.",
    label="yes",
)


def doctor(
    checkpoint: Annotated[str, typer.Argument(help="Checkpoint folder or hub name.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps.")] = "cpu",
    dtype: Annotated[
        str, typer.Option(help="auto (the checkpoint's own), float32, bfloat16, float16.")
    ] = "auto",
    system: Annotated[
        str | None, typer.Option(help="Replaces the family's system message; '' for none.")
    ] = None,
    pixels: Annotated[
        str | None,
        typer.Option(help="Qwen3-VL: least,most pixels after resizing; the paper: 50176,50176."),
    ] = None,
    decisions: Annotated[
        int,
        typer.Option(min=0, max=drift.MOST, help="Example decisions to compare with --exact on."),
    ] = 24,
    trust_remote_code: Annotated[
        bool,
        typer.Option(help="RISK: runs Python code that the checkpoint ships, with your rights."),
    ] = False,
) -> None:
    """Show family, versions, answer tokens, prompts and one scored example; name what looks wrong.

    Example decisions are scored with shared prefixes and, as `vca score --exact` does, as whole
    prompts; below float32 also in float32 where that fits in memory. 0 decisions: not compared.

    Example: vca doctor models/mini-internvl
    """
    with plain_errors():
        from vca_core.backends import load_backend

        load = partial(
            load_backend,
            checkpoint,
            device=device,
            system=system,
            pixels=pixel_budget(pixels),
            trust_remote_code=trust_remote_code,
        )
        backend = load(dtype=dtype)
        _facts(backend)
        suspicious = _answers(backend)
        _prompts(backend)
        suspicious += _example(backend)
        if decisions:
            suspicious += _drift(backend, decisions, partial(load, dtype="float32"))
    if suspicious:
        typer.echo("\nSuspicious:")
        for text in suspicious:
            typer.echo(f"  ! {text}")
        raise typer.Exit(1)
    typer.echo("\nNothing suspicious.")


def _facts(backend) -> None:
    typer.echo(f"checkpoint     {backend.checkpoint}")
    typer.echo(f"family         {backend.family}")
    facts = backend.fingerprint()
    for name in ("config_sha256", "weights_sha256", "dtype", "attention", "processor", "tokenizer"):
        typer.echo(f"{name:<14} {facts[name]}")
    typer.echo(f"device         {backend.device}")
    versions = {"python": platform.python_version(), **package_versions()}
    typer.echo("versions       " + ", ".join(f"{name} {v}" for name, v in versions.items()))
    typer.echo(f"system         {backend.system!r}")
    typer.echo(f"max_length     {backend.max_length} tokens")
    match = compare_checkpoint(backend, facts)
    typer.echo(f"paper          {match.headline()}")
    for fact in (*match.files, *match.settings):
        got, paper = fact.got or "none", fact.paper or "none"
        told = f"as in the paper: {got}" if fact.same else f"{got}, paper {paper}"
        typer.echo(f"  {fact.name:<14} {told}")


def _answers(backend) -> list[str]:
    suspicious = []
    typer.echo("\nanswer tokens (decoded and compared: round trip ok)")
    for interface in INTERFACES:
        for word, ids in zip(
            VERBALIZERS[interface], backend.verbalizer_ids(interface), strict=True
        ):
            pieces = [backend.decode([i]) for i in ids]
            typer.echo(f"  {word!r:<10} {ids} = {pieces}")
            if len(ids) > 1:
                suspicious.append(f"{word!r} is {len(ids)} tokens; its loss is their mean.")
    return suspicious


def _prompts(backend) -> None:
    typer.echo("\nserialized prompts")
    for interface in INTERFACES:
        text = probe_text(EXAMPLE, interface)
        for name, shown in (("original, blank, …", True), ("text_only", False)):
            typer.echo(f"  {interface}, {name}: {backend.serialize(text, shown)!r}")


def _example(backend) -> list[str]:
    """Score one example alone and again in a batch, and compare."""
    from vca_core.run import LOW_MASS

    alone, together = (_score(backend, batch_size) for batch_size in (1, 8))
    suspicious = []
    typer.echo("\none scored example (a red and a blue patch), nats")
    for key, row in alone.items():
        name = f"{row.interface}, {row.context}"
        if row.status == "error":
            typer.echo(f"  {name:<24} {row.error}")
            suspicious.append(f"{name}: {row.error}")
            continue
        typer.echo(
            f"  {name:<24} loss {row.loss_yes:.4f} / {row.loss_no:.4f}, "
            f"margin {row.margin:+.4f}, answer mass {row.answer_mass:.3g}"
        )
        if row.answer_mass < LOW_MASS:
            suspicious.append(
                f"{name}: the answer words hold {row.answer_mass:.2g} of the probability; the "
                "model would start otherwise (capital letter, prose, another template?)."
            )
        if together[key].status == "error":
            suspicious.append(f"{name}: fails in a batch: {together[key].error}")
    good = [k for k in alone if alone[k].status == together[k].status == "ok"]
    drift = max((abs(alone[k].margin - together[k].margin) for k in good), default=0.0)
    typer.echo(f"  largest change of a margin in a batch: {drift:.2g}")
    if drift > 1e-4 and backend.resolved_dtype == "float32":
        suspicious.append(f"Margins move by {drift:.2g} in a batch although the dtype is float32.")
    return suspicious


def _score(backend, batch_size: int) -> dict:
    from vca_core.scorer import score_probes

    picture = Image.new("RGB", (512, 512), (240, 240, 240))
    picture.paste((214, 39, 40), (60, 200, 180, 320))
    picture.paste((31, 84, 190), (320, 200, 440, 320))
    contexts = ["original", "text_only", "blank"]
    probes = [p for i in INTERFACES for p in build_probes([EXAMPLE], contexts, i)]
    with TemporaryDirectory() as folder:
        picture.save(Path(folder) / EXAMPLE.image)
        batches = score_probes(
            probes, backend, model="doctor", image_dir=folder, batch_size=batch_size
        )
        return {(row.interface, row.context): row for batch in batches for row in batch}


def _drift(backend, n_decisions: int, load_float32: Callable) -> list[str]:
    """Say how far sharing moves margins; only float32 has a bound to keep."""
    narrow = backend.fingerprint()["dtype"] != "float32"
    wide = load_float32 if narrow and drift.float32_fits(backend) else None
    typer.echo("\ndrift of shared prefixes (the default) from whole prompts (--exact)")
    found = drift.measure_drift(
        backend, n_decisions, wide, say=lambda text: typer.echo(f"  … {text}", err=True)
    )
    for one in found:
        typer.echo(
            f"  {one.scores} against {one.reference}: margins move by at most {one.largest:.2g}, "
            f"median {one.median:.2g} nats; decisions that flip: {one.n_flips} of {one.n}"
        )
    if narrow and wide is None:
        typer.echo("  float32 is left out: a second copy of the weights does not fit in memory.")
    if narrow:
        _advise(*found)
    return _bound(found[0], narrow)


def _bound(shared: drift.Drift, narrow: bool) -> list[str]:
    suspicious = []
    if shared.n_failed:
        suspicious.append(f"{shared.n_failed} of the example decisions could not be scored.")
    if narrow or not shared.n:
        return suspicious
    kept = shared.largest <= drift.FLOAT32_TOLERANCE
    typer.echo(
        f"  {'within' if kept else 'over'} the {drift.FLOAT32_TOLERANCE:.0e} nats of float32"
    )
    if not kept:
        suspicious.append(
            f"Sharing prefixes moves margins by {shared.largest:.2g} nats although the dtype is "
            "float32: score with --exact."
        )
    return suspicious


def _advise(shared: drift.Drift, *wide: drift.Drift) -> None:
    """Say what to do where decisions flip; `wide` is shared and exact against float32."""
    flips = [one for one in (shared, *wide) if one.n_flips]
    if not flips:
        typer.echo("  No decision flips here; a margin smaller than the drift may.")
        return
    margin = max(one.flipped_margin for one in flips)
    typer.echo(f"  Flipped decisions have margins of at most {margin:.2g} nats.")
    if wide and wide[-1].n_flips:
        typer.echo("  Whole prompts flip too, so --exact does not help: --dtype float32 does.")
    else:
        typer.echo(
            "  To be sure: --exact with another --out (cached scores stay), or --dtype float32."
        )
