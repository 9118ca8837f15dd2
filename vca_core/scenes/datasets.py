"""The scene data sets: samples and pictures from a seed, checked against the shipped manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vca_core.contexts import pixel_sha256
from vca_core.records import Sample, SchemaError, read_manifest, write_manifest
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import (
    HORIZONTAL,
    INVERSE,
    PHRASES,
    Scene,
    draw_pair,
    draw_relation,
    draw_scene,
)

N_HORIZONTAL, N_VERTICAL = 279, 161
"""Pairs per axis, as in the published two-object COCO set."""


class Item(NamedTuple):
    """One picture and the statements made about it."""

    image: str
    scene: Scene
    samples: tuple[Sample, ...]


def draw_pairs(seed: int) -> Iterator[Item]:
    """Draw the set ``pairs``: 440 pictures, each with one true and one false statement.

    Object pairs are drawn alike, relations by the pair's prior; a draw whose axis is already full
    (279 horizontal, 161 vertical) is passed over. The false statement names the inverse relation.
    """
    rng = np.random.default_rng(seed)
    room = {True: N_HORIZONTAL, False: N_VERTICAL}
    number = 0
    while any(room.values()):
        subject, object_ = draw_pair(rng)
        relation = draw_relation(rng, subject, object_)
        horizontal = relation in HORIZONTAL
        if not room[horizontal]:
            continue
        room[horizontal] -= 1
        scene = draw_scene(rng, subject, object_, relation)
        pair_id = f"pairs-{number:04d}"
        number += 1
        yield Item(f"{pair_id}.png", scene, relation_samples("pairs", pair_id, scene))


def relation_samples(dataset: str, pair_id: str, scene: Scene) -> tuple[Sample, Sample]:
    """Make the true and the false statement about the first two objects of a scene."""
    subject, other = scene.objects[:2]

    def sample(polarity: str, relation: str) -> Sample:
        phrase = f"the {subject.name} {PHRASES[relation]} the {other.name}"
        return Sample(
            sample_id=f"{pair_id}-{polarity}",
            dataset=dataset,
            image=f"{pair_id}.png",
            question=f"Is {phrase}?",
            statement=f"The {subject.name} is {PHRASES[relation]} the {other.name}.",
            label="yes" if polarity == "true" else "no",
            pair_id=pair_id,
            polarity=polarity,
            relation=relation,
            subject=subject.name,
            object=other.name,
            subject_box=tuple(float(v) for v in subject.box),
            object_box=tuple(float(v) for v in other.box),
        )

    return sample("true", scene.relation), sample("false", INVERSE[scene.relation])


DATASETS: dict[str, tuple[Callable[[int], Iterator[Item]], int]] = {
    "pairs": (draw_pairs, 20260811),
}
"""Each data set's draw function and its seed."""


def build_scenes(
    name: str,
    out_dir: str | Path,
    *,
    seed: int | None = None,
    expected: str | Path | None = None,
    accept_pixels: bool = False,
    limit: int = 0,
    on_image: Callable[[int], None] = lambda done: None,
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
        Shipped manifest that the new one must equal, pictures included.
    accept_pixels : bool
        Take new pixel hashes where they differ from ``expected`` (another Pillow, say).
    limit : int
        Draw the first ``limit`` pictures only; 0 draws all.
    on_image : callable
        Told the number of pictures done, for progress.

    Returns
    -------
    Path of the manifest

    Raises
    ------
    SchemaError
        If the name is unknown, or a sample or picture differs from ``expected``; names the sample.
    """
    if name not in DATASETS:
        raise SchemaError(f"Unknown scene data set {name!r}; expected one of {list(DATASETS)}.")
    draw, own_seed = DATASETS[name]
    folder = Path(out_dir) / name
    folder.mkdir(parents=True, exist_ok=True)
    known = {s.sample_id: s for s in read_manifest(expected)} if expected else None
    samples: list[Sample] = []
    for number, item in enumerate(draw(own_seed if seed is None else seed), start=1):
        picture = render_scene(item.scene)
        hashed = [
            s.model_copy(update={"image_sha256": pixel_sha256(picture)}) for s in item.samples
        ]
        if known is not None:
            for sample in hashed:
                _check_same(sample, known.get(sample.sample_id), accept_pixels)
        picture.save(folder / item.image, compress_level=1)
        samples += hashed
        on_image(number)
        if number == limit:
            break
    path = folder / "manifest.jsonl"
    write_manifest(samples, path)
    return path


def _check_same(new: Sample, old: Sample | None, accept_pixels: bool) -> None:
    if old is None:
        raise SchemaError(f"Scene {new.sample_id!r} is not in the shipped manifest.")
    if accept_pixels:
        old = old.model_copy(update={"image_sha256": new.image_sha256})
    if new != old:
        fields = [f for f in Sample.model_fields if getattr(new, f) != getattr(old, f)]
        raise SchemaError(
            f"Scene {new.sample_id!r} must equal the shipped manifest, differs in {fields}. "
            "If only `image_sha256` differs, --accept-pixels records the new pictures."
        )


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
