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
from vca_core.budget import Budget
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


def plain_losses(
    backend: Backend, batch: Sequence[tuple[Unit, Job]], budget: Budget
) -> list[Result]:
    """Losses from whole prompts, one row for each; the jobs all show an image, or none.

    A batch that memory cannot hold is halved; one that fails otherwise is retried one by one.
    """
    tokens = sum(len(job.tails) for _, job in batch) * max(len(job.ids) for _, job in batch)
    reason, short = None, False
    try:
        with budget.forward(f"whole, {_shows(batch[0][0])}", tokens):
            results = _plain(backend, batch)
    except torch.AcceleratorError:
        raise  # the device is lost, and with it all that would follow
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        reason, short = f"{type(error).__name__}: {error}", isinstance(error, MemoryError)
    # Not while the error is handled: it keeps the failed forward's tensors alive.
    if short and len(batch) > 1:
        middle = len(batch) // 2
        parts = batch[:middle], batch[middle:]
        return [found for part in parts for found in plain_losses(backend, part, budget)]
    if reason is not None:
        results = [reason] * len(batch)
    if len(batch) == 1:
        return results
    return [
        plain_losses(backend, [job], budget)[0] if isinstance(result, str) else result
        for job, result in zip(batch, results, strict=True)
    ]


def _shows(unit: Unit) -> str:
    return "image" if unit.encoded.images else "text"


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


def shared_losses(backend: Backend, units: Sequence[Unit], budget: Budget) -> list[list[Result]]:
    """Losses of each unit's jobs from one forward of every prefix and one short one a row.

    A failing batch is halved, down to one unit, which is then scored from whole prompts.
    """
    try:
        return _shared(backend, units, budget)
    except torch.AcceleratorError:
        raise
    except (RuntimeError, ValueError, IndexError, MemoryError):
        pass  # what comes next needs the memory that the error still holds
    if len(units) > 1:
        middle = len(units) // 2
        parts = units[:middle], units[middle:]
        return [found for part in parts for found in shared_losses(backend, part, budget)]
    unit = units[0]
    return [[plain_losses(backend, [(unit, job)], budget)[0] for job in unit.jobs]]


class _Row(NamedTuple):
    owner: int
    """Unit whose prefix the row follows."""
    job: int
    tail: tuple[int, ...]
    fed: list[int]


def _shared(backend: Backend, units: Sequence[Unit], budget: Budget) -> list[list[Result]]:
    heads = [unit.head for unit in units]
    starts = [unit.encoded_as(unit.jobs[0].ids[:n]) for unit, n in zip(units, heads, strict=True)]
    kind = _shows(units[0])
    with budget.forward(f"prefix, {kind}", len(units) * max(heads)):
        prefix = backend.prefix(starts)
    rows = [
        _Row(owner, number, tail, [*job.ids[heads[owner] :], *tail])
        for owner, unit in enumerate(units)
        for number, job in enumerate(unit.jobs)
        for tail in job.tails
    ]
    rows.sort(key=lambda row: len(row.fed))  # neighbours of one length need little padding
    found: list[dict[tuple[int, tuple[int, ...]], torch.Tensor]] = [{} for _ in units]
    while rows:
        n = max(1, budget.tokens(f"suffix, {kind}") // len(rows[-1].fed))
        chunk, rows = rows[:n], rows[n:]
        try:
            with budget.forward(f"suffix, {kind}", sum(len(row.fed) for row in chunk)):
                logits = backend.extend(
                    prefix,
                    [row.owner for row in chunk],
                    [row.fed for row in chunk],
                    [len(row.tail) + 1 for row in chunk],
                )
        except MemoryError:
            if n == 1:
                raise
            rows = chunk + rows  # the budget gives fewer now
            continue
        for row, own in zip(chunk, logits, strict=True):
            found[row.owner][row.job, row.tail] = own
    results = [_collect(unit.jobs, list(own), list(own.values()))
               for unit, own in zip(units, found, strict=True)]  # fmt: skip
    # A NaN may come from the batch: the job alone decides.
    return [
        [plain_losses(backend, [(unit, job)], budget)[0] if isinstance(one, str) else one
         for job, one in zip(unit.jobs, own, strict=True)]
        for unit, own in zip(units, results, strict=True)
    ]  # fmt: skip
