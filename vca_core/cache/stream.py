"""Wide margins of scores that are too many for memory, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from vca_core.cache.files import check_schema, resolve
from vca_core.cache.load import check_asked, select_files, settle
from vca_core.cache.parts import WORD, parts_of, to_objects
from vca_core.cache.wide import INDEX, LeftOut, to_wide
from vca_core.records import SchemaError

PART_ROWS = 300_000
"""Rows of scores that are held in memory at a time."""
FACTS = ["label", "pair_id"]
"""Facts of a sample that a part carries: what events and clusters need."""
_NAMES = [(name, pa.string() if name == "sample_id" else WORD) for name in INDEX]
_FACTS = [("label", WORD), ("pair_id", pa.string())]
SCORES = pa.schema([*_NAMES, *_FACTS, ("context", WORD), ("margin", pa.float64())])


def count_rows(
    scores_dir: str | Path,
    *,
    interface: str = "yes_no",
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
) -> int:
    """Rows of the scores files that `load_margins` would read, from their footers alone.

    Raises
    ------
    FileNotFoundError, NotScoredError, SchemaError
        As `load_margins`.
    """
    check_asked(interface, (), "refuse")
    paths = select_files(resolve(scores_dir), interface, models, datasets)
    return sum(pq.read_metadata(path).num_rows for path in paths)


def stream_margins(
    scores_dir: str | Path,
    *,
    contexts: Sequence[str],
    interface: str = "yes_no",
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
    incomplete: str = "refuse",
) -> Iterator[pd.DataFrame]:
    """Read scores files as `load_margins` does, in frames of bounded size.

    Rows may come in any order. A file of more than `PART_ROWS` rows is split by sample into
    temporary files, each is pivoted, and statements with a ``pair_id`` are split once more by
    pair. Time grows with the rows, memory does not; disk space for about the columns read is
    needed in the folder that TMPDIR names.

    Parameters
    ----------
    contexts : sequence of str
        Contexts each sample must have.
    scores_dir, interface, models, datasets, incomplete
        As in `load_margins`. What is incomplete is told at the end of each file: an error can
        come after some of its frames.

    Yields
    ------
    DataFrame, one row per (model, dataset, interface, wording, sample_id)
        `INDEX`, ``label``, ``pair_id`` and ``margin_<context>`` in nats. Together they are the
        rows of `load_margins`, file by file; each holds its relation pairs, or single samples,
        whole. So counts over clusters of a run may be added up.

    Raises
    ------
    FileNotFoundError, NotScoredError, SchemaError
        As `load_margins`; of a sample's facts, label and pair are checked.
    """
    check_asked(interface, contexts, incomplete)
    root = resolve(scores_dir)
    empty = True
    for path in select_files(root, interface, models, datasets):
        for wide in _stream_file(path, contexts, incomplete):
            empty = empty and wide.empty
            yield wide
    if empty:
        raise SchemaError(f"No sample below {root} has all contexts {list(contexts)}.")


def _stream_file(path: Path, contexts: Sequence[str], incomplete: str) -> Iterator[pd.DataFrame]:
    check_schema(path)
    left_out = LeftOut(path, contexts)
    wide_parts = (
        left_out.complete(to_wide(to_objects(table), path, contexts, FACTS))
        for table in parts_of(path, "sample_id", SCORES, rows=PART_ROWS)
    )
    if pq.read_metadata(path).num_rows <= PART_ROWS:
        yield from wide_parts
        settle(left_out, incomplete)
        return
    margins = [(f"margin_{context}", pa.float64()) for context in contexts]
    schema = pa.schema([*_NAMES, *_FACTS, *margins])
    with TemporaryDirectory(prefix="vca-") as folder:
        pairs = Path(folder) / "pairs.parquet"
        few = [field.name for field in schema if field.type == WORD]
        with pq.ParquetWriter(pairs, schema, use_dictionary=few) as writer:
            for wide in wide_parts:
                alone = wide["pair_id"].isna()
                yield wide[alone]
                paired = wide[~alone]
                writer.write_table(pa.Table.from_pandas(paired, schema, preserve_index=False))
        settle(left_out, incomplete)
        for table in parts_of(pairs, "pair_id", schema, rows=PART_ROWS):
            yield to_objects(table).astype(dict.fromkeys(INDEX, str))
