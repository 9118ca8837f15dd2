"""From the six samples of an edit to what a person is asked about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vca_core.records import Sample, SchemaError

ROLES = {
    "source_queried": "yes",
    "source_inverse": "no",
    "edited_queried": "no",
    "edited_inverse": "yes",
    "subject_present": "yes",
    "object_present": "yes",
}
"""The probe roles of an edit, and the label of each if the edit does what it should."""


class Edit(NamedTuple):
    """One edited picture beside its source."""

    edit_id: str
    source: str
    """Image file of the source, below the image folder."""
    edited: str
    subject: str
    object: str
    statement: str
    """True of the source."""
    inverse: str
    """True of the edited picture."""


def edits_from_samples(samples: Iterable[Sample]) -> list[Edit]:
    """Gather the edits of a manifest, in its order.

    Parameters
    ----------
    samples : iterable of Sample
        Six an edit: one a role of `ROLES`, under one ``edit_id``. The source roles carry the
        source picture, the other four the edited one.

    Returns
    -------
    list of Edit

    Raises
    ------
    SchemaError
        If a sample has no `edit_id`; if a role is missing, unknown or doubled; if a label, a
        picture or a statement does not fit its role; or if subject and object are not named.
    """
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.edit_id is None:
            raise SchemaError(
                f"Each sample of an edit needs an `edit_id`, got none in sample_id "
                f"{sample.sample_id!r}; use the manifest of the data set `edits`."
            )
        groups.setdefault(sample.edit_id, []).append(sample)
    if not groups:
        raise SchemaError("An audit needs at least one edit, got no samples.")
    return [_edit(edit_id, group) for edit_id, group in groups.items()]


def _edit(edit_id: str, group: list[Sample]) -> Edit:
    by_role = {sample.probe_role: sample for sample in group}
    if len(group) != len(ROLES) or set(by_role) != set(ROLES):
        got = ", ".join(str(sample.probe_role) for sample in group)
        raise SchemaError(
            f"An edit has one sample a `probe_role` of {', '.join(ROLES)}; got {got} for edit_id "
            f"{edit_id!r}."
        )
    for role, label in ROLES.items():
        if by_role[role].label != label:
            raise SchemaError(
                f"`label` of {role} must be {label!r}, got {by_role[role].label!r} in sample_id "
                f"{by_role[role].sample_id!r}."
            )
    queried, inverse = by_role["source_queried"], by_role["source_inverse"]
    for name in ("subject", "object"):
        if getattr(queried, name) is None:
            raise SchemaError(
                f"`{name}` must be named, got none in sample_id {queried.sample_id!r}."
            )
    return Edit(
        edit_id,
        source=_same([queried, inverse], "image"),
        edited=_same([by_role[role] for role in list(ROLES)[2:]], "image"),
        subject=queried.subject,
        object=queried.object,
        statement=_same([queried, by_role["edited_queried"]], "statement"),
        inverse=_same([inverse, by_role["edited_inverse"]], "statement"),
    )


def _same(samples: list[Sample], field: str) -> str:
    """Value of a field that these samples must share."""
    values = {getattr(sample, field) for sample in samples}
    if len(values) > 1 or None in values:
        ids = ", ".join(repr(sample.sample_id) for sample in samples)
        shown = ", ".join(sorted(repr(value) for value in values))
        raise SchemaError(f"`{field}` must be one and the same in {ids}; got {shown}.")
    return values.pop()
