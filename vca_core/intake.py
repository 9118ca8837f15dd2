"""From probes and what they show to what the model is asked: distinct jobs, unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PIL import Image

from vca_core.backends.base import Backend, Encoded
from vca_core.contexts import GRAY
from vca_core.identity import Identity, name_probe
from vca_core.jobs import Job, Unit, check_length, expand_ids
from vca_core.losses import Result
from vca_core.plan import Chunk
from vca_core.reader import Seen
from vca_core.records import Probe

TOGETHER = 256
"""Probes about one blank, or about no picture, whose prefix runs once."""

Answer = tuple[Probe, Identity | None, Result]
"""What is known of a probe: its losses, or the reason why it has none."""


class Intake:
    """Turns probes into units, and remembers which jobs wait and which are answered.

    Parameters
    ----------
    backend : Backend
    settings_sha256 : str
        Of `vca_core.identity.settings_digest`.
    on_pixels : callable
        Told the pixels that the vision tower sees, where a family has a budget.
    """

    def __init__(
        self, backend: Backend, settings_sha256: str, on_pixels: Callable[[int], None]
    ) -> None:
        self.backend = backend
        self.on_pixels = on_pixels
        self.settings = settings_sha256
        self.waiting: dict[str, Job] = {}
        self.known: dict[str, Result] = {}

    def units(
        self, chunk: Chunk, reads: Iterator[list[Seen | str]]
    ) -> Iterator[Unit | list[Answer]]:
        """Give, in turn, units to score and probes already answered.

        Parameters
        ----------
        chunk : Chunk
        reads : iterator
            What is seen of the chunk's files, in their order.
        """
        for start in range(0, len(chunk.text_only), TOGETHER):
            yield from self._unit(chunk.text_only[start : start + TOGETHER], None)
        blanks: dict[Seen, list[Probe]] = {}
        for plan in chunk.files:
            for (picture, shown), seen in zip(plan.pictures.items(), next(reads), strict=True):
                if isinstance(seen, str):
                    yield [(probe, None, seen) for probe in shown]
                elif picture.context == "blank":
                    blanks.setdefault(seen, []).extend(shown)
                else:
                    yield from self._unit(shown, seen)
        for seen, same in blanks.items():
            for start in range(0, len(same), TOGETHER):
                yield from self._blank(seen, same[start : start + TOGETHER])

    def answer(self, jobs: Sequence[Job], results: Sequence[Result]) -> list[Answer]:
        """Take the results of jobs, and answer the probes that waited for them."""
        answers = []
        for job, result in zip(jobs, results, strict=True):
            self.known[job.identity.probe_id] = result
            del self.waiting[job.identity.probe_id]
            answers += [(probe, job.identity, result) for probe in job.probes]
        return answers

    def _blank(self, seen: Seen, probes: list[Probe]) -> Iterator[Unit | list[Answer]]:
        canvas = Image.new("RGB", seen.size, GRAY)
        try:
            encoded = self.backend.encode(probes[0].text, canvas)
        except (RuntimeError, ValueError) as error:  # a BackendError too
            yield [(probe, None, str(error)) for probe in probes]
            return
        yield from self._unit(probes, seen._replace(encoded=encoded))

    def _unit(self, probes: list[Probe], seen: Seen | None) -> Iterator[Unit | list[Answer]]:
        """Give the new jobs about one picture as a unit, and the answers that are known."""
        shown = seen is not None
        try:
            encoded = seen.encoded if shown else self.backend.encode(probes[0].text, None)
        except (RuntimeError, ValueError) as error:
            yield [(probe, None, str(error)) for probe in probes]
            return
        if encoded.pixels is not None:
            self.on_pixels(encoded.pixels)
        first_ids = self.backend.prompt_ids(probes[0].text, shown)
        jobs, answers = [], []
        for probe in probes:
            identity = name_probe(self.backend, probe, self.settings, seen)
            if identity.probe_id in self.known:
                answers.append((probe, identity, self.known[identity.probe_id]))
            elif identity.probe_id in self.waiting:
                self.waiting[identity.probe_id].probes.append(probe)
            else:
                try:
                    job = self._job(probe, identity, encoded, first_ids)
                except ValueError as error:
                    answers.append((probe, identity, str(error)))
                    continue
                self.waiting[identity.probe_id] = job
                jobs.append(job)
        if answers:
            yield answers
        if jobs:
            yield Unit(encoded, jobs)

    def _job(
        self, probe: Probe, identity: Identity, encoded: Encoded, first_ids: Sequence[int]
    ) -> Job:
        own = self.backend.prompt_ids(probe.text, probe.image is not None)
        ids = expand_ids(encoded, first_ids, own)
        job = Job(identity, ids, self.backend.verbalizer_ids(probe.interface), [probe])
        check_length(self.backend, job)
        return job
