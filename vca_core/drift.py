"""How far margins move, and which decisions flip, when prompts about one picture share a prefix."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from vca_core.probes import build_probes
from vca_core.records import INTERFACES, Probe, Score

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

FLOAT32_TOLERANCE = 1e-4
"""Nats by which float32 margins may differ: 1e-5 in mini models, and wider sums round more."""
CONTEXTS = ("original", "text_only", "blank")
SIZES = ((256, 256), (256, 192), (192, 256))
"""Pixels of the example pictures, in turn: batches of unlike lengths, and short on a processor."""
PER_PICTURE = 2 * len(INTERFACES) * len(CONTEXTS)
"""Decisions about one example picture: two statements, both interfaces, three contexts."""
MOST = 440 * PER_PICTURE
"""Decisions about all pictures that the scene set ``pairs`` has."""


class Drift(NamedTuple):
    """How scores differ from a reference, over the decisions that both have."""

    scores: str
    """Dtype and path of the scores, in words."""
    reference: str
    n: int
    """Decisions compared."""
    n_failed: int
    """Decisions that either side could not score; they are in no other number."""
    largest: float
    """Largest absolute difference of a margin, nats; NaN where nothing was compared."""
    median: float
    """Median absolute difference of a margin, nats."""
    n_flips: int
    """Decisions that differ; a margin of exactly zero decides yes."""
    flipped_margin: float
    """Largest absolute margin of the reference among flipped decisions, nats; NaN without any."""


def example_probes(n_decisions: int, folder: str | Path) -> list[Probe]:
    """Draw the first pictures of the scene set ``pairs`` and ask about them.

    Parameters
    ----------
    n_decisions : int
        Rounded up to whole pictures of `PER_PICTURE` decisions, at most `MOST`.
    folder : path
        Where the pictures go, as PNG.

    Returns
    -------
    list of Probe
        The same at every call.

    Raises
    ------
    ValueError
        If less than one decision, or more than there are, is asked for.
    """
    from vca_core.scenes.natural import draw_pairs

    if not 0 < n_decisions <= MOST:
        raise ValueError(f"`n_decisions` must be 1 to {MOST}, got {n_decisions}.")
    samples = []
    for number, item in enumerate(islice(draw_pairs(), -(-n_decisions // PER_PICTURE))):
        item.picture().resize(SIZES[number % len(SIZES)]).save(Path(folder) / item.image)
        samples += item.samples
    return [p for interface in INTERFACES for p in build_probes(samples, CONTEXTS, interface)]


def compare_scores(
    scores: Mapping[tuple, Score], reference: Mapping[tuple, Score], *names: str
) -> Drift:
    r"""Compare the margins and decisions of two passes over the same probes.

    .. math:: \max_i |m_i - m_i^{\mathrm{ref}}|, \quad
              \operatorname{median}_i |m_i - m_i^{\mathrm{ref}}|, \quad
              \#\{i : (m_i \ge 0) \ne (m_i^{\mathrm{ref}} \ge 0)\}

    Parameters
    ----------
    scores, reference : mapping of key to Score
        With equal keys.
    *names : str
        What the two are, in words.

    Returns
    -------
    Drift
        Nats; NaN where no decision was scored on both sides.

    Raises
    ------
    ValueError
        If the keys differ.
    """
    if scores.keys() != reference.keys():
        other = sorted(scores.keys() ^ reference.keys())
        raise ValueError(f"Scores and reference must be of the same probes; {other[0]} is in one.")
    both = [
        (scores[key].margin, reference[key].margin)
        for key in scores
        if scores[key].status == reference[key].status == "ok"
    ]
    moved = [abs(own - true) for own, true in both]
    flipped = [abs(true) for own, true in both if (own >= 0) != (true >= 0)]
    return Drift(
        *names,
        n=len(both),
        n_failed=len(scores) - len(both),
        largest=max(moved, default=math.nan),
        median=median(moved) if moved else math.nan,
        n_flips=len(flipped),
        flipped_margin=max(flipped, default=math.nan),
    )


def measure_drift(
    backend: Backend,
    n_decisions: int,
    load_float32: Callable[[], Backend] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> list[Drift]:
    """Score example decisions with shared prefixes and as whole prompts, and compare.

    Parameters
    ----------
    backend : Backend
    n_decisions : int
        As in `example_probes`; each is scored twice.
    load_float32 : callable, optional
        Gives the same checkpoint in float32, whose whole prompts then are a second reference.
    say : callable
        Told what is about to be done.

    Returns
    -------
    list of Drift
        Shared against whole prompts; with ``load_float32`` also both of these against float32.

    Raises
    ------
    ValueError
        As in `example_probes`.
    """
    dtype = backend.fingerprint()["dtype"]
    with TemporaryDirectory() as folder:
        probes = example_probes(n_decisions, folder)
        shared, exact = f"{dtype} shared", f"{dtype} exact"
        passes = {}
        for name in (shared, exact):
            say(f"scoring {len(probes)} decisions, {name}")
            passes[name] = _scores(probes, backend, folder, name == exact)
        pairs = [(shared, exact)]
        if load_float32 is not None:
            reference = "float32 exact"
            say(f"scoring {len(probes)} decisions, {reference}")
            passes[reference] = _scores(probes, load_float32(), folder, True)
            pairs += [(shared, reference), (exact, reference)]
    return [compare_scores(passes[own], passes[other], own, other) for own, other in pairs]


def _scores(
    probes: Iterable[Probe], backend: Backend, folder: str, exact: bool
) -> dict[tuple, Score]:
    from vca_core.scorer import score_probes

    batches = score_probes(probes, backend, model="drift", image_dir=folder, exact=exact)
    return {(s.sample_id, s.interface, s.context): s for batch in batches for s in batch}


def float32_fits(backend: Backend) -> bool:
    """Whether a second copy of the weights, in float32, fits in what is free.

    Both the processor's memory and the device's are asked: weights are read into the first.
    """
    from vca_core.budget import Budget

    size = 4 * backend.model.num_parameters()
    return all(size <= Budget(device).memory for device in {"cpu", backend.device})
