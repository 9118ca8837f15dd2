"""Continuation losses of probes: the only file that calls ``forward``.

A row fed to the model is the prompt and all but the last token of a continuation::

    position   0 … P-1          P        …   P+K-2
    fed        prompt           a_1      …   a_{K-1}
    logits of  P-1 … P+K-2  are the predictions of a_1 … a_K

so the loss counts exactly the K continuation tokens; prompt and BOS never enter. A single-token
continuation needs no row of its own: the logits after the prompt answer both words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from vca_core.backends.base import Backend, BackendError, Encoded
from vca_core.contexts import ImageError
from vca_core.reader import Identity, ProbeReader
from vca_core.records import CARRIED, VERBALIZERS, Probe, Score

WINDOW = 4
"""Batches that are encoded, and sorted by length, together."""
LOW_MASS = 1e-3
"""Answer mass below which the two words are hardly what the model would say."""


class Losses(NamedTuple):
    """Mean and summed negative log-likelihood of both continuations, in nats."""

    loss_yes: float
    loss_no: float
    answer_mass: float


def continuation_loss(logits: torch.Tensor, ids: Sequence[int]) -> float:
    r"""Mean negative log-likelihood of a continuation.

    .. math:: \ell(a \mid c, q) = -\frac{1}{K} \sum_{k=1}^{K} \log p(a_k \mid c, q, a_{<k})

    Parameters
    ----------
    logits : Tensor, (K, vocabulary)
        Predictions of the K continuation tokens; cast to float32 before the log-softmax.
    ids : sequence of int, length K

    Returns
    -------
    float, nats per token

    Raises
    ------
    ValueError
        If there are no tokens, the lengths differ, or a logit is NaN or +inf.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 11 (mean over candidate continuation tokens only).
    """
    if not len(ids) or len(ids) != len(logits):
        raise ValueError(f"{len(logits)} rows of logits for {len(ids)} continuation tokens")
    logits = logits.float()
    asked = torch.tensor([[i] for i in ids])
    # -inf forbids a token and is fine unless it is the one asked for.
    bad = torch.isnan(logits).any() or torch.isposinf(logits).any()
    if bad or torch.isinf(logits.gather(-1, asked)).any():
        raise ValueError("non-finite logits")
    return float(-torch.log_softmax(logits, dim=-1).gather(-1, asked).mean())


class _Job(NamedTuple):
    probe: Probe
    identity: Identity
    encoded: Encoded


def score_probes(
    probes: Sequence[Probe],
    backend: Backend,
    *,
    model: str,
    image_dir: str | Path | None = None,
    batch_size: int = 8,
    reader: ProbeReader | None = None,
    on_pixels: Callable[[int], None] = lambda seen: None,
) -> Iterator[list[Score]]:
    """Score probes batch by batch; each forward's rows are yielded as soon as they are there.

    Parameters
    ----------
    probes : sequence of Probe
    backend : Backend
    model : str
        Name to store with each score.
    image_dir : path, optional
        Root of the images; text-only probes need none.
    batch_size : int
        Prompts per forward; the family's own limit may be lower.
    reader : ProbeReader, optional
        One that has already hashed the images.
    on_pixels : callable
        Told the pixels that the vision tower sees, where a family has a budget.

    Yields
    ------
    list of Score
        One per probe, in the order of the forwards. Probes that share a `probe_id` share a
        forward. What cannot be scored is a row with ``status`` "error" and its reason.
    """
    reader = reader or ProbeReader(backend, image_dir)
    if probes:
        backend.prepare()
    size = max(1, min(batch_size, backend.max_batch))
    known: dict[str, Losses | str] = {}
    for start in range(0, len(probes), size * WINDOW):
        jobs: list[_Job] = []
        waiting: dict[str, list[tuple[Probe, Identity]]] = {}
        ready: list[Score] = []
        for probe in probes[start : start + size * WINDOW]:
            try:
                identity = reader.identify(probe)
                if identity.probe_id in known:
                    ready.append(_row(backend, model, probe, identity, known[identity.probe_id]))
                    continue
                if identity.probe_id not in waiting:
                    jobs.append(_Job(probe, identity, _encode(backend, reader, probe)))
                    seen = jobs[-1].encoded.pixels
                    if seen is not None:
                        on_pixels(seen)
                waiting.setdefault(identity.probe_id, []).append((probe, identity))
            except (ImageError, BackendError, ValueError) as error:
                ready.append(_row(backend, model, probe, None, str(error)))
        if ready:
            yield ready
        jobs.sort(key=lambda job: (bool(job.encoded.images), len(job.encoded.ids)))
        for batch in _batches(jobs, size):
            results = _losses(backend, batch)
            known |= {j.identity.probe_id: r for j, r in zip(batch, results, strict=True)}
            yield [
                _row(backend, model, probe, identity, result)
                for job, result in zip(batch, results, strict=True)
                for probe, identity in waiting[job.identity.probe_id]
            ]


def _encode(backend: Backend, reader: ProbeReader, probe: Probe) -> Encoded:
    encoded = backend.encode(probe.text, reader.image(probe))
    longest = max(map(len, backend.verbalizer_ids(probe.interface)))
    if len(encoded.ids) + longest > backend.max_length:
        raise ValueError(
            f"prompt of {len(encoded.ids)} tokens and continuation of {longest} are over the "
            f"model's {backend.max_length}"
        )
    return encoded


def _batches(jobs: list[_Job], size: int) -> Iterator[list[_Job]]:
    # A forward holds prompts that all show an image, or none.
    for shown in (False, True):
        group = [job for job in jobs if bool(job.encoded.images) is shown]
        yield from (group[i : i + size] for i in range(0, len(group), size))


def _losses(backend: Backend, batch: list[_Job]) -> list[Losses | str]:
    """Losses of each job, or the reason why there are none; a bad batch is retried one by one."""
    try:
        results = _forward_losses(backend, batch)
    except (RuntimeError, ValueError, IndexError) as error:
        results = [f"{type(error).__name__}: {error}"] * len(batch)
    if len(batch) == 1:
        return results
    return [
        _losses(backend, [job])[0] if isinstance(result, str) else result
        for job, result in zip(batch, results, strict=True)
    ]


def _forward_losses(backend: Backend, batch: list[_Job]) -> list[Losses | str]:
    continuations = [backend.verbalizer_ids(job.probe.interface) for job in batch]
    rows = {
        (number, tuple(ids[:-1])): None for number, pair in enumerate(continuations) for ids in pair
    }
    logits = backend.forward([batch[n].encoded for n, _ in rows], [list(t) for _, t in rows])
    by_row = dict(zip(rows, logits, strict=True))
    results: list[Losses | str] = []
    for number, pair in enumerate(continuations):
        try:
            losses = [continuation_loss(by_row[number, tuple(ids[:-1])], ids) for ids in pair]
        except ValueError as error:
            results.append(str(error))
            continue
        sums = [loss * len(ids) for loss, ids in zip(losses, pair, strict=True)]
        mass = float(torch.tensor(sums, dtype=torch.float64).neg().exp().sum())
        results.append(Losses(*losses, mass))
    return results


def _row(
    backend: Backend, model: str, probe: Probe, identity: Identity | None, result: Losses | str
) -> Score:
    """Score of one probe: the sample's fields, the hashes, and the numbers or the reason."""
    yes, no = backend.verbalizer_ids(probe.interface)
    common = {
        **{name: getattr(probe.sample, name) for name in CARRIED},
        "model": model,
        "checkpoint": backend.checkpoint,
        "context": probe.context,
        "interface": probe.interface,
        "question": probe.text,
        "verbalizer_yes": VERBALIZERS[probe.interface][0],
        "verbalizer_no": VERBALIZERS[probe.interface][1],
        "n_tokens_yes": len(yes),
        "n_tokens_no": len(no),
    }
    if identity is not None:
        common |= {
            "probe_id": identity.probe_id,
            "prompt_sha256": identity.prompt_sha256,
            "image_sha256": identity.image_sha256,
            "image_width": identity.size[0] if identity.size else None,
            "image_height": identity.size[1] if identity.size else None,
        }
    else:
        common["image_sha256"] = None  # the manifest's hash is not what was shown
    if isinstance(result, str):
        return Score(**common, status="error", error=result)
    return Score(
        **common,
        loss_yes=result.loss_yes,
        loss_no=result.loss_no,
        margin=result.loss_no - result.loss_yes,
        answer_mass=result.answer_mass,
    )
