"""Tables of the evidence-source factorial."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from vca_core.tables.core import display
from vca_core.tables.published import text_table

GIVEN = {"supports": "supports", "opposes": "opposes", "absent": "silent"}


def _one_data_set(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out the data set where all rows have the same."""
    same = "Data" in table and table["Data"].nunique(dropna=False) < 2
    return table.drop(columns="Data") if same else table


def _blocks(rates: pd.DataFrame, blocks: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Set blocks of metrics side by side, each after its own denominator."""
    wanted = {metric for metrics in blocks.values() for metric in metrics}
    shown = rates[rates["metric"].isin(wanted)].drop(columns="interval_kind", errors="ignore")
    parts = {name: display(shown, metrics) for name, metrics in blocks.items()}
    first = next(iter(parts.values()))
    keys = list(first.columns[: first.columns.get_loc("n")])
    columns = [part.drop(columns=keys).rename(columns={"n": name}) for name, part in parts.items()]
    return _one_data_set(pd.concat([first[keys], *columns], axis=1))


def agreement_table(rates: pd.DataFrame) -> pd.DataFrame:
    """C-U in percent of correct agreement decisions, and how they respond in percent of C-U.

    Parameters
    ----------
    rates : DataFrame
        From `agreement_rates` or `agreement_rates_of_counts`.

    Returns
    -------
    DataFrame of text, one row per run or pooling
        The three counts first, then the shares; one with another denominator says it. The data set
        is left out where it is the same in all rows.
    """
    given_cu = {
        "responsive_given_cu": "Responsive",
        "exceeds_neutral_given_cu": "Above neutral",
        "answer_flip_given_cu": "Answer flip",
    }
    blocks = {
        "Decisions": {"accuracy": "Correct"},
        "Correct n": {"cu_given_correct": "C-U of correct"},
        "C-U n": given_cu,
    }
    table = _blocks(rates, blocks).drop(columns="Correct (%)")
    shares = [column for column in table if column.endswith("(%)")]
    return table[[column for column in table if column not in shares] + shares]


def response_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Correct agreement decisions, and responsive and unresponsive C-U in percent of them.

    Parameters and returns are those of `agreement_table`.
    """
    masses = {"responsive_mass": "C-U, responsive", "nonresponsive_mass": "C-U, unresponsive"}
    return _blocks(rates, {"Decisions": {"accuracy": "Correct"}, "Correct n": masses})


def magnitude_table(rates: pd.DataFrame) -> pd.DataFrame:
    """C-U decisions whose response is above some sizes, in percent, from `agreement_rates`."""
    sizes = [m for m in rates["metric"].unique() if m.startswith("response_above_")]
    above = {m: f"Above {m.removeprefix('response_above_')} nats" for m in sizes}
    return _blocks(rates, {"C-U n": above})


def neutral_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Mean supports of C-U decisions in nats, and N+ in percent, from `neutral_contrast`."""
    names = {
        "original_support": "Original",
        "neutral_support": "Neutral",
        "neutral_contrast": "Contrast",
        "exceeds_neutral": "Above neutral",
    }
    return _one_data_set(display(rates, names, {metric: "nats" for metric in list(names)[:3]}))


def effects_table(effects: pd.DataFrame) -> pd.DataFrame:
    """Mean effects of each source by the state of the other, in nats, from `source_effects`.

    Returns
    -------
    DataFrame of text, one row per run and state of the other source
        The last row of a run is the interaction, which is one number for both sources.
    """
    single = effects["effect"] == "interaction"
    both = [effects[single].assign(effect=effect) for effect in ("visual", "text")]
    order = effects.groupby(["model", "dataset"], sort=False).ngroup()
    rows = pd.concat([effects[~single], *both])
    rows = rows.iloc[order.loc[rows.index].argsort(kind="stable")]
    given = rows["given"].map(GIVEN).fillna("interaction")
    rows = rows.assign(given=given).rename(columns={"effect": "metric"})
    names = {"visual": "Picture reversed", "text": "Note reversed"}
    table = display(rows, names, dict.fromkeys(names, "nats"))
    return _one_data_set(table.rename(columns={"given": "Other source"}))


def source_table(rates: pd.DataFrame) -> pd.DataFrame:
    """TPR, FPR and AUROC of the source-only decisions in percent, from `source_rates`."""
    names = {
        "true_positive_rate": "TPR",
        "false_positive_rate": "FPR",
        "roc_auc_image_gap": "AUROC of gap",
        "roc_auc_confidence": "AUROC of confidence",
    }
    return _one_data_set(display(rates, names))


def factorial_text_table() -> pd.DataFrame:
    """Show what the paper's running text says of its factorial beyond the table, as printed."""
    return text_table("factorial_text")
