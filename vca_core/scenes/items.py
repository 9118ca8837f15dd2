"""One picture of a data set and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PIL import Image

from vca_core.records import Sample
from vca_core.scenes.placing import SceneObject
from vca_core.scenes.world import question_of, statement_of


class Item(NamedTuple):
    """One picture and the statements made about it."""

    image: str
    """File name."""
    picture: Callable[[], Image.Image]
    """Draws it; drawing is the slow part and not always wanted."""
    samples: tuple[Sample, ...]


def relation_sample(
    dataset: str,
    sample_id: str,
    image: str,
    subject: SceneObject,
    relation: str,
    other: SceneObject,
    holds: bool,
    wording: int = 0,
    **more: object,
) -> Sample:
    """Say that a relation holds between two objects of a picture; ``holds`` is the label."""
    return Sample(
        sample_id=sample_id,
        dataset=dataset,
        image=image,
        question=question_of(subject.name, relation, other.name, wording),
        statement=statement_of(subject.name, relation, other.name, wording),
        label="yes" if holds else "no",
        relation=relation,
        subject=subject.name,
        object=other.name,
        subject_box=tuple(float(v) for v in subject.box),
        object_box=tuple(float(v) for v in other.box),
        **more,
    )
