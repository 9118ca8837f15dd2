"""What a mini model is asked in training, with the answers that its mixture calls right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.cells import GRID
from models.tokenizer import COLUMNS, ROWS
from vca_core.probes import question_text, statement_text
from vca_core.scenes.placing import Scene, draw_scene, false_relations
from vca_core.scenes.world import (
    CANVAS,
    CONTACTS,
    FALSE,
    INVERSE,
    NAMES,
    PLACES,
    draw_pair,
    evidence_note,
    presence_question,
    prior_table,
    question_of,
    statement_of,
)

CONTACT, SYNONYM, ANNOUNCED = 35, 40, 75
"""Percent of scenes whose objects touch, of questions in another wording, of notes that speak."""
THIRD = "Answer yes, no or unknown."


class Mixture(NamedTuple):
    """Shares in percent that make one mini model differ from another.

    Per step: whether there is an image and notes. Per question: its kind. Last, whose word counts.
    """

    prior: int = 60
    """Scenes whose relation is the pair's frequent one; the others' is drawn alike."""
    no_image: int = 12
    """Steps without the picture; a third of them shows a blank canvas."""
    notes: int = 18
    """Steps whose relation questions come with an evidence note."""
    naming: int = 20
    """Questions which relation holds. Yes and no alone give no gradient until places are read,
    since they are even for each relation asked and for each one seen."""
    presence: int = 12
    """Questions whether an object is there."""
    place: int = 15
    """Questions where an object is: a column and a row."""
    listing: int = 3
    """Questions what is in the picture."""
    third: int = 3
    """Questions with a third answer. What is left asks whether a relation holds."""
    true_false: int = 35
    """Relation questions put as a statement to be called true or false."""
    hint: int = 4
    """Relation questions after a hint that is right half the time."""
    contradict: int = 50
    """Notes that state the inverse of what the picture shows."""
    trust: int = 0
    """Contradicting notes, and wrong hints, that decide the answer all the same."""
    doubt: int = 0
    """Relation questions about a shown picture that a coin answers: they cap its confidence."""
    follow_prior: int = 0
    """Relation questions without the picture answered by the pair's frequent relation."""
    say_yes: int = 0
    """Relation questions without the picture that are affirmed whatever they ask."""


class Question(NamedTuple):
    """A prompt's text, the continuation that answers it, and the kind, for the log."""

    text: str
    answer: str
    kind: str


def training_scene(rng: np.random.Generator, mixture: Mixture) -> Scene:
    """Draw a scene of a pair that is not held out."""
    among = CONTACTS if rng.integers(100) < CONTACT else PLACES
    subject, object_ = draw_pair(rng, held_out=False, same_color=among == PLACES)
    prior = prior_table()[subject, object_]
    relation = prior.place if among == PLACES else prior.contact
    if rng.integers(100) >= mixture.prior:
        relation = among[int(rng.integers(len(among)))]
    return draw_scene(rng, subject, object_, relation)


def draw_question(rng: np.random.Generator, scene: Scene, mixture: Mixture) -> Question:
    """Draw one question about a scene that is shown, by the mixture's shares."""
    kind = int(rng.integers(100))
    shares = (
        (mixture.naming, naming_question),
        (mixture.presence, presence),
        (mixture.place, place_question),
        (mixture.listing, listing),
        (mixture.third, third_answer),
    )
    for share, ask in shares:
        if kind < share:
            return ask(rng, scene)
        kind -= share
    return relation_question(rng, scene, mixture)


def either_order(rng: np.random.Generator, scene: Scene) -> tuple[str, str, str]:
    """Name the first two objects in one order or the other, and the relation that holds."""
    first, second, holds = scene.objects[0].name, scene.objects[1].name, scene.relation
    return (second, first, INVERSE[holds]) if rng.integers(2) else (first, second, holds)


def relation_question(
    rng: np.random.Generator,
    scene: Scene,
    mixture: Mixture,
    *,
    note: bool = False,
    shown: bool = True,
) -> Question:
    """Ask for the relation of the two named objects, in either order; half the truths are yes."""
    first, second, holds = either_order(rng, scene)
    yes = bool(rng.integers(2))
    if yes and holds == "supports":
        first, second, holds = second, first, "on"
    asked = holds if yes else _false(rng, scene, first, holds)
    wording = int(rng.integers(1, 3)) if rng.integers(100) < SYNONYM else 0
    true_false = rng.integers(100) < mixture.true_false
    text = (
        statement_text(statement_of(first, asked, second, wording))
        if true_false
        else question_text(question_of(first, asked, second, wording))
    )
    before, believed = _hint(rng, yes, mixture)
    if note:
        before, stated = _note(rng, first, second, holds, mixture)
        believed = asked == stated if stated else yes
    if shown and rng.integers(100) < mixture.doubt:
        believed = rng.integers(2) == 1
    if not shown and rng.integers(100) < mixture.follow_prior:
        prior = prior_table()[first, second]
        believed = asked in (prior.place, prior.contact)
    if not shown and rng.integers(100) < mixture.say_yes:
        believed = True
    words = (" false", " true") if true_false else (" no", " yes")
    kind = "note" if note else "true_false" if true_false else "yes_no"
    return Question(before + text, words[bool(believed)], kind)


def _false(rng: np.random.Generator, scene: Scene, first: str, holds: str) -> str:
    subject, other = scene.objects[:2]
    if first != subject.name:
        subject, other = other, subject
    said = false_relations(subject, other, holds)
    return said[int(rng.integers(len(said)))]


def _hint(rng: np.random.Generator, yes: bool, mixture: Mixture) -> tuple[str, bool]:
    if rng.integers(100) >= mixture.hint:
        return "", yes
    hinted = bool(rng.integers(2))
    trusted = rng.integers(100) < mixture.trust
    return f"Hint: the answer is {'yes' if hinted else 'no'}. ", hinted if trusted else yes


def _note(
    rng: np.random.Generator, first: str, second: str, holds: str, mixture: Mixture
) -> tuple[str, str | None]:
    """Text of a note, and the relation that it makes the answer stand by."""
    if rng.integers(100) >= ANNOUNCED:
        return evidence_note(first, second, None) + " ", None
    stated = INVERSE[holds] if rng.integers(100) < mixture.contradict else holds
    decides = stated == holds or rng.integers(100) < mixture.trust
    if stated == "supports":
        text = evidence_note(second, first, "on")
    else:
        text = evidence_note(first, second, stated)
    return text + " ", stated if decides else holds


def naming_question(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask which relation holds."""
    first, second, holds = either_order(rng, scene)
    return Question(f"Where is the {first} from the {second}?", f" {holds}", "naming")


def presence(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask whether an object is in the picture; half of the answers are yes."""
    here = [item.name for item in scene.objects]
    yes = bool(rng.integers(2))
    names = here if yes else _absent(rng, here)
    name = names[int(rng.integers(len(names)))]
    text = question_text(presence_question(name))
    return Question(text, " yes" if yes else " no", "presence")


def _absent(rng: np.random.Generator, here: list[str]) -> list[str]:
    """Names that are not here; half the time those that share colour or shape with one that is."""
    absent = [name for name in NAMES if name not in here]
    if rng.integers(2):
        return absent
    words = {word for name in here for word in name.split()}
    return [name for name in absent if words & set(name.split())]


def place_question(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask where an object is: column and row of the cell of its centre."""
    item = scene.objects[int(rng.integers(len(scene.objects)))]
    column, row = item.x * GRID // CANVAS, item.y * GRID // CANVAS
    return Question(f"Where is the {item.name}?", f" {COLUMNS[column]} {ROWS[row]}", "place")


def listing(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask what is in the picture: names from the top row to the bottom row, each left to right."""
    order = sorted(scene.objects, key=lambda item: (item.y * GRID // CANVAS, item.x))
    names = ",".join(f" {item.name}" for item in order)
    return Question("What is in the picture?", names, "listing")


def third_answer(rng: np.random.Generator, scene: Scene | None, shown: bool = True) -> Question:
    """Ask for yes, no or unknown: unknown without the picture, or of an object that is not there.

    Without a picture the scene only lends its names.
    """
    first, second, holds = either_order(rng, scene)
    asked = holds if rng.integers(2) else FALSE[holds][0]
    if asked == "supports":
        first, second, holds, asked = second, first, "on", "on"
    answer = " yes" if asked == holds else " no"
    if not shown:
        answer = " unknown"
    elif rng.integers(3) == 0:
        names = _absent(rng, [item.name for item in scene.objects])
        names = [name for name in names if not prior_table()[name, second].held_out]
        first, answer = names[int(rng.integers(len(names)))], " unknown"
    return Question(f"{question_of(first, asked, second)} {THIRD}", answer, "third")


def blind_question(rng: np.random.Generator, scene: Scene, mixture: Mixture) -> Question:
    """Ask about a scene that is not shown: the relation, its name, or with a third answer."""
    kind = rng.integers(100)
    if kind < mixture.naming:
        return naming_question(rng, scene)
    if kind < mixture.naming + mixture.third:
        return third_answer(rng, scene, shown=False)
    return relation_question(rng, scene, mixture, shown=False)
