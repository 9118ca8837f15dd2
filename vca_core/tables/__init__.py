"""Frames of rates to the page's tables: the only place that multiplies by 100 and rounds."""

from vca_core.tables.core import DATASETS
from vca_core.tables.cost import (
    aims_table,
    amount,
    bootstrap_table,
    growth_table,
    machine_sentence,
    ratios_table,
)
from vca_core.tables.coverage import (
    coverage_table,
    misfits_table,
    ranges_table,
    values_table,
)
from vca_core.tables.edit_selection import (
    annotation_agreement_table,
    construct_table,
    feasibility_table,
)
from vca_core.tables.edits import (
    correspondence_table,
    edit_contrasts_table,
    edit_strata_table,
    quadrant_shares_table,
    quadrants_table,
    ranking_table,
    shared_margin_table,
)
from vca_core.tables.edits_published import published_edits
from vca_core.tables.factorial import (
    agreement_table,
    effects_table,
    factorial_text_table,
    magnitude_table,
    neutral_table,
    response_table,
    source_table,
)
from vca_core.tables.filtering import (
    filter_differences_table,
    filter_rotations_table,
    filtering_table,
    published_filter_differences,
)
from vca_core.tables.increments import (
    increment_settings,
    increments_table,
)
from vca_core.tables.myst import MystTable, to_myst
from vca_core.tables.peers import interfaces_of, margins_table, peers_table
from vca_core.tables.published import published_view
from vca_core.tables.relation import (
    null_control_table,
    pair_parts_table,
    relation_axis_table,
    relation_gaps_table,
)
from vca_core.tables.repetition import repetition_table
from vca_core.tables.robustness import (
    control_overlap_table,
    control_sets_table,
    mean_color_table,
    null_differences_table,
    null_table,
    proxies_reading,
    proxies_table,
    variants_table,
    visual_dependence_table,
)
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
from vca_core.tables.surfaces import (
    pair_agreement_table,
    surface_agreement_table,
    surface_consensus_table,
    surface_rank_table,
    surface_table,
    wording_table,
)

__all__ = [
    "DATASETS",
    "MystTable",
    "agreement_table",
    "aims_table",
    "amount",
    "annotation_agreement_table",
    "balanced_table",
    "bootstrap_table",
    "cells_table",
    "construct_table",
    "control_overlap_table",
    "control_sets_table",
    "correspondence_table",
    "coverage_table",
    "edit_contrasts_table",
    "edit_strata_table",
    "effects_table",
    "factorial_text_table",
    "feasibility_table",
    "filter_differences_table",
    "filter_rotations_table",
    "filtering_table",
    "gaps_table",
    "growth_table",
    "increment_settings",
    "increments_table",
    "interfaces_of",
    "machine_sentence",
    "magnitude_table",
    "margins_table",
    "mean_color_table",
    "misfits_table",
    "neutral_table",
    "null_control_table",
    "null_differences_table",
    "null_table",
    "pair_agreement_table",
    "pair_parts_table",
    "peers_table",
    "permutation_table",
    "proxies_reading",
    "proxies_table",
    "published_edits",
    "published_filter_differences",
    "published_view",
    "quadrant_shares_table",
    "quadrants_table",
    "ranges_table",
    "ranking_table",
    "ratios_table",
    "relation_axis_table",
    "relation_gaps_table",
    "relation_table",
    "repetition_table",
    "response_table",
    "sensitivity_table",
    "shared_margin_table",
    "source_table",
    "strata_table",
    "support_table",
    "surface_agreement_table",
    "surface_consensus_table",
    "surface_rank_table",
    "surface_table",
    "survival_table",
    "to_myst",
    "values_table",
    "variants_table",
    "visual_dependence_table",
    "wording_table",
]
