"""The record of a scoring run, kept beside its scores file."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from vca_core.checkpoints import compare_checkpoint
from vca_core.identity import settings_digest
from vca_core.records import Probe

if TYPE_CHECKING:
    from vca_core.backends.base import Backend


def run_record(
    backend: Backend,
    probes: Sequence[Probe],
    contexts: Sequence[str],
    interface: str,
    model: str,
    command: str,
    seen: list[int],
    batch_size: int | None,
    exact: bool,
) -> dict:
    """Collect what stands beside a scores file: checkpoint, settings, versions, example prompts.

    ``seen`` holds the pixels that the vision tower saw, of backends that report them.
    """
    fingerprint = backend.fingerprint()
    examples = {p.context: p for p in reversed(probes)}
    prompts = {c: backend.serialize(p.text, p.image is not None) for c, p in examples.items()}
    device = getattr(backend, "device", "cpu")
    return {
        "origin": "scored",
        "model": model,
        "interface": interface,
        "contexts": list(contexts),
        "settings_sha256": settings_digest(fingerprint, exact),
        "fingerprint": fingerprint,
        "checkpoint": backend.checkpoint,
        "paper_checkpoint": compare_checkpoint(backend, fingerprint).record(),
        "device": device,
        "versions": package_versions(),
        "batch_size": batch_size,
        "exact": exact,
        "pixels_seen": [min(seen), max(seen)] if seen else None,
        "prompts": prompts,
        "verbalizer_ids": backend.verbalizer_ids(interface),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def package_versions() -> dict[str, str]:
    """Versions of the installed packages that can move a score."""
    found = {}
    for package in ("torch", "torchvision", "transformers", "mistral-common", "pillow", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
