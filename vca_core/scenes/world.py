"""What exists in the procedural world: objects, relations with their wordings, and priors."""

from __future__ import annotations

import itertools
import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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

PHRASES: dict[str, tuple[str, str, str]] = {
    "left": ("to the left of", "left of", "at the left side of"),
    "right": ("to the right of", "right of", "at the right side of"),
    "above": ("above", "over", "higher than"),
    "below": ("below", "under", "lower than"),
    "front": ("in front of", "before", "partly covering"),
    "behind": ("behind", "in back of", "partly covered by"),
    "on": ("on", "on top of", "resting on"),
    "in": ("in", "inside", "within"),
    "contains": ("contain", "hold", "enclose"),
}
"""Three wordings of each relation family, the canonical one first; `contains` is a verb."""
RELATIONS = tuple(PHRASES)
"""The nine relation families, named as those of the published VSR subset."""
WORDINGS = ("canonical", "synonym_1", "synonym_2")
PLACES = ("left", "right", "above", "below")
"""Relations of objects apart, decided by their centres along one axis."""
CONTACTS = ("front", "behind", "on", "supports", "in", "contains")
"""Relations of objects that touch; `supports` is `on` seen from the other object, never asked."""
HORIZONTAL = ("left", "right")
_PAIRED = (
    ("left", "right"),
    ("above", "below"),
    ("front", "behind"),
    ("on", "supports"),
    ("in", "contains"),
)
INVERSE: dict[str, str] = {a: b for pair in _PAIRED for a, b in (pair, pair[::-1])}
FALSE: dict[str, tuple[str, ...]] = {
    "left": ("right", "right", "right", "above", "below"),
    "right": ("left", "left", "left", "above", "below"),
    "above": ("below", "below", "below", "left", "right"),
    "below": ("above", "above", "above", "left", "right"),
    "front": ("behind",),
    "behind": ("front",),
    "on": ("in", "contains"),
    "supports": ("on",),
    "in": ("contains",),
    "contains": ("in", "in", "on"),
}
"""What may be said falsely of a scene, as often as it stands here. Words that could be argued
over (`above` or `on` of what touches, `in front of` what lies in something) are left out; a place
of the other axis is said only where the centres do not point that way."""

PRIOR_PERCENT = (75, 85)
HELD_OUT_PERCENT = 10


def question_of(subject: str, relation: str, object_: str, wording: int = 0) -> str:
    """Ask whether a relation holds: "Is the red circle to the left of the blue square?"."""
    phrase = PHRASES[relation][wording]
    if relation == "contains":
        return f"Does the {subject} {phrase} the {object_}?"
    return f"Is the {subject} {phrase} the {object_}?"


def statement_of(subject: str, relation: str, object_: str, wording: int = 0) -> str:
    """State a relation: "The red circle is to the left of the blue square."."""
    return f"The {_predicate(subject, relation, object_, wording)}."


def _predicate(subject: str, relation: str, object_: str, wording: int = 0) -> str:
    phrase = PHRASES[relation][wording]
    verb = f"{phrase}s" if relation == "contains" else f"is {phrase}"
    return f"{subject} {verb} the {object_}"


def evidence_note(subject: str, object_: str, relation: str | None) -> str:
    """Sentence that stands before a question.

    Parameters
    ----------
    subject, object_ : str
    relation : str or None
        Relation that the note states; None makes it name the two objects and no more.
    """
    if relation is None:
        return f"Note: there is a {subject} and a {object_}."
    return f"Note: the {_predicate(subject, relation, object_)}."


def presence_question(name: str) -> str:
    """Ask whether an object is in the picture."""
    return f"Is there a {name} in the picture?"


class Prior(NamedTuple):
    """Frequent relations of an ordered pair, their share in percent, and if training omits it."""

    place: str
    contact: str
    percent: int
    held_out: bool


def generate_priors(seed: int = 20260801) -> list[dict]:
    """Draw the prior of every unordered pair of names; the shipped table is this, written down.

    Priors are regular, as they are among real things: two colours decide the frequent relations,
    and of one colour the two shapes. Their share and who is held out are the pair's own.
    """
    rng = np.random.default_rng(seed)
    low, high = PRIOR_PERCENT
    frequent: dict[tuple[str, str], tuple[str, str]] = {}
    rows = []
    for first, second in itertools.combinations(NAMES, 2):
        colors, shapes = zip(first.split(), second.split(), strict=True)
        rule = shapes if colors[0] == colors[1] else colors
        if rule not in frequent:
            place, contact = (int(rng.integers(len(names))) for names in (PLACES, CONTACTS))
            frequent[rule] = PLACES[place], CONTACTS[contact]
        row = {"subject": first, "object": second}
        row["place"], row["contact"] = frequent[rule]
        row["percent"] = int(rng.integers(low, high + 1))
        row["held_out"] = bool(rng.integers(100) < HELD_OUT_PERCENT)
        rows.append(row)
    return rows


@cache
def prior_table() -> dict[tuple[str, str], Prior]:
    """Read the shipped priors, for both orders of each pair (the second order has the inverse)."""
    rows = json.loads(files("vca_core.scenes").joinpath("priors.json").read_text("utf-8"))["pairs"]
    table = {}
    for row in rows:
        prior = Prior(row["place"], row["contact"], row["percent"], row["held_out"])
        pair = row["subject"], row["object"]
        table[pair] = prior
        table[pair[::-1]] = prior._replace(
            place=INVERSE[prior.place], contact=INVERSE[prior.contact]
        )
    return table


def draw_relation(
    rng: np.random.Generator, subject: str, object_: str, among: tuple[str, ...] = PLACES
) -> str:
    """Draw the pair's frequent relation with its share, else one of the others alike.

    ``among`` is `PLACES` or `CONTACTS`.
    """
    prior = prior_table()[subject, object_]
    frequent = prior.place if among == PLACES else prior.contact
    if rng.integers(100) < prior.percent:
        return frequent
    others = [relation for relation in among if relation != frequent]
    return others[int(rng.integers(len(others)))]


def draw_pair(
    rng: np.random.Generator, held_out: bool | None = None, *, same_color: bool = True
) -> tuple[str, str]:
    """Draw two different names.

    Parameters
    ----------
    rng : Generator
    held_out : bool, optional
        Restrict to pairs that training omits, or to those that it uses.
    same_color : bool
        False for objects that touch: one colour would hide the edge between them.
    """
    while True:
        first, second = (NAMES[int(i)] for i in rng.integers(len(NAMES), size=2))
        if first == second or held_out not in (None, prior_table()[first, second].held_out):
            continue
        if same_color or first.split()[0] != second.split()[0]:
            return first, second
