"""Image files read in worker processes while the model works, a bounded number ahead of it."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Iterator

from torch.utils.data import DataLoader

from vca_core.reader import FileReader, Seen

AHEAD = 8
"""Files that a worker may be ahead of the model: enough to even out large pictures."""


def read_ahead(reader: FileReader, workers: int) -> Iterator[list[Seen | str]]:
    """Read files in order, in worker processes where there are any; they start at once.

    Parameters
    ----------
    reader : FileReader
    workers : int
        Processes, at most one a core; 0 reads here, one file as it is asked for.

    Returns
    -------
    iterator of list of Seen or str
        What is seen of a file, in the order of its plan's pictures.
    """
    if not workers or len(reader) < 2:
        return (reader[place] for place in range(len(reader)))
    # Bytes go through a pipe. Tensors would go through shared memory, and where that is small, as
    # in many containers, the loader waits for ever.
    loader = DataLoader(
        reader,
        batch_size=None,
        num_workers=min(workers, len(reader), _cores()),
        prefetch_factor=AHEAD,
        collate_fn=pickle.dumps,
        worker_init_fn=_end_with_parent,
    )
    return map(pickle.loads, iter(loader))


def _end_with_parent(number: int) -> None:
    """End this process when its parent is gone: a full pipe would keep it for ever."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _cores() -> int:
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
