"""Score one data set with one backend into its scores file, through the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from vca_core.cache import scores_path
from vca_core.identity import settings_digest
from vca_core.probes import build_probes
from vca_core.records import Sample, SchemaError, Score
from vca_core.run_record import run_record
from vca_core.target import LOW_MASS, Outcome, Progress, finish_target, open_target

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

__all__ = ["ENGINES", "LOW_MASS", "PRIMARY", "Outcome", "Progress", "score_manifest", "take_groups"]

PRIMARY = ("original", "text_only", "blank")
"""The contexts of the support audit."""
ENGINES = ("local", "ray")
"""What may run the forwards: this process, or Ray actors on its machine or a cluster."""


def take_groups(samples: Sequence[Sample], limit: int) -> list[Sample]:
    """First ``limit`` whole groups: pairs, stems or edits, else single samples; 0 takes all."""
    if limit < 0:
        raise SchemaError(f"`limit` must be 0 (all) or a number of groups, got {limit}.")
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        group = sample.edit_id or sample.stem_id or sample.pair_id or sample.sample_id
        groups.setdefault(group, []).append(sample)
    return [sample for group in list(groups.values())[: limit or None] for sample in group]


def score_manifest(
    samples: Sequence[Sample],
    backend: Backend,
    *,
    model: str,
    contexts: Sequence[str],
    interface: str | Sequence[str],
    out_dir: str | Path,
    image_dir: str | Path | None = None,
    batch_size: int | None = None,
    memory: int | None = None,
    limit: int = 0,
    exact: bool = False,
    workers: int = 0,
    engine: str = "local",
    actors: int | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Outcome | list[Outcome]:
    """Score one data set into its scores files, through their journals.

    Parameters
    ----------
    samples : sequence of Sample
        Of a single data set.
    backend : Backend
    model : str
        Name of the scores file.
    contexts : sequence of str
    interface : str or sequence of str
        Several are scored together, so that what they show runs once.
    out_dir : path
        Root of the cache.
    image_dir : path, optional
        Root of the images.
    batch_size, memory, exact, workers
        As in `vca_core.scorer.score_probes`.
    engine : {"local", "ray"}
    actors : int, optional
        Of the Ray engine; see `vca_core.engine_ray.score_with_ray`.
    limit : int
        Whole groups to score (0: all).
    command : str
        Recorded as given.
    progress : Progress, optional

    Returns
    -------
    Outcome, or one for each interface if `interface` is a sequence
        An interrupted run raises, and leaves its journals to be resumed by the same call.
    """
    run = _engine(engine, actors)
    progress = progress or Progress()
    surfaces = [interface] if isinstance(interface, str) else list(interface)
    datasets = sorted({sample.dataset for sample in samples})
    if len(datasets) != 1:
        raise SchemaError(f"A scores file holds one data set, got {datasets}.")
    settings = settings_digest(backend.fingerprint(), exact)
    chosen = {(s.sample_id, s.wording) for s in take_groups(samples, limit)}
    with ExitStack() as stack:
        targets = []
        for surface in surfaces:
            probes = [p for p in build_probes(samples, contexts, surface)
                      if (p.sample.sample_id, p.sample.wording) in chosen]  # fmt: skip
            path = scores_path(out_dir, datasets[0], surface, model)
            targets.append(
                open_target(stack, surface, probes, path, backend, image_dir, settings, workers,
                        progress)
            )  # fmt: skip
        by_surface = {target.interface: target for target in targets}
        written: dict[str, list[Score]] = {surface: [] for surface in surfaces}
        wanted = [probe for target in targets for probe in target.todo.probes]
        seen: list[int] = []
        by_interface = attrgetter("interface")
        for rows in run(
            wanted,
            backend,
            model=model,
            image_dir=image_dir,
            batch_size=batch_size,
            memory=memory,
            exact=exact,
            workers=workers,
            on_pixels=seen.append,
        ):
            for surface, own in groupby(sorted(rows, key=by_interface), key=by_interface):
                own = list(own)
                by_surface[surface].journal.append(own)
                written[surface] += own
            progress.score(sum(map(len, written.values())), len(wanted))
        outcomes = []
        for target in targets:
            record = run_record(backend, target.probes, contexts, target.interface, model, command,
                                seen, batch_size, exact)  # fmt: skip
            outcomes.append(
                finish_target(target, written[target.interface], record, out_dir, progress)
            )
    return outcomes[0] if isinstance(interface, str) else outcomes


def _engine(name: str, actors: int | None) -> Callable[..., Iterator[list[Score]]]:
    """Give `score_probes`, or what does the same elsewhere."""
    if name not in ENGINES:
        raise SchemaError(f"Unknown engine {name!r}; expected of {list(ENGINES)}.")
    if name == "ray":
        from vca_core.engine_ray import score_with_ray

        return partial(score_with_ray, actors=actors)
    if actors is not None:
        raise SchemaError(f"`actors` is for the engine ray, got {actors} for {name}.")
    from vca_core.scorer import score_probes

    return score_probes
