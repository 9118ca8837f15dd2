"""Pairs of a true and a false statement on one image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from vca_core.manifests.text import INVERSE_FAMILY, OPPOSITE, question_from_statement
from vca_core.records import Sample, SchemaError

# longest phrase first, so that "at the left side of" is not cut
_RELATION = re.compile(
    rf"(.+? (?:is|are)) ({'|'.join(sorted(OPPOSITE, key=len, reverse=True))}) (.+)"
)


def inverse_pairs(samples: Iterable[Sample]) -> list[Sample]:
    """Add the inverse statement of every positive sample of the six strict relation families.

    A candidate has label yes, no ``pair_id`` yet, and a relation in left, right, above, below,
    front, behind. It becomes the true statement of a pair; the false one has the same image and
    objects, the inverse relation, label no, and stands right after it. All else stays as it is,
    so samples that are no inverse are those whose ``polarity`` is not "false".

    On the VSR random test split this gives 539 pairs. [liu2026visual]_ kept 504 of them, leaving
    out 35 without structured entities, a field that the public file does not have.

    Returns
    -------
    list of Sample

    Raises
    ------
    SchemaError
        If the statement of a candidate names its relation in no known phrase.
    """
    out: list[Sample] = []
    for sample in samples:
        if sample.label != "yes" or sample.pair_id or sample.relation not in INVERSE_FAMILY:
            out.append(sample)
            continue
        out += _true_and_false(sample)
    check_pairs(out)
    return out


def _true_and_false(sample: Sample) -> list[Sample]:
    found = _RELATION.fullmatch(sample.statement or "")
    if found is None:
        raise SchemaError(
            "`statement` must name its relation as one of "
            f"{', '.join(map(repr, OPPOSITE))}; got {sample.statement!r} "
            f"for sample_id {sample.sample_id!r}."
        )
    statement = f"{found[1]} {OPPOSITE[found[2]]} {found[3]}"
    true = {"pair_id": sample.sample_id, "polarity": "true"}
    false = {
        "sample_id": f"{sample.sample_id}-inverse",
        "pair_id": sample.sample_id,
        "polarity": "false",
        "label": "no",
        "relation": INVERSE_FAMILY[sample.relation],
        "statement": statement,
        "question": question_from_statement(statement),
    }
    return [Sample(**{**sample.model_dump(), **changed}) for changed in (true, false)]


def pair_faults(samples: Sequence[Sample]) -> dict[tuple[str, str, str], str]:
    """(dataset, wording, pair_id) of every pair that is none, to the reason."""
    pairs: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        if sample.pair_id is not None:
            pairs.setdefault(pair_key(sample), []).append(sample)
    return {key: fault for key, members in pairs.items() if (fault := _fault(members))}


def pair_key(sample: Sample) -> tuple[str, str, str | None]:
    """Key of the pair that a sample belongs to."""
    return sample.dataset, sample.wording, sample.pair_id


def _fault(members: list[Sample]) -> str | None:
    where = f"for pair_id {members[0].pair_id!r}"
    counts = Counter(s.polarity or "without `polarity`" for s in members)
    if counts != {"true": 1, "false": 1}:
        got = " and ".join(
            f"{n} {polarity}" for polarity, n in sorted(counts.items(), reverse=True)
        )
        return f"`pair_id` must name one true and one false statement, got {got} {where}"
    images = [s.image for s in members]
    if images[0] != images[1]:
        got = f"{images[0]!r} and {images[1]!r}"
        return f"`pair_id` must name two statements on one image, got {got} {where}"
    for sample in members:
        if (sample.polarity == "true") != (sample.label == "yes"):
            return (
                "the true statement of a pair has `label` yes and the false one no, got "
                f"{sample.label} for the {sample.polarity} one {where}"
            )
    return None


def check_pairs(samples: Iterable[Sample]) -> None:
    """Check that each ``pair_id`` names one true and one false statement on the same image.

    Raises
    ------
    SchemaError
        With the first pair that is none and the number of such pairs.
    """
    faults = pair_faults(list(samples))
    if faults:
        more = f" (1 of {len(faults)} such pairs)" if len(faults) > 1 else ""
        raise SchemaError(f"{next(iter(faults.values()))}{more}.")
