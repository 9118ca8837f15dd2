"""Benchmark filtering: the five scores of a record by which statements are kept or left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from vca_core.metrics.checks import correct_decisions, finite_margin
from vca_core.metrics.probability import probability_difference
from vca_core.metrics.support import CONTROLS, audit_support
from vca_core.records import SchemaError

CHANCE = 0.5
"""Probability of a guess between two answers."""


def shortcut_score(
    margins: pd.DataFrame, text_evidence: Literal["above_chance", "probability"] = "above_chance"
) -> np.ndarray:
    r"""Shortcut Score: what the text alone gives away, less what the image adds. Needs labels.

    .. math:: S_i = T_i - V_i, \qquad V_i = \frac{p_o - p_t}{1 - 1/2}, \qquad
              T_i = 1\{p_t > \tfrac12\} \frac{p_t - 1/2}{1 - 1/2}

    where :math:`p_c = \sigma(\pm m_{i,c})` is the two-way probability of the gold answer in
    context :math:`c`, original or text-only.

    Parameters
    ----------
    margins : DataFrame, one row per record
        ``margin_original``, ``margin_text_only`` in nats, ``label`` in {"yes", "no"}.
    text_evidence : {"above_chance", "probability"}
        How T is read: as above, or :math:`1\{\hat y_t = y\}\, p_t`.

    Returns
    -------
    ndarray of float, shape (n,)
        Low is kept.

    Raises
    ------
    SchemaError
        If a column is missing, a margin is not finite or a label is not given.

    Notes
    -----
    [liu2026visual]_ takes the score from earlier work and says only that T is correct and confident
    text-only evidence; both readings of T are ours, and no printed value decides between them.
    """
    gold = _gold_sign(margins, "shortcut")
    original, text_only = (gold * finite_margin(margins, c) for c in ("original", "text_only"))
    p_t = expit(text_only)
    if text_evidence == "above_chance":
        text = np.maximum(np.tanh(text_only / 2), 0.0)  # (p_t - 1/2) / (1 - 1/2)
    elif text_evidence == "probability":
        says_yes = finite_margin(margins, "text_only") >= 0
        text = np.where(says_yes == (gold > 0), p_t, 0.0)
    else:
        raise ValueError(
            f"`text_evidence` must be 'above_chance' or 'probability', got {text_evidence!r}."
        )
    return text - probability_difference(original, text_only) / (1 - CHANCE)


def visnec_style(margins: pd.DataFrame) -> np.ndarray:
    r"""Loss of the gold answer without the image less its loss with it. Needs labels.

    .. math:: \ell_t(y) - \ell_o(y), \qquad \ell_c(y) = -\log \sigma(\pm m_{i,c})

    Parameters are those of `shortcut_score`.

    Returns
    -------
    ndarray of float, shape (n,)
        In nats; high is kept.

    Notes
    -----
    The losses are those of a choice between the two answers, which is what a margin gives. For
    answers of one token the loss over the whole vocabulary, as in [liu2026visual]_, is larger by
    :math:`-\log` of the probability that the two answers share, so the two scores differ by the
    change of that between the contexts.
    """
    gold = _gold_sign(margins, "visnec")
    text, original = (
        np.logaddexp(0, -gold * finite_margin(margins, c)) for c in ("text_only", "original")
    )
    return text - original


def confidence_score(
    margins: pd.DataFrame, scale: Literal["margin", "probability"] = "margin"
) -> np.ndarray:
    r"""Confidence :math:`|m_{i,o}|` of the decision on the original image. Label-free.

    Parameters
    ----------
    margins : DataFrame, one row per record
        ``margin_original`` in nats.
    scale : {"margin", "probability"}
        In nats, or as the two-way probability :math:`\sigma(|m_{i,o}|)` of the decision. The order
        of records is the same; that of group means need not be, and [liu2026visual]_ does not say
        which it averages.

    Returns
    -------
    ndarray of float, shape (n,)
        High is kept.
    """
    size = np.abs(finite_margin(margins, "original"))
    if scale not in ("margin", "probability"):
        raise ValueError(f"`scale` must be 'margin' or 'probability', got {scale!r}.")
    return size if scale == "margin" else expit(size)


def probability_gap(margins: pd.DataFrame) -> np.ndarray:
    r"""Image gap between probabilities. Label-free.

    .. math:: \sigma(r_{i,o}) - \max(\sigma(r_{i,t}), \sigma(r_{i,b}))

    where :math:`r_{i,c}` is the support of `audit_support`.

    Parameters
    ----------
    margins : DataFrame, one row per record
        ``margin_original``, ``margin_text_only``, ``margin_blank`` in nats.

    Returns
    -------
    ndarray of float, shape (n,)
        High is kept. Has the sign of the image gap.
    """
    original = finite_margin(margins, "original")
    direction = np.where(original >= 0, 1, -1)
    control = np.max([direction * finite_margin(margins, c) for c in CONTROLS], axis=0)
    return probability_difference(direction * original, control)


def _image_gap(margins: pd.DataFrame) -> np.ndarray:
    audit = margins if "image_gap" in margins.columns else audit_support(margins)
    return audit["image_gap"].to_numpy(dtype=float)


class Filter(NamedTuple):
    """A score whose high values are kept, and how a panel of models averages it."""

    score: Callable[[pd.DataFrame], np.ndarray]
    ranked: bool
    contexts: tuple[str, ...]
    needs_labels: bool


FILTERS = {
    "shortcut": Filter(lambda m: -shortcut_score(m), False, ("original", "text_only"), True),
    "visnec": Filter(visnec_style, False, ("original", "text_only"), True),
    "confidence": Filter(confidence_score, True, ("original",), False),
    "vca": Filter(_image_gap, True, ("original", *CONTROLS), False),
    "probability_gap": Filter(probability_gap, False, ("original", *CONTROLS), False),
}
"""The five filters by name."""
LABEL_FREE = tuple(name for name, entry in FILTERS.items() if not entry.needs_labels)


def _gold_sign(margins: pd.DataFrame, name: str) -> np.ndarray:
    """Give +1 where the gold answer is yes, -1 where it is no."""
    is_yes = correct_decisions(margins, np.ones(len(margins), dtype=bool))
    unknown = is_yes.isna()
    if unknown.any():
        first = margins.iloc[int(unknown.argmax())]
        free = ", ".join(map(repr, LABEL_FREE))
        raise SchemaError(
            f"`label` must be given for the filter {name!r}, got none for sample_id "
            f"{first['sample_id']!r} (model {first['model']!r}, {unknown.sum()} of {len(margins)} "
            f"rows). The filters {free} need no labels."
        )
    return np.where(is_yes.to_numpy(dtype=bool), 1, -1)
