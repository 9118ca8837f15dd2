"""CSV read row by row, each with the line it begins on; and the columns a table may have."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from vca_core.manifests.rows import RefusedRow, read_text
from vca_core.records import SchemaError

COLUMNS = (
    "image",
    "question",
    "statement",
    "label",
    "id",
    "pair_id",
    "polarity",
    "relation",
    "subject",
    "object",
    "subject_box",
    "object_box",
)
"""What a table may bring; ``image``, ``label`` and one of ``question``, ``statement`` it must."""


def check_columns(names: Iterable[str], where: str) -> None:
    """Refuse columns that a table doesn't have, so that a misspelt one is not passed over."""
    for name in names:
        if name in COLUMNS:
            continue
        near = difflib.get_close_matches(name.lower(), COLUMNS, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        raise SchemaError(
            f"{where}: unknown column {name!r}.{hint} A table has {', '.join(COLUMNS)}."
        )


def csv_rows(path: Path) -> Iterator[tuple[int, int, dict | None, RefusedRow | None]]:
    """Yield (line, row, cells, None), or (line, row, None, refused), for each row not blank.

    Raises
    ------
    SchemaError
        If the header does not fit, or a quote is never closed: then no later row can be trusted.
    """
    header: list[str] | None = None
    row = 0
    for line, cells in _records(path):
        if header is None:
            header = [cell.strip() for cell in cells]
            _check_header(header, f"{path}, line {line}")
            continue
        row += 1
        if len(cells) == len(header):
            yield line, row, dict(zip(header, cells, strict=True)), None
        else:
            reason = f"a row must have {len(header)} cells like the header, got {len(cells)}"
            yield line, row, None, RefusedRow(str(path), line, row, reason, cells)
    if header is None:
        raise SchemaError(f"{path}: a table begins with a header, got an empty file.")


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    # newline="" leaves line ends inside quotes as they are and lets the reader count lines
    reader = csv.reader(
        io.StringIO(read_text(path), newline=""), strict=True, skipinitialspace=True
    )
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SchemaError(
                f"{path}, line {line}: the row that begins here is no CSV ({error})."
            ) from None
        if len(cells) > 1 or "".join(cells).strip():
            yield line, cells


def _check_header(header: list[str], where: str) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise SchemaError(
            f"{where}: cells must be separated by commas, got the header {header[0]!r}."
        )
    for position, name in enumerate(header, start=1):
        if not name:
            raise SchemaError(
                f"{where}: every column needs a name, got none for column {position} "
                "(pandas writes such a column for its index; use `index=False`)."
            )
        if header.count(name) > 1:
            raise SchemaError(f"{where}: column {name!r} stands twice.")
    check_columns(header, where)
    missing = [name for name in ("image", "label") if name not in header]
    if not {"question", "statement"} & set(header):
        missing.append("question` or `statement")
    if missing:
        raise SchemaError(f"{where}: missing column {', '.join(f'`{name}`' for name in missing)}.")
