"""Image paths of samples: relative, inside their folder, and there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from vca_core.records import Sample, SchemaError

N_LISTED = 20
"""So many missing files are named; the rest are counted."""


def image_fault(image: str) -> str | None:
    """Say what is wrong with the text of an image path, or None.

    Parameters
    ----------
    image : str
        Relative to the image folder, with forward slashes.
    """
    rule = "`image` must be a path inside the image folder"
    if "://" in image:
        return f"{rule}, got the address {image!r}"
    if "\\" in image or "\0" in image:
        return f"{rule} with forward slashes, got {image!r}"
    path = PurePosixPath(image)
    if path.is_absolute() or PureWindowsPath(image).drive:
        return f"{rule}, got the absolute path {image!r}"
    if ".." in path.parts:
        return f"{rule}, got {image!r} with '..'"
    return None if path.parts else f"{rule}, got {image!r}, which names no file"


def link_fault(image: str, images: Path) -> str | None:
    """Say that an image path leads out of its folder through a link, or None."""
    try:
        inside = (images / image).resolve().is_relative_to(images.resolve())
    except (OSError, RuntimeError):  # a name too long, a loop of links: no file, so none outside
        inside = True
    return (
        None
        if inside
        else f"`image` must stay inside the image folder, got {image!r}, a link out of it"
    )


def missing_fault(image: str, images: Path) -> str | None:
    """Say that there is no such image file, or None."""
    try:
        found = (images / image).is_file()
    except (OSError, RuntimeError):
        found = False
    return None if found else f"no image file {image!r} in {images.resolve()}"


def check_images(samples: Iterable[Sample], images: str | Path) -> None:
    """Check that every image of the samples is a file inside a folder.

    Parameters
    ----------
    samples : iterable of Sample
        Samples without an image are passed over.
    images : path
        The image folder.

    Raises
    ------
    SchemaError
        If a path leads out of the folder, or files are missing: the first 20 and their number.
    FileNotFoundError
        If there is no such folder.
    """
    root = require_folder(images)
    names = list(dict.fromkeys(s.image for s in samples if s.image is not None))
    for name in names:
        if fault := image_fault(name) or link_fault(name, root):
            raise SchemaError(f"{fault}.")
    missing = [name for name in names if missing_fault(name, root)]
    if missing:
        listed = "".join(f"\n  {name}" for name in missing[:N_LISTED])
        more = len(missing) - N_LISTED
        raise SchemaError(
            f"Every `image` must be a file in {root.resolve()}, got {len(missing)} missing of "
            f"{len(names)}:{listed}" + (f"\n  … and {more} more" if more > 0 else "")
        )


def require_folder(images: str | Path) -> Path:
    """Return the image folder as a path, if there is one."""
    root = Path(images)
    if not root.is_dir():
        raise FileNotFoundError(f"No image folder at {root.resolve()}.")
    return root
