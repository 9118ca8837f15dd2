"""Qwen3-VL: any resolution within a pixel budget, M-RoPE positions from token types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch.nn import functional

from vca_core.backends.base import BackendError, Encoded
from vca_core.backends.hf import HFBackend


class Qwen3VL(HFBackend):
    """Qwen3-VL; ``pixels`` sets the least and most pixels after resizing."""

    family = "qwen3_vl"
    SYSTEM = "You are a helpful assistant."

    def __init__(self, *args, pixels: tuple[int, int] | None = None, **options) -> None:
        self.pixels = pixels
        if pixels is not None and not 0 < pixels[0] <= pixels[1]:
            raise BackendError(f"A pixel budget is 0 < least <= most, got {pixels}.")
        super().__init__(*args, **options)

    @cached_property
    def processor(self):
        """Native processor with the pixel budget set."""
        # HFBackend.processor is a cached_property: its function is reached through the class.
        processor = HFBackend.processor.func(self)
        if self.pixels is not None:
            size = {"shortest_edge": self.pixels[0], "longest_edge": self.pixels[1]}
            processor.image_processor.size = type(processor.image_processor.size)(**size)
        return processor

    def pixels_seen(self, images: dict[str, torch.Tensor]) -> int | None:
        """Pixels of the produced grid.

        Raises
        ------
        BackendError
            If the processor went over the budget.
        """
        if not images:
            return None
        patch = self.processor.image_processor.patch_size
        seen = int(images["image_grid_thw"].prod()) * patch**2
        if self.pixels is not None and seen > self.pixels[1]:
            raise BackendError(
                f"the produced grid has {seen} pixels, over the budget of {self.pixels[1]}"
            )
        return seen

    def collate(self, batch: Sequence[Encoded], length: int) -> dict[str, torch.Tensor]:
        """Concatenate patches and grids; token types are padded as text."""
        types = [e.images["mm_token_type_ids"] for e in batch]
        return {
            "pixel_values": torch.cat([e.images["pixel_values"] for e in batch]),
            "image_grid_thw": torch.cat([e.images["image_grid_thw"] for e in batch]),
            "mm_token_type_ids": torch.cat(
                [functional.pad(t, (0, length - t.shape[1])) for t in types]
            ),
        }

    def positions_after(self, lengths: torch.Tensor, images: bool) -> torch.Tensor:
        """Add what the last forward left: an image takes fewer positions than tokens."""
        if not images:
            return lengths
        return lengths + self.model.model.rope_deltas.flatten().to(lengths.device)

    def as_positions(self, positions: torch.Tensor) -> torch.Tensor:
        """Give text the same position on all three axes, (3, rows, tokens)."""
        return positions.expand(3, -1, -1)
