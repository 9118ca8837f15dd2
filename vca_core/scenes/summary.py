"""The world in figures: sizes of the data sets, geometry of the swaps. No picture is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from vca_core.records import Sample
from vca_core.scenes.datasets import DATASETS
from vca_core.scenes.edits import edit_candidates
from vca_core.scenes.natural import derived_queries
from vca_core.scenes.world import HORIZONTAL


def all_samples() -> dict[str, list[Sample]]:
    """Draw the statements of the five data sets, and the further ones about ``queries``.

    Returns
    -------
    dict of data set key to list of Sample
        Without ``image_sha256``, since no picture is drawn.
    """
    samples = {
        name: [sample for item in draw() for sample in item.samples]
        for name, draw in DATASETS.items()
    }
    return samples | derived_queries(samples["queries"])


def set_sizes(samples: dict[str, list[Sample]]) -> pd.DataFrame:
    """Count what each data set holds.

    Parameters
    ----------
    samples : dict of data set key to list of Sample
        From `all_samples`.

    Returns
    -------
    DataFrame, one row per data set
        ``dataset``; ``pictures``, ``statements`` and ``yes`` (statements that hold); ``groups``:
        edits, stems or pairs, whichever the set has, 0 where every statement stands alone.
    """
    rows = []
    for name, found in samples.items():
        groups = {s.edit_id or s.stem_id or s.pair_id for s in found} - {None}
        rows.append(
            {
                "dataset": name,
                "pictures": len({s.image for s in found}),
                "statements": len(found),
                "yes": sum(s.label == "yes" for s in found),
                "groups": len(groups),
            }
        )
    return pd.DataFrame(rows)


def probe_count(samples: Iterable[Sample]) -> int:
    """Count the probes of samples in the contexts original, text-only and blank.

    Samples with one text share its text-only and its blank probe, for all pictures have one size;
    those with one text and one picture share all three.
    """
    inputs = {(s.image, s.note, s.question) for s in samples}
    return len(inputs) + 2 * len({(note, question) for _, note, question in inputs})


def swap_geometry(shipped: str | Path | None = None) -> pd.DataFrame:
    """Decide for each pair of ``pairs`` whether its objects can change places.

    Parameters
    ----------
    shipped : path, optional
        ``geometry.csv`` of the built data set, for the outcome of the check of its pictures;
        passed over where it is not there.

    Returns
    -------
    DataFrame, one row per pair
        ``pair_id``, ``relation``, ``axis`` ("horizontal" or "vertical"), ``feasible``, ``reason``
        (empty if feasible), ``center_gap`` and ``destination_slack`` in extents of the picture,
        ``new_iou``; ``accepted`` from the file, empty where there is no edit or no file.
    """
    frame = pd.DataFrame(
        {
            "pair_id": c.pair_id,
            "relation": c.scene.relation,
            "axis": "horizontal" if c.scene.relation in HORIZONTAL else "vertical",
            "feasible": c.swap.feasible,
            "reason": c.swap.reason,
            "center_gap": c.swap.center_gap,
            "destination_slack": c.swap.destination_slack,
            "new_iou": c.swap.new_iou,
        }
        for c in edit_candidates()
    )
    if shipped is None or not Path(shipped).is_file():
        return frame.assign(accepted=None)
    checks = pd.read_csv(shipped, usecols=["pair_id", "accepted"])
    return frame.merge(checks, on="pair_id", how="left", validate="one_to_one")
