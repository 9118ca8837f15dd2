"""One scores file of a run: what it lacks, its journal while it is made, and its end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vca_core.cache import Journal, missing_probes, update_manifest
from vca_core.cache.files import read_run_record, run_record_path
from vca_core.cache.journal import row_key
from vca_core.cache.missing import Missing, cached_rows
from vca_core.identity import identify
from vca_core.interventions import erasure_summary
from vca_core.records import CARRIED, Probe, SchemaError, Score

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

FACTS = tuple(n for n in CARRIED if n not in ("sample_id", "dataset", "wording", "image_sha256"))
"""What a row copies from its sample and no score depends on."""
LOW_MASS = 1e-3
"""Answer mass below which the two words are hardly what the model would say."""


class Outcome(NamedTuple):
    """What a scoring run did to one scores file."""

    path: Path
    wanted: int
    scored: int
    """Rows written by this run."""
    forwards: int
    """Distinct probes among them."""
    errors: Counter
    """Reasons of the error rows that this run wrote, and how many."""
    low_mass: int
    """Rows of this run whose answer mass is under `LOW_MASS`."""
    reasons: Counter
    """Why rows had to be scored."""


class Progress(NamedTuple):
    """Hooks that a front end may pass to `score_manifest`."""

    identify: Callable[[int, int], None] = lambda done, total: None
    score: Callable[[int, int], None] = lambda done, total: None
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr)


class Target(NamedTuple):
    """One scores file that a run writes."""

    interface: str
    probes: list[Probe]
    path: Path
    journal: Journal
    old: dict
    """Run record of the present file."""
    settings: str
    todo: Missing
    refreshed: int
    """Cached rows whose facts are brought in step with the manifest."""


def open_target(
    stack: ExitStack,
    interface: str,
    probes: list[Probe],
    path: Path,
    backend: Backend,
    image_dir: str | Path | None,
    settings: str,
    workers: int,
    progress: Progress,
) -> Target:
    """Open the journal of a scores file, and find what it lacks."""
    old = read_run_record(path)
    if old.get("origin") == "imported":
        raise SchemaError(f"{path}: holds imported scores; use another --out or --model.")
    journal = stack.enter_context(Journal(path, settings))
    good = {row_key(row.model_dump()) for row in journal.rows if row.status == "ok"}
    good |= {key for key, row in cached_rows(path).items() if row["status"] == "ok"}
    keys = [(p.sample.sample_id, p.context, p.sample.wording) for p in probes]
    doubtful = [probe for probe, key in zip(probes, keys, strict=True) if key in good]
    named = dict(zip(map(id, doubtful),
                     identify(doubtful, backend, image_dir, settings, workers, progress.identify),
                     strict=True))  # fmt: skip
    wanted = [(probe, key, named.get(id(probe))) for probe, key in zip(probes, keys, strict=True)]
    todo = missing_probes(wanted, path, journal.rows, settings,
                          old.get("settings_sha256", "unknown"))  # fmt: skip
    _say_state(todo, journal, len(probes), progress)
    refreshed = _refresh_facts(todo, journal, wanted)
    if refreshed:
        progress.say(f"{refreshed} cached rows take their label and other facts anew.")
    return Target(interface, probes, path, journal, old, settings, todo, refreshed)


def finish_target(
    target: Target,
    written: Sequence[Score],
    record: dict,
    out_dir: str | Path,
    progress: Progress,
) -> Outcome:
    """Compact a journal into its scores file, and say what was done."""
    todo, journal, path = target.todo, target.journal, target.path
    outcome = Outcome(path, len(target.probes), 0, 0, Counter(), 0, todo.reasons)
    if not todo.probes and not journal.rows and not target.refreshed:
        return outcome
    rows = {row_key(row): row for row in todo.keep}
    rows |= {row_key(row): row for row in (score.model_dump() for score in journal.rows)}
    own = [(p, rows.get((p.sample.sample_id, p.context, p.sample.wording))) for p in target.probes]
    _warn_of_other_pixels(own, progress)
    old_digest = target.old.get("settings_sha256", "unknown")
    aside = path.with_name(f"{path.name}.{old_digest[:8]}.old") if todo.outdated else None
    # The file keeps the rows of contexts that this run did not ask for.
    before = target.old.get("erasures", {}) if old_digest == target.settings else {}
    erasures = before | erasure_summary(
        (p.context, p.image, (row["image_width"], row["image_height"]), p.sample.subject_box,
         p.sample.object_box)
        for p, row in own
        if row and row["image_width"]
    )  # fmt: skip
    journal.compact(todo.keep, record | ({"erasures": erasures} if erasures else {}), aside)
    update_manifest(out_dir, [path, run_record_path(path)])
    return outcome._replace(
        scored=len(written),
        forwards=len({row.probe_id for row in written if row.status == "ok"}),
        errors=Counter(row.error for row in written if row.status == "error"),
        low_mass=sum(row.answer_mass is not None and row.answer_mass < LOW_MASS for row in written),
    )


def _warn_of_other_pixels(own: Iterable[tuple[Probe, dict | None]], progress: Progress) -> None:
    others = {
        probe.sample.image
        for probe, row in own
        if probe.context == "original"
        and row
        and row["image_sha256"]
        and probe.sample.image_sha256 not in (None, row["image_sha256"])
    }
    if others:
        progress.say(
            f"Warning: {len(others)} images differ from the manifest's `image_sha256`, for example "
            f"{min(others)!r}; they are scored as they are."
        )


def _refresh_facts(todo: Missing, journal: Journal, wanted: Sequence[tuple]) -> int:
    """Bring label, pair, relation and the like of cached rows in step with the manifest.

    They decide no score, so a corrected label is no miss; it must still reach the file.
    """
    samples = {key: probe.sample for probe, key, _ in wanted}
    changed = 0
    for row in todo.keep:
        if (sample := samples.get(row_key(row))) is not None:
            facts = {name: getattr(sample, name) for name in FACTS}
            changed += any(row[name] != value for name, value in facts.items())
            row |= facts
    for number, score in enumerate(journal.rows):
        if (sample := samples.get((score.sample_id, score.context, score.wording))) is not None:
            facts = {name: getattr(sample, name) for name in FACTS}
            journal.rows[number] = score.model_copy(update=facts)
    return changed


def _say_state(todo: Missing, journal: Journal, total: int, progress: Progress) -> None:
    if journal.set_aside:
        progress.say(f"An unfinished run with other settings is kept as {journal.set_aside.name}.")
    if journal.torn_bytes:
        progress.say(f"Cut a torn last line of {journal.torn_bytes} bytes off {journal.path.name}.")
    if journal.rows:
        progress.say(f"Resuming: {len(journal.rows)} rows of an unfinished run are kept.")
    if total > len(todo.probes):
        progress.say(f"{total - len(todo.probes)} of {total} scores are cached.")
    for reason, count in todo.reasons.items():
        if reason != "not scored yet":
            progress.say(f"{count} scored again: {reason}.")
    if todo.outdated:
        progress.say(
            "The present scores file was made with other settings. Two settings must not stand in "
            f"one file, so it is kept beside the new one as {journal.scores.name}.<digest>.old."
        )
