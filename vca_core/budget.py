"""How many tokens a forward may hold: what is fast, within memory that is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import torch

FAST = {"cpu": 2048, "cuda": 16_384}
"""Tokens beyond which a forward was no faster a token: on a processor. A GPU was not measured."""
SHARE = {"cpu": 0.5, "cuda": 0.8}
"""Part of the memory that is free at the start which is used where no budget is given."""


class Budget:
    """Tokens that a forward may hold; learns what one takes, and halves when memory runs out.

    Parameters
    ----------
    device : str
        As torch names it; the model is loaded there.
    memory : int, optional
        Bytes that a forward may take beyond the weights; default is a part of what is free.
    """

    def __init__(self, device: str, memory: int | None = None) -> None:
        self.kind = "cuda" if device.startswith("cuda") else "cpu"
        self.device = device
        self.memory = memory or int(SHARE[self.kind] * self._free())
        self.per_token: dict[str, float] = {}
        """Bytes that a token was seen to take, in the largest forward of each kind."""
        self._largest: dict[str, int] = {}
        self._cap: dict[str, int] = {}
        self._start = self._used()

    def tokens(self, kind: str) -> int:
        """Count the tokens that the next forward may hold.

        Parameters
        ----------
        kind : str
            Whole prompts, prefixes or what follows them, about an image or not: what a token
            takes differs.
        """
        room = FAST[self.kind]
        if kind in self.per_token:
            room = min(room, int(self.memory / self.per_token[kind]))
        return min(room, self._cap.get(kind, room))

    @contextmanager
    def forward(self, kind: str, tokens: int) -> Iterator[None]:
        """Measure a forward of that many tokens; on running out of memory lower what may be held.

        Raises
        ------
        MemoryError
            In place of torch's own error, so that the caller tries with fewer rows.
        """
        try:
            if tokens <= self._largest.get(kind, 0):
                yield
                return
            with self._peak() as peak:
                yield
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if self.kind == "cuda":
                torch.cuda.empty_cache()
            self._cap[kind] = max(1, tokens // 2)
            raise MemoryError(str(error)) from error
        self._largest[kind] = tokens
        self.per_token[kind] = max(1.0, (peak() - self._start) / tokens)

    def _free(self) -> int:
        if self.kind == "cuda":
            kept = torch.cuda.memory_reserved(self.device) - self._used()
            return torch.cuda.mem_get_info(self.device)[0] + kept
        return psutil.virtual_memory().available

    def _used(self) -> int:
        if self.kind == "cuda":
            return torch.cuda.memory_allocated(self.device)
        return psutil.Process().memory_info().rss

    @contextmanager
    def _peak(self) -> Iterator[Callable[[], int]]:
        """Most bytes in use while the block runs; a processor's are looked at every 2 ms."""
        if self.kind == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            yield lambda: torch.cuda.max_memory_allocated(self.device)
            return
        found, done = [self._used()], threading.Event()

        def watch() -> None:
            while not done.wait(0.002):
                found.append(self._used())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield lambda: max(found)
        finally:
            done.set()
            thread.join()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, in torch's or the system's words."""
    text = str(error).lower()
    words = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(w in text for w in words)
