"""Name a probe by the hashes of all that decides its score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vca_core.plan import picture_of, plan_files
from vca_core.probes import probe_key
from vca_core.reader import FileReader, Seen
from vca_core.records import Probe

if TYPE_CHECKING:
    from vca_core.backends.base import Backend


class Identity(NamedTuple):
    """What decides a probe's score: prompt, pixels, checkpoint and settings, hashed."""

    probe_id: str
    prompt_sha256: str
    image_sha256: str | None
    size: tuple[int, int] | None


def settings_digest(fingerprint: dict, exact: bool = False) -> str:
    """Hash the facts of a fingerprint, and whether prompts run whole; names in any order."""
    if exact:
        fingerprint = fingerprint | {"exact": True}
    return hashlib.sha256(json.dumps(fingerprint, sort_keys=True, default=str).encode()).hexdigest()


def name_probe(backend: Backend, probe: Probe, settings_sha256: str, seen: Seen | None) -> Identity:
    """Hash what decides a probe's score; ``seen`` is None for text only."""
    shown = seen is not None
    prompt = backend.serialize(probe.text, shown)
    key = probe_key(
        seen.sha256 if seen else None,
        backend.prompt_ids(probe.text, shown),
        backend.verbalizer_ids(probe.interface),
        settings_sha256,
    )
    return Identity(
        key,
        hashlib.sha256(prompt.encode()).hexdigest(),
        seen.sha256 if seen else None,
        seen.size if seen else None,
    )


def identify(
    probes: Sequence[Probe],
    backend: Backend,
    image_dir: str | Path | None,
    settings_sha256: str,
    workers: int,
    on_file: Callable[[int, int], None] = lambda done, total: None,
) -> list[Identity | None]:
    """Hash what decides the score of each probe; None where its image cannot be read."""
    from vca_core.ahead import read_ahead

    files = plan_files(probes).files
    seen: dict = {}
    reads = read_ahead(FileReader(files, image_dir), workers)
    for done, (plan, found) in enumerate(zip(files, reads, strict=True), start=1):
        seen |= dict(zip(plan.pictures, found, strict=True))
        on_file(done, len(files))
    named = []
    for probe in probes:
        shown: Seen | str | None = seen.get(picture_of(probe))
        if isinstance(shown, str):
            named.append(None)
        else:
            named.append(name_probe(backend, probe, settings_sha256, shown))
    return named
