"""The factorial's neutral control: the same objects, the relation gone."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.pooling import pooled_rates
from vca_core.metrics.rates import RUN, as_float, rate_frame


def neutral_contrast(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Support of the C-U decisions with the picture and with its neutral twin, and N+.

    Parameters
    ----------
    audit : DataFrame
        From `vca_core.metrics.audit_factorial`, with a neutral control.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over stems.

    Returns
    -------
    DataFrame, one row per run or pooling and metric
        ``model`` (null over models), ``dataset``, ``pooling`` in {"run", "micro", "macro"},
        ``metric`` in {"original_support", "neutral_support", "neutral_contrast" (their mean
        difference)} in nats for runs alone, and "exceeds_neutral" (fraction), and the columns of an
        estimate over the C-U decisions that have a neutral picture; NaN with ``n`` = 0 where there
        are none.

    Raises
    ------
    SchemaError
        If an event column is missing.

    Notes
    -----
    Intervals of single models are stem-clustered here too: the printed interval of InternVL's N+,
    93.87 to 97.94, is not the Wilson interval that `agreement_rates` gives. Nats are not pooled
    over models, whose units differ. Source: [liu2026visual]_, Sec. 10.
    """
    require_columns(
        audit,
        (
            "stem_id",
            "direction",
            "cu",
            "margin_original",
            "margin_neutral",
            "neutral_contrast",
            "exceeds_neutral",
        ),
        " Call `audit_factorial` first.",
    )
    options = {
        "cluster": "stem_id",
        "n_resamples": n_resamples,
        "confidence_level": confidence_level,
    }

    def exceeds(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        return {("exceeds_neutral",): as_float(run["exceeds_neutral"], _inside(run))}

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        direction = run["direction"]
        found = {
            "original_support": direction * run["margin_original"],
            "neutral_support": direction * run["margin_neutral"],
            "neutral_contrast": run["neutral_contrast"],
        }
        return {(k,): as_float(v, _inside(run)) for k, v in found.items()} | exceeds(run)

    runs = rate_frame(audit, measures, rng=rng, **options).assign(pooling="run")
    pooled = pooled_rates(audit, exceeds, rng=rng, **options).assign(model=None)
    columns = [*RUN, "pooling", *runs.columns.drop([*RUN, "pooling"])]
    rows = [*runs[columns].itertuples(index=False, name=None),
            *pooled[columns].itertuples(index=False, name=None)]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _inside(run: pd.DataFrame) -> np.ndarray:
    """C-U decisions with a neutral picture."""
    return run["cu"].to_numpy(dtype=bool) & run["exceeds_neutral"].notna().to_numpy()
