"""Check a scores cache: schema, arithmetic, duplicates, run records, and MANIFEST.sha256."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.cache.files import KEY, read_run_record, read_scores, scores_files, scores_path
from vca_core.cache.wide import check_facts
from vca_core.records import CONTEXTS, INTERFACES, LABELS, SchemaError

try:
    import fcntl
except ImportError:  # no advisory locks on Windows
    fcntl = None

MANIFEST = "MANIFEST.sha256"
TOLERANCE = 1e-9
"""Nats; losses and margins are stored in full float64 precision."""
REPEAT, REPEAT_NARROW = 1e-4, 0.5
"""Nats by which rows of one probe may differ, in float32 and below: other forwards, other sums."""


class Report(NamedTuple):
    """Outcome of a check of one root."""

    files: int
    rows: int
    errors: int
    """Rows with status error."""
    faults: list[str]
    notes: list[str]


def verify(root: str | Path) -> Report:
    """Check every scores file below a root.

    Parameters
    ----------
    root : path

    Returns
    -------
    Report
        ``faults`` is empty when all is well; each fault names its file and, where there is one,
        its row. ``notes`` says what was not checked and why.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    """
    root = Path(root)
    faults, notes, rows, failed = [], [], 0, 0
    paths = scores_files(root)
    if not paths:
        faults.append(f"{root}: no scores files.")
    for path in paths:
        try:
            frame = read_scores(path)
        except SchemaError as error:
            faults.append(str(error))
            continue
        record = read_run_record(path)
        faults += _check_frame(frame, path, root, record)
        if record.get("origin") == "imported":
            notes.append(f"{path}: imported, so losses and their arithmetic are not checked.")
        rows += len(frame)
        failed += int((frame["status"] == "error").sum())
    notes += [
        f"{p}: unfinished run, not checked." for p in sorted(root.glob("*/*/*.journal.jsonl"))
    ]
    faults += _check_manifest(root)
    return Report(len(paths), rows, failed, faults, notes)


def _check_frame(frame: pd.DataFrame, path: Path, root: Path, record: dict) -> list[str]:
    faults = []

    def fault(wrong: pd.Series, text: str) -> None:
        # A null in a comparison is no fault here: nulls have their own checks.
        for position in np.flatnonzero(wrong.fillna(False).to_numpy(dtype=bool))[:3]:
            row = frame.iloc[position]
            faults.append(f"{path}, row {position + 1} ({row['sample_id']}): {text.format(**row)}.")

    if not len(frame):
        return [f"{path}: no rows."]
    if not record:
        faults.append(f"{path}: no run record beside it.")
    ok = frame["status"] == "ok"
    imported = record.get("origin") == "imported"
    fault(~frame["status"].isin(["ok", "error"]), "`status` must be ok or error, got {status}")
    fault(~frame["context"].isin(CONTEXTS), "unknown context {context}")
    fault(~frame["interface"].isin(INTERFACES), "unknown interface {interface}")
    fault(frame["label"].notna() & ~frame["label"].isin(LABELS), "`label` {label} is not yes or no")
    fault(ok & ~np.isfinite(frame["margin"]), "`margin` must be finite, got {margin}")
    fault(~ok & frame["margin"].notna(), "an error row has margin {margin}")
    fault(~ok & frame["error"].isna(), "an error row must give its reason")
    fault(frame.duplicated(KEY), "second row for context {context}, wording {wording}")
    difference = frame["loss_no"] - frame["loss_yes"]
    off = ok & difference.notna() & ((frame["margin"] - difference).abs() > TOLERANCE)
    fault(off, "margin {margin} is not loss_no - loss_yes = {loss_no} - {loss_yes}")
    if not imported:
        for name in ("loss_yes", "loss_no"):
            fault(ok & ~(frame[name] >= 0), f"`{name}` must be at least 0, got {{{name}}}")
        mass = frame["answer_mass"]
        fault(ok & ~((mass >= 0) & (mass <= 1 + 1e-6)), "`answer_mass` {answer_mass} not in [0, 1]")
        sums = [
            np.exp(-frame[f"loss_{w}"] * frame[f"n_tokens_{w}"].astype(float))
            for w in ("yes", "no")
        ]
        fault(ok & ((sum(sums) - mass).abs() > 1e-6), "`answer_mass` {answer_mass} is not the sum")
        fault(ok & frame["probe_id"].isna(), "`probe_id` is missing")
        margins = frame[ok].groupby("probe_id")["margin"]
        spread = margins.max() - margins.min()
        float32 = record.get("fingerprint", {}).get("dtype", "float32") == "float32"
        for probe_id in spread[spread > (REPEAT if float32 else REPEAT_NARROW)].index[:3]:
            faults.append(f"{path}: rows of probe {probe_id[:12]}… have different margins.")
    for name in ("model", "dataset", "interface"):
        if frame[name].nunique() != 1:
            faults.append(f"{path}: one `{name}` a file, got {sorted(set(frame[name]))}.")
    first = frame.iloc[0]
    try:
        check_facts(frame, path)
    except SchemaError as error:
        faults.append(str(error))
    if not faults and path != scores_path(
        root, first["dataset"], first["interface"], first["model"]
    ):
        faults.append(f"{path}: lies elsewhere than its data set, interface and model say.")
    return faults


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_manifest(root: Path) -> dict[str, str]:
    path = root / MANIFEST
    if not path.is_file():
        return {}
    entries = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name:
            raise SchemaError(f"{path}, line {number}: expected `sha256  path`, got {line!r}.")
        entries[name] = digest
    return entries


def covered_files(root: str | Path) -> list[Path]:
    """Files below a root that MANIFEST.sha256 should list."""
    root = Path(root)
    unfinished = (".part", ".journal.jsonl", ".old")
    return sorted(
        p
        for p in root.rglob("*")
        if p.is_file() and p.name != MANIFEST and not p.name.endswith(unfinished)
    )


def _check_manifest(root: Path) -> list[str]:
    try:
        entries = _read_manifest(root)
    except SchemaError as error:
        return [str(error)]
    if not (root / MANIFEST).is_file():
        return [f"{root / MANIFEST}: missing."]
    faults = []
    for name, digest in entries.items():
        path = root / name
        if not path.is_file():
            faults.append(f"{root / MANIFEST}: names {name!r}, which is not there.")
        elif _hash(path) != digest:
            faults.append(f"{path}: differs from {MANIFEST}.")
    listed = set(entries)
    for path in covered_files(root):
        if path.relative_to(root).as_posix() not in listed:
            faults.append(f"{path}: not listed in {MANIFEST}.")
    return faults


def update_manifest(root: str | Path, changed: Iterable[Path]) -> None:
    """Record the hashes of files that were just written; other entries stay as they are.

    So a file that someone else changed is still found by `verify`. Runs that write below one root
    at the same time wait for each other here.
    """
    root = Path(root)
    folder = os.open(root, os.O_RDONLY) if fcntl is not None else None
    try:
        if folder is not None:
            fcntl.flock(folder, fcntl.LOCK_EX)
        entries = _read_manifest(root)
        entries |= {p.relative_to(root).as_posix(): _hash(p) for p in changed}
        entries = {name: digest for name, digest in entries.items() if (root / name).is_file()}
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(entries.items()))
        partial = root / f"{MANIFEST}.part"
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(root / MANIFEST)
    finally:
        if folder is not None:
            os.close(folder)
