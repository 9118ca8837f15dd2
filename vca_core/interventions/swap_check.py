"""The geometry-and-pixels check of a swap: on rendered scenes it stands in for the human audit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image

from vca_core.interventions.boxes import PADDING, ImageError, cut_to_image
from vca_core.interventions.swaps import swap_feasible
from vca_core.records import Box

COLOR_TOLERANCE = 16
"""Largest difference in a channel at which two colors count as the same."""
COUNT_TOLERANCE = 0.05
"""Share of an object's pixels that may be lost or gained."""


class SwapCheck(NamedTuple):
    """Outcome of the geometry-and-pixels check of one swap."""

    subject_found: bool
    """The subject's color fills as many pixels in its new box as it did in its old one."""
    object_found: bool
    order_reversed: bool
    """The objects' pixels lie the other way round, along the axis on which they lay apart."""
    old_places_clear: bool
    """What the objects left, and no patch covers, looks like the background."""
    rest_unchanged: bool
    """All pixels outside the padded boxes, old and new, are the source's."""

    @property
    def accepted(self) -> bool:
        """Whether all five hold."""
        return all(self)


def check_swap(
    source: Image.Image, edited: Image.Image, subject_box: Box, object_box: Box
) -> SwapCheck:
    """Check a swap on a rendered scene by its geometry and pixels.

    The background is the most frequent color outside the two padded boxes; an object's color is
    the most frequent one in its box that is not the background's. Colors within `COLOR_TOLERANCE`
    in every channel are the same, and counts may differ by `COUNT_TOLERANCE` of the source's.

    Parameters
    ----------
    source, edited : Image, RGB
        Of one size; scenes of flat color on a flat background.
    subject_box, object_box : (x, y, width, height) in pixels
        In the source; the new ones follow by `swap_feasible`.

    Returns
    -------
    SwapCheck

    Raises
    ------
    ImageError
        If the swap is not feasible or the sizes differ.

    Notes
    -----
    Not the human audit of [liu2026visual]_ (Sec. 17), which judges photographs: that the relation
    is flipped, both objects are visible, and artifacts do not hinder.
    """
    geometry = swap_feasible(subject_box, object_box, source.size)
    if not geometry.feasible or source.size != edited.size:
        raise ImageError(
            "only a feasible swap of the same size can be checked, got "
            f"{geometry.reason or (source.size, edited.size)}"
        )
    before, after = (np.asarray(p.convert("RGB"), dtype=np.int16) for p in (source, edited))
    old_boxes = subject_box, object_box
    new_boxes = geometry.new_subject_box, geometry.new_object_box
    old, new = _covered(old_boxes, source.size), _covered(new_boxes, source.size)
    background = _most_frequent(before[~old])
    found, middles = [], []
    for old_box, new_box in zip(old_boxes, new_boxes, strict=True):
        color = _object_color(before, old_box, background)
        was, now = (_pixels_of(color, *at) for at in ((before, old_box), (after, new_box)))
        found.append(0 < len(was) and abs(len(now) - len(was)) <= COUNT_TOLERANCE * len(was))
        middles.append([pixels.mean(axis=0) if len(pixels) else np.nan for pixels in (was, now)])
    apart_before, apart_after = (middles[1][i] - middles[0][i] for i in (0, 1))
    return SwapCheck(
        *found,
        _reversed(apart_before, apart_after, source.size),
        bool(_near(after[old & ~new], background).all()),
        bool((after == before)[~old & ~new].all()),
    )


def _reversed(before: np.ndarray | float, after: np.ndarray | float, size: tuple[int, int]) -> bool:
    if np.isnan(before).any() or np.isnan(after).any():
        return False
    axis = int(np.argmax(np.abs(before) / size))
    return bool(before[axis] * after[axis] < 0)


def _covered(boxes: tuple[Box, Box], size: tuple[int, int]) -> np.ndarray:
    mask = np.zeros(size[::-1], dtype=bool)
    for box in boxes:
        left, top, right, bottom = cut_to_image(box, size, PADDING)
        mask[top:bottom, left:right] = True
    return mask


def _near(pixels: np.ndarray, color: np.ndarray) -> np.ndarray:
    return (np.abs(pixels - color) <= COLOR_TOLERANCE).all(axis=-1)


def _most_frequent(pixels: np.ndarray) -> np.ndarray:
    codes, counts = np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    code = int(codes[counts.argmax()])
    return np.array([code >> 16, code >> 8 & 255, code & 255], dtype=np.int16)


def _object_color(picture: np.ndarray, box: Box, background: np.ndarray) -> np.ndarray | None:
    left, top, right, bottom = cut_to_image(box, picture.shape[1::-1])
    inside = picture[top:bottom, left:right].reshape(-1, 3)
    rest = inside[~_near(inside, background)]
    return _most_frequent(rest) if len(rest) else None


def _pixels_of(color: np.ndarray | None, picture: np.ndarray, box: Box) -> np.ndarray:
    """(column, row) of each pixel of a color in a box, of the whole picture."""
    left, top, right, bottom = cut_to_image(box, picture.shape[1::-1])
    if color is None:
        return np.empty((0, 2))
    rows, columns = np.nonzero(_near(picture[top:bottom, left:right], color))
    return np.column_stack([columns + left, rows + top])
