"""A rebuilt data set against the shipped one: sample by sample, pictures included."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from vca_core.records import Sample, SchemaError


def check_samples(
    new: Sequence[Sample],
    old: Sequence[Sample],
    *,
    start: int = 0,
    accept_pixels: bool = False,
    complete: bool = False,
) -> None:
    """Check that rebuilt samples equal the shipped ones, in their order.

    Parameters
    ----------
    new : sequence of Sample
    old : sequence of Sample
        The whole shipped manifest; ``new`` is compared with it from position ``start`` on.
    start : int
    accept_pixels : bool
        Let ``image_sha256`` differ.
    complete : bool
        Demand that nothing shipped follows the last of ``new``.

    Raises
    ------
    SchemaError
        Naming the first sample that differs, and its fields.
    """
    for number, sample in enumerate(new, start=start):
        if number >= len(old):
            raise SchemaError(
                f"Scene {sample.sample_id!r} of {sample.dataset!r} is not in the shipped manifest, "
                f"which ends after {len(old)} samples."
            )
        shipped = old[number]
        if accept_pixels:
            shipped = shipped.model_copy(update={"image_sha256": sample.image_sha256})
        if sample != shipped:
            fields = [f for f in Sample.model_fields if getattr(sample, f) != getattr(shipped, f)]
            raise SchemaError(
                f"Scene {sample.sample_id!r} must equal sample {number + 1} of the shipped "
                f"manifest ({shipped.sample_id!r} of {shipped.dataset!r}), differs in {fields}. "
                "If only `image_sha256` differs, --accept-pixels records the new pictures."
            )
    left = old[start + len(new) :]
    if complete and left:
        raise SchemaError(
            f"The shipped manifest has {len(left)} samples more than were built, the first is "
            f"{left[0].sample_id!r} of {left[0].dataset!r}."
        )


def check_table(new: Path, old: Path, n_columns: int | None = None) -> None:
    """Check that the first ``n_columns`` (default: all) columns of two CSV files are the same.

    Raises
    ------
    SchemaError
        Naming the first row that differs.
    """
    with new.open(encoding="utf-8", newline="") as a, old.open(encoding="utf-8", newline="") as b:
        rows = enumerate(zip_longest(csv.reader(a), csv.reader(b), fillvalue=[]), start=1)
        for number, (got, shipped) in rows:
            if got[:n_columns] != shipped[:n_columns]:
                raise SchemaError(
                    f"{new.name}, row {number}: must equal the shipped table, got "
                    f"{','.join(got) or 'nothing'}, shipped {','.join(shipped) or 'nothing'}."
                )
