"""``vca doctor``: everything that can be said about a checkpoint before scoring with it."""

from __future__ import annotations

import platform
from typing import Annotated

import typer
from PIL import Image

from vca_core.cli.errors import plain_errors
from vca_core.contexts import apply_context
from vca_core.probes import build_probes, probe_text
from vca_core.records import INTERFACES, VERBALIZERS, Sample
from vca_core.run import package_versions

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
    trust_remote_code: Annotated[
        bool,
        typer.Option(help="RISK: runs Python code that the checkpoint ships, with your rights."),
    ] = False,
) -> None:
    """Show family, versions, answer tokens, prompts and one scored example; name what looks wrong.

    Example: vca doctor models/mini-internvl
    """
    with plain_errors():
        from vca_core.backends import load_backend

        backend = load_backend(
            checkpoint,
            device=device,
            dtype=dtype,
            system=system,
            trust_remote_code=trust_remote_code,
        )
        suspicious = _facts(backend) + _answers(backend) + _prompts(backend) + _example(backend)
    if suspicious:
        typer.echo("\nSuspicious:")
        for text in suspicious:
            typer.echo(f"  ! {text}")
        raise typer.Exit(1)
    typer.echo("\nNothing suspicious.")


def _facts(backend) -> list[str]:
    typer.echo(f"checkpoint   {backend.checkpoint}")
    typer.echo(f"family       {backend.family}")
    facts = backend.fingerprint()
    for name in ("config_sha256", "weights_sha256", "dtype", "attention", "processor", "tokenizer"):
        typer.echo(f"{name:<14} {facts[name]}")
    typer.echo(f"device       {backend.device}")
    versions = {"python": platform.python_version(), **package_versions()}
    typer.echo("versions     " + ", ".join(f"{name} {v}" for name, v in versions.items()))
    typer.echo(f"system       {backend.system!r}")
    typer.echo(f"max_length   {backend.max_length} tokens")
    return []


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


def _prompts(backend) -> list[str]:
    typer.echo("\nserialized prompts")
    for interface in INTERFACES:
        text = probe_text(EXAMPLE, interface)
        for name, shown in (("original, blank, …", True), ("text_only", False)):
            typer.echo(f"  {interface}, {name}: {backend.serialize(text, shown)!r}")
    return []


def _example(backend) -> list[str]:
    from vca_core.scorer import LOW_MASS, continuation_loss

    picture = Image.new("RGB", (512, 512), (240, 240, 240))
    picture.paste((214, 39, 40), (60, 200, 180, 320))
    picture.paste((31, 84, 190), (320, 200, 440, 320))
    suspicious = []
    typer.echo("\none scored example (a red and a blue patch), nats")
    for probe in build_probes([EXAMPLE], ["original", "text_only", "blank"], "yes_no"):
        image = apply_context(picture, probe.context)
        encoded = backend.encode(probe.text, image)
        pairs = backend.verbalizer_ids("yes_no")
        logits = backend.forward([encoded] * 2, [ids[:-1] for ids in pairs])
        losses = [continuation_loss(rows, ids) for rows, ids in zip(logits, pairs, strict=True)]
        mass = _mass(losses, pairs)
        typer.echo(
            f"  {probe.context:<10} {len(encoded.ids)} tokens, loss_yes {losses[0]:.4f}, "
            f"loss_no {losses[1]:.4f}, margin {losses[1] - losses[0]:+.4f}, answer mass {mass:.3g}"
        )
        if mass < LOW_MASS:
            suspicious.append(
                f"{probe.context}: the answer words hold {mass:.2g} of the probability; the model "
                "would start otherwise (capital letter, prose, another template?)."
            )
    return suspicious


def _mass(losses: list[float], pairs) -> float:
    from math import exp

    return sum(exp(-loss * len(ids)) for loss, ids in zip(losses, pairs, strict=True))
