"""Tables of the relation axis."""

from __future__ import annotations

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables.core import display


def relation_axis_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Rel, PairCredit, Pair D, Joint, and Rel without the image in percent, from `relation_rates`.

    Returns
    -------
    DataFrame of text, one row per run
        ``n`` counts relation pairs.
    """
    names = {
        "relation_consistent": "Rel",
        "pair_credit": "PairCredit",
        "joint": "Joint",
        "pair_dependent": "Pair D",
        "relation_text_only": "Rel, text only",
        "relation_blank": "Rel, blank",
    }
    return display(rates, names)


def relation_gaps_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Mean interaction and mean relation gap in three contexts, in nats, from `relation_rates`."""
    names = {
        "interaction_gap": "Interaction",
        "relation_gap_original": "H, original",
        "relation_gap_text_only": "H, text only",
        "relation_gap_blank": "H, blank",
    }
    return display(rates, names, dict.fromkeys(names, "nats"))


def pair_parts_table(rates: pd.DataFrame) -> pd.DataFrame:
    """Five parts of all pairs in percent, from `pair_decomposition`."""
    names = {
        "joint": "Joint",
        "consistent_credit": "Rel and PairCredit, not Joint",
        "consistent_only": "Rel, no PairCredit",
        "credit_only": "PairCredit, no Rel",
        "neither": "Neither",
    }
    return display(rates, names)


def null_control_table(responses: pd.DataFrame) -> pd.DataFrame:
    """Margins of response functions on four inputs, beside what the audit says of them.

    Parameters
    ----------
    responses : DataFrame, one row per function
        From `audit_support` on margins of invented functions: ``model`` (the function),
        ``dependent`` and, in nats, ``margin_original``, ``margin_text_only``, ``margin_blank``,
        ``image_gap``, ``margin_reversed`` and ``delta_visual``.

    Returns
    -------
    DataFrame of text
        In nats, with signs.
    """
    names = {
        "margin_original": "Original",
        "margin_text_only": "No image",
        "margin_blank": "Blank",
        "image_gap": "Image gap",
        "margin_reversed": "Reversed",
        "delta_visual": "Visual effect",
    }
    require_columns(responses, ("dependent", "model", *names))
    shown = {
        "Dependent": ["yes" if value else "no" for value in responses["dependent"]],
        "Response function": responses["model"].astype(str),
    }
    numbers = {
        name: [f"{value:+.2f}" if value else "0" for value in responses[column]]
        for column, name in names.items()
    }
    return pd.DataFrame(shown | numbers)
