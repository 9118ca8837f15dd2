"""A Parquet file in parts that fit in memory, each with all rows of its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

WORD = pa.dictionary(pa.int32(), pa.string())
"""Type of a text column with few different values."""
_BATCH = 250_000
"""Rows read at a time."""
_MOST = 128
"""Files written at once."""


def parts_of(
    path: Path, key: str, schema: pa.Schema, *, rows: int, level: int = 0
) -> Iterator[pa.Table]:
    """Tables of about `rows` rows that together are the file, in one pass over it.

    A file of more rows is split by a hash of the key into temporary files (in the folder that
    TMPDIR names), so rows may come in any order. Memory is that of one table; the disk space is
    that of the columns.

    Parameters
    ----------
    path : Path
    key : str
        A text column; rows with the same value come in the same table, in the file's order.
    schema : Schema
        Columns to read and their types: text as ``string`` or `WORD`.
    rows : int
        A table has more only where one key has, or chance puts some more keys together.
    level : int
        How often the rows were split already.
    """
    n_rows = pq.read_metadata(path).num_rows
    if n_rows <= rows or level == 2:  # what two splits could not part is of one key
        yield pa.concat_tables([schema.empty_table(), *read_batches(path, schema)])
        return
    n_parts = min(_MOST, -(-n_rows // rows))
    with TemporaryDirectory(prefix="vca-") as folder:
        paths = [Path(folder) / f"{part}.parquet" for part in range(n_parts)]
        _scatter(read_batches(path, schema), key, schema, paths, level)
        for part in paths:
            # Parts differ in size by chance; half as much again is not worth another split.
            yield from parts_of(part, key, schema, rows=rows + rows // 2, level=level + 1)
            part.unlink()


def read_batches(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """Read some rows of a Parquet file at a time, as the schema says."""
    words = [field.name for field in schema if field.type == WORD]
    # Without pre_buffer=False, all of the columns would be read ahead.
    with pq.ParquetFile(path, read_dictionary=words, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=_BATCH, columns=schema.names):
            columns = [_as_type(batch.column(field.name), field.type) for field in schema]
            yield pa.Table.from_arrays(columns, schema=schema)


def _as_type(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if column.type == type_:
        return column
    if type_ == WORD:
        return column.cast(pa.string()).dictionary_encode()
    return column.cast(type_)


def _scatter(
    tables: Iterable[pa.Table], key: str, schema: pa.Schema, paths: Sequence[Path], level: int
) -> None:
    """Write each row to the file that the hash of its key names."""
    few = [field.name for field in schema if field.type == WORD]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                pq.ParquetWriter(path, schema, use_dictionary=few, write_statistics=False)
            )
            for path in paths
        ]
        for table in tables:
            part = _hash(table[key].combine_chunks(), level) % np.uint64(len(paths))
            part = part.astype(np.uint16)  # 16 bits are sorted by radix
            ordered = table.take(np.argsort(part, kind="stable"))
            ends = np.cumsum(np.bincount(part, minlength=len(paths)))
            for writer, start, end in zip(writers, [0, *ends[:-1]], ends, strict=True):
                if end > start:
                    writer.write_table(ordered.slice(start, end - start))


def _hash(keys: pa.Array, level: int) -> np.ndarray:
    """Hash of each key; other ones at each level. Nulls are one key."""
    encoded = keys.fill_null("").dictionary_encode()
    names = encoded.dictionary.to_numpy(zero_copy_only=False)
    hashes = pd.util.hash_array(names, hash_key=f"{level:016d}", categorize=False)
    return hashes[encoded.indices.to_numpy()]


def to_objects(table: pa.Table) -> pd.DataFrame:
    """Text as objects, None where there is none; equal text is one object."""
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type) or column.type == WORD:
            if column.type != WORD:
                column = column.dictionary_encode()
            names = column.dictionary.to_numpy(zero_copy_only=False).astype(object)
            codes = column.indices.fill_null(len(names)).to_numpy()
            columns[name] = pd.Series(np.append(names, None)[codes], dtype=object)
        else:
            columns[name] = column.to_numpy(zero_copy_only=False)
    return pd.DataFrame(columns)
