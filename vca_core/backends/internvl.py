"""InternVL 3 and 3.5: tiles of an image are stacked, so a batch is their concatenation."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from vca_core.backends.base import Encoded
from vca_core.backends.hf import HFBackend


class InternVL(HFBackend):
    """InternVL in its transformers (-HF) form."""

    family = "internvl"

    def collate(self, batch: Sequence[Encoded], length: int) -> dict[str, torch.Tensor]:
        """Concatenate tiles, (tiles of all images, 3, height, width)."""
        return {"pixel_values": torch.cat([e.images["pixel_values"] for e in batch])}
