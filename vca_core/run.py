"""Score one data set with one backend into its scores file, through the journal."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vca_core.cache import Journal, missing_probes, scores_path, update_manifest
from vca_core.cache.files import read_run_record, run_record_path
from vca_core.cache.journal import row_key
from vca_core.cache.missing import Missing
from vca_core.contexts import ImageError
from vca_core.interventions import erasure_summary
from vca_core.probes import build_probes
from vca_core.reader import ProbeReader
from vca_core.records import CARRIED, Probe, Sample, SchemaError, Score
from vca_core.run_record import run_record

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

FACTS = tuple(n for n in CARRIED if n not in ("sample_id", "dataset", "wording", "image_sha256"))
"""What a row copies from its sample and no score depends on."""
PRIMARY = ("original", "text_only", "blank")
"""The contexts of the support audit."""


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
    """Rows of this run whose answer mass is under `vca_core.scorer.LOW_MASS`."""
    reasons: Counter
    """Why rows had to be scored."""


class Progress(NamedTuple):
    """Hooks that a front end may pass to `score_manifest`."""

    identify: Callable[[int, int], None] = lambda done, total: None
    score: Callable[[int, int], None] = lambda done, total: None
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr)


def take_groups(samples: Sequence[Sample], limit: int) -> list[Sample]:
    """First ``limit`` whole groups: pairs, stems or edits, else single samples; 0 takes all."""
    if limit < 0:
        raise SchemaError(f"`limit` must be 0 (all) or a number of groups, got {limit}.")
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        group = sample.edit_id or sample.stem_id or sample.pair_id or sample.sample_id
        groups.setdefault(group, []).append(sample)
    return [sample for group in list(groups.values())[: limit or None] for sample in group]


def score_manifest(
    samples: Sequence[Sample],
    backend: Backend,
    *,
    model: str,
    contexts: Sequence[str],
    interface: str,
    out_dir: str | Path,
    image_dir: str | Path | None = None,
    batch_size: int = 8,
    limit: int = 0,
    command: str = "",
    progress: Progress | None = None,
) -> Outcome:
    """Score one data set under one interface into its scores file, through the journal.

    Parameters
    ----------
    samples : sequence of Sample
        Of a single data set.
    backend : Backend
    model : str
        Name of the scores file.
    contexts, interface
        What to score.
    out_dir : path
        Root of the cache.
    image_dir : path, optional
        Root of the images.
    batch_size, limit : int
        Prompts per forward; whole groups to score (0: all).
    command : str
        Recorded as given.
    progress : Progress, optional

    Returns
    -------
    Outcome
        An interrupted run raises, and leaves its journal to be resumed by the same call.
    """
    from vca_core.scorer import LOW_MASS, score_probes

    progress = progress or Progress()
    datasets = sorted({sample.dataset for sample in samples})
    if len(datasets) != 1:
        raise SchemaError(f"A scores file holds one data set, got {datasets}.")
    probes = build_probes(samples, contexts, interface)
    chosen = {(s.sample_id, s.wording) for s in take_groups(samples, limit)}
    probes = [p for p in probes if (p.sample.sample_id, p.sample.wording) in chosen]
    path = scores_path(out_dir, datasets[0], interface, model)
    reader = ProbeReader(backend, image_dir)
    settings = reader.settings_sha256
    old = read_run_record(path)
    old_digest = old.get("settings_sha256", "unknown")
    if old.get("origin") == "imported":
        raise SchemaError(f"{path}: holds imported scores; use another --out or --model.")
    with Journal(path, settings) as journal:
        wanted = _identify(probes, reader, progress)
        todo = missing_probes(wanted, path, journal.rows, settings, old_digest)
        _say_state(todo, journal, len(probes), progress)
        refreshed = _refresh_facts(todo, journal, wanted)
        if refreshed:
            progress.say(f"{refreshed} cached rows take their label and other facts anew.")
        outcome = Outcome(path, len(probes), 0, 0, Counter(), 0, todo.reasons)
        if not todo.probes and not journal.rows and not refreshed:
            return outcome
        seen: list[int] = []
        written: list[Score] = []
        for rows in score_probes(
            todo.probes,
            backend,
            model=model,
            image_dir=image_dir,
            batch_size=batch_size,
            reader=reader,
            on_pixels=seen.append,
        ):
            journal.append(rows)
            written += rows
            progress.score(len(written), len(todo.probes))
        record = run_record(backend, probes, contexts, interface, model, command, seen, batch_size)
        aside = path.with_name(f"{path.name}.{old_digest[:8]}.old") if todo.outdated else None
        # The file keeps the rows of contexts that this run did not ask for.
        before = old.get("erasures", {}) if old_digest == settings else {}
        erasures = before | erasure_summary(
            (p.context, p.image, identity.size, p.sample.subject_box, p.sample.object_box)
            for p, _, identity in wanted
            if identity
        )
        record |= {"erasures": erasures} if erasures else {}
        journal.compact(todo.keep, record, aside)
        update_manifest(out_dir, [path, run_record_path(path)])
    return outcome._replace(
        scored=len(written),
        forwards=len({row.probe_id for row in written if row.status == "ok"}),
        errors=Counter(row.error for row in written if row.status == "error"),
        low_mass=sum(row.answer_mass is not None and row.answer_mass < LOW_MASS for row in written),
    )


def _identify(probes: Sequence[Probe], reader: ProbeReader, progress: Progress) -> list[tuple]:
    """Pair each probe with its row's key and what decides its score."""
    wanted, others = [], set()
    for done, probe in enumerate(probes, start=1):
        try:
            identity = reader.identify(probe)
        except ImageError:
            identity = None
        pinned = probe.sample.image_sha256
        if probe.context == "original" and identity and pinned not in (None, identity.image_sha256):
            others.add(probe.sample.image)
        wanted.append(
            (probe, (probe.sample.sample_id, probe.context, probe.sample.wording), identity)
        )
        progress.identify(done, len(probes))
    if others:
        progress.say(
            f"Warning: {len(others)} images differ from the manifest's `image_sha256`, for example "
            f"{min(others)!r}; they are scored as they are."
        )
    return wanted


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
