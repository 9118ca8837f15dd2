"""Bring in records of other tools: wide or long JSONL, CSV or Parquet."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from vca_core.cache.files import (
    read_run_record,
    read_scores,
    scores_path,
    write_run_record,
    write_scores,
)
from vca_core.cache.foreign import clean, read_records
from vca_core.cache.journal import journal_path, row_key
from vca_core.cache.verify import update_manifest
from vca_core.records import CONTEXTS, SchemaError, Score, explain

WIDE = {f"margin_{context}": context for context in CONTEXTS}
FIELDS = tuple(Score.model_fields)
NUMBERS = ("margin", "loss_yes", "loss_no", "answer_mass")
FACTS = {"label", "pair_id", "polarity", "relation", "subject", "object"}
COUNTS = ("n_tokens_yes", "n_tokens_no", "image_width", "image_height")


class Imported(NamedTuple):
    """What an import wrote."""

    files: dict[Path, int]
    """Rows per scores file."""
    errors: int
    """Rows without a finite margin, kept as error rows."""
    replaced: int
    """Rows of earlier imports that made way."""
    ignored: list[str]
    """Columns that no field was mapped from."""


def import_scores(
    file: str | Path,
    out_dir: str | Path,
    *,
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
    dataset: str | None = None,
    interface: str | None = None,
) -> Imported:
    """Write records of another tool into a scores cache.

    Parameters
    ----------
    file : path
        ``.jsonl``, ``.csv`` or ``.parquet``. Wide: one row per statement, with ``margin_original``
        and further ``margin_<context>``. Long: one row per statement and context, with ``context``
        and ``margin`` (or both losses).
    out_dir : path
        Root of the cache.
    mapping : mapping, optional
        Field name here to column name there, where they differ.
    model, dataset, interface : str, optional
        For all rows, where the file has no such column. The interface defaults to ``yes_no``.

    Returns
    -------
    Imported

    Raises
    ------
    SchemaError
        If a field or column is unknown, a row breaks the schema or stands twice, or live scores
        of the same name are there; names file and row.
    """
    file = Path(file)
    mapping = dict(mapping or {})
    constants = {"model": model, "dataset": dataset, "interface": interface}
    rows, columns = read_records(file)
    _check_mapping(file, mapping, columns)
    source = {name: name for name in (*FIELDS, *WIDE) if name in columns} | mapping
    wide = [name for name in WIDE if name in source]
    if not wide and "context" not in source:
        raise SchemaError(
            f"{file}: needs `margin_original` and other `margin_<context>` columns (wide), or "
            f"`context` with `margin` or both losses (long); got {sorted(columns)}. "
            "Name columns with --map."
        )
    groups: dict[Path, dict[tuple, dict]] = {}
    facts: dict[tuple, tuple[int, dict]] = {}
    seen: dict[tuple, int] = {}
    for number, raw in rows:
        values = {name: clean(raw.get(column)) for name, column in source.items()}
        values = {k: v for k, v in values.items() if v is not None}
        for name, value in constants.items():
            if value is not None:
                values[name] = value
        for score in _scores(values, wide, file, number):
            path = scores_path(out_dir, score.dataset, score.interface, score.model)
            key = (path, *row_key(score.model_dump(include={"sample_id", "context", "wording"})))
            if key in seen:
                raise SchemaError(
                    f"{file}, row {number}: second record of {score.sample_id!r} "
                    f"({score.context}), first in row {seen[key]}."
                )
            seen[key] = number
            _check_facts(score, facts.setdefault((path, score.sample_id, score.wording),
                         (number, score.model_dump(include=FACTS))), file, number)  # fmt: skip
            groups.setdefault(path, {})[key] = score.model_dump()
    if not groups:
        raise SchemaError(f"{file}: no rows.")
    replaced = _write(file, Path(out_dir), groups, mapping)
    errors = sum(r["status"] == "error" for g in groups.values() for r in g.values())
    ignored = sorted(columns - set(source.values()))
    return Imported({path: len(group) for path, group in groups.items()}, errors, replaced, ignored)


def _check_facts(score: Score, first: tuple[int, dict], file: Path, number: int) -> None:
    """Refuse a row whose label or other fact contradicts an earlier row of its sample."""
    row, known = first
    for name, value in score.model_dump(include=FACTS).items():
        if None not in (value, known[name]) and value != known[name]:
            raise SchemaError(
                f"{file}, row {number}: rows of one sample must agree on `{name}`, got {value!r} "
                f"for {score.sample_id!r}, in row {row} {known[name]!r}."
            )


def _check_mapping(file: Path, mapping: Mapping[str, str], columns: set[str]) -> None:
    for name, column in mapping.items():
        if name not in FIELDS and name not in WIDE:
            raise SchemaError(f"--map {name}={column}: unknown field; expected one of "
                              f"{[*WIDE, *FIELDS]}.")  # fmt: skip
        if column not in columns:
            raise SchemaError(
                f"{file}: --map {name}={column}: no such column; got {sorted(columns)}."
            )


def _scores(values: dict, wide: list[str], file: Path, number: int) -> Iterator[Score]:
    where = f"{file}, row {number}"
    values = dict(values)
    values.setdefault("interface", "yes_no")
    for name in ("model", "dataset", "sample_id"):
        if name not in values:
            option = f"; give --{name}" if name != "sample_id" else ""
            raise SchemaError(f"{where}: `{name}` is missing{option} or map a column to it.")
    for name in ("label", "polarity"):
        if name in values:
            values[name] = str(values[name]).lower()
    for name in FIELDS:
        if name in values and name not in (*NUMBERS, *COUNTS):
            values[name] = _text(values[name], name, where)
    for name in (*NUMBERS, *COUNTS, *wide):
        if name in values:
            values[name] = _number(values[name], name, where)
    for name in COUNTS:
        if name in values:
            values[name] = int(values[name])
    if not wide:
        yield _score(values, where)
        return
    margins = {WIDE[name]: values.pop(name, None) for name in wide}
    for context, margin in margins.items():
        yield _score({**values, "context": context, "margin": margin}, where)


def _text(value: Any, name: str, where: str) -> str:
    if isinstance(value, float):
        raise SchemaError(f"{where}: `{name}` must be text or a whole number, got {value!r}.")
    return str(value)


def _number(value: Any, name: str, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SchemaError(f"{where}: `{name}` must be a number, got {value!r}.") from None


def _score(values: dict, where: str) -> Score:
    losses = [values.get("loss_yes"), values.get("loss_no")]
    margin = values.get("margin")
    if margin is None and None not in losses:
        margin = losses[1] - losses[0]
    if values.get("status") != "error" and margin is not None and math.isfinite(margin):
        values = {**values, "margin": margin}
    else:
        reason = values.get("error") or f"no finite margin in {where}, got {margin}"
        values = {k: v for k, v in values.items() if k not in NUMBERS}
        values |= {"status": "error", "error": reason}
    try:
        return Score.model_validate(values)
    except ValidationError as error:
        raise SchemaError(f"{where}: {explain(error)}.") from None


def _write(file: Path, out_dir: Path, groups: dict[Path, dict], mapping: Mapping[str, str]) -> int:
    """Write files and run records; returns how many rows of earlier imports were replaced."""
    for path in groups:
        record = read_run_record(path)
        if journal_path(path).exists() or (path.exists() and record.get("origin") != "imported"):
            raise SchemaError(
                f"{path}: holds scores that were not imported; use another --out or --model."
            )
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    written = []
    replaced = sum(len(read_scores(path)) for path in groups if path.exists())
    for path, group in groups.items():
        write_scores(group.values(), path)
        record = {
            "origin": "imported",
            "source": file.name,
            "source_sha256": digest,
            "mapping": dict(mapping),
            "rows": len(group),
            "status": dict(Counter(row["status"] for row in group.values())),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        write_run_record(path, record)
        written += [path, path.with_name(path.name.removesuffix(".parquet") + ".run.json")]
    update_manifest(out_dir, written)
    return replaced
