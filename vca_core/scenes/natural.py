"""The natural-style data sets: relations come as often as the priors say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from vca_core.records import Sample
from vca_core.scenes.items import Item, relation_sample
from vca_core.scenes.placing import Scene, draw_scene, false_relations
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import (
    CONTACTS,
    FALSE,
    HORIZONTAL,
    INVERSE,
    PLACES,
    WORDINGS,
    draw_pair,
    draw_relation,
    question_of,
    statement_of,
)

PAIRS_SEED, QUERIES_SEED = 20261129, 20261130
N_HORIZONTAL, N_VERTICAL = 279, 161
"""Pairs per axis, as in the published two-object COCO set."""
QUERIES = {
    "left": (68, 68),
    "right": (59, 50),
    "above": (118, 77),
    "below": (124, 107),
    "front": (84, 58),
    "behind": (86, 64),
    "on": (49, 68),
    "in": (51, 52),
    "contains": (28, 38),
}
"""Statements that hold and that do not, per family, as in the published VSR subset."""
STRICT = ("left", "right", "above", "below", "front", "behind")
"""Families whose inverse is asked of what holds."""
N_WORDED = 200


def draw_pairs(seed: int = PAIRS_SEED) -> Iterator[Item]:
    """Draw the set ``pairs``: 440 pictures, each with one true and one false statement.

    Object pairs are drawn alike, relations by the pair's prior; a draw whose axis is already full
    (279 horizontal, 161 vertical) is passed over. The false statement names the inverse relation.
    """
    for number, scene in enumerate(pair_scenes(seed)):
        pair_id = f"pairs-{number:04d}"
        image = f"{pair_id}.png"
        subject, other = scene.objects[:2]
        samples = tuple(
            relation_sample(
                "pairs",
                f"{pair_id}-{polarity}",
                image,
                subject,
                relation,
                other,
                polarity == "true",
                pair_id=pair_id,
                polarity=polarity,
            )
            for polarity, relation in (("true", scene.relation), ("false", INVERSE[scene.relation]))
        )
        yield Item(image, partial(render_scene, scene), samples)


def pair_scenes(seed: int = PAIRS_SEED) -> Iterator[Scene]:
    """Draw the 440 scenes of ``pairs``."""
    rng = np.random.default_rng(seed)
    room = {True: N_HORIZONTAL, False: N_VERTICAL}
    while any(room.values()):
        subject, object_ = draw_pair(rng)
        relation = draw_relation(rng, subject, object_)
        horizontal = relation in HORIZONTAL
        if room[horizontal]:
            room[horizontal] -= 1
            yield draw_scene(rng, subject, object_, relation)


def draw_queries(seed: int = QUERIES_SEED) -> Iterator[Item]:
    """Draw the set ``queries``: one picture and one statement each, counts as in `QUERIES`.

    The scene's relation is drawn by the pair's prior, a coin says whether the statement holds, and
    what does not hold is drawn from `FALSE` (the scene until nobody could call it true); a draw
    whose family and label are full is passed over.
    """
    rng = np.random.default_rng(seed)
    room = {
        (relation, holds): count
        for relation, counts in QUERIES.items()
        for holds, count in zip((True, False), counts, strict=True)
    }
    number = 0
    while any(room.values()):
        among = (PLACES, CONTACTS)[int(rng.integers(2))]
        subject, object_ = draw_pair(rng, same_color=among == PLACES)
        shown = draw_relation(rng, subject, object_, among)
        holds = bool(rng.integers(2))
        if holds and shown == "supports":
            subject, object_, shown = object_, subject, "on"
        said = shown if holds else FALSE[shown][int(rng.integers(len(FALSE[shown])))]
        if not room[said, holds]:
            continue
        room[said, holds] -= 1
        scene = draw_scene(rng, subject, object_, shown)
        while not holds and said not in false_relations(*scene.objects[:2], shown):
            scene = draw_scene(rng, subject, object_, shown)
        query_id = f"queries-{number:04d}"
        number += 1
        image = f"{query_id}.png"
        first, second = scene.objects[:2]
        sample = relation_sample("queries", query_id, image, first, said, second, holds)
        yield Item(image, partial(render_scene, scene), (sample,))


def derived_queries(samples: list[Sample], seed: int = QUERIES_SEED) -> dict[str, list[Sample]]:
    """Say more about the pictures of ``queries``.

    Returns
    -------
    dict of data set key to list of Sample
        ``queries_inverse``: the inverse of what holds in the six strict families, all false.
        ``queries_wordings``: 200 fixed queries in all three wordings. ``queries_system``: the same
        200 as they are, to be scored with a neutral system message.
    """
    inverse = [
        _inverse(sample)
        for sample in samples
        if sample.label == "yes" and sample.relation in STRICT
    ]
    order = np.random.default_rng([seed, N_WORDED]).permutation(len(samples))
    fixed = [samples[i] for i in sorted(order[:N_WORDED])]
    worded = [_worded(s, number) for s in fixed for number in range(len(WORDINGS))]
    system = [s.model_copy(update={"dataset": "queries_system"}) for s in fixed]
    return {"queries_inverse": inverse, "queries_wordings": worded, "queries_system": system}


def _inverse(sample: Sample) -> Sample:
    relation = INVERSE[sample.relation]
    return sample.model_copy(
        update={
            "sample_id": f"{sample.sample_id}-inverse",
            "dataset": "queries_inverse",
            "question": question_of(sample.subject, relation, sample.object),
            "statement": statement_of(sample.subject, relation, sample.object),
            "relation": relation,
            "label": "no",
            "pair_id": sample.sample_id,
            "polarity": "false",
        }
    )


def _worded(sample: Sample, number: int) -> Sample:
    words = sample.subject, sample.relation, sample.object, number
    return sample.model_copy(
        update={
            "dataset": "queries_wordings",
            "wording": WORDINGS[number],
            "question": question_of(*words),
            "statement": statement_of(*words),
        }
    )
