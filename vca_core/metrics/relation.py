"""The relation axis: whether the image sets true statements apart from false ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import RECORD, finite_margin, require_columns
from vca_core.metrics.rates import RUN, as_float, rate_frame
from vca_core.metrics.support import CONTROLS, audit_support
from vca_core.records import NotScoredError, SchemaError

CONTEXTS = ("original", *CONTROLS)
RATES = (
    "relation_consistent",
    "relation_text_only",
    "relation_blank",
    "pair_credit",
    "pair_dependent",
    "joint",
)
"""Events of a pair, in the order of the paper's tables."""
GAPS = (*(f"relation_gap_{context}" for context in CONTEXTS), "interaction_gap")
"""Numbers of a pair, in nats."""


def audit_pairs(margins: pd.DataFrame) -> pd.DataFrame:
    r"""Compare the true with the false statements of each relation pair, context by context.

    .. math::
        \text{Rel}_c &= 1\{m^+_c \ge 0\} \prod_k 1\{m^{-k}_c < 0\}, \qquad
        H_c = m^+_c - \max_k m^{-k}_c \\
        G^{\text{int}} &= H_o - \max(H_t, H_b), \qquad
        \text{PairCredit} = 1\{G^{\text{int}} > 0\} \\
        \text{PairD} &= D^+ \prod_k D^{-k}, \qquad \text{Joint} = \text{Rel}_o \, \text{PairD}

    where :math:`m^+_c` is the margin of the true statement in context :math:`c` (original,
    text-only, blank), :math:`m^{-k}_c` that of its :math:`k`-th false alternative on the same
    image, and :math:`D` the dependence of `audit_support`.

    Parameters
    ----------
    margins : DataFrame, one row per (model, dataset, interface, wording, sample_id)
        Margins, or the frame of `audit_support`: ``model``, ``dataset``, ``sample_id``,
        ``pair_id``, ``polarity`` in {"true", "false"} and ``margin_original``,
        ``margin_text_only``, ``margin_blank`` in nats. Where no row has a ``polarity`` the
        ``label`` stands in for it, yes for the true statement. Rows with a null ``pair_id`` belong
        to no pair and are left out.

    Returns
    -------
    DataFrame, one row per (model, dataset, interface, wording, pair_id)
        In order of first appearance. The keys that `margins` has; ``sample_id`` and, where there
        is one, ``relation`` of the true statement; ``n_false`` alternatives; the booleans
        ``relation_consistent`` (:math:`\text{Rel}_o`), ``relation_text_only``,
        ``relation_blank``, ``pair_credit``, ``pair_dependent`` and ``joint``; in nats
        ``relation_gap_original``, ``relation_gap_text_only``, ``relation_gap_blank``
        (:math:`H_c`) and ``interaction_gap`` (:math:`G^{\text{int}}`).

    Raises
    ------
    SchemaError
        If a column is missing, no row has a ``pair_id``, a pair does not have exactly one true
        and at least one false statement, or a margin fails the checks of `audit_support`.

    Notes
    -----
    A margin of exactly zero answers yes; an interaction of exactly zero is no credit. ``joint``
    implies ``pair_credit``, in floats too: the interaction is the correctly rounded sum of its
    four margins, so its sign is exact, whereas the difference of two rounded :math:`H_c` can be
    zero in a Joint pair. Source: [liu2026visual]_, Sec. 3 and 13.
    """
    require_columns(margins, ("model", "dataset", "sample_id", "pair_id"))
    margins = _with_polarity(margins)
    paired = margins["pair_id"].notna()
    if len(margins) and not paired.any():
        raise NotScoredError(
            "`pair_id` must name the relation pair of some statements, got null in all "
            f"{len(margins)} rows; the relation axis needs true and false statements on one image."
        )
    statements = margins[paired]
    keys = [*(c for c in RECORD if c in margins.columns and c != "sample_id"), "pair_id"]
    # Without the label: a relation pair says itself which statement is true.
    support = audit_support(statements.drop(columns="label", errors="ignore"))
    dependent = support["dependent"].to_numpy(dtype=bool)
    pair, is_true = _pairs(statements, keys)
    n = int(is_true.sum())
    true_row = np.empty(n, dtype=int)
    true_row[pair[is_true]] = np.flatnonzero(is_true)

    margin = {
        context: (m[true_row], _highest(m[~is_true], pair[~is_true], n))
        for context in CONTEXTS
        for m in [finite_margin(statements, context)]
    }
    held = {context: (true >= 0) & (false < 0) for context, (true, false) in margin.items()}
    pair_dependent = np.bincount(pair, ~dependent, minlength=n) == 0
    interaction = _interaction(margin)
    shown = [*keys, *(["relation"] if "relation" in margins else []), "sample_id"]
    return (
        statements[shown]
        .iloc[true_row]
        .reset_index(drop=True)
        .assign(
            n_false=np.bincount(pair[~is_true], minlength=n),
            relation_consistent=held["original"],
            relation_text_only=held["text_only"],
            relation_blank=held["blank"],
            **{f"relation_gap_{c}": true - false for c, (true, false) in margin.items()},
            interaction_gap=interaction,
            pair_credit=interaction > 0,
            pair_dependent=pair_dependent,
            joint=held["original"] & pair_dependent,
        )
    )


def _with_polarity(margins: pd.DataFrame) -> pd.DataFrame:
    if "label" not in margins.columns:
        require_columns(margins, ("polarity",))
        return margins
    if "polarity" in margins.columns and margins["polarity"].notna().any():
        return margins
    by_label = margins["label"].map({"yes": "true", "no": "false"})
    return margins.assign(polarity=by_label.astype(object).where(by_label.notna(), None))


def _pairs(statements: pd.DataFrame, keys: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Give each statement the number of its pair, and whether it is the true one."""
    unknown = ~statements["polarity"].isin(("true", "false")).to_numpy()
    if unknown.any():
        first = statements.iloc[int(unknown.argmax())]
        raise SchemaError(
            f"`polarity` must be 'true' or 'false' in a pair, got {first['polarity']!r} for "
            f"sample_id {first['sample_id']!r} (model {first['model']!r})."
        )
    is_true = (statements["polarity"] == "true").to_numpy(dtype=bool)
    pair = statements.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()
    n = int(pair.max(initial=-1)) + 1
    n_true = np.bincount(pair[is_true], minlength=n)
    n_false = np.bincount(pair[~is_true], minlength=n)
    bad = (n_true != 1) | (n_false < 1)
    if bad.any():
        which = int(bad.argmax())
        counts = {"true": n_true[which], "false": n_false[which]}.items()
        got = " and ".join(f"{count} {polarity}" for polarity, count in counts if count)
        first = statements.iloc[int((pair == which).argmax())]
        raise SchemaError(
            f"`pair_id` must name one true and at least one false statement, got {got} for "
            f"pair_id {first['pair_id']!r} (model {first['model']!r}, dataset "
            f"{first['dataset']!r}; {bad.sum()} of {n} pairs)."
        )
    return pair, is_true


def _highest(values: np.ndarray, pair: np.ndarray, n: int) -> np.ndarray:
    """Largest of the values of each pair, shape (n,)."""
    highest = np.full(n, -np.inf)
    np.maximum.at(highest, pair, values)
    return highest


def _interaction(margin: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Smaller of the two differences H_o - H_c, each one correctly rounded sum."""
    true, false = margin["original"]
    above = []
    for control_true, control_false in (margin[c] for c in CONTROLS):
        terms = np.column_stack([true, -false, -control_true, control_false])
        above.append([math.fsum(row) for row in terms])
    return np.min(above, axis=0)


def relation_rates(
    pairs: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    """Rates and mean gaps of the relation axis, with intervals from resampled pairs.

    Parameters
    ----------
    pairs : DataFrame
        From `audit_pairs`.
    n_resamples, confidence_level, rng, by
        As in `support_rates`; the clusters are the relation pairs (``pair_id``).

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`, micro over a run's pairs. ``metric`` in {"relation_consistent",
        "relation_text_only", "relation_blank", "pair_credit", "pair_dependent", "joint"}
        (fractions of pairs), and the means "relation_gap_original", "relation_gap_text_only",
        "relation_gap_blank" and "interaction_gap" (nats).

    Raises
    ------
    SchemaError
        If a column is missing, or a run mixes interfaces.

    Notes
    -----
    Nats are each model's own: compare gaps within a model. The mean interaction is at most mean
    H_o less the larger of mean H_t and mean H_b, and as a rule less: the stronger control is
    chosen pair by pair. Source: [liu2026visual]_, Sec. 13.
    """
    require_columns(pairs, (*RATES, *GAPS), " Call `audit_pairs` first.")
    return rate_frame(
        pairs,
        lambda run: {(metric,): as_float(run[metric]) for metric in (*RATES, *GAPS)},
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
