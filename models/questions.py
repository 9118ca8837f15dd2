"""What a mini model is asked in training: relations, presence and places, with their answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.tokenizer import COLUMNS, ROWS
from vca_core.probes import question_text, statement_text
from vca_core.scenes.world import (
    CANVAS,
    INVERSE,
    NAMES,
    PHRASES,
    RELATIONS,
    Scene,
    draw_pair,
    draw_relation,
    draw_scene,
)


class Mixture(NamedTuple):
    """Shares in percent that make one mini model differ from another."""

    prior: int
    """Training scenes whose relation follows the pair's prior; the others' are uniform."""
    relation: int
    """Questions whether a relation holds."""
    naming: int
    """Questions which relation holds; a yes/no question alone gives no gradient until it is read,
    since yes and no are even for each relation asked and for each one seen."""
    presence: int
    """Questions whether an object is there; what is left asks for places."""
    true_false: int
    """Relation questions put as a statement to be called true or false."""
    other_axis: int
    """False statements that name a relation of the other axis, not the inverse."""
    text_only: int
    """Training steps without any image (relation questions alone)."""


class Question(NamedTuple):
    """A prompt's text, the continuation that answers it, and the kind, for the log."""

    text: str
    answer: str
    kind: str


def training_scene(rng: np.random.Generator, mixture: Mixture) -> Scene:
    """Draw a scene of a pair that is not held out."""
    subject, object_ = draw_pair(rng, held_out=False)
    if rng.integers(100) < mixture.prior:
        relation = draw_relation(rng, subject, object_)
    else:
        relation = RELATIONS[int(rng.integers(4))]
    return draw_scene(rng, subject, object_, relation)


def draw_question(rng: np.random.Generator, scene: Scene, mixture: Mixture) -> Question:
    """Draw one question about a scene by the mixture's shares."""
    kind = rng.integers(100)
    if kind < mixture.relation:
        return relation_question(rng, scene, mixture)
    if kind < mixture.relation + mixture.naming:
        first, second, holds = either_order(rng, scene)
        return Question(f"Where is the {first} from the {second}?", f" {holds}", "naming")
    if kind < mixture.relation + mixture.naming + mixture.presence:
        return presence_question(rng, scene)
    item = scene.objects[int(rng.integers(len(scene.objects)))]
    place = f" {COLUMNS[item.x * 4 // CANVAS]} {ROWS[item.y * 4 // CANVAS]}"
    return Question(f"Where is the {item.name}?", place, "place")


def either_order(rng: np.random.Generator, scene: Scene) -> tuple[str, str, str]:
    """Name the first two objects in one order or the other, and the relation that holds."""
    first, second, holds = scene.objects[0].name, scene.objects[1].name, scene.relation
    return (second, first, INVERSE[holds]) if rng.integers(2) else (first, second, holds)


def relation_question(rng: np.random.Generator, scene: Scene, mixture: Mixture) -> Question:
    """Ask for the relation of the two named objects, in either order; half the answers are yes."""
    first, second, holds = either_order(rng, scene)
    yes = bool(rng.integers(2))
    relation = holds
    if not yes:
        others = [r for r in RELATIONS if r not in (holds, INVERSE[holds])]
        other_axis = rng.integers(100) < mixture.other_axis
        relation = others[int(rng.integers(2))] if other_axis else INVERSE[holds]
    phrase = f"{PHRASES[relation]} the {second}"
    if rng.integers(100) < mixture.true_false:
        text = statement_text(f"The {first} is {phrase}.")
        return Question(text, " true" if yes else " false", "true_false")
    text = question_text(f"Is the {first} {phrase}?")
    return Question(text, " yes" if yes else " no", "yes_no")


def presence_question(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask whether an object is in the picture; half of the answers are yes."""
    here = [item.name for item in scene.objects]
    yes = bool(rng.integers(2))
    absent = [name for name in NAMES if name not in here]
    names = here if yes else absent
    name = names[int(rng.integers(len(names)))]
    text = question_text(f"Is there a {name} in the picture?")
    return Question(text, " yes" if yes else " no", "presence")
