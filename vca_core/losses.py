"""Continuation losses of jobs: the only file that runs the model.

A row fed to the model is the prompt and all but the last token of a continuation::

    position   0 … P-1          P        …   P+K-2
    fed        prompt           a_1      …   a_{K-1}
    logits of  P-1 … P+K-2  are the predictions of a_1 … a_K

so the loss counts exactly the K continuation tokens; prompt and BOS never enter. A single-token
continuation needs no row of its own: the logits after the prompt answer both words. Prompts about
one picture share the tokens that all of them begin with: these run once, and their key-value cache
serves every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from vca_core.backends.base import Backend
from vca_core.jobs import Job, Unit


class Losses(NamedTuple):
    """Mean and summed negative log-likelihood of both continuations, in nats."""

    loss_yes: float
    loss_no: float
    answer_mass: float


Result = Losses | str
"""Losses of a job, or the reason why there are none."""


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


def plain_losses(backend: Backend, batch: Sequence[tuple[Unit, Job]]) -> list[Result]:
    """Losses from whole prompts, one row for each; a bad batch is retried one by one.

    The jobs all show an image, or none.
    """
    try:
        results = _plain(backend, batch)
    except (RuntimeError, ValueError, IndexError) as error:
        results = [f"{type(error).__name__}: {error}"] * len(batch)
    if len(batch) == 1:
        return results
    return [
        plain_losses(backend, [job])[0] if isinstance(result, str) else result
        for job, result in zip(batch, results, strict=True)
    ]


def _plain(backend: Backend, batch: Sequence[tuple[Unit, Job]]) -> list[Result]:
    rows = [(number, tail) for number, (_, job) in enumerate(batch) for tail in job.tails]
    encoded = [unit.encoded_as(job.ids) for unit, job in batch]
    logits = backend.forward([encoded[n] for n, _ in rows], [list(tail) for _, tail in rows])
    return _collect([job for _, job in batch], rows, logits)


def _collect(
    jobs: Sequence[Job],
    rows: Sequence[tuple[int, tuple[int, ...]]],
    logits: Sequence[torch.Tensor],
) -> list[Result]:
    """Losses of each job from the logits of its rows (number of the job, tail)."""
    found: dict[int, list[tuple[tuple[int, ...], torch.Tensor]]] = {}
    for (number, tail), own in zip(rows, logits, strict=True):
        found.setdefault(number, []).append((tail, own))
    return [_job_losses(job, found[number]) for number, job in enumerate(jobs)]


def _job_losses(job: Job, rows: Sequence[tuple[tuple[int, ...], torch.Tensor]]) -> Result:
    losses, sums = [], []
    for ids in job.continuations:
        fed = tuple(ids[:-1])
        logits = next(own for tail, own in rows if tail[: len(fed)] == fed)
        try:
            losses.append(continuation_loss(logits[: len(ids)], ids))
        except ValueError as error:
            return str(error)
        sums.append(losses[-1] * len(ids))
    mass = float(torch.tensor(sums, dtype=torch.float64).neg().exp().sum())
    return Losses(*losses, mass)


def shared_losses(backend: Backend, units: Sequence[Unit], max_rows: int) -> list[list[Result]]:
    """Losses of each unit's jobs from one forward of every prefix and one short one a row.

    A failing batch is halved, down to one unit, which is then scored from whole prompts.
    """
    try:
        return _shared(backend, units, max_rows)
    except (RuntimeError, ValueError, IndexError):
        if len(units) > 1:
            middle = len(units) // 2
            parts = units[:middle], units[middle:]
            return [found for part in parts for found in shared_losses(backend, part, max_rows)]
    unit = units[0]
    return [[plain_losses(backend, [(unit, job)])[0] for job in unit.jobs]]


def _shared(backend: Backend, units: Sequence[Unit], max_rows: int) -> list[list[Result]]:
    heads = [unit.head for unit in units]
    prefix = backend.prefix(
        [unit.encoded_as(u.ids[:n]) for unit, n in zip(units, heads, strict=True)
         for u in unit.jobs[:1]]
    )  # fmt: skip
    rows = [
        (owner, number, tail, [*job.ids[heads[owner] :], *tail])
        for owner, unit in enumerate(units)
        for number, job in enumerate(unit.jobs)
        for tail in job.tails
    ]
    rows.sort(key=lambda row: len(row[3]))  # neighbours of one length need little padding
    logits: list[list] = [[] for _ in units]
    names: list[list] = [[] for _ in units]
    for start in range(0, len(rows), max_rows):
        chunk = rows[start : start + max_rows]
        out = backend.extend(
            prefix,
            [owner for owner, *_ in chunk],
            [fed for *_, fed in chunk],
            [len(tail) + 1 for _, _, tail, _ in chunk],
        )
        for (owner, number, tail, _), own in zip(chunk, out, strict=True):
            names[owner].append((number, tail))
            logits[owner].append(own)
    results = [_collect(unit.jobs, names[owner], logits[owner]) for owner, unit in enumerate(units)]
    # A NaN may come from the batch: the job alone decides.
    return [
        [plain_losses(backend, [(unit, job)])[0] if isinstance(found, str) else found
         for job, found in zip(unit.jobs, own, strict=True)]
        for unit, own in zip(units, results, strict=True)
    ]  # fmt: skip
