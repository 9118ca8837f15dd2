"""Files that the benchmarks write: what was measured, and on which machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from vca_core.records import SchemaError

RUN = ("part", "tool", "version", "model", "data", "context_set", "repeat", "n_item_contexts",
       "seconds", "peak_bytes", "note")  # fmt: skip
COLUMNS = {
    "cost": (*RUN, "loaded_bytes"),
    "peers": RUN,
    "peers_margins": (
        "tool", "model", "context_set", "context", "interface", "n", "same_decisions",
        "max_difference", "n_redone", "max_unexplained",
    ),
    "analysis": ("n_records", "seconds", "resample_seconds", "peak_bytes"),
    "bootstrap": ("ours", "other", "seconds", "other_seconds"),
}  # fmt: skip
"""Columns that are read of each file."""


class Measurements(NamedTuple):
    """One frame per file, without rows where there is no such file."""

    cost: pd.DataFrame
    peers: pd.DataFrame
    peers_margins: pd.DataFrame
    analysis: pd.DataFrame
    bootstrap: pd.DataFrame
    machine: dict
    """Empty where none is named."""


def read_measurements(folder: str | Path) -> Measurements:
    """Read what the scripts in ``benchmarks/`` wrote; a missing file is an empty frame.

    Parameters
    ----------
    folder : path
        With ``cost.csv``, ``peers.csv``, ``peers_margins.csv``, ``analysis.csv``,
        ``bootstrap.csv`` and ``machine.json``, as far as these were measured.

    Returns
    -------
    Measurements

    Raises
    ------
    SchemaError
        If a file lacks a column; names both.
    """
    frames = {name: _read(Path(folder) / f"{name}.csv", names) for name, names in COLUMNS.items()}
    machine = Path(folder) / "machine.json"
    facts = json.loads(machine.read_text(encoding="utf-8")) if machine.is_file() else {}
    return Measurements(**frames, machine=facts)


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    if not path.is_file():
        return pd.DataFrame(columns=list(columns))
    frame = pd.read_csv(path, keep_default_na=True)
    for column in columns:
        if column not in frame:
            raise SchemaError(f"{path.name}: column `{column}` is missing.")
    return frame
