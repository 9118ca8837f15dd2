"""Score probes: pictures are read ahead, prompts about one picture share what they begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vca_core.ahead import read_ahead
from vca_core.backends.base import Backend
from vca_core.intake import Answer, Intake
from vca_core.jobs import Job, Unit
from vca_core.losses import plain_losses, shared_losses
from vca_core.plan import Chunk, plan_chunks
from vca_core.reader import FileReader, Seen
from vca_core.records import Probe, Score
from vca_core.rows import score_row

CHUNK = 1024
"""Probes that are planned together; what chunks have in common is scored in each."""
WINDOW = 4
"""Batches that wait, and are sorted by length, together."""


def score_probes(
    probes: Sequence[Probe],
    backend: Backend,
    *,
    model: str,
    image_dir: str | Path | None = None,
    batch_size: int = 8,
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
    batch_size : int
        Prompts per forward; the family's own limit may be lower.
    exact : bool
        One row of a forward for every prompt, sharing nothing: slower, and the reference.
    workers : int
        Processes that read images ahead of the model; 0 reads them here.
    on_pixels : callable
        Told the pixels that the vision tower sees, where a family has a budget.

    Yields
    ------
    list of Score
        One per probe, in the order of the forwards. Probes that share a `probe_id` share a
        forward. What cannot be scored is a row with ``status`` "error" and its reason.
    """
    if probes:
        backend.prepare()
    chunks = list(plan_chunks(probes, CHUNK))
    reader = FileReader([f for c in chunks for f in c.files], image_dir, backend.encode)
    reads = read_ahead(reader, workers)
    for chunk in chunks:
        yield from score_chunk(chunk, reads, backend, model, batch_size, exact, on_pixels)


def score_chunk(
    chunk: Chunk,
    reads: Iterator[list[Seen | str]],
    backend: Backend,
    model: str,
    batch_size: int,
    exact: bool,
    on_pixels: Callable[[int], None],
) -> Iterator[list[Score]]:
    """Score one chunk; the arguments are those of `score_probes`, and what its files show."""
    size = max(1, min(batch_size, backend.max_batch))
    intake = Intake(backend, on_pixels)
    waiting: list[Unit] = []
    for found in intake.units(chunk, reads):
        if isinstance(found, Unit):
            waiting.append(found)
        else:
            yield _rows(backend, model, found)
        if len(waiting) >= WINDOW * size:
            for answers in _answers(backend, intake, waiting, size, exact):
                yield _rows(backend, model, answers)
            waiting = []
    for answers in _answers(backend, intake, waiting, size, exact):
        yield _rows(backend, model, answers)


def _rows(backend: Backend, model: str, answers: Sequence[Answer]) -> list[Score]:
    return [score_row(backend, model, *answer) for answer in answers]


def _answers(
    backend: Backend, intake: Intake, units: Sequence[Unit], size: int, exact: bool
) -> Iterator[list[Answer]]:
    """Score units in batches of like length; a batch shows an image in all of its rows, or none."""
    for shown in (False, True):
        alike = [unit for unit in units if bool(unit.encoded.images) is shown]
        shared = [] if exact else [unit for unit in alike if len(unit.rows) > 1]
        plain = [(unit, job) for unit in alike if exact or len(unit.rows) == 1 for job in unit.jobs]
        plain.sort(key=lambda pair: len(pair[1].ids))
        for start in range(0, len(plain), size):
            batch = plain[start : start + size]
            jobs: list[Job] = [job for _, job in batch]
            yield intake.answer(jobs, plain_losses(backend, batch))
        shared.sort(key=lambda unit: len(unit.encoded.ids))
        for start in range(0, len(shared), size):
            batch = shared[start : start + size]
            jobs = [job for unit in batch for job in unit.jobs]
            results = [r for own in shared_losses(backend, batch, 2 * size) for r in own]
            yield intake.answer(jobs, results)
