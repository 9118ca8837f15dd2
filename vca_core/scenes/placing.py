"""One scene at a time: where objects lie so that a relation holds between the first two.

Everything is drawn with integers, so the same seed gives the same scene on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vca_core.scenes.world import BACKGROUNDS, CANVAS, FALSE, HORIZONTAL, NAMES, PLACES

SIZES = (72, 272)
"""Smallest and largest side of the box of an object apart from its partner, in pixels, even."""
MIDDLE = (72, 176)
"""The same of distractors and of objects that touch."""
GAP = 8
"""Least space between two boxes in pixels."""
BORDER = 4
"""Least space to the edge of the canvas in pixels."""


class SceneObject(NamedTuple):
    """One object: colour, shape, centre and side of its square box in pixels."""

    color: str
    shape: str
    x: int
    y: int
    size: int

    @property
    def name(self) -> str:
        """Colour and shape, as a question names it."""
        return f"{self.color} {self.shape}"

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Box as (x, y, width, height) in pixels."""
        return self.x - self.size // 2, self.y - self.size // 2, self.size, self.size


class Scene(NamedTuple):
    """Subject, object, then distractors; ``relation`` holds between the first two."""

    objects: tuple[SceneObject, ...]
    relation: str
    background: tuple[int, int, int]

    @property
    def drawn(self) -> tuple[SceneObject, ...]:
        """Objects in the order of drawing: what is in front, on or inside comes last."""
        if self.relation in ("front", "on", "in"):
            return self.objects[::-1]
        return self.objects


def draw_scene(rng: np.random.Generator, subject: str, object_: str, relation: str) -> Scene:
    """Place two named objects in a relation, and none to two distractors around them.

    Parameters
    ----------
    rng : Generator
    subject, object_ : str
        Two different names of `vca_core.scenes.world.NAMES`.
    relation : str
        Of `PLACES` or `CONTACTS`. Places are decided by the centres: their distance along the
        relation's axis is at least half the two sizes plus `GAP`, and the other axis differs by at
        most 40 % of that. In front and behind: the boxes overlap by 35 to 50 % of their mean side
        along one axis and are nearly aligned on the other. On: the lower edge touches the other's
        upper edge, near its middle. In: the smaller box, at most 30 % of the other's side, lies
        within the other's shape.

    Returns
    -------
    Scene
    """
    first, second = _place_pair(rng, subject, object_, relation)
    objects = [first, second]
    n_distractors = (0, 0, 0, 1, 1, 2)[int(rng.integers(6))]
    for _ in range(n_distractors):
        for _ in range(50):  # a crowded canvas may have no room left
            name = NAMES[int(rng.integers(len(NAMES)))]
            other = place(rng, name, MIDDLE)
            if name not in (o.name for o in objects) and all(apart(other, o) for o in objects):
                objects.append(other)
                break
    background = BACKGROUNDS[int(rng.integers(len(BACKGROUNDS)))]
    return Scene(tuple(objects), relation, background)


def _place_pair(rng, subject: str, object_: str, relation: str) -> tuple[SceneObject, SceneObject]:
    if relation in PLACES:
        while True:
            first, second = place(rng, subject, SIZES), place(rng, object_, SIZES)
            if holds(first, second, relation):
                return first, second
    if relation in ("behind", "supports", "contains"):
        inverse = {"behind": "front", "supports": "on", "contains": "in"}[relation]
        second, first = _place_pair(rng, object_, subject, inverse)
        return first, second
    touching = {"front": _in_front, "on": _resting, "in": _nested}[relation]
    while True:
        first, second = touching(rng, subject, object_)
        if all(inside(item) for item in (first, second)):
            return first, second


def _in_front(rng, subject: str, object_: str) -> tuple[SceneObject, SceneObject]:
    second = place(rng, object_, (104, MIDDLE[1]))
    size = even(rng, 104, MIDDLE[1])
    mean = (size + second.size) // 2
    along = mean * int(rng.integers(50, 66)) // 100 * (1 - 2 * int(rng.integers(2)))
    across = int(rng.integers(-(size // 6), size // 6 + 1))
    dx, dy = (along, across) if rng.integers(2) else (across, along)
    return at(subject, second.x + dx, second.y + dy, size), second


def _resting(rng, subject: str, object_: str) -> tuple[SceneObject, SceneObject]:
    second = place(rng, object_, MIDDLE)
    size = even(rng, *MIDDLE)
    dx = int(rng.integers(-(second.size // 8), second.size // 8 + 1))
    return at(subject, second.x + dx, second.y - (second.size + size) // 2, size), second


def _nested(rng, subject: str, object_: str) -> tuple[SceneObject, SceneObject]:
    second = place(rng, object_, (240, 320))
    size = even(rng, MIDDLE[0], 3 * second.size // 10)
    # A triangle is wide below its middle; the others have their middle inside.
    down = second.size // 5 if second.shape == "triangle" else 0
    return at(subject, second.x, second.y + down, size), second


def even(rng: np.random.Generator, low: int, high: int) -> int:
    """Draw an even number between two numbers, both included."""
    return 2 * int(rng.integers((low + 1) // 2, high // 2 + 1))


def at(name: str, x: int, y: int, size: int) -> SceneObject:
    """Put a named object at a place."""
    color, shape = name.split(" ")
    return SceneObject(color, shape, x, y, size)


def place(rng: np.random.Generator, name: str, sizes: tuple[int, int]) -> SceneObject:
    """Put a named object of a drawn size anywhere on the canvas."""
    size = even(rng, *sizes)
    low, high = size // 2 + BORDER, CANVAS - size // 2 - BORDER
    x, y = (int(v) for v in rng.integers(low, high + 1, size=2))
    return at(name, x, y, size)


def inside(item: SceneObject) -> bool:
    """Whether an object lies on the canvas, its border left free."""
    low, high = item.size // 2 + BORDER, CANVAS - item.size // 2 - BORDER
    return low <= item.x <= high and low <= item.y <= high


def apart(a: SceneObject, b: SceneObject) -> bool:
    """Whether two boxes leave `GAP` between them."""
    return max(abs(a.x - b.x), abs(a.y - b.y)) >= (a.size + b.size) // 2 + GAP


def holds(subject: SceneObject, other: SceneObject, relation: str) -> bool:
    """Whether a relation of `PLACES` holds with its margins."""
    dx, dy = other.x - subject.x, other.y - subject.y
    along, across = (dx, dy) if relation in HORIZONTAL else (dy, dx)
    if relation in ("right", "below"):
        along = -along
    return along >= (subject.size + other.size) // 2 + GAP and 5 * abs(across) <= 2 * along


def points(subject: SceneObject, other: SceneObject, relation: str) -> bool:
    """Whether the centres lie the way that a relation of `PLACES` says, however little."""
    dx, dy = other.x - subject.x, other.y - subject.y
    return {"left": dx, "right": -dx, "above": dy, "below": -dy}[relation] > 0


def false_relations(subject: SceneObject, other: SceneObject, shown: str) -> tuple[str, ...]:
    """Relations of `FALSE` that nobody could call true of two objects that stand in ``shown``."""
    return tuple(
        said for said in FALSE[shown] if said not in PLACES or not points(subject, other, said)
    )
