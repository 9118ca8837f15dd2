"""Words for the keys of published tables: those of the computed tables beside them."""

from __future__ import annotations

from vca_core.tables.core import DATASETS, POOLING
from vca_core.tables.edit_selection import CHARACTERISTICS, OUTCOMES
from vca_core.tables.edits import CHECKS
from vca_core.tables.increments import WITHIN
from vca_core.tables.robustness import CONTROL_SETS, SIGNALS, VARIANTS

CELLS = {
    "model": {
        "Macro": POOLING["macro"],
        "Pooled": POOLING["micro"],
        "Rank-pooled": POOLING["rank"],
    },
    "dataset": DATASETS,
    "context": {
        "text_only": "text only",
        "relation_erased": "relation erased",
        "irrelevant_erased": "irrelevant erased",
        "same_record_check": "same-record check",
    },
    "signal": VARIANTS
    | {
        "original_confidence": SIGNALS["confidence"],
        "VisNec-style": SIGNALS["visnec_style"],
        "Perceptual Score": SIGNALS["perceptual_score"],
        "-Sufficiency": SIGNALS["negative_sufficiency"],
        "Comp.–Suff.": SIGNALS["comprehensiveness_minus_sufficiency"],
        "Raw image gap": SIGNALS["image_gap"],
    },
    "control_set": {
        "Text + fixed blank": CONTROL_SETS["headline"],
        "Text + mean-color blank": CONTROL_SETS["mean_color"],
        "Text + fixed blank + mismatch": CONTROL_SETS["mismatch"],
    },
    "form": {"paraphrase": "Three wordings", "system": "System message"},
    "outcome": CHECKS
    | {
        "Geometry-feasible candidates": "Feasible",
        "Accepted by majority consensus": OUTCOMES["accepted"],
        "Rejected by majority consensus": OUTCOMES["rejected"],
        "No majority (three-way tie)": OUTCOMES["no_majority"],
    },
    "target": CHECKS
    | {
        "edit_visible_given_relation_consistent": (
            f"{CHECKS['edit_visible']}, {WITHIN['relation_consistent']}"
        )
    },
    "dependent": {True: "dependent", False: "not dependent"},
    "characteristic": {
        "Larger-box area": CHARACTERISTICS["larger_box_area"],
        "Center gap": CHARACTERISTICS["center_gap"],
        "Destination slack": CHARACTERISTICS["destination_slack"],
    }
    | {
        f"{model} source D-CC": f"{CHARACTERISTICS['dcc']}, {model}"
        for model in ("Qwen", "InternVL", "LLaVA", "Ministral")
    },
}
"""Words of a column's cells; what isn't here is shown as printed."""


def cell_words(column: str, value: object) -> object:
    """Give the words for a cell, or the cell itself."""
    known = isinstance(value, str | bool) and value in CELLS.get(column, {})
    return CELLS[column][value] if known else value
