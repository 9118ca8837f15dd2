"""Score on several devices or machines: chunks of probes are the tasks of Ray actors."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vca_core import scorer
from vca_core.actor import Actor, facts, load_arguments
from vca_core.backends import Backend, BackendError
from vca_core.plan import Chunk, plan_chunks
from vca_core.records import Probe, Score

LOST = 3
"""Losses for each actor, with no chunk done in between, after which a run is given up."""


def score_with_ray(
    probes: Sequence[Probe],
    backend: Backend,
    *,
    actors: int | None = None,
    image_dir: str | Path | None = None,
    on_pixels: Callable[[int], None] = lambda seen: None,
    **options: Any,
) -> Iterator[list[Score]]:
    """Score probes with actors that each hold the model; rows arrive chunk by chunk.

    A lost actor is replaced and its chunk scored again by whichever is free, so that every probe
    gives one row. Uses the Ray that this process has joined or that ``RAY_ADDRESS`` names, else
    starts one on this machine and ends it.

    Parameters
    ----------
    probes, image_dir, on_pixels
        As in `vca_core.scorer.score_probes`.
    backend : Backend
        Of `vca_core.backends.load_backend`; actors load its like, and it loads no weights.
    actors : int, optional
        Default is one for each GPU of the cluster, or two where the device is "cpu".
    **options
        ``model``, ``batch_size``, ``exact``, ``memory`` and ``workers`` as in
        `vca_core.scorer.score_probes`, the last two for each actor.

    Yields
    ------
    list of Score
        Those of a chunk; chunks come in the order in which they are done.

    Raises
    ------
    BackendError
        If ray is not installed, the cluster lacks what the actors need, or an actor's checkpoint
        or packages are not the driver's.
    RuntimeError
        If actors are lost again and again.

    Notes
    -----
    Chunks are those of one process, so their number and the order of actors move no score; other
    kinds of processors may move the last bits. All machines see the checkpoint and the images
    under the same paths.
    """
    chunks = list(plan_chunks(probes, scorer.CHUNK))
    if not chunks:
        return
    checkpoint = load_arguments(backend)
    joined = join()
    import ray

    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        n, resources = divide(nodes, backend.device, actors, len(chunks))
        remote = ray.remote(Actor).options(max_restarts=0, **resources)
        options = {"memory": None, **options, "image_dir": Path(image_dir or ".").resolve()}
        given = (checkpoint, facts(backend), resources["num_cpus"], n, options)
        for rows, seen in _done(lambda: remote.remote(*given), n, chunks):
            for pixels in seen:
                on_pixels(pixels)
            yield rows
    finally:
        if joined:
            ray.shutdown()


def join() -> bool:
    """Join the Ray of ``RAY_ADDRESS``, or start one here; False where this process has one.

    Raises
    ------
    BackendError
        If ray is not installed.
    """
    try:
        import ray
    except ImportError:
        raise BackendError("The Ray engine needs ray: pip install 'vca-core[ray]'.") from None
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address=os.environ.get("RAY_ADDRESS", "local"),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    return True


def divide(
    nodes: Sequence[dict[str, float]], device: str, actors: int | None, most: int
) -> tuple[int, dict[str, int]]:
    """Count the actors, ``most`` at most, and what each asks Ray for: a GPU, or CPUs for threads.

    Raises
    ------
    BackendError
        If the device is neither "cpu" nor "cuda", or the cluster has too few: actors beyond them
        would wait for ever.
    """
    kind = {"cpu": "CPU", "cuda": "GPU"}.get(device)
    if kind is None:
        raise BackendError(f"Ray chooses each actor's device: name cpu or cuda, got {device!r}.")
    there = [int(node.get(kind, 0)) for node in nodes]
    units = sum(there)
    n = actors or (units if kind == "GPU" else min(2, units))
    if not 0 < n <= units:
        raise BackendError(f"Each of {n or 'the'} actors needs a {kind}; Ray has {units}.")
    n = min(n, most)
    if kind == "GPU":
        return n, {"num_cpus": 1, "num_gpus": 1}
    # An actor stands on one machine: the most CPUs of which n actors find enough.
    cpus = max(c for c in range(1, max(there) + 1) if sum(own // c for own in there) >= n)
    return n, {"num_cpus": cpus}


def _done(
    start: Callable[[], Any], n_actors: int, chunks: Sequence[Chunk]
) -> Iterator[tuple[list[Score], list[int]]]:
    """Hand chunks to actors as they come free, and give what they find.

    Ray could itself restart an actor and repeat its call. But the call then waits for that actor,
    which a smaller cluster never brings back, and a chunk that kills its actor does so for ever.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError

    waiting, left, lost = deque(chunks), len(chunks), 0
    free: list = []
    busy: dict = {}  # from a call to its actor, and its chunk or None while the model loads

    def load() -> None:
        actor = start()
        busy[actor.prepare.remote()] = actor, None

    try:
        for _ in range(n_actors):
            load()
        while left:
            (call,), _ = ray.wait(list(busy), num_returns=1)
            actor, chunk = busy.pop(call)
            found = None
            try:
                found = ray.get(call)
                free.append(actor)
            except RayTaskError as error:
                raise error.cause from error
            except RayError as error:
                ray.kill(actor)  # it may be out of reach, and hold its device, but alive
                lost += 1
                if lost > LOST * n_actors:
                    raise RuntimeError(
                        f"Ray lost an actor {lost} times with no chunk done in between. If memory "
                        f"is short, fewer actors or --memory help. The last loss: {error}"
                    ) from error
                if chunk is not None:
                    waiting.append(chunk)  # if it is at fault, the others are done before
                load()
            while free and waiting:
                actor, chunk = free.pop(), waiting.popleft()
                busy[actor.score.remote(_probes(chunk))] = actor, chunk
            if found is not None:
                lost, left = 0, left - 1
                yield found
    finally:
        for actor in [*free, *(actor for actor, _ in busy.values())]:
            ray.kill(actor)


def _probes(chunk: Chunk) -> list[Probe]:
    shown = [probe for plan in chunk.files for own in plan.pictures.values() for probe in own]
    return chunk.text_only + shown
