"""Rows of files that other tools wrote: JSONL, CSV or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from vca_core.records import SchemaError


def read_records(file: Path) -> tuple[Iterator[tuple[int, dict]], set[str]]:
    """Rows with their numbers (lines of a JSONL, data rows of a table), and all column names."""
    if not file.is_file():
        raise FileNotFoundError(f"No file at {file.resolve()}.")
    if file.suffix == ".csv":
        try:
            frame = pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise SchemaError(f"{file}: not a CSV file in UTF-8 ({error}).") from None
    elif file.suffix == ".parquet":
        frame = pd.read_parquet(file)
    elif file.suffix in (".jsonl", ".ndjson"):
        records = []
        for number, line in enumerate(file.read_text("utf-8-sig").split("\n"), start=1):
            if line.strip():
                records.append((number, _json_object(line, file, number)))
        return iter(records), {name for _, record in records for name in record}
    else:
        raise SchemaError(f"{file}: expected .jsonl, .csv or .parquet.")
    rows = frame.to_dict("records")
    return iter(enumerate(rows, start=1)), set(map(str, frame.columns))


def _json_object(line: str, file: Path, number: int) -> dict:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{file}, row {number}: not JSON ({error}).") from None
    if not isinstance(record, dict):
        raise SchemaError(f"{file}, row {number}: expected an object, got {line.strip()[:60]!r}.")
    return record


def clean(value: Any) -> Any:
    """None for what is empty; text stripped; numpy scalars as Python's."""
    if isinstance(value, str):
        return value.strip() or None
    if hasattr(value, "item"):
        value = value.item()
    # A NaN margin is no margin; any other NaN is an empty cell too.
    return None if value is None or value is pd.NA or value != value else value
