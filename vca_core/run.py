"""Score one data set with one backend into its scores file, through the journal."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vca_core.cache import Journal, missing_probes, scores_path, update_manifest
from vca_core.cache.files import read_run_record, run_record_path
from vca_core.cache.journal import row_key
from vca_core.cache.missing import Missing, cached_rows
from vca_core.identity import identify, settings_digest
from vca_core.interventions import erasure_summary
from vca_core.probes import build_probes
from vca_core.records import CARRIED, Probe, Sample, SchemaError, Score
from vca_core.run_record import run_record

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

FACTS = tuple(n for n in CARRIED if n not in ("sample_id", "dataset", "wording", "image_sha256"))
"""What a row copies from its sample and no score depends on."""
LOW_MASS = 1e-3
"""Answer mass below which the two words are hardly what the model would say."""
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
    """Rows of this run whose answer mass is under `LOW_MASS`."""
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


class _Target(NamedTuple):
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


def score_manifest(
    samples: Sequence[Sample],
    backend: Backend,
    *,
    model: str,
    contexts: Sequence[str],
    interface: str | Sequence[str],
    out_dir: str | Path,
    image_dir: str | Path | None = None,
    batch_size: int = 8,
    limit: int = 0,
    exact: bool = False,
    workers: int = 0,
    command: str = "",
    progress: Progress | None = None,
) -> Outcome | list[Outcome]:
    """Score one data set into its scores files, through their journals.

    Parameters
    ----------
    samples : sequence of Sample
        Of a single data set.
    backend : Backend
    model : str
        Name of the scores file.
    contexts : sequence of str
    interface : str or sequence of str
        Several are scored together, so that what they show runs once.
    out_dir : path
        Root of the cache.
    image_dir : path, optional
        Root of the images.
    batch_size, exact, workers
        As in `vca_core.scorer.score_probes`.
    limit : int
        Whole groups to score (0: all).
    command : str
        Recorded as given.
    progress : Progress, optional

    Returns
    -------
    Outcome, or one for each interface if `interface` is a sequence
        An interrupted run raises, and leaves its journals to be resumed by the same call.
    """
    from vca_core.scorer import score_probes

    progress = progress or Progress()
    surfaces = [interface] if isinstance(interface, str) else list(interface)
    datasets = sorted({sample.dataset for sample in samples})
    if len(datasets) != 1:
        raise SchemaError(f"A scores file holds one data set, got {datasets}.")
    settings = settings_digest(backend.fingerprint())
    chosen = {(s.sample_id, s.wording) for s in take_groups(samples, limit)}
    with ExitStack() as stack:
        targets = []
        for surface in surfaces:
            probes = [p for p in build_probes(samples, contexts, surface)
                      if (p.sample.sample_id, p.sample.wording) in chosen]  # fmt: skip
            path = scores_path(out_dir, datasets[0], surface, model)
            targets.append(
                _target(stack, surface, probes, path, backend, image_dir, settings, workers,
                        progress)
            )  # fmt: skip
        by_surface = {target.interface: target for target in targets}
        written: dict[str, list[Score]] = {surface: [] for surface in surfaces}
        wanted = [probe for target in targets for probe in target.todo.probes]
        seen: list[int] = []
        for rows in score_probes(
            wanted,
            backend,
            model=model,
            image_dir=image_dir,
            batch_size=batch_size,
            exact=exact,
            workers=workers,
            on_pixels=seen.append,
        ):
            for surface, own in groupby(rows, key=lambda row: row.interface):
                own = list(own)
                by_surface[surface].journal.append(own)
                written[surface] += own
            progress.score(sum(map(len, written.values())), len(wanted))
        outcomes = []
        for target in targets:
            record = run_record(backend, target.probes, contexts, target.interface, model, command,
                                seen, batch_size, exact)  # fmt: skip
            outcomes.append(_finish(target, written[target.interface], record, out_dir, progress))
    return outcomes[0] if isinstance(interface, str) else outcomes


def _target(
    stack: ExitStack,
    interface: str,
    probes: list[Probe],
    path: Path,
    backend: Backend,
    image_dir: str | Path | None,
    settings: str,
    workers: int,
    progress: Progress,
) -> _Target:
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
                     identify(doubtful, backend, image_dir, workers, progress.identify),
                     strict=True))  # fmt: skip
    wanted = [(probe, key, named.get(id(probe))) for probe, key in zip(probes, keys, strict=True)]
    todo = missing_probes(wanted, path, journal.rows, settings,
                          old.get("settings_sha256", "unknown"))  # fmt: skip
    _say_state(todo, journal, len(probes), progress)
    refreshed = _refresh_facts(todo, journal, wanted)
    if refreshed:
        progress.say(f"{refreshed} cached rows take their label and other facts anew.")
    return _Target(interface, probes, path, journal, old, settings, todo, refreshed)


def _finish(
    target: _Target,
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
