"""What exists in the procedural world: objects, relations, priors, and one scene at a time.

Everything is drawn with integers, so the same seed gives the same scene on every machine.
"""

from __future__ import annotations

import itertools
import json
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np

CANVAS = 512
"""Side of a scene in pixels."""
COLORS: dict[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "blue": (31, 84, 190),
    "green": (44, 150, 60),
    "yellow": (240, 205, 30),
    "purple": (140, 60, 170),
    "orange": (245, 130, 30),
}
SHAPES = ("circle", "square", "triangle", "cross")
NAMES = tuple(f"{color} {shape}" for color in COLORS for shape in SHAPES)
"""The 24 object names."""
BACKGROUNDS = ((246, 244, 238), (232, 238, 246), (238, 246, 234), (246, 234, 238))

Relation = Literal["left", "right", "above", "below"]
PHRASES: dict[str, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "above": "above",
    "below": "below",
}
INVERSE: dict[str, str] = {"left": "right", "right": "left", "above": "below", "below": "above"}
RELATIONS = tuple(PHRASES)
HORIZONTAL = ("left", "right")

SIZES = (72, 176)
"""Smallest and largest side of an object's box in pixels, both even."""
GAP = 8
"""Least space between two boxes in pixels."""
PRIOR_PERCENT = (75, 85)
HELD_OUT_PERCENT = 10


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


class Prior(NamedTuple):
    """Frequent relation of an ordered pair, its share in percent, and if training omits it."""

    relation: str
    percent: int
    held_out: bool


def generate_priors(seed: int = 20260801) -> list[dict]:
    """Draw the prior of every unordered pair of names; the shipped table is this, written down."""
    rng = np.random.default_rng(seed)
    low, high = PRIOR_PERCENT
    return [
        {
            "subject": first,
            "object": second,
            "relation": RELATIONS[int(rng.integers(len(RELATIONS)))],
            "percent": int(rng.integers(low, high + 1)),
            "held_out": bool(rng.integers(100) < HELD_OUT_PERCENT),
        }
        for first, second in itertools.combinations(NAMES, 2)
    ]


@cache
def prior_table() -> dict[tuple[str, str], Prior]:
    """Read the shipped priors, for both orders of each pair (the second order has the inverse)."""
    rows = json.loads(files("vca_core.scenes").joinpath("priors.json").read_text("utf-8"))["pairs"]
    table = {}
    for row in rows:
        pair = row["subject"], row["object"]
        table[pair] = Prior(row["relation"], row["percent"], row["held_out"])
        table[pair[::-1]] = table[pair]._replace(relation=INVERSE[row["relation"]])
    return table


def draw_relation(rng: np.random.Generator, subject: str, object_: str) -> str:
    """Draw the pair's frequent relation with its share, else one of the other three alike."""
    prior = prior_table()[subject, object_]
    if rng.integers(100) < prior.percent:
        return prior.relation
    others = [relation for relation in RELATIONS if relation != prior.relation]
    return others[int(rng.integers(len(others)))]


def draw_pair(rng: np.random.Generator, held_out: bool | None = None) -> tuple[str, str]:
    """Draw two different names; ``held_out`` restricts to pairs that training omits or uses."""
    while True:
        first, second = (NAMES[int(i)] for i in rng.integers(len(NAMES), size=2))
        if first != second and held_out in (None, prior_table()[first, second].held_out):
            return first, second


def draw_scene(rng: np.random.Generator, subject: str, object_: str, relation: str) -> Scene:
    """Place two named objects in a relation, and none to two distractors around them.

    Parameters
    ----------
    rng : Generator
    subject, object_ : str
        Two different names of `NAMES`.
    relation : {"left", "right", "above", "below"}
        Decided by the centres: their distance along its axis is at least half the two sizes plus
        `GAP`, and the other axis differs by at most 40 % of that.

    Returns
    -------
    Scene
    """
    while True:
        first, second = _place(rng, subject), _place(rng, object_)
        if _holds(first, second, relation):
            break
    objects = [first, second]
    n_distractors = (0, 0, 0, 1, 1, 2)[int(rng.integers(6))]
    for _ in range(n_distractors):
        for _ in range(50):  # a crowded canvas may have no room left
            name = NAMES[int(rng.integers(len(NAMES)))]
            other = _place(rng, name)
            if name not in (o.name for o in objects) and all(_apart(other, o) for o in objects):
                objects.append(other)
                break
    background = BACKGROUNDS[int(rng.integers(len(BACKGROUNDS)))]
    return Scene(tuple(objects), relation, background)


def _place(rng: np.random.Generator, name: str) -> SceneObject:
    size = 2 * int(rng.integers(SIZES[0] // 2, SIZES[1] // 2 + 1))
    low, high = size // 2 + 4, CANVAS - size // 2 - 4
    x, y = (int(v) for v in rng.integers(low, high + 1, size=2))
    color, shape = name.split(" ")
    return SceneObject(color, shape, x, y, size)


def _apart(a: SceneObject, b: SceneObject) -> bool:
    return max(abs(a.x - b.x), abs(a.y - b.y)) >= (a.size + b.size) // 2 + GAP


def _holds(subject: SceneObject, other: SceneObject, relation: str) -> bool:
    dx, dy = other.x - subject.x, other.y - subject.y
    along, across = (dx, dy) if relation in HORIZONTAL else (dy, dx)
    if relation in ("right", "below"):
        along = -along
    return along >= (subject.size + other.size) // 2 + GAP and 5 * abs(across) <= 2 * along
