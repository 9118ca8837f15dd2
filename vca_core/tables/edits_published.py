"""The published tables of the edit check, with their columns and notes."""

from __future__ import annotations

from vca_core.tables.myst import MystTable
from vca_core.tables.published import published_view

_TEXT = {"quantity": "Quantity", "value": "Value"}
COLUMNS = {
    "T20": {
        "outcome": "Outcome",
        "model": "Model",
        "n": "n",
        "base_rate": "Base rate (%)",
        "roc_auc": "AUROC (%)",
        "average_precision": "AUPRC (%)",
        "high_minus_low": "High less low third (points)",
    },
    "T21": {
        "confidence": "Confidence",
        "dependent": "Image support",
        "n": "n",
        "share": "Share (%)",
        "accuracy": "Acc (%)",
        "n_edit_records": "Edit records",
        "edit_visible": "Flip and vis. (%)",
        "edit_strict": "Strict (%)",
    },
    "T22": {
        "target": "Target",
        "true_margin_roc_auc": "True margin (%)",
        "image_gap_roc_auc": "Gap (%)",
        "conditional_image_gap_roc_auc": "Gap within margin bins (%)",
        "increment": "Gap beside margin (points)",
    },
    "T23": {
        "model": "Model",
        "n_edits": "Edits",
        "n_relation_consistent": "Rel n",
        "n_joint": "Joint n",
        "edit_relation": "Relation only (%)",
        "edit_visible": "Flip and vis. (%)",
        "edit_visible_within_relation_consistent": "In Rel (%)",
        "edit_visible_within_joint": "In Joint (%)",
        "pair_dependent_increment": "Pair D increment (points)",
    },
    "T24": {
        "target": "Target",
        "n_edits": "Edits",
        "n_edit_records": "Records",
        "baseline_roc_auc": "Baseline (%)",
        "plus_vca_roc_auc": "With gap (%)",
        "increment": "Difference (points)",
    },
    "T26": {"outcome": "Outcome", "n": "n", "rate": "Rate (%)"},
    "T27": {
        "characteristic": "Characteristic",
        "feasible": "Feasible",
        "excluded": "Excluded",
        "difference": "Difference",
    },
    "human_edit_set": _TEXT,
    "edited_outcome_text": _TEXT,
    "discordance_text": _TEXT,
    "incremental_text": _TEXT,
}
NOTES = {
    "T20": "All by the image gap.",
    "T22": "Mean of four models (macro).",
    "T23": "T04 has the same numbers, without the last column.",
    "T26": "Judged by three annotators, by majority.",
}


def published_edits(table: str, name: str) -> MystTable:
    """Show a published table of the edit check, folded.

    Parameters
    ----------
    table : str
        One of `COLUMNS`: "T20" to "T24", "T26", "T27", "human_edit_set", ...
    name : str
        Target of ``{numref}``.

    Returns
    -------
    MystTable
        As `published_view`, with all columns that are printed.
    """
    return published_view(table, COLUMNS[table], name, NOTES.get(table, ""))
