"""How much a forward may hold: rows that fit a memory budget, from what rows were seen to take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import torch

PLATEAU = {"cpu": 8192, "cuda": 65_536}
"""Tokens of a forward beyond which larger ones are no faster; benchmarks/ measures it."""
FIRST = 2048
"""Tokens of the first forward, before anything is known."""
SHARE = {"cpu": 0.5, "cuda": 0.8}
"""Part of the memory that is free at the start which is used without a budget."""


class Budget:
    """Rows a forward may have; learns what a token takes, and halves when memory runs out.

    Parameters
    ----------
    device : str
        As torch names it.
    memory : int, optional
        Bytes that a forward may take beyond the weights; default is a part of what is free.
    """

    def __init__(self, device: str, memory: int | None = None) -> None:
        self.kind = "cuda" if device.startswith("cuda") else "cpu"
        self.device = device
        self.memory = memory or int(SHARE[self.kind] * self._free())
        self.per_token: dict[str, float] = {}
        """Most bytes that a token was seen to take, of each kind of forward."""
        self.cap: dict[str, int] = {}
        """Tokens at which memory ran out, halved."""

    def rows(self, kind: str, tokens: int, new_tokens: int | None = None) -> int:
        """Count the rows that a forward may have, at least one.

        Parameters
        ----------
        kind : str
            "whole", "prefix" or "suffix": what a token takes differs.
        tokens : int
            Tokens a row holds, cached ones included.
        new_tokens : int, optional
            Tokens of a row that are run; default all.
        """
        room = self.cap.get(kind, 1 << 40)
        if kind in self.per_token:
            room = min(room, int(self.memory / self.per_token[kind]))
        else:
            room = min(room, FIRST)
        fast = PLATEAU[self.kind] // (new_tokens or tokens)
        return max(1, min(room // tokens, fast))

    @contextmanager
    def forward(self, kind: str, tokens: int) -> Iterator[None]:
        """Measure a forward of that many tokens; on running out of memory lower what may be held.

        Raises
        ------
        MemoryError
            In place of torch's own error, so that the caller tries with fewer rows.
        """
        try:
            with self._peak() as peak:
                yield
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if self.kind == "cuda":
                torch.cuda.empty_cache()
            self.cap[kind] = max(1, tokens // 2)
            raise MemoryError(str(error)) from error
        if tokens >= FIRST // 2:
            seen = peak() / tokens
            self.per_token[kind] = max(self.per_token.get(kind, 1.0), seen)

    def _free(self) -> int:
        if self.kind == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        return psutil.virtual_memory().available

    @contextmanager
    def _peak(self) -> Iterator[Callable[[], int]]:
        """Bytes taken at most while the block runs."""
        if self.kind == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            before = torch.cuda.memory_allocated(self.device)
            yield lambda: torch.cuda.max_memory_allocated(self.device) - before
            return
        process, found, done = psutil.Process(), [], threading.Event()
        before = process.memory_info().rss

        def watch() -> None:
            while not done.wait(0.002):
                found.append(process.memory_info().rss)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield lambda: max([*found, before]) - before
        finally:
            done.set()
            thread.join()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, in torch's or the system's words."""
    text = str(error).lower()
    words = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(w in text for w in words)
