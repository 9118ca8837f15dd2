"""The evidence-source factorial: 3 visual × 3 text states, and its matched neutral pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from vca_core.scenes.items import Item, relation_sample
from vca_core.scenes.placing import BORDER, GAP, Scene, at, even
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import (
    BACKGROUNDS,
    CANVAS,
    HORIZONTAL,
    INVERSE,
    PLACES,
    draw_pair,
    evidence_note,
)

FACTORIAL_SEED = 20260724
N_STEMS = 50
N_INPUTS = N_STEMS * len(PLACES) * 9
SIZES = (72, 96)
STATES = ("supports", "opposes", "absent")


def factorial_scenes(seed: int = FACTORIAL_SEED) -> Iterator[tuple[str, str, dict[str, Scene]]]:
    """Draw the scenes of the 200 groups: 50 object pairs × left, right, above, below.

    Yields
    ------
    stem_id, queried relation, scenes by visual state
        ``supports``: the queried relation holds. ``opposes``: the two centres exchange their
        places on the queried axis, so the inverse holds. ``absent``: sizes as before, centres
        aligned on the queried axis, placed anew. ``neutral``: as ``supports``, but both centres on
        the queried axis' midpoint between them; the other coordinates do not change.
    """
    rng = np.random.default_rng(seed)
    pairs: list[tuple[str, str]] = []
    while len(pairs) < N_STEMS:
        pair = draw_pair(rng)
        if pair not in pairs and pair[::-1] not in pairs:
            pairs.append(pair)
    for number, (subject, object_) in enumerate(pairs):
        for relation in PLACES:
            first, second = _supporting(rng, subject, object_, relation)
            background = BACKGROUNDS[int(rng.integers(len(BACKGROUNDS)))]
            along = 0 if relation in HORIZONTAL else 1
            centers = {
                "supports": (first, second),
                "opposes": _moved(along, (first, second[along]), (second, first[along])),
                "absent": _silent(rng, along, first, second),
                "neutral": _moved(
                    along,
                    (first, (first[along] + second[along]) // 2),
                    (second, (first[along] + second[along]) // 2),
                ),
            }
            states = {"supports": relation, "opposes": INVERSE[relation]}
            scenes = {
                state: Scene(
                    (at(subject, *a), at(object_, *b)), states.get(state, "aligned"), background
                )
                for state, (a, b) in centers.items()
            }
            yield f"stem-{number:02d}-{relation}", relation, scenes


Placed = tuple[int, int, int]
"""Centre and side: x, y, size."""


def _supporting(rng, subject: str, object_: str, relation: str) -> tuple[Placed, Placed]:
    """Two places far apart on the queried axis, and on the other just clear of each other."""
    while True:
        sizes = even(rng, *SIZES), even(rng, *SIZES)
        low, high = (max(sizes) // 2 + BORDER, CANVAS - max(sizes) // 2 - BORDER)
        a, b = (sorted(int(v) for v in rng.integers(low, high + 1, size=2)) for _ in range(2))
        apart = sum(sizes) // 2 + GAP
        if b[1] - b[0] < apart or 5 * (b[1] - b[0]) > 2 * (a[1] - a[0]):
            continue
        if relation in ("right", "below"):
            a = a[::-1]
        if rng.integers(2):
            b = b[::-1]
        if relation in HORIZONTAL:
            return (a[0], b[0], sizes[0]), (a[1], b[1], sizes[1])
        return (b[0], a[0], sizes[0]), (b[1], a[1], sizes[1])


def _moved(along: int, *moves: tuple[Placed, int]) -> tuple[Placed, ...]:
    return tuple(
        (value, place[1], place[2]) if along == 0 else (place[0], value, place[2])
        for place, value in moves
    )


def _silent(rng, along: int, first: Placed, second: Placed) -> tuple[Placed, Placed]:
    low = max(first[2], second[2]) // 2 + BORDER
    apart = (first[2] + second[2]) // 2 + GAP
    while True:
        shared, a, b = (int(v) for v in rng.integers(low, CANVAS - low + 1, size=3))
        if abs(a - b) >= apart:
            break
    if along == 0:
        return (shared, a, first[2]), (shared, b, second[2])
    return (a, shared, first[2]), (b, shared, second[2])


def draw_factorial(seed: int = FACTORIAL_SEED) -> Iterator[Item]:
    """Draw the set ``factorial``: 200 groups × 3 pictures × 3 notes.

    The label is what the picture shows: yes where it supports the queried relation, else no.
    """
    for stem_id, relation, scenes in factorial_scenes(seed):
        for visual in STATES:
            yield _item("factorial", stem_id, relation, scenes[visual], visual, STATES)


def draw_neutral(seed: int = FACTORIAL_SEED) -> Iterator[Item]:
    """Draw the set ``neutral``: the factorial's scenes, aligned, with both speaking notes."""
    for stem_id, relation, scenes in factorial_scenes(seed):
        yield _item("neutral", stem_id, relation, scenes["neutral"], "absent", STATES[:2])


def _item(
    dataset: str,
    stem_id: str,
    relation: str,
    scene: Scene,
    visual: str,
    notes: Sequence[str],
) -> Item:
    subject, other = scene.objects
    name = f"{stem_id}-{'neutral' if dataset == 'neutral' else visual}"
    image = f"{name}.png"
    stated = {"supports": relation, "opposes": INVERSE[relation], "absent": None}
    samples = tuple(
        relation_sample(
            dataset,
            f"{name}-{text}",
            image,
            subject,
            relation,
            other,
            visual == "supports",
            note=evidence_note(subject.name, other.name, stated[text]),
            stem_id=stem_id,
            visual_state=visual,
            text_state=text,
        )
        for text in notes
    )
    return Item(image, partial(render_scene, scene), samples)
