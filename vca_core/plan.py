"""Probes by what they show: each picture is made once and serves all prompts about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vca_core.contexts import BOX_CONTEXTS
from vca_core.records import Box, Probe


class Picture(NamedTuple):
    """What a prompt shows; probes with equal pictures share the start of their prompts."""

    image: str | None
    """File it is made from; None for text only."""
    context: str
    boxes: tuple[Box | None, ...] = ()


TEXT_ONLY = Picture(None, "text_only")


def picture_of(probe: Probe) -> Picture:
    """Name what a probe shows: a mismatch is the partner's original, boxes count where used."""
    if probe.image is None:
        return TEXT_ONLY
    context = "original" if probe.context == "mismatch" else probe.context
    boxes: tuple = ()
    if context in BOX_CONTEXTS:
        boxes = (probe.sample.subject_box, probe.sample.object_box)
    return Picture(probe.image, context, boxes)


class FilePlan(NamedTuple):
    """One image file with the pictures that are made from it, and the probes of each."""

    name: str
    pictures: dict[Picture, list[Probe]]


class Chunk(NamedTuple):
    """Work that shares nothing with other work: it may run anywhere, and gives the same."""

    files: list[FilePlan]
    text_only: list[Probe]

    @property
    def n_probes(self) -> int:
        """Probes of the chunk."""
        shown = sum(len(own) for plan in self.files for own in plan.pictures.values())
        return shown + len(self.text_only)


def plan_files(probes: Iterable[Probe]) -> Chunk:
    """Group probes by image file and picture, both in the order of first use."""
    files: dict[str, dict[Picture, list[Probe]]] = {}
    text_only = []
    for probe in probes:
        picture = picture_of(probe)
        if picture == TEXT_ONLY:
            text_only.append(probe)
        else:
            files.setdefault(picture.image, {}).setdefault(picture, []).append(probe)
    return Chunk([FilePlan(name, pictures) for name, pictures in files.items()], text_only)


def plan_chunks(probes: Iterable[Probe], size: int) -> Iterator[Chunk]:
    """Cut the work into chunks of about ``size`` probes, files whole and equal texts together."""
    everything = plan_files(probes)
    texts: dict[str, list[Probe]] = {}
    for probe in everything.text_only:
        texts.setdefault(probe.text, []).append(probe)
    parts = [Chunk([], same) for same in texts.values()]
    parts += [Chunk([plan], []) for plan in everything.files]
    chunk = Chunk([], [])
    for part in parts:
        if chunk.n_probes and chunk.n_probes + part.n_probes > size:
            yield chunk
            chunk = Chunk([], [])
        chunk.files.extend(part.files)
        chunk.text_only.extend(part.text_only)
    if chunk.n_probes:
        yield chunk


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """Count the leading tokens that all prompts have in common, short of the last of any."""
    shortest = min(map(len, prompts)) - 1
    first, last = min(prompts), max(prompts)  # in between, the others agree where these do
    for n in range(shortest):
        if first[n] != last[n]:
            return n
    return shortest


def unextended(tails: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Leave out tails that another tail begins with: its forward gives their logits too."""
    tails = {tuple(tail) for tail in tails}
    return sorted(
        tail
        for tail in tails
        if not any(other != tail and other[: len(tail)] == tail for other in tails)
    )
