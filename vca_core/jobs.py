"""What the model is asked about one picture: distinct prompts, and the probes each one answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vca_core.identity import Identity
from vca_core.plan import shared_length, unextended
from vca_core.records import Probe

if TYPE_CHECKING:
    from vca_core.backends.base import Backend, Encoded


@dataclass
class Job:
    """One prompt and its two continuations; every probe of one `probe_id`."""

    identity: Identity
    ids: list[int]
    """Prompt with placeholders expanded."""
    continuations: tuple[list[int], list[int]]
    probes: list[Probe] = field(default_factory=list)

    @property
    def tails(self) -> list[tuple[int, ...]]:
        """What is fed after the prompt; one forward for all continuations it is the start of."""
        return unextended(tuple(ids[:-1]) for ids in self.continuations)


@dataclass
class Unit:
    """The jobs about one picture, or about none."""

    encoded: Encoded
    """The first job's prompt; its image tensors serve all of them."""
    jobs: list[Job]

    def encoded_as(self, ids: list[int]) -> Encoded:
        """Give the picture with other token ids: another prompt about it, or a part of one."""
        return self.encoded._replace(ids=ids)

    @property
    def rows(self) -> list[tuple[Job, tuple[int, ...]]]:
        """Jobs with the tails that must be fed after them."""
        return [(job, tail) for job in self.jobs for tail in job.tails]

    @property
    def head(self) -> int:
        """Tokens that all prompts begin with, short of the last token of any."""
        return shared_length([job.ids for job in self.jobs])


def expand_ids(first: Encoded, first_ids: Sequence[int], ids: Sequence[int]) -> list[int]:
    """Give a prompt's ids with placeholders expanded, from another prompt about the same picture.

    Parameters
    ----------
    first : Encoded
        Another prompt about the picture, with placeholders expanded.
    first_ids, ids : sequence of int
        That prompt and this one before placeholders are expanded.

    Raises
    ------
    ValueError
        If the picture does not stand in the part that both have in common.
    """
    common = 0
    while common < min(len(first_ids), len(ids)) and first_ids[common] == ids[common]:
        common += 1
    rest = len(first_ids) - common
    if first.ids[len(first.ids) - rest :] != list(first_ids[common:]):
        raise ValueError("the picture must stand before the text in the prompt")
    return [*first.ids[: len(first.ids) - rest], *ids[common:]]


def check_length(backend: Backend, job: Job) -> None:
    """Refuse a prompt that is too long for the model.

    Raises
    ------
    ValueError
        With both lengths.
    """
    longest = max(map(len, job.continuations))
    if len(job.ids) + longest > backend.max_length:
        raise ValueError(
            f"prompt of {len(job.ids)} tokens and continuation of {longest} are over the "
            f"model's {backend.max_length}"
        )


def n_rows(units: Iterable[Unit]) -> int:
    """Rows of all units together."""
    return sum(len(unit.rows) for unit in units)
