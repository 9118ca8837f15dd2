"""Structural checks of the factorial and of its neutral pictures, from their samples alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from vca_core.records import Sample, SchemaError
from vca_core.scenes.factorial import STATES
from vca_core.scenes.world import HORIZONTAL, PLACES

Cells = dict[tuple[str | None, str | None], Sample]
"""One group: samples by (visual state, text state)."""


def check_factorial(samples: Sequence[Sample]) -> None:
    """Check the structure of a factorial.

    Raises
    ------
    SchemaError
        If a group lacks one of its nine cells or has one twice; if a question, relation or label
        changes where it must not; if a note differs between visual states or a picture between
        text states, or is the same in two of its own; or if the directions are not balanced. Names
        the stem.
    """
    groups: dict[str | None, Cells] = {}
    for sample in samples:
        cell = (sample.visual_state, sample.text_state)
        group = groups.setdefault(sample.stem_id, {})
        if cell in group:
            raise SchemaError(f"Stem {sample.stem_id!r} has its cell {cell} twice.")
        group[cell] = sample
    for stem_id, group in groups.items():
        _check_group(stem_id, group)
    counts = Counter(next(iter(group.values())).relation for group in groups.values())
    if len(set(counts.values())) > 1 or set(counts) != set(PLACES):
        raise SchemaError(f"A factorial asks each of {PLACES} equally often, got {dict(counts)}.")


def _check_group(stem_id: str | None, group: Cells) -> None:
    missing = [(v, t) for v in STATES for t in STATES if (v, t) not in group]
    if missing or len(group) != 9:
        raise SchemaError(
            f"Stem {stem_id!r} must have 9 cells, got {len(group)} and not {missing}."
        )
    asked = {(s.question, s.statement, s.relation, s.subject, s.object) for s in group.values()}
    if len(asked) > 1:
        raise SchemaError(f"Stem {stem_id!r} must ask one question, got {len(asked)}.")
    notes = [{s.note for (_, text), s in group.items() if text == state} for state in STATES]
    images = [
        {(s.image, s.image_sha256) for (visual, _), s in group.items() if visual == state}
        for state in STATES
    ]
    for what, found in (("note", notes), ("picture", images)):
        if [len(values) for values in found] != [1, 1, 1] or len(set.union(*found)) != 3:
            raise SchemaError(
                f"Stem {stem_id!r} must have one {what} for each of its states "
                f"{', '.join(STATES)}, and three in all; got {[len(v) for v in found]}, "
                f"{len(set.union(*found))} in all."
            )
    for (visual, text), sample in group.items():
        if (sample.label == "yes") != (visual == "supports"):
            raise SchemaError(
                f"Stem {stem_id!r}: the label is what the picture shows, got {sample.label!r} "
                f"where it {visual!r} and the note {text!r}."
            )


def check_neutral(neutral: Sequence[Sample], factorial: Sequence[Sample]) -> None:
    """Check that neutral pictures match the factorial's but for the queried axis.

    Raises
    ------
    SchemaError
        If a stem lacks one of its two speaking notes or has one twice; if sizes, the centres'
        other coordinates, or anything said differs; or if the centres are not aligned on the
        queried axis, midway between those of ``supports``. Names the sample or stem.

    Notes
    -----
    The background is no part of a sample; the pictures themselves must tell.
    """
    shown = {
        (s.stem_id, s.text_state): s
        for s in factorial
        if s.visual_state == "supports" and s.text_state != "absent"
    }
    counts = Counter((s.stem_id, s.text_state) for s in neutral)
    wrong = [key for key in {**shown, **counts} if counts[key] != 1 or key not in shown]
    if wrong:
        raise SchemaError(
            "Each stem of the factorial has one neutral sample with each speaking note; got "
            f"{counts[wrong[0]]} for stem {wrong[0][0]!r} with the note {wrong[0][1]!r}."
        )
    for sample in neutral:
        match = shown[sample.stem_id, sample.text_state]
        if not (_says_the_same(sample, match) and _is_aligned(sample, match)):
            raise SchemaError(
                f"Neutral sample {sample.sample_id!r} must equal {match.sample_id!r} but for the "
                "centres on the queried axis, both midway, and the label no."
            )


def _says_the_same(sample: Sample, match: Sample) -> bool:
    fields = ("note", "question", "statement", "relation", "subject", "object")
    same = all(getattr(sample, field) == getattr(match, field) for field in fields)
    return same and sample.label == "no"


def _is_aligned(sample: Sample, match: Sample) -> bool:
    along = 0 if sample.relation in HORIZONTAL else 1
    new, old = (np.array([s.subject_box, s.object_box]) for s in (sample, match))
    middles = new[:, along] + new[:, 2 + along] / 2
    midway = np.floor((old[:, along] + old[:, 2 + along] / 2).mean())
    rest = np.array_equal(np.delete(new, along, axis=1), np.delete(old, along, axis=1))
    return rest and bool((middles == midway).all())
