"""Accuracy of a mini model on fresh scenes, by plain forwards through its processor."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from PIL import Image

from models.prompts import chat_prompt
from vca_core.probes import question_text, statement_text
from vca_core.records import VERBALIZERS
from vca_core.scenes import Scene, draw_scene, evidence_note, render_scene
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

EVALUATION_SEED = 20260902
"""Never used by training or by a data set."""


class Ask(NamedTuple):
    """A scene, a relation asked about its first two objects, and whether it holds."""

    scene: Scene
    relation: str
    holds: bool

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object of the question."""
        first, second = (item.name for item in self.scene.objects[:2])
        return (second, first) if self.scene.relation == "supports" and self.holds else (
            first,
            second,
        )  # fmt: skip

    def question(self) -> str:
        """Yes/no text."""
        first, second = self.names
        return question_text(question_of(first, self.relation, second))


def evaluate(
    model, processor, family: str, n: int, seed: int = EVALUATION_SEED
) -> dict[str, float]:
    """Measure what the model reads and what it leans on.

    Parameters
    ----------
    model, processor, family
        A mini model, its processor, and the key of its family.
    n : int
        Fresh scenes per kind; each gives a true and a false statement.
    seed : int

    Returns
    -------
    dict of str to fraction
        ``places`` and ``contacts``: scenes whose relation follows the priors; ``uniform``:
        relations of both kinds drawn alike, so that the prior is worth nothing; ``held_out``: the
        same of object pairs that training never named together; ``true_false``: ``places`` under
        the other interface; ``presence``; ``text_only``, ``text_only_yes``: ``places`` without the
        picture, accuracy and share of yes; ``prior_rule``: what answering by the pair's frequent
        relation would give there; ``note_believed``: share of answers that go with a note which
        states the inverse of what the picture shows.
    """
    rng = np.random.default_rng(seed)
    places = _asks(rng, n, PLACES, natural=True)
    contacts = _asks(rng, n, CONTACTS, natural=True)
    uniform = _asks(rng, n, PLACES) + _asks(rng, n, CONTACTS)
    held_out = _asks(rng, n, PLACES, held_out=True) + _asks(rng, n, CONTACTS, held_out=True)
    judge = _Judge(model, processor, family)
    unseen = judge([(None, ask.question()) for ask in places])
    truth = np.array([ask.holds for ask in places])
    against = [(a.scene, f"{_against(a)} {a.question()}") for a in places]
    return {
        "places": judge.accuracy(places),
        "contacts": judge.accuracy(contacts),
        "uniform": judge.accuracy(uniform),
        "held_out": judge.accuracy(held_out),
        "true_false": judge.accuracy(places, "true_false"),
        "presence": judge.presence(rng, [ask.scene for ask in uniform[::2]]),
        "text_only": float(np.mean(unseen == truth)),
        "text_only_yes": float(np.mean(unseen)),
        "prior_rule": prior_rule_accuracy(places),
        "note_believed": float(np.mean(judge(against) != truth)),
    }


def _against(ask: Ask) -> str:
    first, second = (item.name for item in ask.scene.objects[:2])
    return evidence_note(first, second, INVERSE[ask.scene.relation])


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


class _Judge:
    """Yes or no of a model to (scene or None, text), batch by batch."""

    def __init__(self, model, processor, family: str) -> None:
        self.model, self.processor, self.family = model, processor, family

    @torch.inference_mode()
    def __call__(self, asked: list[tuple], interface: str = "yes_no") -> np.ndarray:
        processor, answers = self.processor, []
        affirm, deny = (
            processor.tokenizer(word, add_special_tokens=False).input_ids[0]
            for word in VERBALIZERS[interface]
        )
        for start in range(0, len(asked), 16):
            block = asked[start : start + 16]
            pictures: list[list[Image.Image]] = [[render_scene(s)] for s, _ in block if s]
            inputs = processor(
                text=[
                    chat_prompt(processor, self.family, text, scene is not None)
                    for scene, text in block
                ],
                images=pictures or None,
                return_tensors="pt",
                padding=True,
                padding_side="right",
            )
            last = inputs.attention_mask.sum(dim=1) - 1
            logits = self.model(**inputs).logits[torch.arange(len(block)), last]
            answers += (logits[:, affirm] >= logits[:, deny]).tolist()
        return np.array(answers)

    def accuracy(self, asks: list[Ask], interface: str = "yes_no") -> float:
        """Share of right answers about relations."""
        texts = [
            a.question()
            if interface == "yes_no"
            else statement_text(statement_of(a.names[0], a.relation, a.names[1]))
            for a in asks
        ]
        asked = [(a.scene, text) for a, text in zip(asks, texts, strict=True)]
        return float(np.mean(self(asked, interface) == [a.holds for a in asks]))

    def presence(self, rng: np.random.Generator, scenes: list[Scene]) -> float:
        """Share of right answers on one object that is there and one that is not, per scene."""
        asked, truth = [], []
        for scene in scenes:
            here = [item.name for item in scene.objects]
            absent = [name for name in NAMES if name not in here]
            for names, holds in ((here, True), (absent, False)):
                name = names[int(rng.integers(len(names)))]
                asked.append((scene, question_text(presence_question(name))))
                truth.append(holds)
        return float(np.mean(self(asked) == truth))
