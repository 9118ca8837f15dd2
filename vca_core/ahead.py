"""Image files read in worker processes while the model works, a bounded number ahead of it."""

from __future__ import annotations

from collections.abc import Iterator

from torch.utils.data import DataLoader

from vca_core.plan import FilePlan
from vca_core.reader import FileReader, Seen

AHEAD = 8
"""Files that a worker may be ahead of the model: enough to even out large pictures."""


def read_ahead(reader: FileReader, workers: int) -> Iterator[tuple[FilePlan, list[Seen | str]]]:
    """Read files in order, in worker processes where there are any.

    Parameters
    ----------
    reader : FileReader
    workers : int
        Processes; 0 reads here, one file as it is asked for.

    Yields
    ------
    plan : FilePlan
    seen : list of Seen or str
        In the order of the plan's pictures.
    """
    if workers and len(reader) > 1:
        found = DataLoader(
            reader,
            batch_size=None,
            num_workers=min(workers, len(reader)),
            prefetch_factor=AHEAD,
            collate_fn=_as_is,
        )
    else:
        found = (reader[place] for place in range(len(reader)))
    yield from zip(reader.plans, found, strict=True)


def _as_is(found: list[Seen | str]) -> list[Seen | str]:
    return found
