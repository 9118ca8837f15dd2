"""The empirical null: how often the event arises when the direction is not the item's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, optional_margin, require_columns
from vca_core.metrics.matching import match_records
from vca_core.metrics.rates import RUN, as_float, rate_frame
from vca_core.metrics.support import CONTROLS

NULLS = ("selector", "permutation", "cross_interface", "cross_reverse")


def empirical_null(
    audit: pd.DataFrame,
    other: pd.DataFrame | None = None,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Dep against the same event with image or direction taken from elsewhere. Label-free.

    .. math::
        D^{\text{sel}} &= 1\{s\, m_\pi > \max(s\, m_t, s\, m_b)\}, \quad
        s = \operatorname{sign} m_\pi \\
        D^{\text{perm}} &= 1\{d\, m_\pi > \max(d\, m_t, d\, m_b)\} \\
        D^{\text{cross}} &= 1\{d\, m'_o > \max(d\, m'_t, d\, m'_b)\}, \qquad
        D^{\text{reverse}} = 1\{d'\, m_o > \max(d'\, m_t, d'\, m_b)\}

    where :math:`m` are margins, :math:`d` the decision on the original image, :math:`\pi` the
    context mismatch (a permuted image), and a prime marks the other interface.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, of one interface; ``margin_mismatch`` in nats where it was scored.
    other : DataFrame, optional
        The same samples under the other interface: margins, or from `audit_support`.
    n_resamples, confidence_level, rng, by
        As in `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"dependent", "selector", "permutation",
        "cross_interface", "cross_reverse", "other_dependent"} and, for the middle four,
        "<name>_difference": Dep less that rate, paired and clustered. ``other_dependent`` is Dep
        under the other interface. NaN with ``n`` = 0 where mismatch or `other` is not there.

    Raises
    ------
    SchemaError
        If a column is missing, mismatch was scored for some records of a run only, or the two
        frames do not hold the same samples once each.

    Notes
    -----
    The selector lets the permuted image choose its own direction, as any audited image does:
    close to Dep means that a direction chosen after the fact carries the event. The permutation
    keeps the item's direction. A margin of exactly zero decides yes. Named, without formulas, in
    the README of the paper's repository: a reading, with the differences taken against the Dep of
    `audit` throughout. Source: [liu2026visual]_, README.
    """
    require_columns(audit, ("direction", "dependent"), " Call `audit_support` first.")
    audit = audit.reset_index(drop=True)
    crossed = _crossed(audit, other)

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        own = as_float(run["dependent"])
        margins = [finite_margin(run, c) for c in CONTROLS]
        permuted = optional_margin(run, "mismatch")
        events = {
            "selector": _event(_sign(permuted), permuted, margins),
            "permutation": _event(run["direction"].to_numpy(), permuted, margins),
            **{name: column[run.index] for name, column in crossed.items()},
        }
        columns = {("dependent",): own}
        columns |= {(name,): event for name, event in events.items()}
        return columns | {(f"{name}_difference",): own - events[name] for name in NULLS}

    return rate_frame(
        audit,
        measures,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def _sign(margin: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(margin), np.nan, np.where(margin >= 0, 1, -1))


def _event(direction: np.ndarray, image: np.ndarray, controls: Sequence[np.ndarray]) -> np.ndarray:
    """Whether the image supports a direction above both controls; NaN where not scored."""
    support = direction * image
    above = support > np.max([direction * control for control in controls], axis=0)
    return np.where(np.isnan(support), np.nan, above)


def _crossed(audit: pd.DataFrame, other: pd.DataFrame | None) -> dict[str, np.ndarray]:
    """Events that cross the interfaces, by the rows of `audit`."""
    if other is None:
        nothing = np.full(len(audit), np.nan)
        return dict.fromkeys((*NULLS[2:], "other_dependent"), nothing)
    first, second = match_records(audit, other)
    here, there = (
        [finite_margin(frame, c) for c in ("original", *CONTROLS)] for frame in (first, second)
    )
    own, others = _sign(here[0]), _sign(there[0])
    return {
        "cross_interface": _event(own, there[0], there[1:]),
        "cross_reverse": _event(others, here[0], here[1:]),
        "other_dependent": _event(others, there[0], there[1:]),
    }
