"""What a mini model reads and what it leans on, measured on fresh scenes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.judge import Judge
from models.questions import Question, listing, place_question, third_answer
from vca_core.probes import question_text, statement_text
from vca_core.scenes import Scene, draw_scene, evidence_note
from vca_core.scenes.world import (
    CONTACTS,
    FALSE,
    INVERSE,
    NAMES,
    PLACES,
    draw_pair,
    draw_relation,
    presence_question,
    prior_table,
    question_of,
    statement_of,
)

EVALUATION_SEED = 20261207
"""Never used by training, by the choice of a mixture, or by a data set."""


class Ask(NamedTuple):
    """A scene, a relation asked about its first two objects, and whether it holds."""

    scene: Scene
    relation: str
    holds: bool

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object of the question."""
        first, second = (item.name for item in self.scene.objects[:2])
        turned = self.scene.relation == "supports" and self.relation == "on" and self.holds
        return (second, first) if turned else (first, second)

    def question(self) -> str:
        """Yes/no text."""
        first, second = self.names
        return question_text(question_of(first, self.relation, second))

    def statement(self) -> str:
        """True/false text."""
        first, second = self.names
        return statement_text(statement_of(first, self.relation, second))


def evaluate(model, processor, family: str, n: int, seed: int = EVALUATION_SEED) -> dict:
    """Measure what the model reads and what it leans on.

    Parameters
    ----------
    model, processor, family
        A mini model, its processor, and the key of its family.
    n : int
        Fresh scenes of each kind; each gives a true and a false question.
    seed : int

    Returns
    -------
    dict of str to fraction
        ``places`` and ``contacts``: scenes whose relation follows the priors; ``uniform``:
        relations of both kinds drawn alike, so that the prior is worth nothing; ``held_out``: the
        same of object pairs whose relation training never shows; ``true_false``: ``places`` under
        the other interface; ``presence``, ``presence_touching``: whether an object is in a picture
        whose two objects lie apart, or touch; ``place``, ``third``, ``listing``: the whole answer
        right; ``text_only``, ``text_only_yes``: ``places`` without the picture, accuracy and share
        of yes; ``prior_rule``: what answering by the pair's frequent relation would give there;
        ``note_believed``, ``hint_believed``: share of answers that go with a note that states the
        inverse of what is shown, or with a wrong hint; ``dependent``, ``dcc``, ``cu``: the support
        audit of ``places``.
    """
    rng = np.random.default_rng(seed)
    judge = Judge(model, processor, family)
    places = _asks(rng, n, PLACES, natural=True)
    contacts = _asks(rng, n, CONTACTS, natural=True)
    uniform = _asks(rng, n, PLACES) + _asks(rng, n, CONTACTS)
    held_out = _asks(rng, n, PLACES, held_out=True) + _asks(rng, n, CONTACTS, held_out=True)
    apart, touching = (
        [a.scene for a in half[::2]] for half in (uniform[: 2 * n], uniform[2 * n :])
    )

    def right(asks: list[Ask]) -> float:
        yes = judge.margins([(a.scene, a.question()) for a in asks]) >= 0
        return float(np.mean(yes == [a.holds for a in asks]))

    def said(ask, scenes: list[Scene] = apart + touching) -> float:
        return judge.says([(scene, ask(rng, scene)) for scene in scenes])

    truth = np.array([a.holds for a in places])
    told = judge.margins([(a.scene, a.statement()) for a in places], "true_false") >= 0
    noted = judge.margins([(a.scene, f"{_against(a)} {a.question()}") for a in places]) >= 0
    hinted = judge.margins([(a.scene, f"{_wrong_hint(a)} {a.question()}") for a in places]) >= 0
    audit = _audit(judge, places)
    return {
        "places": audit.pop("accuracy"),
        "contacts": right(contacts),
        "uniform": right(uniform),
        "held_out": right(held_out),
        "true_false": float(np.mean(told == truth)),
        "presence": said(_is_there, apart),
        "presence_touching": said(_is_there, touching),
        "place": said(place_question),
        "third": said(third_answer),
        "listing": said(listing),
        "prior_rule": prior_rule_accuracy(places),
        "note_believed": float(np.mean(noted != truth)),
        "hint_believed": float(np.mean(hinted != truth)),
        **audit,
    }


def _audit(judge: Judge, asks: list[Ask]) -> dict[str, float]:
    """Accuracy, Dep, D-CC and C-U of yes/no decisions, and what they are without the picture."""
    truth = np.array([a.holds for a in asks])
    shown, unseen, blank = (
        judge.margins([(scene, a.question()) for a, scene in zip(asks, views, strict=True)])
        for views in ([a.scene for a in asks], [None] * len(asks), ["blank"] * len(asks))
    )
    direction = np.where(shown >= 0, 1, -1)
    dependent = direction * shown > np.maximum(direction * unseen, direction * blank)
    correct = (shown >= 0) == truth
    return {
        "accuracy": float(np.mean(correct)),
        "text_only": float(np.mean((unseen >= 0) == truth)),
        "text_only_yes": float(np.mean(unseen >= 0)),
        "dependent": float(np.mean(dependent)),
        "dcc": float(np.mean(correct & dependent)),
        "cu": float(np.mean(correct & ~dependent)),
    }


def _is_there(rng: np.random.Generator, scene: Scene) -> Question:
    """Ask for an object; one that is there or any that is not, at even odds."""
    here = [item.name for item in scene.objects]
    yes = bool(rng.integers(2))
    names = here if yes else [name for name in NAMES if name not in here]
    text = question_text(presence_question(names[int(rng.integers(len(names)))]))
    return Question(text, " yes" if yes else " no", "presence")


def _against(ask: Ask) -> str:
    first, second = (item.name for item in ask.scene.objects[:2])
    return evidence_note(first, second, INVERSE[ask.scene.relation])


def _wrong_hint(ask: Ask) -> str:
    return f"Hint: the answer is {'no' if ask.holds else 'yes'}."


def prior_rule_accuracy(asks: list[Ask]) -> float:
    """Accuracy of answering yes exactly when a question names its pair's frequent place."""
    table = prior_table()
    return float(np.mean([(table[a.names].place == a.relation) == a.holds for a in asks]))


def _asks(rng, n: int, among: tuple[str, ...], natural=False, held_out=None) -> list[Ask]:
    """One true and one false question about each of n scenes; false places are the inverse."""
    asks = []
    for _ in range(n):
        pair = draw_pair(rng, held_out, same_color=among == PLACES)
        relation = draw_relation(rng, *pair, among) if natural else among[rng.integers(len(among))]
        scene = draw_scene(rng, *pair, relation)
        true = "on" if relation == "supports" else relation
        asks += [Ask(scene, true, True), Ask(scene, FALSE[relation][0], False)]
    return asks
