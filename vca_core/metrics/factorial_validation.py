"""Source-only cells of the factorial: does the gap tell which source a decision came from."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.metrics.factorial_design import GOLD, SOURCE_CELLS, SPEAKING, check_design
from vca_core.metrics.pooling import pooled_rates
from vca_core.metrics.ranking import ranking_rates
from vca_core.metrics.rates import RUN, as_float, rate_frame
from vca_core.metrics.support import audit_support

SCORES = ("image_gap", "confidence")


def audit_sources(margins: pd.DataFrame) -> pd.DataFrame:
    """Audit the decisions of the cells in which one source speaks alone.

    Parameters
    ----------
    margins : DataFrame, one row per (model, dataset, stem_id, visual_state, text_state)
        As in `vca_core.metrics.audit_factorial`; every stem has the four source-only cells.

    Returns
    -------
    DataFrame, one row per source-only decision
        All columns of `margins`, the events of `audit_support`, ``image_source`` (True: the
        picture speaks and the note is silent; False: the note speaks and the picture is silent)
        and ``confidence``, the size of the original margin in nats. ``label`` is what the speaking
        source says.

    Raises
    ------
    SchemaError
        As `vca_core.metrics.audit_factorial`.

    Notes
    -----
    That a decision from the note is correct where it says what the note says is a reading; the
    paper asks for correct decisions and its equations are lost. Source: [liu2026visual]_, Sec. 10.
    """
    check_design(margins, SOURCE_CELLS)
    sees, reads = margins["visual_state"].isin(SPEAKING), margins["text_state"].isin(SPEAKING)
    alone = margins[sees ^ reads].reset_index(drop=True)
    image_source = alone["visual_state"].isin(SPEAKING)
    speaking = alone["visual_state"].where(image_source, alone["text_state"])
    audit = audit_support(alone.assign(label=speaking.map(GOLD)))
    return audit.assign(image_source=image_source, confidence=audit["margin_original"].abs())


def source_rates(
    audit: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""How well the dependence event and the gap tell decisions from the picture from the note's.

    .. math:: \text{TPR} = \overline{D \mid \text{image source}}, \qquad
              \text{FPR} = \overline{D \mid \text{text source}}

    Parameters
    ----------
    audit : DataFrame
        From `audit_sources`.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap. A resample draws stems whole with all models' decisions.

    Returns
    -------
    DataFrame, one row per run or pooling and metric
        ``model`` (null over models), ``dataset``, ``pooling`` in {"run", "micro", "macro"},
        ``metric`` in {"true_positive_rate", "false_positive_rate"} over all decisions of the
        source, {"roc_auc_image_gap", "roc_auc_confidence"}, which rank image-source above
        text-source decisions among the correct ones of each model (no micro: nats are not ranked
        across models), all as fractions, and the columns of an estimate. An AUROC is NaN where
        only one source has correct decisions.

    Raises
    ------
    SchemaError
        If a column is missing, or a run mixes interfaces.

    Notes
    -----
    The four metrics are a reading of the caption of a table whose values are lost. Source:
    [liu2026visual]_, Sec. 10.
    """
    require_columns(
        audit,
        ("stem_id", "image_source", "dependent", "correct", *SCORES),
        " Call `audit_sources` first.",
    )
    options = {
        "cluster": "stem_id",
        "n_resamples": n_resamples,
        "confidence_level": confidence_level,
        "rng": rng,
    }

    def measures(run: pd.DataFrame) -> dict[tuple[str], np.ndarray]:
        image = run["image_source"].to_numpy(dtype=bool)
        return {
            ("true_positive_rate",): as_float(run["dependent"], image),
            ("false_positive_rate",): as_float(run["dependent"], ~image),
        }

    known = audit.assign(
        image_source=audit["image_source"].astype("boolean").where(audit["correct"])
    )
    ranking = ranking_rates(known, ["image_source"], SCORES, **options)
    ranking = ranking[(ranking["metric"] == "roc_auc") & (ranking["pooling"] != "rank")]
    parts = (
        rate_frame(audit, measures, **options).assign(pooling="run"),
        pooled_rates(audit, measures, **options).assign(model=None),
        ranking.assign(metric="roc_auc_" + ranking["score"]),
    )
    columns = [*RUN, "pooling", *parts[0].columns.drop([*RUN, "pooling"])]
    rows = [row for part in parts for row in part[columns].itertuples(index=False, name=None)]
    order = {"run": 0, "micro": 1, "macro": 2}
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values(
        "pooling", key=lambda p: p.map(order), kind="stable", ignore_index=True
    )
