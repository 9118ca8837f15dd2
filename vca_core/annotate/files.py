"""The two files of an audit: the coordinator's key, and the decisions an annotator saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, TypeVar, get_args

from pydantic import ValidationError

from vca_core.records import Record, SchemaError, Text, explain

Answer = Literal["yes", "no", "unsure"]
ANSWERS: tuple[str, ...] = get_args(Answer)
"""What an annotator can answer."""
CRITERIA = ("original_valid", "edited_flipped", "objects_visible", "artifacts_not_blocking")
"""What an accepted edit needs, in the order of the page; [liu2026visual]_, Sec. 17."""
KEY_FORMAT = "vca-annotation-key/1"
DECISIONS_FORMAT = "vca-annotation-decisions/1"


class KeyItem(Record):
    """One place in a sheet; ``showing`` 2 is the repeat of an edit."""

    item: Text
    edit_id: Text
    showing: Literal[1, 2]


class KeySheet(Record):
    """One annotator's sheet, items in the order shown."""

    sheet: Text
    annotator: int
    file: Text
    items: list[KeyItem]


class Key(Record):
    """What the opaque ids of all sheets stand for; never sent out."""

    format: Literal["vca-annotation-key/1"]
    key: Text
    sheets: list[KeySheet]


class Decision(Record):
    """Answers to one item; None where there is none yet."""

    item: Text
    original_valid: Answer | None = None
    edited_flipped: Answer | None = None
    objects_visible: Answer | None = None
    artifacts_not_blocking: Answer | None = None


class Decisions(Record):
    """What the page saves."""

    format: Literal["vca-annotation-decisions/1"]
    sheet: Text
    saved: str
    decisions: list[Decision]


Kind = TypeVar("Kind", Key, Decisions)


def read_file(path: str | Path, kind: type[Kind]) -> Kind:
    """Read a key or a decisions file.

    Raises
    ------
    SchemaError
        If it is no JSON, of another format or version, or breaks a rule of its records.
    FileNotFoundError
        With the absolute path that was tried.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No file at {path.resolve()}.")
    try:
        return kind.model_validate(json.loads(path.read_text(encoding="utf-8-sig")))
    except ValueError as error:  # a ValidationError is one too, and so is a bad byte
        why = explain(error) if isinstance(error, ValidationError) else f"not JSON ({error})"
        raise SchemaError(f"{path}: {why}.") from None
