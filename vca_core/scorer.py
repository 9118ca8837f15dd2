"""Score probes: pictures are read ahead, prompts about one picture share what they begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vca_core.ahead import read_ahead
from vca_core.backends.base import Backend
from vca_core.budget import Budget
from vca_core.identity import settings_digest
from vca_core.intake import Answer, Intake
from vca_core.jobs import Unit
from vca_core.losses import plain_losses, shared_losses
from vca_core.plan import Chunk, plan_chunks
from vca_core.reader import FileReader, Seen
from vca_core.records import Probe, Score
from vca_core.rows import score_row

CHUNK = 512
"""Probes that are planned together; what chunks have in common is scored in each."""
WINDOW = 64
"""Pictures that wait, and are sorted by length, together."""
MOST = 64
"""Rows of a forward, whatever fits."""


class Limits(NamedTuple):
    """What a forward may hold, and whether it may share."""

    rows: int
    budget: Budget
    exact: bool


def score_probes(
    probes: Sequence[Probe],
    backend: Backend,
    *,
    model: str,
    image_dir: str | Path | None = None,
    batch_size: int | None = None,
    memory: int | None = None,
    exact: bool = False,
    workers: int = 0,
    on_pixels: Callable[[int], None] = lambda seen: None,
) -> Iterator[list[Score]]:
    """Score probes batch by batch; rows are yielded as soon as they are there.

    Parameters
    ----------
    probes : sequence of Probe
    backend : Backend
    model : str
        Name to store with each score.
    image_dir : path, optional
        Root of the images; text-only probes need none.
    batch_size : int, optional
        Most pictures, or prompts that share nothing, per forward; default is what fits.
    memory : int, optional
        Bytes that a forward may take; default is a part of what is free.
    exact : bool
        One row of a forward for every prompt, sharing nothing: slower, and the reference.
    workers : int
        Processes that read images ahead of the model; 0 reads them here.
    on_pixels : callable
        Told the pixels that the vision tower sees, where a family has a budget.

    Yields
    ------
    list of Score
        One per probe, in the order of the forwards. Probes of a chunk that share a `probe_id`
        share a forward. What cannot be scored is a row with ``status`` "error" and its reason.
    """
    if probes:
        backend.prepare()
    probes, rows = _refuse_marks(probes, backend, model)
    if rows:
        yield rows
    chunks = list(plan_chunks(probes, CHUNK))
    reader = FileReader([f for c in chunks for f in c.files], image_dir, backend.encode)
    reads = read_ahead(reader, workers)
    limits = Limits(
        min(batch_size or MOST, backend.max_batch),
        Budget(getattr(backend, "device", "cpu"), memory),
        exact,
    )
    for chunk in chunks:
        yield from score_chunk(chunk, reads, backend, model, limits, on_pixels)


def score_chunk(
    chunk: Chunk,
    reads: Iterator[list[Seen | str]],
    backend: Backend,
    model: str,
    limits: Limits,
    on_pixels: Callable[[int], None],
) -> Iterator[list[Score]]:
    """Score one chunk; the arguments are those of `score_probes`, and what its files show."""
    settings = settings_digest(backend.fingerprint(), limits.exact)
    intake = Intake(backend, settings, on_pixels)
    waiting: list[Unit] = []
    for found in intake.units(chunk, reads):
        if isinstance(found, Unit):
            waiting.append(found)
        else:
            yield _rows(backend, model, found)
        if len(waiting) >= WINDOW:
            for answers in _answers(backend, intake, waiting, limits):
                yield _rows(backend, model, answers)
            waiting = []
    for answers in _answers(backend, intake, waiting, limits):
        yield _rows(backend, model, answers)


def _refuse_marks(
    probes: Sequence[Probe], backend: Backend, model: str
) -> tuple[Sequence[Probe], list[Score]]:
    """Take out probes whose text holds what stands for a picture: it would be taken for one."""
    mark = getattr(backend, "image_mark", None)
    bad = [probe for probe in probes if mark and mark in probe.text]
    reason = f"the text holds {mark!r}, which stands for a picture: take it out of the manifest"
    rows = [score_row(backend, model, probe, None, reason) for probe in bad]
    return ([p for p in probes if mark not in p.text] if bad else probes), rows


def _rows(backend: Backend, model: str, answers: Sequence[Answer]) -> list[Score]:
    return [score_row(backend, model, *answer) for answer in answers]


def _answers(
    backend: Backend, intake: Intake, units: Sequence[Unit], limits: Limits
) -> Iterator[list[Answer]]:
    """Score units in batches of like length; a batch shows an image in all of its rows, or none."""
    for shown in (False, True):
        alike = [unit for unit in units if bool(unit.encoded.images) is shown]
        shared = [] if limits.exact else [unit for unit in alike if len(unit.rows) > 1]
        apart = alike if limits.exact else [unit for unit in alike if len(unit.rows) == 1]
        plain = [(unit, job) for unit in apart for job in unit.jobs]
        kind = "image" if shown else "text"
        for batch in _batches(plain, lambda pair: len(pair[1].ids), f"whole, {kind}", limits):
            results = plain_losses(backend, batch, limits.budget)
            yield intake.answer([job for _, job in batch], results)
        for batch in _batches(shared, lambda unit: unit.head, f"prefix, {kind}", limits):
            results = [r for own in shared_losses(backend, batch, limits.budget) for r in own]
            yield intake.answer([job for unit in batch for job in unit.jobs], results)


def _batches(items: list, length: Callable, kind: str, limits: Limits) -> Iterator[list]:
    """Cut items, short ones first, into batches that fit the budget."""
    items = sorted(items, key=length)
    while items:
        n, most = 1, limits.budget.tokens(kind)
        while n < min(len(items), limits.rows) and (n + 1) * length(items[n]) <= most:
            n += 1
        batch, items = items[:n], items[n:]
        yield batch
