"""Other signals of image use, made from the same records.

Adaptations to cached contexts, after the paper: not the original methods, which need detector
features, attention masks or models of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import (
    correct_decisions,
    finite_margin,
    optional_margin,
    require_columns,
)
from vca_core.metrics.filter_scores import visnec_style
from vca_core.metrics.probability import probability_difference
from vca_core.metrics.rates import RUN, as_float, iterate_runs, names_of

SIGNALS = (
    "confidence",
    "visnec_style",
    "perceptual_score",
    "permutation_drop",
    "fpvg_style",
    "negative_sufficiency",
    "comprehensiveness",
    "comprehensiveness_minus_sufficiency",
    "image_gap",
)


def proxy_signals(audit: pd.DataFrame, *, by: Sequence[str] = RUN) -> pd.DataFrame:
    r"""Add nine signals of image use as columns.

    .. math::
        \text{confidence} &= |m_o| \qquad
        \text{VisNec-style} = \ell_t(y) - \ell_o(y) \\
        \text{Perceptual Score} &= 1\{\hat y_o = y\} - 1\{\hat y_m = y\} \qquad
        \text{permutation drop} = \sigma(r_o) - \sigma(r_m) \\
        \text{FPVG-style} &= 1\{\hat y_i = \hat y_o \ne \hat y_r\} \\
        -\text{sufficiency} &= \sigma(r_i) - \sigma(r_o) \qquad
        \text{comprehensiveness} = \sigma(r_o) - \sigma(r_r)

    and comprehensiveness less sufficiency, :math:`\sigma(r_i) - \sigma(r_r)`, and the image gap.
    The contexts are original (:math:`o`), text-only (:math:`t`), mismatch (:math:`m`), relation
    erased (:math:`r`) and irrelevant erased (:math:`i`); :math:`r_c` is the support, :math:`\sigma`
    the logistic function, :math:`y` the label and :math:`\ell` its loss.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`; ``label``, ``margin_mismatch``, ``margin_relation_erased`` and
        ``margin_irrelevant_erased`` where there are some.
    by : sequence of str
        What a run is: in each, a context is scored for all records or for none.

    Returns
    -------
    DataFrame, same rows and order
        With the columns of `SIGNALS`: ``confidence``, ``visnec_style`` and ``image_gap`` in nats,
        the other six differences of probabilities or of 0 and 1. NaN where a context was not
        scored; ``visnec_style`` and ``perceptual_score`` also where there is no label.

    Raises
    ------
    SchemaError
        If a column is missing, or a context was scored for some records of a run only.

    Notes
    -----
    High means more image use in all nine. The paper names FPVG, sufficiency and comprehensiveness
    without formulas; irrelevant erased stands for "relevant only" and relation erased for
    "irrelevant only", and the differences are those of ERASER: a reading. :math:`\ell` is taken
    among the two answers, :math:`-\log \sigma(\pm m)`, all that a margin tells. Source:
    [liu2026visual]_, Sec. 18.
    """
    by = names_of(by)
    require_columns(audit, ("direction", "image_gap"), " Call `audit_support` first.")
    place = pd.Series(np.arange(len(audit)), audit.index)
    found = pd.DataFrame(np.nan, index=range(len(audit)), columns=list(SIGNALS))
    for _, run in iterate_runs(audit.assign(_place=place), by):
        found.loc[run["_place"].to_numpy()] = np.column_stack(list(_signals(run).values()))
    return audit.assign(**{name: found[name].to_numpy() for name in SIGNALS})


def _signals(run: pd.DataFrame) -> dict[str, np.ndarray]:
    """Signals of one run, in the order of `SIGNALS`."""
    direction = run["direction"].to_numpy()
    others = ("mismatch", "relation_erased", "irrelevant_erased")
    margin = {"original": finite_margin(run, "original")}
    margin |= {c: optional_margin(run, c) for c in others}
    r = {c: direction * m for c, m in margin.items()}
    says_yes = direction > 0
    right = as_float(correct_decisions(run, says_yes))
    known = ~np.isnan(right)
    visnec = np.full(len(run), np.nan)
    visnec[known] = visnec_style(run[known])
    after = {c: np.where(np.isnan(margin[c]), np.nan, (margin[c] >= 0) == says_yes) for c in others}
    still_right = np.where(after["mismatch"] > 0, right, 1 - right) + 0 * after["mismatch"]
    return {
        "confidence": np.abs(margin["original"]),
        "visnec_style": visnec,
        "perceptual_score": right - still_right,
        "permutation_drop": probability_difference(r["original"], r["mismatch"]),
        "fpvg_style": after["irrelevant_erased"] * (1 - after["relation_erased"]),
        "negative_sufficiency": probability_difference(r["irrelevant_erased"], r["original"]),
        "comprehensiveness": probability_difference(r["original"], r["relation_erased"]),
        "comprehensiveness_minus_sufficiency": probability_difference(
            r["irrelevant_erased"], r["relation_erased"]
        ),
        "image_gap": as_float(run["image_gap"]),
    }
