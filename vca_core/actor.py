"""One model in a process of its own, maybe on another machine: what the Ray engine starts."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from vca_core import __version__
from vca_core.backends import Backend, BackendError, load_backend
from vca_core.backends.hf import HFBackend
from vca_core.budget import Budget
from vca_core.records import Probe, Score
from vca_core.run_record import package_versions
from vca_core.scorer import score_probes


class Actor:
    """Loads a model like the driver's, and scores chunks of probes with it.

    Parameters
    ----------
    checkpoint : dict
        Arguments of `vca_core.backends.load_backend`.
    facts : dict
        Those of the driver, see `facts`.
    threads : int
        Most threads of a model on a CPU.
    neighbours : int
        Actors, this one included, that may share a machine's memory.
    options : dict
        Arguments of `vca_core.scorer.score_probes`.
    """

    def __init__(
        self,
        checkpoint: dict[str, Any],
        facts: dict[str, str],
        threads: int,
        neighbours: int,
        options: dict[str, Any],
    ) -> None:
        self.checkpoint = checkpoint
        self.facts = facts
        self.threads = threads
        self.neighbours = neighbours
        self.options = options

    def prepare(self) -> None:
        """Load the model. Not in the constructor: what a call raises reaches the driver as it is.

        Raises
        ------
        BackendError
            If the checkpoint or the device fails, or a fact is not the driver's.
        """
        import torch

        torch.set_num_threads(min(torch.get_num_threads(), self.threads))
        self.backend = load_backend(**self.checkpoint)
        check_facts(facts(self.backend), self.facts)
        self.backend.prepare()
        if self.options["memory"] is None and self.backend.device == "cpu":
            self.options["memory"] = Budget("cpu").memory // self.neighbours

    def score(self, probes: list[Probe]) -> tuple[list[Score], list[int]]:
        """Score the probes of a chunk; also gives the pixels that the vision tower saw."""
        seen: set[int] = set()
        scored = score_probes(probes, self.backend, on_pixels=seen.add, **self.options)
        return [row for rows in scored for row in rows], sorted(seen)


def load_arguments(backend: Backend) -> dict[str, Any]:
    """Give the arguments of `load_backend` that make a backend's like.

    Raises
    ------
    BackendError
        If it was not made from a checkpoint.
    """
    if not isinstance(backend, HFBackend):
        raise BackendError(f"Ray actors load a checkpoint, and {backend.family!r} has none.")
    source = backend.files.source
    return {
        "checkpoint": str(Path(source).resolve()) if Path(source).is_dir() else source,
        "device": backend.device,
        "dtype": backend.dtype,
        "system": backend.system,
        "pixels": getattr(backend, "pixels", None),
        "trust_remote_code": backend.trust_remote_code,
    }


def facts(backend: Backend) -> dict[str, str]:
    """List what decides scores, as text: the fingerprint, and versions without build tags."""
    versions = {"vca_core": __version__, **package_versions()}
    found = {name: text.split("+")[0] for name, text in versions.items()} | backend.fingerprint()
    return {name: json.dumps(fact, sort_keys=True, default=str) for name, fact in found.items()}


def check_facts(own: dict[str, str], driver: dict[str, str]) -> None:
    """Refuse to score where a fact differs: two settings must not stand in one file.

    Raises
    ------
    BackendError
        Naming the first fact that differs, on both sides.
    """
    for name in sorted(own.keys() | driver.keys()):
        if own.get(name) != driver.get(name):
            raise BackendError(
                f"The actor on {socket.gethostname()} has {name} {own.get(name)}, the driver "
                f"{driver.get(name)}: all machines need the same checkpoint and packages."
            )
