"""Where scores lie, and their Parquet form: ``<root>/<dataset>/<interface>/<model>.parquet``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from vca_core.records import INTERFACES, SCORE_SCHEMA, SchemaError

ROOT = Path(__file__).resolve().parents[2]
"""The project's root: relative score folders of notebooks start here."""
KEY = ["sample_id", "context", "wording"]
"""What a row of one file is about; unique within the file."""


SAME = {pa.string(): (pa.large_string(),), pa.int32(): (pa.int64(),)}
"""Types that other writers use for ours."""


def resolve(path: str | Path) -> Path:
    """Absolute path; a relative one is looked for in the working folder, then in the project."""
    path = Path(path).expanduser()
    if path.is_absolute() or path.exists():
        return path.resolve()
    return (ROOT / path).resolve()


def scores_path(root: str | Path, dataset: str, interface: str, model: str) -> Path:
    """Path of a scores file; names with slashes and the like are percent-encoded.

    Raises
    ------
    SchemaError
        If the interface is unknown or a name cannot be a file name.
    """
    if interface not in INTERFACES:
        raise SchemaError(f"Unknown interface {interface!r}; expected one of {list(INTERFACES)}.")
    parts = [quote(name, safe=" +,=@()") for name in (dataset, model)]
    for name, part in zip((dataset, model), parts, strict=True):
        if not part.strip(". "):
            raise SchemaError(f"{name!r} cannot name a data set or a model.")
    return Path(root) / parts[0] / interface / f"{parts[1]}.parquet"


def scores_files(root: str | Path) -> list[Path]:
    """All scores files below a root, sorted.

    Raises
    ------
    FileNotFoundError
        If the folder is not there; names the absolute path.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"No scores folder at {folder.resolve()}.")
    return sorted(folder.glob("*/*/*.parquet"))


def read_scores(path: str | Path) -> pd.DataFrame:
    """Read one scores file, all columns, in the order of the schema.

    Raises
    ------
    SchemaError
        If it is no Parquet file or a column is missing or of another type; names the file.
    """
    path = Path(path)
    check_schema(path)
    try:
        table = pq.read_table(path, partitioning=None)
    except pa.ArrowException as error:
        raise SchemaError(f"{path}: not a scores file ({error}).") from None
    return table.select(SCORE_SCHEMA.names).cast(SCORE_SCHEMA).to_pandas()


def check_schema(path: Path) -> None:
    """Refuse a file without the columns of a score, from its footer alone.

    Raises
    ------
    SchemaError
        If it is no Parquet file, or a column is missing, unknown or of another type.
    """
    try:
        schema = pq.read_schema(path)
    except pa.ArrowException as error:
        raise SchemaError(f"{path}: not a scores file ({error}).") from None
    for field in SCORE_SCHEMA:
        if field.name not in schema.names:
            raise SchemaError(f"{path}: column `{field.name}` is missing.")
        got = schema.field(field.name).type
        if got not in (field.type, *SAME.get(field.type, ())) and not pa.types.is_null(got):
            raise SchemaError(f"{path}: column `{field.name}` must be {field.type}, got {got}.")
    extra = set(schema.names) - set(SCORE_SCHEMA.names)
    if extra:
        raise SchemaError(f"{path}: unknown columns {sorted(extra)}.")


def names_in(path: Path) -> tuple[str | None, str | None]:
    """Model and data set of a scores file, from its first row; None where it has no row.

    Raises
    ------
    SchemaError
        If it is no Parquet file, or has not both columns; names the file.
    """
    names = ["model", "dataset"]
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            if not set(names) <= set(file.schema_arrow.names):
                raise SchemaError(f"{path}: column `model` or `dataset` is missing.")
            batch = next(file.iter_batches(batch_size=1, columns=names), None)
            first = [] if batch is None else batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise SchemaError(f"{path}: not a scores file ({error}).") from None
    return (first[0]["model"], first[0]["dataset"]) if first else (None, None)


def write_scores(rows: Iterable[dict], path: Path) -> int:
    """Write rows as Parquet in one step, sorted by sample, wording and context; returns how many.

    The same rows give the same bytes under one version of pyarrow.
    """
    rows = sorted(rows, key=lambda row: (row["sample_id"], row["wording"], row["context"]))
    table = pa.Table.from_pylist(rows, schema=SCORE_SCHEMA)
    partial = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, partial, compression="zstd")
    partial.replace(path)
    return len(rows)


def run_record_path(path: Path) -> Path:
    """``<model>.run.json`` beside a scores file."""
    return path.with_name(path.name.removesuffix(".parquet") + ".run.json")


def read_run_record(path: Path) -> dict:
    """Run record of a scores file; empty where there is none."""
    record = run_record_path(path)
    return json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}


def write_run_record(path: Path, record: dict) -> None:
    """Write the run record of a scores file in one step."""
    target = run_record_path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False, default=str)
    partial.write_text(text + "\n", encoding="utf-8", newline="\n")
    os.replace(partial, target)
