"""LLaVA-OneVision: a base view and tiles; the number of tiles is padded across a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from vca_core.backends.base import Encoded
from vca_core.backends.hf import HFBackend


class LlavaOnevision(HFBackend):
    """LLaVA-OneVision in its transformers (-hf) form."""

    family = "llava_onevision"

    def collate(self, batch: Sequence[Encoded], length: int) -> dict[str, torch.Tensor]:
        """Pad tiles to the most of the batch; the model cuts them again by ``image_sizes``."""
        views = [e.images["pixel_values"] for e in batch]
        most = max(v.shape[1] for v in views)
        # (1, tiles, 3, height, width): the third-last pair of the padding is the tiles.
        padded = [functional.pad(v, (0, 0, 0, 0, 0, 0, 0, most - v.shape[1])) for v in views]
        joined = {"pixel_values": torch.cat(padded)}
        for name in ("image_sizes", "batch_num_images"):
            joined[name] = torch.cat([e.images[name] for e in batch])
        return joined
