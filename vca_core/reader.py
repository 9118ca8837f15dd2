"""Read the image a probe shows, and name the probe by the hashes of all that decides its score."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from vca_core.contexts import BOX_CONTEXTS, apply_context, open_image, pixel_sha256
from vca_core.probes import probe_key
from vca_core.records import Box, Probe

if TYPE_CHECKING:
    from vca_core.backends.base import Backend


class Identity(NamedTuple):
    """What decides a probe's score: prompt, pixels, checkpoint and settings, hashed."""

    probe_id: str
    prompt_sha256: str
    image_sha256: str | None
    size: tuple[int, int] | None


def settings_digest(fingerprint: dict) -> str:
    """Hash the facts of a fingerprint; the order of their names does not matter."""
    return hashlib.sha256(json.dumps(fingerprint, sort_keys=True, default=str).encode()).hexdigest()


class ProbeReader:
    """Read a probe's image, put it into its context, and name the result by its hashes."""

    def __init__(self, backend: Backend, image_dir: str | Path | None) -> None:
        self.backend = backend
        self.settings_sha256 = settings_digest(backend.fingerprint())
        # The contexts of a sample and the statements of a pair follow each other.
        self._open = lru_cache(8)(lambda name: open_image(image_dir or ".", name))
        self._hash = lru_cache(256)(self._hash_context)

    def image(self, probe: Probe) -> Image.Image | None:
        """Image of the probe's context, or None."""
        if probe.image is None:
            return None
        return apply_context(self._open(probe.image), probe.context, *_boxes(probe))

    def _hash_context(
        self, name: str, context: str, *boxes: Box | None
    ) -> tuple[str, tuple[int, int]]:
        image = apply_context(self._open(name), context, *boxes)
        return pixel_sha256(image), image.size

    def identify(self, probe: Probe) -> Identity:
        """Hash what decides the score.

        Raises
        ------
        ImageError
            If the image cannot be read, or not be put into the context.
        """
        pixels, size = None, None
        if probe.image is not None:
            pixels, size = self._hash(probe.image, probe.context, *_boxes(probe))
        shown = probe.image is not None
        prompt = self.backend.serialize(probe.text, shown)
        key = probe_key(
            pixels,
            self.backend.prompt_ids(probe.text, shown),
            self.backend.verbalizer_ids(probe.interface),
            self.settings_sha256,
        )
        return Identity(key, hashlib.sha256(prompt.encode()).hexdigest(), pixels, size)


def _boxes(probe: Probe) -> tuple[Box | None, Box | None]:
    """Boxes that the probe's picture depends on; other contexts share one picture per image."""
    if probe.context not in BOX_CONTEXTS:
        return None, None
    return probe.sample.subject_box, probe.sample.object_box
