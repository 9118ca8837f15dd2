"""Samples × contexts × interface to probes: the text that is asked and the image it starts from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from vca_core.contexts import BOX_CONTEXTS, mismatch_assignment
from vca_core.records import CONTEXTS, INTERFACES, Probe, Sample, SchemaError

ANSWER_YES_NO = "Answer yes or no."


def question_text(question: str) -> str:
    """Text asked under ``yes_no``; the instruction is not doubled where a question brings it."""
    question = question.strip()
    return question if question.endswith(ANSWER_YES_NO) else f"{question} {ANSWER_YES_NO}"


def statement_text(statement: str) -> str:
    """Text asked under ``true_false``."""
    return f"Statement: {statement.strip()} Is the statement true or false?"


def probe_text(sample: Sample, interface: str) -> str:
    """Serialize what a sample asks under an interface; the same in every context.

    Raises
    ------
    SchemaError
        If the interface is unknown, or needs a statement that the sample lacks.
    """
    if interface == "yes_no":
        text = question_text(sample.question)
    elif interface == "true_false":
        if sample.statement is None:
            raise SchemaError(
                f"`true_false` needs a `statement`, sample {sample.sample_id!r} has only a "
                "question: add the statement to the manifest or score yes_no."
            )
        text = statement_text(sample.statement)
    else:
        raise SchemaError(f"Unknown interface {interface!r}; expected one of {list(INTERFACES)}.")
    return f"{sample.note.strip()} {text}" if sample.note else text


def build_probes(samples: Sequence[Sample], contexts: Iterable[str], interface: str) -> list[Probe]:
    """Make one probe per sample and context.

    Parameters
    ----------
    samples : sequence of Sample
        Whole splits: the partner of ``mismatch`` is chosen among all of them.
    contexts : iterable of str
        Names of `vca_core.records.CONTEXTS`.
    interface : {"yes_no", "true_false"}

    Returns
    -------
    list of Probe, sample by sample

    Raises
    ------
    SchemaError
        If a context is unknown, a sample lacks the image, boxes or statement it needs, or a split
        has only one image to permute.
    """
    contexts = list(dict.fromkeys(contexts))
    for context in contexts:
        if context not in CONTEXTS:
            raise SchemaError(f"Unknown context {context!r}; expected one of {list(CONTEXTS)}.")
    partners = mismatch_assignment(samples) if "mismatch" in contexts else {}
    probes = []
    for sample in samples:
        text = probe_text(sample, interface)
        for context in contexts:
            image = partners.get(sample.image) if context == "mismatch" else sample.image
            if context != "text_only" and sample.image is None:
                raise SchemaError(
                    f"Context {context!r} needs an image, sample {sample.sample_id!r} has none."
                )
            if context in BOX_CONTEXTS and None in (sample.subject_box, sample.object_box):
                raise SchemaError(
                    f"Context {context!r} needs `subject_box` and `object_box`, sample "
                    f"{sample.sample_id!r} lacks one: add the boxes to the manifest or leave the "
                    "context out."
                )
            probes.append(
                Probe(
                    sample=sample,
                    context=context,
                    interface=interface,
                    text=text,
                    image=None if context == "text_only" else image,
                )
            )
    return probes


def probe_key(
    pixels: str | None,
    prompt_ids: Sequence[int],
    continuations: Sequence[Sequence[int]],
    settings_sha256: str,
) -> str:
    """Name what decides a score: two probes with one key share their forward and their score.

    Parameters
    ----------
    pixels : str or None
        Hash of the decoded pixels that are shown; None for text only.
    prompt_ids : sequence of int
        Ids of the serialized prompt. The number of image tokens follows from ``pixels`` and the
        processor's settings, so the ids are taken before placeholders are expanded.
    continuations : sequence of sequences of int
        Ids of the affirmative and the negative continuation.
    settings_sha256 : str
        Hash of the checkpoint's fingerprint, dtype and processor settings.

    Returns
    -------
    str, sha256 in hex
    """
    parts = [pixels, list(prompt_ids), [list(c) for c in continuations], settings_sha256]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
