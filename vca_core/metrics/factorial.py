"""The evidence-source factorial: how agreement decisions respond when the picture is reversed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, require_columns
from vca_core.metrics.factorial_design import (
    CONFLICT_SQUARE,
    GOLD,
    SPEAKING,
    check_design,
    stem_columns,
)
from vca_core.metrics.support import audit_support
from vca_core.records import SchemaError


def audit_factorial(margins: pd.DataFrame, neutral: pd.DataFrame | None = None) -> pd.DataFrame:
    r"""Audit the agreement decisions, and compare each with the picture reversed under its note.

    .. math:: \rho_i = d_i \left(m_i - m(I^{\text{opp}}_i, s_i)\right), \qquad
              R_i = 1\{\rho_i > 0\}, \qquad
              N^{+}_i = 1\{d_i (m_i - m(I^{\text{neutral}}_i, s_i)) > 0\}

    where :math:`m_i` is the margin of an agreement decision, :math:`d_i` its direction, :math:`s_i`
    its text state, :math:`I^{\text{opp}}` the same stem's picture of the opposite relation and
    :math:`I^{\text{neutral}}` its neutral picture.

    Parameters
    ----------
    margins : DataFrame, one row per (model, dataset, stem_id, visual_state, text_state)
        Columns ``model``, ``dataset``, ``sample_id``, ``stem_id``, ``visual_state`` and
        ``text_state`` in {"supports", "opposes", "absent"}, ``margin_original``,
        ``margin_text_only``, ``margin_blank`` in nats. Every stem has the four cells in which both
        sources speak. Optional: ``label``, checked where the sources agree.
    neutral : DataFrame, optional
        Margins of the same stems with a neutral picture: ``model``, ``stem_id``, ``text_state``
        and ``margin_original``, of whatever data set.

    Returns
    -------
    DataFrame, one row per agreement decision
        Both sources support (gold yes) or both oppose (gold no). All columns of `margins` with
        ``label`` as the cell says, the events of `audit_support`, and
        ``margin_opposite``, ``delta_visual`` (margin with the supporting less that with the
        opposing picture, same note), ``response``, ``margin_neutral``, ``neutral_contrast`` in
        nats; the booleans ``responsive``, ``answer_flip`` (the reversed picture gets the other
        answer) and ``exceeds_neutral``, null where a decision has no neutral picture.

    Raises
    ------
    SchemaError
        If a column is missing, a stem lacks a cell or has it twice, a label doesn't fit its cell,
        or a margin is not finite; names the stem or sample.

    Notes
    -----
    A flip implies a positive response. For a correct decision the response is ``delta_visual``.
    The two agreement cells are a reading; 2 × 200 stems give the 400 decisions per model that are
    printed. "Moves in the correct direction" is read as a positive response, which fits the pooled
    621 of 682; "exceeds the neutral control" as :math:`N^{+}`, which fits 667 of 682. Source:
    [liu2026visual]_, Sec. 10.
    """
    check_design(margins, CONFLICT_SQUARE)
    visual, text = margins["visual_state"], margins["text_state"]
    own = margins[(visual == text) & visual.isin(SPEAKING)].reset_index(drop=True)
    audit = audit_support(own.assign(label=own["visual_state"].map(GOLD)))
    reversed_ = margins[(visual != text) & visual.isin(SPEAKING) & text.isin(SPEAKING)]
    opposite = _beside(audit, reversed_, stem_columns(margins))
    if neutral is None:
        control = np.full(len(audit), np.nan)
    else:
        control = _neutral_margins(audit, neutral)
    original, direction = audit["margin_original"].to_numpy(), audit["direction"].to_numpy()
    change = original - opposite
    contrast = direction * (original - control)
    exceeds = pd.array(contrast > 0, dtype="boolean")
    exceeds[np.isnan(contrast)] = pd.NA
    return audit.assign(
        margin_opposite=opposite,
        delta_visual=np.where(audit["text_state"] == "supports", change, -change),
        response=direction * change,
        responsive=direction * change > 0,
        answer_flip=(opposite >= 0) != (direction > 0),
        margin_neutral=control,
        neutral_contrast=contrast,
        exceeds_neutral=exceeds,
    )


def _beside(audit: pd.DataFrame, other: pd.DataFrame, key: list[str]) -> np.ndarray:
    """Margins of `other` at each audited stem and text state; NaN where there is none."""
    key = [*key, "text_state"]
    found = other[key].assign(margin=finite_margin(other, "original"))
    return audit[key].merge(found, how="left", on=key, validate="many_to_one")["margin"].to_numpy()


def _neutral_margins(audit: pd.DataFrame, neutral: pd.DataFrame) -> np.ndarray:
    require_columns(neutral, ("model", "stem_id", "text_state"), " It is asked of `neutral`.")
    key = [c for c in stem_columns(neutral) if c != "dataset" and c in audit.columns]
    twice = neutral.duplicated([*key, "text_state"], keep=False)
    if twice.any():
        row = neutral[twice].iloc[0]
        raise SchemaError(
            f"`neutral` must have one picture per stem and note, got stem {row['stem_id']!r} with "
            f"the note {row['text_state']!r} more than once (model {row['model']!r})."
        )
    bare = neutral.assign(
        **{c: neutral["stem_id"] for c in ("dataset", "sample_id") if c not in neutral.columns}
    )
    found = _beside(audit, bare, key)
    if len(audit) and np.isnan(found).all():
        raise SchemaError(
            f"`neutral` must hold the factorial's stems, by {', '.join(key)}; got none of them, as "
            f"stem {audit['stem_id'].iloc[0]!r} (model {audit['model'].iloc[0]!r})."
        )
    return found
