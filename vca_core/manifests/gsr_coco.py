"""The public two-object COCO file of What'sUp [kamath2023]_ to samples.

References
----------
.. [kamath2023] Kamath, A., Hessel, J., & Chang, K.-W. (2023). What's "up" with vision-language
   models? Investigating their struggle with spatial reasoning. EMNLP.
"""

from __future__ import annotations

import re
from pathlib import Path

from vca_core.manifests.images import check_images
from vca_core.manifests.pairs import check_pairs
from vca_core.manifests.rows import RefusedRow, parse_json, raise_refused, read_text
from vca_core.manifests.text import OPPOSITE, question_and_statement, squeeze
from vca_core.records import Sample, SchemaError

FAMILY_OF = {
    "to the left of": "left",
    "to the right of": "right",
    "above": "above",
    "below": "below",
}
_CAPTION = re.compile(
    rf"a photo of (?:an?|the) (.+?) ({'|'.join(FAMILY_OF)}) (?:an?|the) (.+?)\.?", re.IGNORECASE
)
_PLURAL = ("scissors", "skis")  # the COCO names that have no singular


def gsr_coco_manifest(pairs: str | Path, *, images: str | Path | None = None) -> list[Sample]:
    """Read the two-object file of What'sUp into pairs of a true and a false statement.

    Parameters
    ----------
    pairs : path
        A JSON array of ``[image id, true caption, false caption]``.
    images : path, optional
        The COCO ``val2017`` folder; left out, no file is looked for.

    Returns
    -------
    list of Sample, in file order, the true statement of a pair before the false one
        ``pair_id`` is ``gsr-`` and the row in the file; ``image`` is the COCO id in 12 digits with
        ``.jpg``. On the public file: 440 pairs, 880 samples, 279 left, 279 right, 161 above and
        161 below. Nothing is balanced, reordered or filtered.

    Raises
    ------
    SchemaError
        If the file is no such array, a row is malformed (all are listed), or an image is missing.
    """
    path = Path(pairs)
    try:
        rows = parse_json(read_text(path))
    except ValueError as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{path}: not JSON ({error}).") from None
    if not isinstance(rows, list) or not rows:
        raise SchemaError(
            f"{path}: must hold a JSON array of rows, got {type(rows).__name__} without rows."
        )
    samples: list[Sample] = []
    refused: list[RefusedRow] = []
    for number, row in enumerate(rows, start=1):
        try:
            samples += _pair(row, f"gsr-{number:04d}")
        except SchemaError as error:
            refused.append(RefusedRow(str(path), None, number, str(error), row))
    raise_refused(refused)
    check_pairs(samples)
    if images is not None:
        check_images(samples, images)
    return samples


def _pair(row: object, pair_id: str) -> list[Sample]:
    if not isinstance(row, list) or len(row) != 3:
        raise SchemaError(f"a row must be [image id, true caption, false caption], got {row!r}")
    image = _image_name(row[0])
    true, false = (_parse(caption) for caption in row[1:])
    if (true[0], OPPOSITE[true[1]], true[2]) != false:
        raise SchemaError(
            "the captions must name the same objects in opposite relations, "
            f"got {row[1]!r} and {row[2]!r}"
        )
    return [
        _sample(image, parts, pair_id, polarity)
        for parts, polarity in ((true, "true"), (false, "false"))
    ]


def _sample(image: str, parts: tuple[str, str, str], pair_id: str, polarity: str) -> Sample:
    subject, phrase, object = parts
    verb = "are" if subject.split(" ")[-1] in _PLURAL else "is"
    question, statement = question_and_statement(f"the {subject}", verb, phrase, f"the {object}")
    return Sample(
        sample_id=f"{pair_id}-{polarity}",
        dataset="gsr_coco",
        image=image,
        question=question,
        statement=statement,
        label="yes" if polarity == "true" else "no",
        pair_id=pair_id,
        polarity=polarity,
        relation=FAMILY_OF[phrase],
        subject=subject,
        object=object,
    )


def _image_name(image_id: object) -> str:
    digits = str(image_id) if type(image_id) is int else image_id
    if not isinstance(digits, str) or not re.fullmatch(r"[0-9]+", digits):
        raise SchemaError(f"the image id must be a COCO number, got {image_id!r}")
    return f"{digits.zfill(12)}.jpg"


def _parse(caption: object) -> tuple[str, str, str]:
    found = _CAPTION.fullmatch(squeeze(caption)) if isinstance(caption, str) else None
    if found is None:
        raise SchemaError(
            "a caption must read 'A photo of a … ' "
            f"{', '.join(map(repr, FAMILY_OF))} ' a …', got {caption!r}"
        )
    return found[1], found[2].lower(), found[3]
