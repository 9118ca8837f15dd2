"""What reversing one source does under each state of the other: cells, effects, interaction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from vca_core.metrics.factorial_design import (
    CONFLICT_SQUARE,
    SPEAKING,
    STATES,
    by_stem,
    check_design,
)
from vca_core.metrics.rates import rate_frame


def cell_rates(
    margins: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """How often each cell of the factorial is answered yes, and its mean margin. Label-free.

    Parameters
    ----------
    margins : DataFrame
        As in `vca_core.metrics.audit_factorial`, the original margin alone.
    n_resamples, confidence_level, rng
        Of the percentile bootstrap over stems.

    Returns
    -------
    DataFrame, one row per run, metric and cell
        ``model``, ``dataset``, ``metric`` in {"says_yes" (fraction), "mean_margin" (nats)},
        ``visual_state``, ``text_state``, and the columns of an estimate.

    Raises
    ------
    SchemaError
        As `vca_core.metrics.audit_factorial`.
    """
    check_design(margins, CONFLICT_SQUARE)

    def measures(run: pd.DataFrame) -> dict[tuple[str, ...], np.ndarray]:
        cells = [c for c in run.columns if isinstance(c, tuple)]
        yes = {("says_yes", *c): np.where(run[c].isna(), np.nan, run[c] >= 0) for c in cells}
        return yes | {("mean_margin", *c): run[c].to_numpy() for c in cells}

    return rate_frame(
        by_stem(margins),
        measures,
        labels=("metric", "visual_state", "text_state"),
        cluster="stem_id",
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )


def source_effects(
    margins: pd.DataFrame,
    *,
    n_resamples: int = 5000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> pd.DataFrame:
    r"""Mean effect of reversing one source, by the state of the other, and their interaction.

    .. math:: \Delta_V(s) = m(I^+, s) - m(I^-, s), \qquad \Delta_T(v) = m(v, s^+) - m(v, s^-),

              \Delta_V(s^+) - \Delta_V(s^-) = \Delta_T(I^+) - \Delta_T(I^-)

    Parameters
    ----------
    margins, n_resamples, confidence_level, rng
        As in `cell_rates`.

    Returns
    -------
    DataFrame, one row per run, effect and state
        ``model``, ``dataset``, ``effect`` in {"visual", "text", "interaction"}, ``given``, the
        state of the other source (None for the interaction), and the columns of an estimate in
        nats, over stems. A state for which no stem has both cells is left out.

    Raises
    ------
    SchemaError
        As `vca_core.metrics.audit_factorial`.

    Notes
    -----
    Margins are in model-native units: compare effects within a model. The paper defines the visual
    effect for a fixed text; one per text state is a reading, the interaction is in the caption of
    its Table 7. The text effect is the same with the sources exchanged and not in the paper.
    Source: [liu2026visual]_, Sec. 10.
    """
    check_design(margins, CONFLICT_SQUARE)

    def measures(run: pd.DataFrame) -> dict[tuple[str, str | None], np.ndarray]:
        found = {}
        for effect in ("visual", "text"):
            for state in STATES:
                pair = [(own, state) if effect == "visual" else (state, own) for own in SPEAKING]
                if set(pair) <= set(run.columns):
                    up, down = pair
                    found[effect, state] = (run[up] - run[down]).to_numpy()
        interaction = found["visual", "supports"] - found["visual", "opposes"]
        return found | {("interaction", None): interaction}

    return rate_frame(
        by_stem(margins),
        measures,
        labels=("effect", "given"),
        cluster="stem_id",
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        rng=rng,
    )
