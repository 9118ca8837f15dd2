"""Frames of rates to the page's tables: the only place that multiplies by 100 and rounds."""

from vca_core.tables.core import DATASETS
from vca_core.tables.myst import MystTable, to_myst
from vca_core.tables.published import published_view
from vca_core.tables.support import (
    balanced_table,
    cells_table,
    gaps_table,
    permutation_table,
    relation_table,
    sensitivity_table,
    strata_table,
    support_table,
    survival_table,
)

__all__ = [
    "DATASETS",
    "MystTable",
    "balanced_table",
    "cells_table",
    "gaps_table",
    "permutation_table",
    "published_view",
    "relation_table",
    "sensitivity_table",
    "strata_table",
    "support_table",
    "survival_table",
    "to_myst",
]
