"""Picture in, image tokens out, for each of the four architectures, as training needs it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from models.cells import GRID

SMALL_GROUP = 8
"""Pixtral packs a call's pictures into one sequence: its cost grows with the square of these."""


class Seen(NamedTuple):
    """Image tokens of n pictures, and what else the text model takes from them."""

    tokens: torch.Tensor
    """(n, tokens, width)"""
    deep: tuple[torch.Tensor, ...] = ()
    """Qwen3-VL: what early text layers add, (n, tokens, width) each."""

    def repeat(self, times: int) -> Seen:
        """Each picture ``times`` over, in a row."""
        return Seen(
            self.tokens.repeat_interleave(times, 0),
            tuple(d.repeat_interleave(times, 0) for d in self.deep),
        )


def cells(family: str) -> list[list[int]]:
    """Positions among a picture's tokens of its 16 cells, row by row, once per view."""
    plain = list(range(GRID * GRID))
    if family == "llava_onevision":  # a whole view, then the tile, a newline after each row
        return [plain, [GRID * GRID + i + i // GRID for i in plain]]
    return [plain]


def to_pixels(family: str, processor, pictures: list) -> dict[str, torch.Tensor]:
    """Pixel tensors through the native image processor, one row per picture."""
    out = processor.image_processor(pictures, return_tensors="pt")
    if family == "qwen3_vl":
        patches = out["pixel_values"]
        return {"pixel_values": patches.view(len(pictures), -1, patches.shape[-1])}
    return {"pixel_values": out["pixel_values"]}


def see(family: str, model, pixels: dict[str, torch.Tensor]) -> Seen:
    """Encode pictures into the tokens that the text model reads."""
    values = pixels["pixel_values"]
    n, core = len(values), model.model
    if family == "qwen3_vl":
        grid = torch.tensor([[1, 2 * GRID, 2 * GRID]] * n)
        out = core.get_image_features(values.flatten(0, 1), grid)
        tokens = torch.stack(tuple(out.pooler_output))
        return Seen(tokens, tuple(torch.stack(tuple(d)) for d in out.deepstack_features))
    if family == "llava_onevision":
        sizes = torch.tensor([[512, 512]] * n)
        out = core.get_image_features(values, sizes)
        return Seen(torch.stack(tuple(out.pooler_output)))
    if family == "ministral3":
        parts = [
            torch.stack(tuple(core.get_image_features(
                part, image_sizes=torch.tensor([[64, 64]] * len(part))
            ).pooler_output))
            for part in values.split(SMALL_GROUP)
        ]  # fmt: skip
        return Seen(torch.cat(parts))
    return Seen(core.get_image_features(values).pooler_output)


def mrope_positions(where: torch.Tensor) -> torch.Tensor:
    """Time, height and width of each token, (3, n, length): one image, at one place in all rows."""
    n, length = where.shape
    start = int(where[0].float().argmax())
    ends = start + GRID * GRID
    positions = torch.arange(length).repeat(3, 1)
    grid = torch.arange(GRID)
    positions[0, start:ends] = start
    positions[1, start:ends] = start + grid.repeat_interleave(GRID)
    positions[2, start:ends] = start + grid.repeat(GRID)
    positions[:, ends:] = start + GRID + torch.arange(length - ends)
    return positions.unsqueeze(1).expand(3, n, length)
