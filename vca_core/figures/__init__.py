"""One function per figure: a tidy frame and `ax` in, `ax` out. Nothing is computed here."""

from vca_core.figures.intervals import plot_forest
from vca_core.figures.style import use_style
from vca_core.figures.support import plot_gap_distribution, plot_outcome_decomposition, plot_rates

__all__ = [
    "plot_forest",
    "plot_gap_distribution",
    "plot_outcome_decomposition",
    "plot_rates",
    "use_style",
]
