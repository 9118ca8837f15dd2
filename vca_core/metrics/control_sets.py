"""Other sets of controls than text-only and blank: mean colour, and mismatch as a third."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from vca_core.metrics.checks import finite_margin, optional_margin, require_columns
from vca_core.metrics.control_variants import bare_estimate, rank_correlation
from vca_core.metrics.rates import ESTIMATE, RUN, as_float, iterate_runs, names_of, rate_frame
from vca_core.metrics.support import CONTROLS

CONTROL_SETS = {
    "headline": CONTROLS,
    "mean_color": ("text_only", "mean_color"),
    "mismatch": (*CONTROLS, "mismatch"),
}
"""Contexts whose support the original image must exceed."""


def control_gap(run: pd.DataFrame, contexts: Sequence[str]) -> np.ndarray:
    r"""Gap over any set of controls, :math:`r_o - \max_c r_c`, in nats.

    Parameters
    ----------
    run : DataFrame
        From `audit_support`, the records of one run.
    contexts : sequence of str
        The controls.

    Returns
    -------
    ndarray, shape (n,)
        NaN in a run where one of the controls was not scored.
    """
    direction = run["direction"].to_numpy()
    controls = [direction * optional_margin(run, context) for context in contexts]
    return direction * finite_margin(run, "original") - np.max(controls, axis=0)


def control_sets(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""Dep and C-U under three sets of controls, and how far the three agree.

    .. math:: D^{S}_i = 1\{r_{i,o} > \max_{c \in S} r_{i,c}\}, \qquad
              J^{S} = \frac{|\text{C-U} \cap \text{C-U}^{S}|}{|\text{C-U} \cup \text{C-U}^{S}|}

    for the sets "headline" (text-only, blank), "mean_color" (text-only, mean colour) and
    "mismatch" (text-only, blank, mismatch).

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`; ``margin_mean_color`` and ``margin_mismatch`` in nats where scored.
    n_resamples, confidence_level, rng, by
        As in `support_rates`; `by` says what a run is.

    Returns
    -------
    DataFrame, one row per run (and all runs together), control set and metric
        `by` (null over runs), ``pooling`` in {"run", "micro"}, ``control_set``, ``metric`` and the
        columns of an estimate. Of each set: "dependent", "cu", "agreement" (same event as the
        headline) and "cu_jaccard" (its ``n`` counts the union). Of the set "all": "agreement"
        (same event under all three), "cu_intersection" and "cu_union" (shares of labelled records
        that are C-U under all, and under any), and "cu_retained", the share of the headline's C-U
        records that are C-U under all. NaN with ``n`` = 0 where a context was not scored.

    Raises
    ------
    SchemaError
        If a context was scored for some records of a run and not for others.

    Notes
    -----
    A further control can only take dependence away, so the headline's agreement with "mismatch" is
    1 - (Dep - Dep+M), and its C-U records are a subset. Source: [liu2026visual]_, Sec. 18.
    """
    require_columns(
        audit, ("direction", "correct", "dependent", "cu"), " Call `audit_support` first."
    )
    by = names_of(by)
    audit = audit.reset_index(drop=True)
    parts = [pd.DataFrame(_set_events(run), index=run.index) for _, run in iterate_runs(audit, by)]
    events = pd.concat(parts) if parts else pd.DataFrame(_set_events(audit))
    seed = int(rng.integers(2**63))
    frames = [
        rate_frame(
            audit,
            lambda run: {name: events.loc[run.index, name].to_numpy() for name in events.columns},
            labels=("control_set", "metric"),
            by=pooled,
            n_resamples=n_resamples,
            confidence_level=confidence_level,
            rng=np.random.default_rng(seed),
        ).assign(pooling=pooling)
        for pooling, pooled in (("run", by), ("micro", ()))
    ]
    found = pd.concat(frames, ignore_index=True)
    for column in by:
        found[column] = found[column].astype(object).where(found["pooling"] == "run", None)
    return found[[*by, "pooling", "control_set", "metric", *ESTIMATE]]


def _set_events(run: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Events of a run under each control set, NaN outside the denominator."""
    correct = as_float(run["correct"])
    dependent, cu = {}, {}
    for name, contexts in CONTROL_SETS.items():
        gap = control_gap(run, contexts)
        dependent[name] = np.where(np.isnan(gap), np.nan, gap > 0)
        cu[name] = correct * (1 - dependent[name])
    out = {}
    for name in CONTROL_SETS:
        either = np.maximum(cu["headline"], cu[name])
        out[name, "dependent"] = dependent[name]
        out[name, "cu"] = cu[name]
        out[name, "agreement"] = _same(dependent["headline"], dependent[name])
        both = np.minimum(cu["headline"], cu[name])
        out[name, "cu_jaccard"] = np.where(either == 1, both, np.nan)
    every, least = np.array(list(dependent.values())), np.array(list(cu.values()))
    out["all", "agreement"] = _same(every.min(axis=0), every.max(axis=0))
    out["all", "cu_intersection"] = least.min(axis=0)
    out["all", "cu_union"] = least.max(axis=0)
    retained = np.where(cu["headline"] == 1, least.min(axis=0), np.nan)
    out["all", "cu_retained"] = retained
    return out


def _same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, x == y)


def mean_color_comparison(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
    by: Sequence[str] = RUN,
) -> pd.DataFrame:
    r"""D-CC with a grey blank against D-CC with a blank of each image's mean colour.

    The mean-colour gap is :math:`r_o - \max(r_t, r_{mc})`, with :math:`r_{mc}` the support in
    context mean colour; original and text-only margins, and so accuracy, are unchanged.

    Parameters
    ----------
    audit : DataFrame
        From `audit_support`, with ``margin_mean_color`` in nats.
    n_resamples, confidence_level, rng, by
        As in `support_rates`.

    Returns
    -------
    DataFrame, one row per run and metric
        As `support_rates`; ``metric`` in {"accuracy", "dcc", "dcc_mean_color", "difference" (mean
        colour less grey, paired), "dependent_agreement" (same event)} as fractions, and
        "spearman_rho", the rank correlation of the two gaps, without interval. NaN with ``n`` = 0
        in a run where mean colour was not scored.

    Raises
    ------
    SchemaError
        If mean colour was scored for some records of a run and not for others.

    Notes
    -----
    Source: [liu2026visual]_, Sec. 18.
    """
    needed = ("direction", "correct", "dependent", "dcc", "image_gap")
    require_columns(audit, needed, " Call `audit_support` first.")

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        gap = control_gap(run, CONTROL_SETS["mean_color"])
        scored = ~np.isnan(gap)
        dcc, correct = as_float(run["dcc"]), as_float(run["correct"])
        other = correct * (gap > 0)
        columns = {
            "accuracy": correct,
            "dcc": dcc,
            "dcc_mean_color": other,
            "difference": other - dcc,
            "dependent_agreement": (gap > 0) == run["dependent"].to_numpy(dtype=bool),
        }
        return {(name,): np.where(scored, column, np.nan) for name, column in columns.items()}

    by = names_of(by)
    rates = rate_frame(
        audit,
        measures,
        by=by,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
    rows = []
    for key, run in iterate_runs(audit, by):
        gap = control_gap(run, CONTROL_SETS["mean_color"])
        scored = not np.isnan(gap).any()
        rho = rank_correlation(gap, as_float(run["image_gap"])) if scored else np.nan
        n = len(run) if scored else 0
        rows.append((*key, "spearman_rho", *bare_estimate(rho, n).values()))
    correlations = pd.DataFrame(rows, columns=[*by, "metric", *ESTIMATE])
    return pd.concat([rates, correlations], ignore_index=True) if len(rates) else correlations
