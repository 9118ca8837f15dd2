"""The scene data sets: samples and pictures from a seed, checked against the shipped manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from vca_core.contexts import pixel_sha256
from vca_core.records import Sample, SchemaError, read_manifest, write_manifest
from vca_core.scenes.compare import check_samples, check_table
from vca_core.scenes.edits import GEOMETRY, draw_edits, write_geometry
from vca_core.scenes.factorial import N_INPUTS, draw_factorial, draw_neutral
from vca_core.scenes.factorial_checks import check_factorial, check_neutral
from vca_core.scenes.items import Item
from vca_core.scenes.natural import derived_queries, draw_pairs, draw_queries

DATASETS: dict[str, Callable[..., Iterator[Item]]] = {
    "pairs": draw_pairs,
    "queries": draw_queries,
    "factorial": draw_factorial,
    "neutral": draw_neutral,
    "edits": draw_edits,
}
"""Each data set's draw function; its default seed is the data set's own."""
DERIVED = ("queries_inverse", "queries_wordings", "queries_system")
"""Sets of further statements about the pictures of ``queries``; built with them."""


def built_files(name: str) -> dict[str, str]:
    """Files that building a data set makes, and where each is shipped below the scores' root."""
    files = {"manifest.jsonl": f"{name}/manifest.jsonl"}
    if name == "queries":
        files |= {f"{key}.jsonl": f"{key}/manifest.jsonl" for key in DERIVED}
    if name == "edits":
        files["geometry.csv"] = "edits/geometry.csv"
    return files


def build_scenes(
    name: str,
    out_dir: str | Path,
    *,
    seed: int | None = None,
    expected: str | Path | None = None,
    accept_pixels: bool = False,
    limit: int = 0,
    on_image: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Draw a scene data set: ``out_dir/<name>/manifest.jsonl`` and its pictures as PNG.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    out_dir : path
    seed : int, optional
        Another seed gives fresh scenes; default is the data set's own.
    expected : path, optional
        Shipped ``<root>/<name>/manifest.jsonl`` that the new one must equal, pictures included.
        The data set's other files must equal those shipped below the same root, where they are.
    accept_pixels : bool
        Take new pixel hashes where they differ from ``expected`` (another Pillow, say).
    limit : int
        Draw the first ``limit`` pictures only, and no file but the manifest; 0 draws all.
    on_image : callable
        Told the number of pictures done and of all, for progress.

    Returns
    -------
    Path of the manifest

    Raises
    ------
    SchemaError
        If the name is unknown, or a sample, picture or table row differs from what is shipped.
    """
    if name not in DATASETS:
        raise SchemaError(f"Unknown scene data set {name!r}; expected one of {list(DATASETS)}.")
    folder = Path(out_dir) / name
    folder.mkdir(parents=True, exist_ok=True)
    shipped = read_manifest(expected) if expected else None
    seeds = () if seed is None else (seed,)
    items = list(islice(DATASETS[name](*seeds), limit or None))
    path = folder / "manifest.jsonl"
    path.unlink(missing_ok=True)
    samples: list[Sample] = []
    for number, item in enumerate(items, start=1):
        picture = item.picture()
        digest = pixel_sha256(picture)
        hashed = [s.model_copy(update={"image_sha256": digest}) for s in item.samples]
        if shipped is not None:
            check_samples(hashed, shipped, start=len(samples), accept_pixels=accept_pixels)
        picture.save(folder / item.image, compress_level=1)
        samples += hashed
        on_image(number, len(items))
    write_manifest(samples, path)
    try:
        if not limit:
            _finish(name, samples, folder, seeds)
            if expected:
                _compare(name, folder, Path(expected), accept_pixels)
    except BaseException:
        path.unlink()  # a set with a manifest counts as built
        raise
    return path


def _finish(name: str, samples: list[Sample], folder: Path, seeds: tuple[int, ...]) -> None:
    """Check or write what belongs to a whole data set."""
    if name == "factorial":
        check_factorial(samples)
        if len(samples) != N_INPUTS:
            raise SchemaError(f"The factorial has {N_INPUTS} inputs, got {len(samples)}.")
    if name == "neutral":
        check_neutral(samples, [s for item in draw_factorial(*seeds) for s in item.samples])
    if name == "queries":
        for key, derived in derived_queries(samples, *seeds).items():
            write_manifest(derived, folder / f"{key}.jsonl")
    if name == "edits":
        write_geometry(folder, *seeds)


def _compare(name: str, folder: Path, expected: Path, accept_pixels: bool) -> None:
    """Compare all files of a data set with those that are shipped."""
    for built, place in built_files(name).items():
        new = folder / built
        old = expected if built == "manifest.jsonl" else expected.parents[1] / place
        if not old.is_file():
            continue
        if built.endswith(".csv"):  # its last columns are about pictures
            check_table(new, old, len(GEOMETRY) if accept_pixels else None)
        else:
            both = read_manifest(new), read_manifest(old)
            check_samples(*both, accept_pixels=accept_pixels, complete=True)


def check_pixels(samples: list[Sample], image_dir: str | Path) -> None:
    """Compare each picture on disk with its sample's ``image_sha256``.

    Raises
    ------
    SchemaError
        Naming the first sample whose picture differs.
    """
    from PIL import Image

    for sample in samples:
        with Image.open(Path(image_dir) / sample.image) as picture:
            got = pixel_sha256(picture)
        if sample.image_sha256 not in (None, got):
            raise SchemaError(
                f"Picture {sample.image!r} of {sample.sample_id!r} has pixels {got[:12]}…, "
                f"the manifest says {sample.image_sha256[:12]}…: rebuild it."
            )
