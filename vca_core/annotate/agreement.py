"""Consensus of the annotators, and how well they agree with each other and with themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from vca_core.annotate.files import ANSWERS, CRITERIA
from vca_core.stats import bootstrap_means, percentile_interval

METRICS = ("pairwise_agreement", "fleiss_kappa", "repeat_agreement")


def consensus(decisions: pd.DataFrame, n_annotators: int) -> pd.DataFrame:
    """Majority of the annotators on each criterion of each edit.

    A criterion holds when more than half of the annotators said yes; `unsure` is not yes. An edit
    is accepted when all four hold.

    Parameters
    ----------
    decisions : DataFrame, one row per (annotator, item, criterion)
        From `import_sheets`; only first showings count.
    n_annotators : int
        For whom sheets were written; an answer that is not there stays open.

    Returns
    -------
    DataFrame, one row per edit, by edit_id
        For each criterion a nullable boolean of its name, ``<criterion>_yes`` and
        ``<criterion>_n`` (answers there are). ``accepted``, a nullable boolean, and ``outcome``:
        "accepted"; "rejected", when a majority said no, or unsure, to a criterion; "no_majority",
        when the criteria that fail do so because no answer has one, as in yes, no, unsure; and
        "undecided". A boolean is null, and an outcome undecided, when answers that are still
        missing could change it.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 17, where such three-way ties are counted apart.
    """
    first = decisions[decisions["showing"] == 1]

    def tally(hits: pd.Series) -> pd.DataFrame:  # edits x criteria
        return hits.groupby([first["edit_id"], first["criterion"]]).sum().unstack()[[*CRITERIA]]

    yes, no, unsure = (tally(first["answer"].eq(answer)) for answer in ANSWERS)
    n = yes + no + unsure
    holds = 2 * yes > n_annotators
    fails = 2 * (yes + n_annotators - n) <= n_annotators  # even if all that is missing were yes
    refused = 2 * np.maximum(no, unsure) > n_annotators
    edits = pd.DataFrame(index=holds.index)
    for criterion in CRITERIA:
        edits[criterion] = _nullable(holds[criterion], fails[criterion])
        edits[f"{criterion}_yes"] = yes[criterion]
        edits[f"{criterion}_n"] = n[criterion]
    edits["accepted"] = _nullable(holds.all(axis=1), fails.any(axis=1))
    edits["outcome"] = np.select(
        [holds.all(axis=1), refused.any(axis=1), (holds | n.eq(n_annotators)).all(axis=1)],
        ["accepted", "rejected", "no_majority"],
        "undecided",
    )
    return edits.reset_index()


def _nullable(true: pd.Series, false: pd.Series) -> pd.Series:
    return true.astype("boolean").mask(~(true | false))


def agreement(
    decisions: pd.DataFrame, *, n_resamples: int = 5000, rng: np.random.Generator
) -> pd.DataFrame:
    """Pairwise agreement, Fleiss' kappa and repeat agreement on each criterion.

    Answers agree when they are the same of yes, no and unsure. Intervals are 95 % percentile
    intervals over resampled edits.

    Parameters
    ----------
    decisions : DataFrame, one row per (annotator, item, criterion)
        From `import_sheets`.
    n_resamples : int
    rng : Generator

    Returns
    -------
    DataFrame, one row per metric, annotators and criterion
        ``metric``: "pairwise_agreement" (for each pair, and for "all": the mean over the pairs),
        "fleiss_kappa", "repeat_agreement" (of each annotator with themself). ``value``, ``low``
        and ``high`` as fractions; ``n`` edits with all the answers needed; ``n_undefined``
        resamples without a value. NaN with its n where there is nothing to count, or where kappa
        is 0/0 because every answer is the same.
    """
    seed = int(rng.integers(2**63))  # the same resamples for all measures on the same edits
    rows = []
    for criterion in CRITERIA:
        answers = decisions[decisions["criterion"] == criterion]
        for metric, who, parts in _measured(answers):
            measure = _kappa if metric == "fleiss_kappa" else _first
            estimate = _estimate(parts, measure, n_resamples, np.random.default_rng(seed))
            rows.append((metric, who, criterion, *estimate))
    columns = ["metric", "annotators", "criterion", "value", "low", "high", "n", "n_undefined"]
    rows.sort(key=lambda row: METRICS.index(row[0]))
    return pd.DataFrame(rows, columns=columns)


def _measured(answers: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """Metric, annotators, and one row per edit of what is averaged, for one criterion."""
    first = answers[answers["showing"] == 1]
    table = first.pivot(index="edit_id", columns="annotator", values="answer")
    for pair in combinations(table.columns, 2):
        yield "pairwise_agreement", f"{pair[0]} and {pair[1]}", _same(table[[*pair]])
    complete = table.dropna()
    parts = _kappa_parts(np.stack([complete.eq(word).sum(axis=1) for word in ANSWERS], axis=1))
    yield "pairwise_agreement", "all", parts
    yield "fleiss_kappa", "all", parts
    for annotator, own in answers.groupby("annotator"):
        showings = own.pivot(index="edit_id", columns="showing", values="answer")
        yield "repeat_agreement", str(annotator), _same(showings.reindex(columns=[1, 2]))


def _same(two: pd.DataFrame) -> np.ndarray:
    """Whether two answers are the same, of the edits that have both; shape (n, 1)."""
    both = two.dropna()
    return (both.iloc[:, [0]].to_numpy() == both.iloc[:, [1]].to_numpy()).astype(float)


def _estimate(
    parts: np.ndarray,
    measure: Callable[[np.ndarray], np.ndarray],
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float, float, int, int]:
    """Measure of the mean parts with its interval, number of edits, undefined resamples."""
    n = len(parts)
    if n == 0:
        return np.nan, np.nan, np.nan, 0, n_resamples
    replicates = measure(bootstrap_means(parts, n_resamples=n_resamples, rng=rng))
    # one edit says nothing of how edits vary
    low, high = percentile_interval(replicates) if n > 1 else (np.nan, np.nan)
    value = float(measure(parts.mean(axis=0)))
    return value, low, high, n, int(np.isnan(replicates).sum())


def fleiss_kappa(counts: ArrayLike) -> float:
    r"""Fleiss' kappa: agreement of several raters beyond chance.

    .. math::
        P_i = \frac{\sum_j n_{ij}^2 - r}{r (r - 1)}, \qquad
        p_j = \frac{1}{n} \sum_i \frac{n_{ij}}{r}, \qquad
        \kappa = \frac{\bar P - \sum_j p_j^2}{1 - \sum_j p_j^2}

    Parameters
    ----------
    counts : array-like of int, shape (n, k)
        How many of the :math:`r` raters put item :math:`i` into category :math:`j`.

    Returns
    -------
    float
        At most 1. NaN without items, with one rater, or when all ratings are in one category.

    Raises
    ------
    ValueError
        If the items do not all have the same number of raters.

    References
    ----------
    J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76
    (1971), 378-382. https://doi.org/10.1037/h0031619
    """
    parts = _kappa_parts(counts)
    return float(_kappa(parts.mean(axis=0))) if len(parts) else float("nan")


def _kappa_parts(counts: ArrayLike) -> np.ndarray:
    """Per item its agreement and its shares of the categories; shape (n, 1 + k)."""
    counts = np.asarray(counts, dtype=float)
    raters = counts.sum(axis=1)
    if len(np.unique(raters)) > 1:
        raise ValueError(
            f"Every item must have the same number of raters, got {raters.min():.0f} to "
            f"{raters.max():.0f}."
        )
    pairs = raters * (raters - 1)
    same = (counts**2).sum(axis=1) - raters
    agreed = np.divide(same, pairs, out=np.full_like(pairs, np.nan), where=pairs > 0)
    return np.column_stack([agreed, counts / raters[:, None]])


def _first(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _kappa(means: np.ndarray) -> np.ndarray:
    """Kappa of mean parts, shape (..., 1 + k) to (...); NaN where chance alone gives 1."""
    observed, expected = means[..., 0], (means[..., 1:] ** 2).sum(axis=-1)
    room = 1 - expected
    kappa = np.full(np.shape(observed), np.nan)
    return np.divide(observed - expected, room, out=kappa, where=room > 0)
