"""The append-only journal of a run, its recovery after a crash, its compaction to Parquet."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from vca_core.cache.files import write_run_record, write_scores
from vca_core.records import SchemaError, Score, explain

try:
    import fcntl
except ImportError:  # no advisory locks on Windows
    fcntl = None


class Journal:
    """Scores of a run in progress: ``<model>.journal.jsonl`` beside the scores file.

    Each `append` is on disk before it returns, so a killed run loses at most the batch in flight.

    Parameters
    ----------
    scores : Path
        The Parquet file that the journal will become part of.
    settings_sha256 : str
        Settings of this run. Rows of an unfinished run with other settings are set aside in a
        file of their own (``set_aside``), never mixed in.

    Raises
    ------
    SchemaError
        If a line other than the torn last one is no score; names file and line.
    RuntimeError
        If another run is writing the same file.
    """

    def __init__(self, scores: Path, settings_sha256: str = "") -> None:
        self.scores = scores
        self.settings_sha256 = settings_sha256
        self.set_aside: Path | None = None
        self.path = journal_path(scores)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise RuntimeError(
                    f"Another run is writing {self.path.resolve()}: "
                    "wait for it, or use another --out."
                ) from None
        try:
            self.rows, self.torn_bytes = self._recover()
        except SchemaError:
            self._file.close()
            raise

    def _recover(self) -> tuple[list[Score], int]:
        """Read what is there and cut off a torn last line."""
        self._file.seek(0)
        raw = self._file.read()
        head = raw[: raw.find(b"\n") + 1]
        if head != self._header():
            if head and raw.count(b"\n") > 1:
                self.set_aside = self.path.with_name(f"{self.path.name}.{_hash8(head)}.old")
                self.set_aside.write_bytes(raw)
            self._file.truncate(0)
            self._file.write(self._header())
            self._sync()
            return [], 0
        whole = raw[: raw.rfind(b"\n") + 1]
        rows, good = [], len(head)
        lines = whole.split(b"\n")[:-1]
        for number, line in enumerate(lines[1:], start=2):
            if line.strip():
                try:
                    rows.append(_parse(line, self.path, number))
                except SchemaError:
                    # A tail can be torn and still be followed by a newline or blank lines.
                    if any(rest.strip() for rest in lines[number:]) or _is_json(line):
                        raise
                    break
            good += len(line) + 1
        if good < len(raw):
            self._file.truncate(good)
            self._sync()
        return rows, len(raw) - good

    def _header(self) -> bytes:
        return json.dumps({"settings_sha256": self.settings_sha256}).encode() + b"\n"

    def append(self, rows: Sequence[Score]) -> None:
        """Write scores and force them to disk."""
        text = "".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows)
        self._file.write(text.encode())
        self._sync()
        self.rows += rows

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def compact(self, keep: Iterable[dict], record: dict, aside: Path | None = None) -> int:
        """Merge with rows of an earlier run, write Parquet and run record, remove the journal.

        Parameters
        ----------
        keep : iterable of dict
            Rows of the present scores file that still hold; a journalled row of the same sample,
            context and wording replaces one.
        record : dict
            Run record.
        aside : Path, optional
            Where the present scores file goes instead of being replaced.

        Returns
        -------
        int, rows of the file
        """
        merged = {row_key(row): row for row in keep}
        merged |= {row_key(row): row for row in (score.model_dump() for score in self.rows)}
        if aside is not None and self.scores.is_file():
            self.scores.replace(aside)
        if merged:
            write_scores(merged.values(), self.scores)
            write_run_record(self.scores, record)
        self.path.unlink()
        self.close()
        return len(merged)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; an empty journal is removed."""
        if not self._file.closed:
            empty = self._file.seek(0, os.SEEK_END) <= len(self._header())
            self._file.close()
            if empty:
                self.path.unlink(missing_ok=True)


def journal_path(scores: Path) -> Path:
    """``<model>.journal.jsonl`` beside a scores file."""
    return scores.with_name(scores.name.removesuffix(".parquet") + ".journal.jsonl")


def _hash8(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def row_key(row: dict) -> tuple[str, str, str]:
    """Return what a row of one file is about: sample, context, wording."""
    return row["sample_id"], row["context"], row["wording"]


def _parse(line: bytes, path: Path, number: int) -> Score:
    try:
        return Score.model_validate(json.loads(line))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}, line {number}: not JSON ({error}).") from None
    except ValidationError as error:
        raise SchemaError(f"{path}, line {number}: {explain(error)}.") from None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def append_scores(scores: Path, rows: Sequence[Score], settings_sha256: str = "") -> None:
    """Append to a file's journal and release it; for tools that score elsewhere."""
    with Journal(scores, settings_sha256) as journal:
        journal.append(rows)
