"""The data set ``edits``: the two objects of a picture of ``pairs`` change places."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from vca_core.interventions import SwapGeometry, check_swap, swap_feasible, swap_objects
from vca_core.records import Sample
from vca_core.scenes.items import Item, relation_sample
from vca_core.scenes.natural import PAIRS_SEED, pair_scenes
from vca_core.scenes.placing import Scene
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import CANVAS, INVERSE, presence_question


class Candidate(NamedTuple):
    """A pair with the geometry of its swap; feasible or not is decided here, before any model."""

    pair_id: str
    edit_id: str
    scene: Scene
    swap: SwapGeometry


def edit_candidates(seed: int = PAIRS_SEED) -> Iterator[Candidate]:
    """Decide for each of the 440 pairs whether its objects can change places."""
    for number, scene in enumerate(pair_scenes(seed)):
        subject, other, *others = (tuple(map(float, item.box)) for item in scene.objects)
        swap = swap_feasible(subject, other, (CANVAS, CANVAS), others)
        yield Candidate(f"pairs-{number:04d}", f"edit-{number:04d}", scene, swap)


def draw_edits(seed: int = PAIRS_SEED) -> Iterator[Item]:
    """Draw the set ``edits``: each feasible pair's picture before and after, six probes in all.

    Before: the queried relation (true) and its inverse. After: both again, labels exchanged, and
    whether subject and object are still to be seen.
    """
    for candidate in edit_candidates(seed):
        if candidate.swap.feasible:
            yield from _before_and_after(candidate)


def _before_and_after(candidate: Candidate) -> tuple[Item, Item]:
    scene, swap = candidate.scene, candidate.swap
    subject, other = scene.objects[:2]
    facts = {"pair_id": candidate.pair_id, "edit_id": candidate.edit_id}
    roles = {"queried": scene.relation, "inverse": INVERSE[scene.relation]}

    def relations(when: str, true: str) -> list[Sample]:
        return [
            relation_sample(
                "edits",
                f"{candidate.edit_id}-{when}-{role}",
                f"{candidate.edit_id}-{when}.png",
                subject,
                relation,
                other,
                role == true,
                probe_role=f"{when}_{role}",
                **facts,
            )
            for role, relation in roles.items()
        ]

    before = relations("source", "queried")
    boxes = {"subject_box": swap.new_subject_box, "object_box": swap.new_object_box}
    after = [s.model_copy(update=boxes) for s in relations("edited", "inverse")]
    for role, name in (("subject", subject.name), ("object", other.name)):
        after.append(
            Sample(
                sample_id=f"{candidate.edit_id}-{role}-present",
                dataset="edits",
                image=f"{candidate.edit_id}-edited.png",
                question=presence_question(name),
                statement=f"There is a {name} in the picture.",
                label="yes",
                subject=subject.name,
                object=other.name,
                probe_role=f"{role}_present",
                **facts,
            )
        )
    return (
        Item(before[0].image, partial(render_scene, scene), tuple(before)),
        Item(after[0].image, partial(swapped_picture, scene), tuple(after)),
    )


def swapped_picture(scene: Scene) -> Image.Image:
    """Render a scene and let its first two objects change places, pixel by pixel."""
    subject, other = (tuple(map(float, item.box)) for item in scene.objects[:2])
    return swap_objects(render_scene(scene), subject, other)


GEOMETRY = (
    "pair_id",
    "edit_id",
    "relation",
    "feasible",
    "reason",
    "center_gap",
    "new_iou",
    "destination_slack",
    "subject_share",
    "object_share",
)
CHECKS = ("subject_found", "object_found", "order_reversed", "old_places_clear", "rest_unchanged")


def write_geometry(folder: Path, seed: int = PAIRS_SEED) -> Path:
    """Write ``geometry.csv`` beside the pictures: all 440 pairs, feasible or not.

    Of the feasible ones also the check of the pictures in ``folder``, geometry and pixels.

    The columns of the check are empty where there is no edit. Shares are of the picture's area;
    the gap is a fraction of its side. The check stands in for a human audit and is not one.
    """
    path = folder / "geometry.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*GEOMETRY, *CHECKS, "accepted"])
        for candidate in edit_candidates(seed):
            writer.writerow(_geometry_row(candidate, folder))
    return path


def _geometry_row(candidate: Candidate, folder: Path) -> list:
    scene, swap = candidate.scene, candidate.swap
    shares = [item.size**2 / CANVAS**2 for item in scene.objects[:2]]
    numbers = [swap.center_gap, swap.new_iou, swap.destination_slack, *shares]
    row = [candidate.pair_id, candidate.edit_id, scene.relation, swap.feasible, swap.reason]
    row += numbers
    if not swap.feasible:
        return row + [""] * (len(CHECKS) + 1)
    boxes = (tuple(map(float, item.box)) for item in scene.objects[:2])
    before, after = (folder / f"{candidate.edit_id}-{when}.png" for when in ("source", "edited"))
    with Image.open(before) as source, Image.open(after) as edited:
        check = check_swap(source.convert("RGB"), edited.convert("RGB"), *boxes)
    return row + [getattr(check, name) for name in CHECKS] + [check.accepted]
