"""Image files read in worker processes while the model works, a bounded number ahead of it."""

from __future__ import annotations

from collections.abc import Iterator

from torch.utils.data import DataLoader

from vca_core.reader import FileReader, Seen

AHEAD = 8
"""Files that a worker may be ahead of the model: enough to even out large pictures."""


def read_ahead(reader: FileReader, workers: int) -> Iterator[list[Seen | str]]:
    """Read files in order, in worker processes where there are any.

    Parameters
    ----------
    reader : FileReader
    workers : int
        Processes; 0 reads here, one file as it is asked for.

    Yields
    ------
    list of Seen or str
        What is seen of a file, in the order of its plan's pictures.
    """
    if not workers or len(reader) < 2:
        yield from (reader[place] for place in range(len(reader)))
        return
    yield from DataLoader(
        reader,
        batch_size=None,
        num_workers=min(workers, len(reader)),
        prefetch_factor=AHEAD,
        collate_fn=_as_is,
    )


def _as_is(found: list[Seen | str]) -> list[Seen | str]:
    return found
