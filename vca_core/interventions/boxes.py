"""What erasures and swaps share: boxes in whole pixels, and the mean colour.

Boxes are (x, y, width, height) in pixels of the upright image.
"""

from __future__ import annotations

import math

from PIL import Image, ImageStat

from vca_core.records import Box

Rectangle = tuple[int, int, int, int]
"""Whole pixels: left, top, right, bottom; the last two are not included."""

PADDING = 4
"""Pixels around a box that are erased, or moved and inpainted, with it ([liu2026visual]_)."""


class ImageError(ValueError):
    """An image that cannot be used; becomes an error row, never a blank."""


def mean_color(image: Image.Image) -> tuple[int, int, int]:
    """Mean colour of an image as RGB, each channel rounded to a whole value."""
    return tuple(round(value) for value in ImageStat.Stat(image.convert("RGB")).mean)


def whole_pixels(box: Box, padding: int = 0) -> Rectangle:
    """Whole pixels that a box touches, some pixels wider on each side, in the image or not."""
    x, y, width, height = box
    left, top = math.floor(x) - padding, math.floor(y) - padding
    return left, top, math.ceil(x + width) + padding, math.ceil(y + height) + padding


def cut_to_image(box: Box, size: tuple[int, int], padding: int = 0) -> Rectangle:
    """Whole pixels of a padded box, cut at the image's edges.

    Raises
    ------
    ImageError
        If the box itself shows no pixel of the image.
    """
    whole = (0, 0, *size)
    if not overlap(whole_pixels(box), whole):
        raise ImageError(
            f"box {tuple(box)} (x, y, width, height) must lie in the image, which is "
            f"{size[0]} x {size[1]} pixels"
        )
    left, top, right, bottom = whole_pixels(box, padding)
    return max(0, left), max(0, top), min(size[0], right), min(size[1], bottom)


def area(rectangle: Rectangle) -> int:
    """Count the pixels of a rectangle."""
    return (rectangle[2] - rectangle[0]) * (rectangle[3] - rectangle[1])


def overlap(a: Rectangle, b: Rectangle) -> bool:
    """Whether two rectangles share a pixel."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
