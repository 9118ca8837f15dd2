"""The cells of one row of a table to a sample."""

from __future__ import annotations

import json
import re

from vca_core.manifests.images import image_fault
from vca_core.manifests.text import question_from_statement
from vca_core.records import Sample, SchemaError

_LABELS = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
# The probe's text ends in this sentence already.
_INSTRUCTION = re.compile(r"\s*\banswer yes or no\.?$", re.IGNORECASE)


def clean(value: object) -> object:
    """Cell with outer space taken off; None for what is missing, NaN above all."""
    if isinstance(value, str):
        value = value.replace("\r\n", "\n").strip()
        return None if value.lower() in ("", "nan") else value
    return None if isinstance(value, float) and value != value else value


def sample_from_cells(cells: dict[str, object], dataset: str, own_id: str | None) -> Sample:
    """Make the sample of a row.

    Parameters
    ----------
    cells : dict
        Column to value, as `clean` leaves it.
    dataset : str
        Name of the data set.
    own_id : str or None
        The id to give; None where the row must bring one.

    Raises
    ------
    SchemaError, ValidationError
        With the rule that the row breaks.
    """
    for name in ("image", "label") + (("id",) if own_id is None else ()):
        if cells.get(name) is None:
            raise SchemaError(f"`{name}` is missing")
    if isinstance(cells["image"], str) and (fault := image_fault(cells["image"])):
        raise SchemaError(fault)
    question, statement = _surfaces(cells)
    label = _label(cells["label"])
    polarity = _polarity(cells, label)
    return Sample(
        sample_id=own_id or _id(cells["id"]),
        dataset=dataset,
        image=cells["image"],
        question=question,
        statement=statement,
        label=label,
        pair_id=_id(cells.get("pair_id")),
        polarity=polarity,
        relation=cells.get("relation"),
        subject=cells.get("subject"),
        object=cells.get("object"),
        subject_box=_box(cells.get("subject_box"), "subject_box"),
        object_box=_box(cells.get("object_box"), "object_box"),
    )


def _surfaces(cells: dict[str, object]) -> tuple[object, object]:
    question, statement = cells.get("question"), cells.get("statement")
    if isinstance(statement, str):
        if statement.endswith("?"):
            raise SchemaError(
                f"`statement` must state; a question goes under `question`, got {statement!r}"
            )
        statement = statement if statement.endswith((".", "!")) else f"{statement}."
        question = question_from_statement(statement) if question is None else question
    if question is None and statement is None:
        raise SchemaError("`question` and `statement` are missing; a row needs one of them")
    if isinstance(question, str):
        question = _INSTRUCTION.sub("", question)
    return question, statement


def _label(value: object) -> str:
    key = str(value).casefold() if isinstance(value, str | bool) or type(value) is int else None
    if key not in _LABELS:
        raise SchemaError(f"`label` must be yes, true or 1, or no, false or 0, got {value!r}")
    return _LABELS[key]


def _polarity(cells: dict[str, object], label: str) -> str | None:
    value = cells.get("polarity")
    if value is None:
        return {"yes": "true", "no": "false"}[label] if cells.get("pair_id") is not None else None
    polarity = str(value).casefold() if isinstance(value, str | bool) else None
    if polarity not in ("true", "false"):
        raise SchemaError(f"`polarity` must be true or false, got {value!r}")
    if (polarity == "true") != (label == "yes"):
        raise SchemaError(f"`polarity` {polarity} contradicts `label` {label}")
    return polarity


def _id(value: object) -> object:
    return str(value) if type(value) is int else value


def _box(value: object, name: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            value = json.loads(value if value.startswith("[") else f"[{value}]")
        if any(isinstance(v, str | bool) for v in value):
            raise TypeError
        return tuple(float(v) for v in value)
    except (ValueError, TypeError, OverflowError):
        raise SchemaError(f"`{name}` must be x,y,width,height in pixels, got {value!r}") from None
