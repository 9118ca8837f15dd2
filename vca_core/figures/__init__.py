"""One function per figure: a tidy frame and `ax` in, `ax` out. Nothing is computed here."""

from vca_core.figures.cost import plot_growth, plot_ratios, plot_token_ratio
from vca_core.figures.edits import plot_edit_strata, plot_quadrants, plot_ranking
from vca_core.figures.factorial import plot_agreement_outcomes, plot_cells, plot_source_effects
from vca_core.figures.filtering import plot_coverage
from vca_core.figures.increments import plot_increments
from vca_core.figures.intervals import plot_forest
from vca_core.figures.relation import plot_interaction, plot_null_controls, plot_pair_parts
from vca_core.figures.robustness import plot_agreement, plot_run_estimates
from vca_core.figures.style import use_style
from vca_core.figures.support import plot_gap_distribution, plot_outcome_decomposition, plot_rates

__all__ = [
    "plot_agreement",
    "plot_agreement_outcomes",
    "plot_cells",
    "plot_coverage",
    "plot_edit_strata",
    "plot_forest",
    "plot_gap_distribution",
    "plot_growth",
    "plot_increments",
    "plot_interaction",
    "plot_null_controls",
    "plot_outcome_decomposition",
    "plot_pair_parts",
    "plot_quadrants",
    "plot_ranking",
    "plot_rates",
    "plot_ratios",
    "plot_run_estimates",
    "plot_source_effects",
    "plot_token_ratio",
    "use_style",
]
