"""The audit's metrics: margins to events, events to rates. No file or image is opened here."""

from vca_core.metrics.agreement import surface_agreement, surface_consensus
from vca_core.metrics.aims import aims_met, judge
from vca_core.metrics.control_sets import control_sets, mean_color_comparison
from vca_core.metrics.control_variants import control_variants, variant_gaps
from vca_core.metrics.cost import (
    analysis_figures,
    analysis_growth,
    bootstrap_ratios,
    cost_ratios,
    growth,
    peer_ratios,
)
from vca_core.metrics.cross_validation import cross_validated_increment
from vca_core.metrics.edit_increments import leave_one_edit_out_auroc
from vca_core.metrics.edit_strata import natural_correspondence, outcomes_by_stratum
from vca_core.metrics.edits import edit_outcomes, restrict_edits, source_records
from vca_core.metrics.empirical_null import empirical_null
from vca_core.metrics.factorial import audit_factorial
from vca_core.metrics.factorial_neutral import neutral_contrast
from vca_core.metrics.factorial_rates import (
    agreement_outcomes,
    agreement_rates,
    agreement_rates_of_counts,
)
from vca_core.metrics.factorial_sources import cell_rates, source_effects
from vca_core.metrics.factorial_validation import audit_sources, source_rates
from vca_core.metrics.feasibility import construct_audit, feasibility_contrast
from vca_core.metrics.filter_scores import (
    confidence_score,
    probability_gap,
    shortcut_score,
    visnec_style,
)
from vca_core.metrics.filtering import keep_groups, panel_score
from vca_core.metrics.filtering_rates import (
    filter_overlaps,
    filtered_differences,
    filtered_rates,
)
from vca_core.metrics.filtering_rotations import kept_records
from vca_core.metrics.increments import incremental_roc_auc
from vca_core.metrics.parts import EventCounts, count_events, rates_of_events
from vca_core.metrics.proxies import proxy_signals
from vca_core.metrics.proxy_comparison import proxy_comparison
from vca_core.metrics.quadrants import confidence_quadrants, join_quadrants, quadrant_rates
from vca_core.metrics.ranking import ranking_rates
from vca_core.metrics.relation import audit_pairs, relation_rates
from vca_core.metrics.relation_inverses import pair_inverses
from vca_core.metrics.relation_parts import pair_decomposition
from vca_core.metrics.repetition import repetition, token_ratio
from vca_core.metrics.robustness import permutation_calibration, sensitivity_rates
from vca_core.metrics.same_record import conditional_roc_auc, enough_of_both, same_record_checks
from vca_core.metrics.support import (
    audit_support,
    cell_events,
    decision_survival,
    headline_events,
    outcome_decomposition,
    support_rates,
    survival_events,
)
from vca_core.metrics.support_gaps import gap_summary
from vca_core.metrics.support_strata import balanced_rates, rates_by
from vca_core.metrics.surface_pairs import pair_surface_agreement
from vca_core.metrics.surfaces import ensemble_margins, stack_surfaces, surface_rank_correlation
from vca_core.metrics.visual_dependence import visual_dependence
from vca_core.metrics.wordings import wording_rates

__all__ = [
    "EventCounts",
    "agreement_outcomes",
    "agreement_rates",
    "agreement_rates_of_counts",
    "aims_met",
    "analysis_figures",
    "analysis_growth",
    "audit_factorial",
    "audit_pairs",
    "audit_sources",
    "audit_support",
    "balanced_rates",
    "bootstrap_ratios",
    "cell_events",
    "cell_rates",
    "conditional_roc_auc",
    "confidence_quadrants",
    "confidence_score",
    "construct_audit",
    "control_sets",
    "control_variants",
    "cost_ratios",
    "count_events",
    "cross_validated_increment",
    "decision_survival",
    "edit_outcomes",
    "empirical_null",
    "enough_of_both",
    "ensemble_margins",
    "feasibility_contrast",
    "filter_overlaps",
    "filtered_differences",
    "filtered_rates",
    "gap_summary",
    "growth",
    "headline_events",
    "incremental_roc_auc",
    "join_quadrants",
    "judge",
    "keep_groups",
    "kept_records",
    "leave_one_edit_out_auroc",
    "mean_color_comparison",
    "natural_correspondence",
    "neutral_contrast",
    "outcome_decomposition",
    "outcomes_by_stratum",
    "pair_decomposition",
    "pair_inverses",
    "pair_surface_agreement",
    "panel_score",
    "peer_ratios",
    "permutation_calibration",
    "probability_gap",
    "proxy_comparison",
    "proxy_signals",
    "quadrant_rates",
    "ranking_rates",
    "rates_by",
    "rates_of_events",
    "relation_rates",
    "repetition",
    "restrict_edits",
    "same_record_checks",
    "sensitivity_rates",
    "shortcut_score",
    "source_effects",
    "source_rates",
    "source_records",
    "stack_surfaces",
    "support_rates",
    "surface_agreement",
    "surface_consensus",
    "surface_rank_correlation",
    "survival_events",
    "token_ratio",
    "variant_gaps",
    "visnec_style",
    "visual_dependence",
    "wording_rates",
]
