"""The three records (sample, probe, score), their closed vocabularies, and manifests on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal, get_args

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

Context = Literal[
    "original",
    "text_only",
    "blank",
    "mean_color",
    "mismatch",
    "relation_erased",
    "irrelevant_erased",
    "swapped",
]
Interface = Literal["yes_no", "true_false"]
Label = Literal["yes", "no"]
Polarity = Literal["true", "false"]

CONTEXTS: tuple[str, ...] = get_args(Context)
"""What may be shown beside the text."""
INTERFACES: tuple[str, ...] = get_args(Interface)
"""The two answer interfaces."""
VERBALIZERS: dict[str, tuple[str, str]] = {
    "yes_no": (" yes", " no"),
    "true_false": (" true", " false"),
}
"""Affirmative and negative continuation of each interface; the leading space is part of it."""
LABELS: tuple[str, ...] = get_args(Label)


class SchemaError(ValueError):
    """Data that breaks a rule of a record, a manifest or a scores file."""


class NotScoredError(SchemaError):
    """Scores that are asked for are not there; nothing is wrong with those that are."""


def _positive_box(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    if not all(math.isfinite(v) for v in box) or box[2] <= 0 or box[3] <= 0:
        raise ValueError(f"a box is (x, y, width, height) in pixels, both sizes above 0; got {box}")
    return box


Box = Annotated[tuple[float, float, float, float], AfterValidator(_positive_box)]
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Record(BaseModel):
    """Immutable, strict about names and types: a number is not an id."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Sample(Record):
    """One statement on one image.

    ``image`` is relative to the image folder; ``question`` and ``statement`` are the two surfaces
    of the same proposition, of which the interfaces ``yes_no`` and ``true_false`` need the first
    and the second. ``note`` is an evidence sentence shown before either.
    """

    sample_id: Text
    dataset: Text
    split: Text = "test"
    image: Text | None = None
    question: Text
    statement: Text | None = None
    note: Text | None = None
    label: Label
    wording: Text = "canonical"
    pair_id: Text | None = None
    polarity: Polarity | None = None
    relation: Text | None = None
    subject: Text | None = None
    object: Text | None = None
    subject_box: Box | None = None
    object_box: Box | None = None
    image_sha256: Text | None = None
    stem_id: Text | None = None
    visual_state: Literal["supports", "opposes", "absent"] | None = None
    text_state: Literal["supports", "opposes", "absent"] | None = None
    edit_id: Text | None = None
    probe_role: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _boxes_from_lists(cls, data: dict) -> dict:
        # JSON has no tuples, and strict mode takes no list for one.
        if not isinstance(data, dict):
            return data
        boxes = {k: data[k] for k in ("subject_box", "object_box") if isinstance(data.get(k), list)}
        return {**data, **{k: tuple(map(_as_float, v)) for k, v in boxes.items()}}


def _as_float(value: object) -> object:
    return float(value) if type(value) is int else value


class Probe(Record):
    """One scoring request: a sample in a context under an interface, before any model is chosen."""

    sample: Sample
    context: Context
    interface: Interface
    text: Text
    image: Text | None
    """Image file the context starts from (the partner's for ``mismatch``); None for text only."""


class Score(Record):
    """One scored probe: one row of a scores file. Losses and margins are nats per token."""

    model: Text
    checkpoint: str | None = None
    dataset: Text
    split: str | None = None
    sample_id: Text
    context: Context
    interface: Interface
    wording: Text = "canonical"
    label: Label | None = None
    question: str | None = None
    verbalizer_yes: str | None = None
    verbalizer_no: str | None = None
    n_tokens_yes: int | None = None
    n_tokens_no: int | None = None
    loss_yes: float | None = None
    loss_no: float | None = None
    margin: float | None = None
    answer_mass: float | None = None
    status: Literal["ok", "error"] = "ok"
    error: str | None = None
    probe_id: str | None = None
    prompt_sha256: str | None = None
    image_sha256: str | None = None
    image_width: int | None = None
    image_height: int | None = None
    pair_id: str | None = None
    polarity: Polarity | None = None
    relation: str | None = None
    subject: str | None = None
    object: str | None = None
    stem_id: str | None = None
    visual_state: str | None = None
    text_state: str | None = None
    edit_id: str | None = None
    probe_role: str | None = None

    @model_validator(mode="after")
    def _numbers_fit_status(self) -> Score:
        if self.status == "ok" and (self.margin is None or not math.isfinite(self.margin)):
            raise ValueError(f"`margin` must be finite when `status` is ok, got {self.margin}")
        if self.status == "error" and not self.error:
            raise ValueError("`error` must give the reason when `status` is error")
        if self.status == "error" and any(
            v is not None for v in (self.margin, self.loss_yes, self.loss_no, self.answer_mass)
        ):
            raise ValueError("the numbers must be null when `status` is error")
        return self


_FLOATS = {"loss_yes", "loss_no", "margin", "answer_mass"}
_INTS = {"n_tokens_yes", "n_tokens_no", "image_width", "image_height"}
SCORE_SCHEMA = pa.schema(
    [
        (name, pa.float64() if name in _FLOATS else pa.int32() if name in _INTS else pa.string())
        for name in Score.model_fields
    ]
)
"""Columns and types of a scores file, in order."""

CARRIED = tuple(
    name for name in Score.model_fields if name in Sample.model_fields and name != "question"
)
"""Fields that a score copies from its sample."""


def explain(error: ValidationError) -> str:
    """First fault of a validation error in one line: field, rule, and what was got."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    got = "" if first["type"] in ("missing", "extra_forbidden") else f", got {first['input']!r}"
    return (f"`{where}`: " if where else "") + first["msg"].removeprefix("Value error, ") + got


def read_manifest(path: str | Path) -> list[Sample]:
    """Read a JSONL manifest.

    Parameters
    ----------
    path : path
        One JSON object per line, the fields of `Sample`.

    Returns
    -------
    list of Sample, in file order

    Raises
    ------
    SchemaError
        If a line is no valid sample, or a (sample_id, wording) stands twice; names file and line.
    FileNotFoundError
        With the absolute path that was tried.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No manifest at {path.resolve()}.")
    samples: list[Sample] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in _lines(path):
        try:
            sample = Sample.model_validate(json.loads(line))
        except json.JSONDecodeError as error:
            raise SchemaError(f"{path}, line {number}: not JSON ({error}).") from None
        except ValidationError as error:
            raise SchemaError(f"{path}, line {number}: {explain(error)}.") from None
        key = (sample.sample_id, sample.wording)
        if key in seen:
            raise SchemaError(
                f"{path}, line {number}: `sample_id` must be unique within a wording, got "
                f"{sample.sample_id!r} ({sample.wording}) also on line {seen[key]}."
            )
        seen[key] = number
        samples.append(sample)
    if not samples:
        raise SchemaError(f"{path}: a manifest holds at least one sample, got none.")
    return samples


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line


def write_manifest(samples: Iterable[Sample], path: str | Path) -> int:
    """Write samples as JSONL, null fields left out; returns how many.

    The file is replaced in one step, so a reader never sees half of it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [sample.model_dump_json(exclude_none=True) for sample in samples]
    partial = path.with_name(path.name + ".part")
    partial.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    partial.replace(path)
    return len(lines)
