"""The object swap: whether the two objects of a picture can change places, and the picture then.

Rule and renderer: [liu2026visual]_, Sec. 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from vca_core.interventions.boxes import (
    PADDING,
    ImageError,
    Rectangle,
    cut_to_image,
    overlap,
    whole_pixels,
)
from vca_core.records import Box

MIN_CENTER_GAP = 0.05
"""Least gap between the centers after a swap, as a fraction of the image's extent."""
MAX_NEW_IOU = 0.20
"""Largest intersection over union of the two boxes after a swap."""
INPAINT_RADIUS = 3
"""Radius of the Telea inpainting in pixels."""
FEATHER = 3
"""Pixels over which a pasted patch fades into its new place; within `PADDING`."""
SWAP_REASONS = ("out_of_bounds", "small_center_gap", "new_box_overlap", "other_object")
"""Why a swap is not feasible, in the order in which the rules are tried."""


class SwapGeometry(NamedTuple):
    """Where a swap puts the two objects, and whether it may be made."""

    feasible: bool
    reason: str
    """First broken rule, one of `SWAP_REASONS`; empty if feasible."""
    center_gap: float
    """Gap between the new centers along the axis where it is larger, in image extents."""
    new_iou: float
    new_subject_box: Box
    new_object_box: Box
    destination_slack: float
    """Least distance of a new padded box from an edge, in image extents; below 0 outside."""


def swap_feasible(
    subject_box: Box,
    object_box: Box,
    image_size: tuple[int, int],
    others: Sequence[Box] = (),
) -> SwapGeometry:
    r"""Decide by geometry alone whether two objects can change places.

    The boxes exchange their centers :math:`c` and keep their sizes; a patch moves by whole pixels,
    so each center moves by :math:`\pm\mathrm{round}(c_o - c_s)`. A swap is feasible if

    * ``out_of_bounds``: both new boxes with their padding of 4 pixels, rounded outward to whole
      pixels, lie in the image;
    * ``small_center_gap``: :math:`\max(|\Delta x| / W, |\Delta y| / H) \ge 0.05` for the new
      centers in an image of :math:`W \times H`;
    * ``new_box_overlap``: the new boxes' intersection over union is at most 0.20;
    * ``other_object``: no padded box, old or new, touches the box of a third object.

    Parameters
    ----------
    subject_box, object_box : (x, y, width, height) in pixels
    image_size : (width, height) in pixels
    others : sequence of boxes
        Of further objects, where they are known.

    Returns
    -------
    SwapGeometry

    Raises
    ------
    ImageError
        If a box lies outside the image.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 17, for the first three; the fourth is an addition of ours.
    """
    for box in (subject_box, object_box):
        cut_to_image(box, image_size)  # refuses a box outside the image
    right, down = _shift(subject_box, object_box)
    subject, object_ = _moved(subject_box, right, down), _moved(object_box, -right, -down)
    extents = np.array(image_size)
    gap = float((np.abs(_center(object_) - _center(subject)) / extents).max())
    iou = _iou(subject, object_)
    old = [whole_pixels(box, PADDING) for box in (subject_box, object_box)]
    new = [_moved_pixels(old[0], right, down), _moved_pixels(old[1], -right, -down)]
    slack = min(_slack(patch, extents) for patch in new)
    broken = {
        "out_of_bounds": slack < 0,
        "small_center_gap": gap < MIN_CENTER_GAP,
        "new_box_overlap": iou > MAX_NEW_IOU,
        "other_object": any(
            overlap(patch, whole_pixels(other)) for patch in old + new for other in others
        ),
    }
    reason = next((name for name in SWAP_REASONS if broken[name]), "")
    return SwapGeometry(not reason, reason, gap, iou, subject, object_, slack)


def swap_objects(image: Image.Image, subject_box: Box, object_box: Box) -> Image.Image:
    """Let the two objects of a picture change places.

    Both padded boxes are cut out and the holes closed by Telea inpainting; then the object's patch,
    and over it the subject's, is pasted around the other's center, its outermost 3 pixels fading
    (1/4, 1/2, 3/4) into what is there.

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
        If `swap_feasible` refuses the swap; gives its reason.
    ImportError
        If OpenCV is not installed.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 17; order and steps of the fade are ours.
    """
    geometry = swap_feasible(subject_box, object_box, image.size)
    if not geometry.feasible:
        raise ImageError(f"the two objects cannot be swapped: {geometry.reason}")
    import cv2

    source = np.ascontiguousarray(image.convert("RGB"))
    mask = np.zeros(source.shape[:2], dtype=np.uint8)
    holes = [cut_to_image(box, image.size, PADDING) for box in (subject_box, object_box)]
    for left, top, right, bottom in holes:
        mask[top:bottom, left:right] = 255
    edited = cv2.inpaint(source, mask, INPAINT_RADIUS, cv2.INPAINT_TELEA)
    right, down = _shift(subject_box, object_box)
    _paste(edited, source, holes[1], -right, -down)
    _paste(edited, source, holes[0], right, down)
    return Image.fromarray(edited)


def _paste(edited: np.ndarray, source: np.ndarray, hole: Rectangle, right: int, down: int) -> None:
    left, top, end, bottom = hole
    patch = source[top:bottom, left:end].astype(np.int32)
    place = edited[top + down : bottom + down, left + right : end + right]
    rows, columns = (
        np.minimum(np.arange(n), np.arange(n)[::-1]) + 1 for n in (bottom - top, end - left)
    )
    full = FEATHER + 1
    weight = np.minimum(np.minimum.outer(rows, columns), full)[..., None]
    # Whole numbers, halves upward: the same bytes on every machine.
    place[:] = (weight * patch + (full - weight) * place + full // 2) // full


def _center(box: Box) -> np.ndarray:
    return np.array([box[0] + box[2] / 2, box[1] + box[3] / 2])


def _shift(subject_box: Box, object_box: Box) -> tuple[int, int]:
    right, down = np.rint(_center(object_box) - _center(subject_box))
    return int(right), int(down)


def _moved(box: Box, right: int, down: int) -> Box:
    return box[0] + right, box[1] + down, box[2], box[3]


def _moved_pixels(patch: Rectangle, right: int, down: int) -> Rectangle:
    left, top, end, bottom = patch
    return left + right, top + down, end + right, bottom + down


def _slack(patch: Rectangle, extents: np.ndarray) -> float:
    return float((np.minimum(patch[:2], extents - patch[2:]) / extents).min())


def _iou(a: Box, b: Box) -> float:
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(across, 0) * max(down, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)
