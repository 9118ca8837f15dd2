"""What a run has to score: wanted probes against cached and journalled rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from vca_core.cache.files import read_scores
from vca_core.cache.journal import row_key
from vca_core.records import Score

T = TypeVar("T")


class Missing(NamedTuple):
    """What a run has to score, and why."""

    probes: list
    reasons: Counter
    """How many are new, failed before, or changed in what."""
    keep: list[dict]
    """Rows of the present file that stay: all of them, or none if its settings are others."""
    outdated: bool
    """Whether the present file has other settings and must be set aside as a whole."""


def missing_probes(
    wanted: Sequence[tuple[T, tuple[str, str, str], object]],
    scores: Path,
    journalled: Sequence[Score],
    settings_sha256: str,
    old_settings_sha256: str | None,
) -> Missing:
    """Compare what is wanted with what is cached.

    Parameters
    ----------
    wanted : sequence of (probe, key, identity)
        ``identity`` has ``probe_id``, ``prompt_sha256``, ``image_sha256``; it is None where the
        image cannot be read, and is not asked for where no good row is cached.
    scores : Path
        Scores file; need not exist.
    journalled : sequence of Score
        Rows of an unfinished run.
    settings_sha256, old_settings_sha256 : str
        Settings of this run and of the cached rows.

    Returns
    -------
    Missing
        A cached row is a hit if its status is ok and its ``probe_id`` equals the wanted one.
    """
    cached = cached_rows(scores)
    in_journal = {row_key(row): row for row in (score.model_dump() for score in journalled)}
    probes, reasons = [], Counter()
    for probe, key, identity in wanted:
        reason = _why_missing(in_journal.get(key) or cached.get(key), identity)
        if reason is not None:
            probes.append(probe)
            reasons[reason] += 1
    outdated = bool(cached) and settings_sha256 != old_settings_sha256
    return Missing(probes, reasons, [] if outdated else list(cached.values()), outdated)


def cached_rows(scores: Path) -> dict[tuple[str, str, str], dict]:
    """Rows of a scores file by what they are about; none where there is no file."""
    if not scores.is_file():
        return {}
    frame = read_scores(scores)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {row_key(row): row for row in rows}


def _why_missing(old: dict | None, identity) -> str | None:
    if old is None:
        return "not scored yet"
    if old["status"] == "error":
        return "failed before"
    if identity is None:
        return "image cannot be read"
    if old["probe_id"] == identity.probe_id:
        return None
    if old["image_sha256"] != identity.image_sha256:
        return "image changed"
    if old["prompt_sha256"] != identity.prompt_sha256:
        return "prompt changed"
    return "checkpoint, dtype, system message, processor or --exact changed"
