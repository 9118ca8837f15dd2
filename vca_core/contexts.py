"""Image controls: a picture in, the picture of a context out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from vca_core.interventions import (
    ImageError,
    erase_irrelevant,
    erase_relation,
    mean_color,
    swap_objects,
)
from vca_core.records import Box, Sample, SchemaError

GRAY = (128, 128, 128)
"""The fixed mid-gray of the blank control."""
BOX_CONTEXTS = {
    "relation_erased": erase_relation,
    "irrelevant_erased": erase_irrelevant,
    "swapped": swap_objects,
}
"""The contexts that need the two objects' boxes, and what makes them."""


def open_image(root: str | Path, name: str) -> Image.Image:
    """Read an image below a folder: upright by its EXIF orientation, then RGB.

    Parameters
    ----------
    root : path
        Image folder; the file must lie inside it after links are followed.
    name : str
        Path relative to ``root``.

    Returns
    -------
    Image, RGB
        Transparent pixels are laid on white; 16-bit gray is scaled to 8 bit.

    Raises
    ------
    ImageError
        If the file is missing, outside ``root``, cut short or no image; says which file and why.
    """
    base = Path(root).resolve()
    try:
        path = (base / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ImageError(f"image {name!r} is no usable path: {error}") from None
    if not path.is_relative_to(base):
        raise ImageError(f"image {name!r} must lie inside the image folder")
    try:
        with Image.open(path) as image:
            image.load()
            upright = ImageOps.exif_transpose(image)
            return _to_rgb(upright)
    except FileNotFoundError:
        raise ImageError(f"image {name!r} is missing") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ImageError(
            f"image {name!r} cannot be read: {error}".replace(str(base), ".")
        ) from None


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I") or image.mode == "F":
        # Pillow clips these modes at 255 instead of scaling them.
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0 if image.mode.startswith("I") else max(1.0, float(values.max()))
        image = Image.fromarray(np.clip(values / top * 255, 0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image)
    return image.convert("RGB")


def blank_canvas(image: Image.Image) -> Image.Image:
    """Uniform RGB 128 of the same size."""
    return Image.new("RGB", image.size, GRAY)


def mean_color_canvas(image: Image.Image) -> Image.Image:
    """Uniform image of the same size in the image's mean colour, rounded to whole values."""
    return Image.new("RGB", image.size, mean_color(image))


def apply_context(
    image: Image.Image | None,
    context: str,
    subject_box: Box | None = None,
    object_box: Box | None = None,
) -> Image.Image | None:
    """Turn an image into what a context shows.

    Parameters
    ----------
    image : Image or None
        RGB; for ``mismatch`` the partner's image.
    context : str
    subject_box, object_box : (x, y, width, height), optional
        In pixels of ``image``; used by `BOX_CONTEXTS` alone.

    Returns
    -------
    Image or None
        None for ``text_only``.

    Raises
    ------
    ImageError
        If a context needs boxes and they are missing, lie outside the image, or forbid the swap.
    SchemaError
        If the context is unknown.
    """
    if context == "text_only":
        return None
    if context in ("original", "mismatch"):
        return image
    if context == "blank":
        return blank_canvas(image)
    if context == "mean_color":
        return mean_color_canvas(image)
    if context not in BOX_CONTEXTS:
        raise SchemaError(f"Context {context!r} cannot be made from one image.")
    if subject_box is None or object_box is None:
        raise ImageError(f"context {context!r} needs `subject_box` and `object_box`")
    return BOX_CONTEXTS[context](image, subject_box, object_box)


def mismatch_assignment(samples: Sequence[Sample]) -> dict[str, str]:
    """Give every image another image of its split, as one deterministic cycle.

    The images of a (dataset, split) are ordered by the hash of their name and each takes the next,
    so the assignment does not move when samples are reordered, and all statements about one image
    share its partner.

    Returns
    -------
    dict
        Image name to partner's name.

    Raises
    ------
    SchemaError
        If a split holds a single image.
    """
    splits: dict[tuple[str, str], set[str]] = {}
    for sample in samples:
        if sample.image is not None:
            splits.setdefault((sample.dataset, sample.split), set()).add(sample.image)
    partners = {}
    for (dataset, split), images in splits.items():
        if len(images) < 2:
            raise SchemaError(
                f"`mismatch` needs two images in a split, got 1 in {dataset!r}/{split!r}."
            )
        ring = sorted(images, key=lambda name: (hashlib.sha256(name.encode()).hexdigest(), name))
        partners |= dict(zip(ring, ring[1:] + ring[:1], strict=True))
    return partners


def pixel_sha256(image: Image.Image) -> str:
    """Hash of the decoded pixels: mode, width, height, then the bytes of an RGB image."""
    rgb = image.convert("RGB")
    head = f"RGB {rgb.width} {rgb.height}\n".encode()
    return hashlib.sha256(head + rgb.tobytes()).hexdigest()
