"""The public VSR files [liu2023vsr]_ to samples.

References
----------
.. [liu2023vsr] Liu, F., Emerson, G., & Collier, N. (2023). Visual Spatial Reasoning. TACL 11.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from vca_core.manifests.images import check_images, image_fault
from vca_core.manifests.rows import RefusedRow, json_lines, raise_refused
from vca_core.manifests.text import FAMILIES, noun, question_and_statement, squeeze
from vca_core.records import Sample, SchemaError, explain

FAMILY_OF = {phrase: family for family, phrases in FAMILIES.items() for phrase in phrases}


class VsrRow(BaseModel):
    """The fields of a VSR row that are used; the others (votes, links) are let be."""

    model_config = ConfigDict(strict=True, extra="ignore")

    image: str
    caption: str
    label: Literal[0, 1]
    relation: str


def vsr_manifest(
    annotations: str | Path,
    *,
    images: str | Path | None = None,
    outside: Counter[str] | None = None,
) -> list[Sample]:
    """Read a public VSR annotation file into yes/no samples of the nine relation families.

    Parameters
    ----------
    annotations : path
        JSONL with ``image``, ``caption``, ``label`` (1 true, 0 false) and ``relation``.
    images : path, optional
        Folder that must hold every image; left out, no file is looked for.
    outside : Counter, optional
        Is given, by relation, the number of rows outside the nine families, which make no sample.

    Returns
    -------
    list of Sample, in file order
        ``sample_id`` is ``vsr-`` and the line in the file; ``relation`` the family key;
        ``subject`` and ``object`` stand without article. On the random test split: 1,249 samples,
        667 yes and 582 no, the subset of [liu2026visual]_, found by counting.

    Raises
    ------
    SchemaError
        If a row is malformed (all are listed with line and reason), or an image is missing.
    """
    path = Path(annotations)
    samples: list[Sample] = []
    refused: list[RefusedRow] = []
    for line, row, data, fault in json_lines(path):
        if fault is not None:
            refused.append(fault)
            continue
        try:
            record = VsrRow.model_validate(data)
            relation = squeeze(record.relation).lower()
            if relation in FAMILY_OF:
                samples.append(_sample(record, relation, line))
            elif outside is not None:
                outside[relation] += 1
        except ValidationError as error:
            refused.append(RefusedRow(str(path), line, row, explain(error), data))
        except SchemaError as error:
            refused.append(RefusedRow(str(path), line, row, str(error), data))
    raise_refused(refused)
    if not samples:
        raise SchemaError(f"{path}: a VSR file holds rows of the nine relation families, got none.")
    if images is not None:
        check_images(samples, images)
    return samples


def _sample(record: VsrRow, relation: str, line: int) -> Sample:
    if fault := image_fault(record.image):
        raise SchemaError(fault)
    subject, verb, phrase, object = _parse(record.caption, relation)
    question, statement = question_and_statement(subject, verb, phrase, object)
    return Sample(
        sample_id=f"vsr-{line:04d}",
        dataset="vsr",
        image=record.image,
        question=question,
        statement=statement,
        label="yes" if record.label == 1 else "no",
        relation=FAMILY_OF[relation],
        subject=noun(subject),
        object=noun(object),
    )


def _parse(caption: str, relation: str) -> tuple[str, str, str, str]:
    """Subject, verb, relation phrase and object of a caption."""
    verb, phrase = (
        ("contains?", "") if relation == "contains" else ("is|are", f"{re.escape(relation)} ")
    )
    found = re.fullmatch(rf"(.+?) ({verb}) ({phrase})(.+?)[ .]*", squeeze(caption), re.IGNORECASE)
    if found is None or not noun(found[1]).strip() or not noun(found[4]).strip(" ."):
        raise SchemaError(
            f"`caption` must read subject, {verb.replace('|', ' or ').replace('s?', 's')}, "
            f"`relation`, object; got {caption!r} for relation {relation!r}"
        )
    return found[1], found[2].lower(), found[3].strip().lower(), found[4]
