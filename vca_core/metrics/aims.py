"""What the project set out to reach, and whether what was measured reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.cost import ANALYSIS_PEAK, BOOTSTRAP, OURS, RESAMPLES


class Aim(NamedTuple):
    """What the project set out to reach, before it was measured."""

    measure: str
    data: str
    """Where it differs between the data; empty for all."""
    limit: float
    at_most: bool


AIMS = (
    Aim("audit ÷ accuracy", "pairs", 0.75, True),
    Aim("audit ÷ accuracy", "single", 1.20, True),
    Aim("bound ÷ audit", "", 0.70, False),
    Aim(f"{OURS} ÷ lmms-eval", "", 10, False),
    Aim(f"{OURS} ÷ glance", "", 6, False),
    Aim("audit ÷ accuracy, peak memory", "", 1.3, True),
    Aim(ANALYSIS_PEAK, "", 4e9, True),
    Aim(RESAMPLES, "", 10, True),
    Aim(BOOTSTRAP, "", 1 / 200, True),
)


def judge(ratios: pd.DataFrame, aims: Sequence[Aim] = AIMS) -> pd.DataFrame:
    """Put the aim beside each measured value.

    Parameters
    ----------
    ratios : DataFrame
        ``measure``, ``value`` and, where there are several, ``data``.
    aims : sequence of Aim

    Returns
    -------
    DataFrame, same rows and order
        ``aim`` (NaN where there is none), ``at_most`` (else at least) and ``met``, NA where there
        is no aim or no value. It is the ``value``, a median of repeats, that meets the aim or not.
    """
    require_columns(ratios, ("measure", "value"))
    data = ratios["data"] if "data" in ratios else pd.Series("", index=ratios.index)
    found = [
        next((a for a in aims if a.measure == measure and a.data in ("", own)), None)
        for measure, own in zip(ratios["measure"], data, strict=True)
    ]
    limit = np.array([np.nan if a is None else a.limit for a in found], dtype=float)
    most = pd.array([pd.NA if a is None else a.at_most for a in found], dtype="boolean")
    value = ratios["value"].to_numpy(dtype=float)
    met = pd.array(np.where(most.fillna(False), value <= limit, value >= limit), dtype="boolean")
    met[np.isnan(limit) | np.isnan(value)] = pd.NA
    return ratios.assign(aim=limit, at_most=most, met=met)


def aims_met(*frames: pd.DataFrame, aims: Sequence[Aim] = AIMS) -> pd.DataFrame:
    """Say for each aim how many of the measured values meet it, and how far they reach.

    Parameters
    ----------
    *frames : DataFrame
        From the functions above.
    aims : sequence of Aim

    Returns
    -------
    DataFrame, one row per aim
        ``measure``, ``data``, ``aim``, ``at_most``, ``n`` values, ``n_met`` of them, the ``best``
        and the ``worst``; NaN where nothing was measured.
    """
    rows = []
    for aim in aims:
        judged = [judge(frame, [aim]) for frame in frames if len(frame)]
        own = [part.loc[part["met"].notna(), ["value", "met"]] for part in judged]
        values = np.concatenate([[], *(part["value"].to_numpy(dtype=float) for part in own)])
        ends = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
        best, worst = ends if aim.at_most else ends[::-1]
        n_met = sum(int(part["met"].sum()) for part in own)
        rows.append(
            (aim.measure, aim.data, aim.limit, aim.at_most, len(values), n_met, best, worst)
        )
    names = ["measure", "data", "aim", "at_most", "n", "n_met", "best", "worst"]
    return pd.DataFrame(rows, columns=names)
