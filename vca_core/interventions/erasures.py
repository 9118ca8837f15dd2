"""The two box stress views: the pair erased, and what is far from the pair erased.

[liu2026visual]_ (Sec. 11) describes them in words. Shapes, tiles and paddings are readings of
those words and marked as ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from PIL import Image

from vca_core.interventions.boxes import (
    PADDING,
    Rectangle,
    area,
    cut_to_image,
    mean_color,
    overlap,
)
from vca_core.records import Box

PROTECTED_PADDING = 16
"""Pixels around the two boxes that the irrelevant erasure leaves alone (ours)."""
TILES = 8
"""Tiles of the irrelevant erasure along each side of the image (ours)."""


def erase_relation(image: Image.Image, subject_box: Box, object_box: Box) -> Image.Image:
    """Fill the padded subject-object union with the image's mean colour.

    Parameters
    ----------
    image : Image, RGB
    subject_box, object_box : (x, y, width, height) in pixels

    Returns
    -------
    Image of the same size

    Raises
    ------
    ImageError
        If a box lies outside the image.

    Notes
    -----
    The union is the rectangle around both boxes, `PADDING` pixels wider on each side. Source:
    [liu2026visual]_, Sec. 11, which gives neither shape nor padding. It says that the union covers
    most of the image; as the larger box of a pair takes 21 % of the image on average (Sec. 17),
    the two boxes alone could not. The padding is that of the swap.
    """
    return _fill(image, [_union(image.size, subject_box, object_box, PADDING)])


def erase_irrelevant(image: Image.Image, subject_box: Box, object_box: Box) -> Image.Image:
    """Fill distant tiles outside the protected union with the image's mean colour.

    The image is cut into `TILES` × `TILES` tiles. Those that share no pixel with the protected
    union, the rectangle around both boxes `PROTECTED_PADDING` pixels wider on each side, are filled
    from the most distant one on, until at least as much is erased as by `erase_relation` or no such
    tile is left.

    Parameters
    ----------
    image : Image, RGB
    subject_box, object_box : (x, y, width, height) in pixels

    Returns
    -------
    Image of the same size
        Unchanged if every tile touches the union; `erasure_geometry` tells.

    Raises
    ------
    ImageError
        If a box lies outside the image.

    Notes
    -----
    Distance is Euclidean, from tile to union; equally distant tiles go by row, then by column.
    Source: [liu2026visual]_, Sec. 11; tiles, padding and the matched area are ours.
    """
    return _fill(image, _distant_tiles(image.size, subject_box, object_box))


class ErasureGeometry(NamedTuple):
    """What the two erasures take from an image."""

    relation_share: float
    """Fraction of the image's area that `erase_relation` fills."""
    irrelevant_share: float
    """Fraction that `erase_irrelevant` fills."""
    zero_overlap: bool
    """Whether the second fills anything, and nothing of what the first fills (boxes included)."""


def erasure_geometry(
    image_size: tuple[int, int], subject_box: Box, object_box: Box
) -> ErasureGeometry:
    """Measure both erasures without drawing them.

    Parameters
    ----------
    image_size : (width, height) in pixels
    subject_box, object_box : (x, y, width, height) in pixels

    Returns
    -------
    ErasureGeometry

    Raises
    ------
    ImageError
        If a box lies outside the image.
    """
    union = _union(image_size, subject_box, object_box, PADDING)
    tiles = _distant_tiles(image_size, subject_box, object_box)
    whole = image_size[0] * image_size[1]
    return ErasureGeometry(
        area(union) / whole,
        sum(map(area, tiles)) / whole,
        bool(tiles) and not any(overlap(tile, union) for tile in tiles),
    )


def erasure_summary(
    views: Iterable[tuple[str, str, tuple[int, int], Box, Box]],
) -> dict[str, dict[str, float]]:
    """Summarize the erased area of each erasing context.

    Parameters
    ----------
    views : iterable of (context, image name, image size, subject box, object box)
        A view counts once, however many statements share it; other contexts are passed over.

    Returns
    -------
    dict
        Context to ``n`` (views), ``mean_share``, ``min_share`` and ``max_share`` (fractions of the
        image's area); for ``irrelevant_erased`` also ``zero_overlap_rate``.
    """
    found: dict[str, list[ErasureGeometry]] = {}
    for context, _, *geometry in dict.fromkeys(views):
        if context in ("relation_erased", "irrelevant_erased"):
            found.setdefault(context, []).append(erasure_geometry(*geometry))
    summary = {}
    for context, rows in found.items():
        relation = context == "relation_erased"
        shares = [row.relation_share if relation else row.irrelevant_share for row in rows]
        summary[context] = {
            "n": len(rows),
            "mean_share": float(np.mean(shares)),
            "min_share": min(shares),
            "max_share": max(shares),
        }
        if not relation:
            summary[context]["zero_overlap_rate"] = float(np.mean([r.zero_overlap for r in rows]))
    return summary


def _union(size: tuple[int, int], a: Box, b: Box, padding: int) -> Rectangle:
    first, second = cut_to_image(a, size, padding), cut_to_image(b, size, padding)
    left_top = tuple(map(min, first[:2], second[:2]))
    return left_top + tuple(map(max, first[2:], second[2:]))


def _distant_tiles(size: tuple[int, int], a: Box, b: Box) -> list[Rectangle]:
    protected = _union(size, a, b, PROTECTED_PADDING)
    columns, rows = ([extent * i // TILES for i in range(TILES + 1)] for extent in size)
    tiles = [
        (left, top, right, bottom)
        for top, bottom in zip(rows, rows[1:], strict=False)
        for left, right in zip(columns, columns[1:], strict=False)
        if left < right and top < bottom  # an image may be narrower than its tiles are many
    ]
    free = [tile for tile in tiles if not overlap(tile, protected)]
    free.sort(key=lambda tile: -_squared_distance(tile, protected))
    wanted, erased, chosen = area(_union(size, a, b, PADDING)), 0, []
    for tile in free:
        if erased >= wanted:
            break
        chosen.append(tile)
        erased += area(tile)
    return chosen


def _squared_distance(a: Rectangle, b: Rectangle) -> int:
    across = max(a[0] - b[2], b[0] - a[2], 0)
    down = max(a[1] - b[3], b[1] - a[3], 0)
    return across**2 + down**2


def _fill(image: Image.Image, rectangles: list[Rectangle]) -> Image.Image:
    filled, color = image.convert("RGB"), mean_color(image)
    for rectangle in rectangles:
        filled.paste(color, rectangle)
    return filled
