"""Rows of somebody else's file: text and JSON read strictly, faults kept with their place."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vca_core.records import SchemaError


class RefusedRow(NamedTuple):
    """A row that makes no sample, where it stands, and why.

    ``line`` is the line of the file on which the row begins (None in a JSON array), ``row`` counts
    the data rows, both from 1; ``data`` is the row as it was read.
    """

    file: str
    line: int | None
    row: int
    reason: str
    data: object

    def __str__(self) -> str:
        place = f"row {self.row}" if self.line is None else f"line {self.line} (row {self.row})"
        return f"{self.file}, {place}: {self.reason.rstrip('.')}."


def raise_refused(refused: Sequence[RefusedRow]) -> None:
    """Raise one `SchemaError` that lists every refused row; do nothing if there is none."""
    if len(refused) == 1:
        raise SchemaError(str(refused[0]))
    if refused:
        listed = "\n".join(f"  {row}" for row in refused)
        raise SchemaError(f"{refused[0].file}: {len(refused)} rows refused:\n{listed}")


def read_text(path: Path) -> str:
    """Text of a UTF-8 file, a byte-order mark taken off; line ends stay as they are.

    Raises
    ------
    FileNotFoundError
        With the absolute path that was tried.
    SchemaError
        If the file is not UTF-8; names the line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No file at {path.resolve()}.")
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SchemaError(
            f"{path}, line {line}: text must be UTF-8, got byte 0x{raw[error.start]:02x}; "
            "save the file as UTF-8."
        ) from None


def parse_json(text: str) -> object:
    """Parse one JSON value; a key that stands twice in an object is a ValueError too."""
    return json.loads(text, object_pairs_hook=_unique_keys)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"key {key!r} stands twice")
    return dict(pairs)


def json_lines(path: Path) -> Iterator[tuple[int, int, dict | None, RefusedRow | None]]:
    """Yield (line, row, object, None), or (line, row, None, refused), for each line not blank."""
    row = 0
    # not str.splitlines: U+2028 and its like may stand inside a JSON string
    for line, text in enumerate(io.StringIO(read_text(path), newline=None), start=1):
        if not text.strip():
            continue
        row += 1
        try:
            value = parse_json(text)
        except ValueError as error:
            yield (
                line,
                row,
                None,
                RefusedRow(str(path), line, row, f"not JSON ({error})", text.strip()),
            )
            continue
        if isinstance(value, dict):
            yield line, row, value, None
        else:
            reason = f"a line must hold a JSON object, got {type(value).__name__}"
            yield line, row, None, RefusedRow(str(path), line, row, reason, value)
