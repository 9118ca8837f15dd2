"""From one row per statement and context to one row per statement, one column per context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from vca_core.records import NotScoredError, SchemaError

INDEX = ["model", "dataset", "interface", "wording", "sample_id"]
"""Columns that name a record."""
CARRIED = [
    "split", "label", "pair_id", "polarity", "relation", "subject", "object", "stem_id",
    "visual_state", "text_state", "edit_id", "probe_role",
]  # fmt: skip
"""Facts of a sample, the same in all its rows."""


def to_wide(
    frame: pd.DataFrame, path: Path, contexts: Sequence[str], facts: Sequence[str] = CARRIED
) -> pd.DataFrame:
    """Pivot rows of a scores file.

    Parameters
    ----------
    frame : DataFrame, one row per record and context
        `INDEX`, `facts`, ``context`` and ``margin``; text as objects, None where there is none.
    path : Path
        For messages.
    contexts : sequence of str
        The margins to take.
    facts : sequence of str

    Returns
    -------
    DataFrame, one row per record, sorted by `INDEX`
        `INDEX`, `facts` and ``margin_<context>`` in nats, NaN where it is missing or failed.

    Raises
    ------
    SchemaError
        If a name is null, rows of a sample disagree on a fact, or a context stands twice.
    """
    which, first = _records(frame, path)
    known = _facts(frame, which, len(first), path, facts)
    wide = pd.DataFrame({name: pd.Index(frame[name].to_numpy()[first]) for name in INDEX} | known)
    margins = _margins(frame, which, len(first), path, contexts)
    names = [f"margin_{context}" for context in contexts]
    return wide.join(pd.DataFrame(margins, columns=names, index=wide.index))


def check_facts(frame: pd.DataFrame, path: Path) -> None:
    """Refuse a sample whose rows disagree on its label or another of its facts.

    Raises
    ------
    SchemaError
        Naming file, fact and sample; a fact that some rows leave out is no contradiction.
    """
    which, first = _records(frame, path)
    _facts(frame, which, len(first), path, CARRIED)


def _records(frame: pd.DataFrame, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Give records numbers in the order of names: each row its record's; and a row of each."""
    keys = np.zeros(len(frame), dtype=np.int64)
    for name in INDEX:
        codes, unique = pd.factorize(frame[name], sort=True)
        if (codes < 0).any():
            raise SchemaError(
                f"{path}: `{name}` must be given, got null in {(codes < 0).sum()} of {len(codes)} "
                "rows."
            )
        # Numbered anew at each column, so that the product cannot overflow.
        keys = pd.factorize(keys * len(unique) + codes, sort=True)[0]
    first = np.empty(int(keys.max(initial=-1)) + 1, dtype=np.int64)
    first[keys[::-1]] = np.arange(len(frame))[::-1]
    return keys, first


def _facts(
    frame: pd.DataFrame, which: np.ndarray, n_records: int, path: Path, facts: Sequence[str]
) -> dict[str, pd.Series]:
    """Facts of each record, the first that is given; None where none is."""
    found = {}
    for name in facts:
        codes, unique = pd.factorize(frame[name])
        given = np.flatnonzero(codes >= 0)
        code = np.full(n_records, -1)
        code[which[given[::-1]]] = codes[given[::-1]]
        wrong = given[codes[given] != code[which[given]]]
        if len(wrong):
            sample = frame["sample_id"].iloc[wrong[which[wrong].argmin()]]
            got = sorted(frame.loc[frame["sample_id"] == sample, name].dropna().unique())
            raise SchemaError(
                f"{path}: rows of one sample must agree on `{name}`, got {got} for {sample!r} "
                f"({len(np.unique(which[wrong]))} samples)."
            )
        values = np.append(np.asarray(unique, dtype=object), None)[code]
        found[name] = pd.Series(values, dtype=object)
    return found


def _margins(
    frame: pd.DataFrame, which: np.ndarray, n_records: int, path: Path, contexts: Sequence[str]
) -> np.ndarray:
    """Margins, shape (records, contexts), in nats."""
    column = pd.Index(contexts).get_indexer(frame["context"])
    asked = np.flatnonzero(column >= 0)
    cells = which[asked] * len(contexts) + column[asked]
    twice = pd.Series(cells).duplicated().to_numpy()
    if twice.any():
        row = frame.iloc[asked[twice.argmax()]]
        raise SchemaError(
            f"{path}: a sample has one row per context and wording, got two for "
            f"{row['sample_id']!r} ({row['context']}, {row['wording']})."
        )
    margins = np.full(n_records * len(contexts), np.nan)
    margins[cells] = frame["margin"].to_numpy(dtype=float, na_value=np.nan)[asked]
    return margins.reshape(n_records, len(contexts))


class LeftOut:
    """Samples of a file that lack a context, collected over the parts it is read in.

    Parameters
    ----------
    path : Path
    contexts : sequence of str
        What a sample must have.
    """

    _SHOWN = 5

    def __init__(self, path: Path, contexts: Sequence[str]) -> None:
        self.path = path
        self.columns = [f"margin_{context}" for context in contexts]
        self.n_samples = self.n_lost = 0
        self.per_column = np.zeros(len(self.columns), dtype=int)
        self.first = pd.DataFrame(columns=INDEX)

    def complete(self, wide: pd.DataFrame) -> pd.DataFrame:
        """Rows that have all contexts; the others are counted."""
        bad = wide[self.columns].isna().to_numpy()
        lost = bad.any(axis=1)
        self.n_samples += len(wide)
        if not lost.any():
            return wide
        self.n_lost += int(lost.sum())
        self.per_column += bad.sum(axis=0)
        both = pd.concat([self.first, wide.loc[lost, INDEX]]) if len(self.first) else wide[lost]
        self.first = both[INDEX].sort_values(INDEX).head(self._SHOWN)
        return wide[~lost]

    def message(self) -> str:
        """Say how many were left out, why, and the first of them by name."""
        per_context = {
            column.removeprefix("margin_"): int(n)
            for column, n in zip(self.columns, self.per_column, strict=True)
            if n
        }
        more = ", …" if self.n_lost > self._SHOWN else ""
        shown = ", ".join(map(repr, self.first["sample_id"])) + more
        return (
            f"{self.n_lost} of {self.n_samples} samples of "
            f"{self.path.parent.parent.name}/{self.path.name} have a missing or failed context "
            f"({per_context}): {shown}"
        )

    def refuse(self) -> None:
        """Raise if a sample was left out.

        Raises
        ------
        NotScoredError
            If a context was not scored at all.
        SchemaError
            If it was, for other samples.
        """
        if self.n_lost:
            never = (self.per_column == self.n_samples).any()
            raise (NotScoredError if never else SchemaError)(
                f"{self.message()}. Score these contexts (`vca score --contexts …` goes on where "
                "it stopped), or leave the samples out (--drop-incomplete, or incomplete='drop')."
            )
