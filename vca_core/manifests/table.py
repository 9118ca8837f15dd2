"""A user's own table to samples: CSV or JSONL, one statement or question on one image a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from vca_core.manifests.images import check_images, link_fault, missing_fault, require_folder
from vca_core.manifests.pairs import pair_faults, pair_key
from vca_core.manifests.rows import RefusedRow, json_lines, raise_refused
from vca_core.manifests.table_cells import clean, sample_from_cells
from vca_core.manifests.table_csv import check_columns, csv_rows
from vca_core.records import Sample, SchemaError, explain


class _Row(NamedTuple):
    line: int
    row: int
    cells: dict[str, object]


def table_manifest(
    file: str | Path,
    *,
    dataset: str | None = None,
    images: str | Path | None = None,
    refused: list[RefusedRow] | None = None,
) -> list[Sample]:
    """Read a user's own CSV or JSONL table into samples.

    Parameters
    ----------
    file : path
        ``.csv`` (comma, header in the first row) or ``.jsonl``, in UTF-8. Columns ``image``,
        ``label`` and ``question`` or ``statement``; optional ``id``, ``pair_id``, ``polarity``,
        ``relation``, ``subject``, ``object``, and ``subject_box``, ``object_box`` as
        ``x,y,width,height`` in pixels. Any other column is an error.
    dataset : str, optional
        Name of the data set; the file's own name if left out.
    images : path, optional
        Folder that must hold every image; left out, only the text of the paths is checked.
    refused : list, optional
        Is given the rows that make no sample, and reading goes on without them. Left out, any
        such row is an error.

    Returns
    -------
    list of Sample, in file order

    Raises
    ------
    SchemaError
        If rows are refused (all are listed with line and reason), images are missing, or the file
        as a whole can't be read: its columns, its encoding, an open quote, no row left.

    Notes
    -----
    ``label`` is yes, true or 1, or no, false or 0, in any case. An empty cell and the word "nan"
    are missing values. Ids are text: "007" stays so, and a whole number in JSON becomes its
    digits. Without an ``id`` column, ids are the data set's name and the row. A missing
    ``polarity`` of a pair follows from the label. A ``statement`` without ``question`` is asked by
    `question_from_statement`; "Answer yes or no." at the end of a question is taken off, since
    the prompt adds it. Of rows with one id the first is kept; of a pair that lost a member, or is
    no pair, no row is.
    """
    path = Path(file)
    root = None if images is None else require_folder(images)
    name = check_dataset(dataset) if dataset is not None else re.sub(r"[^\w-]+", "_", path.stem)
    bad: list[RefusedRow] = []
    rows = list(_rows(path, bad))
    kept = _samples(path, rows, name, bad)
    kept = _without_file_faults(path, kept, root, bad, missing=refused is not None)
    kept = _without_broken_pairs(path, kept, bad)
    bad.sort(key=lambda fault: fault.row)
    if refused is None:
        raise_refused(bad)
    else:
        refused += bad
    samples = [sample for _, sample in kept]
    if not samples:
        raise SchemaError(
            f"{path}: a table holds at least one good row, got none ({len(bad)} refused)."
        )
    if root is not None:
        check_images(samples, root)
    return samples


def check_dataset(name: str) -> str:
    """Return a data set's name, which becomes the name of a folder of scores."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise SchemaError(f"`dataset` must be letters, digits, '_', '-' and '.', got {name!r}.")
    return name


def _rows(path: Path, bad: list[RefusedRow]) -> Iterator[_Row]:
    if path.suffix.lower() == ".csv":
        source = csv_rows(path)
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        source = json_lines(path)
    else:
        raise SchemaError(f"A table must be named .csv or .jsonl, got {str(path)!r}.")
    for line, row, cells, fault in source:
        if fault is not None:
            bad.append(fault)
        else:
            check_columns(cells, f"{path}, line {line}")
            yield _Row(line, row, {name: clean(value) for name, value in cells.items()})


def _samples(
    path: Path, rows: list[_Row], dataset: str, bad: list[RefusedRow]
) -> list[tuple[_Row, Sample]]:
    has_ids = any(row.cells.get("id") is not None for row in rows)
    kept: list[tuple[_Row, Sample]] = []
    seen: dict[str, int] = {}
    for row in rows:
        try:
            own_id = None if has_ids else f"{dataset}-{row.row:04d}"
            sample = sample_from_cells(row.cells, dataset, own_id)
            if first := seen.get(sample.sample_id):
                raise SchemaError(
                    f"`id` must be unique, got {sample.sample_id!r} also on line {first}"
                )
        except ValidationError as error:
            bad.append(RefusedRow(str(path), row.line, row.row, explain(error), row.cells))
        except SchemaError as error:
            bad.append(RefusedRow(str(path), row.line, row.row, str(error), row.cells))
        else:
            seen[sample.sample_id] = row.line
            kept.append((row, sample))
    return kept


def _without_file_faults(
    path: Path,
    kept: list[tuple[_Row, Sample]],
    root: Path | None,
    bad: list[RefusedRow],
    *,
    missing: bool,
) -> list[tuple[_Row, Sample]]:
    """Refuse rows whose image leads out of its folder and, if asked, whose image is missing."""
    if root is None:
        return kept
    good = []
    for row, sample in kept:
        fault = link_fault(sample.image, root)
        if fault is None and missing:
            fault = missing_fault(sample.image, root)
        if fault:
            bad.append(RefusedRow(str(path), row.line, row.row, fault, row.cells))
        else:
            good.append((row, sample))
    return good


def _without_broken_pairs(
    path: Path, kept: list[tuple[_Row, Sample]], bad: list[RefusedRow]
) -> list[tuple[_Row, Sample]]:
    faults = pair_faults([sample for _, sample in kept])
    good = []
    for row, sample in kept:
        if fault := faults.get(pair_key(sample)):
            bad.append(RefusedRow(str(path), row.line, row.row, fault, row.cells))
        else:
            good.append((row, sample))
    return good
