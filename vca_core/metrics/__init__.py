"""The audit's metrics: margins to events, events to rates. No file or image is opened here."""

from vca_core.metrics.robustness import permutation_calibration, sensitivity_rates
from vca_core.metrics.support import (
    audit_support,
    decision_survival,
    outcome_decomposition,
    support_rates,
)
from vca_core.metrics.support_gaps import gap_summary
from vca_core.metrics.support_strata import balanced_rates, rates_by

__all__ = [
    "audit_support",
    "balanced_rates",
    "decision_survival",
    "gap_summary",
    "outcome_decomposition",
    "permutation_calibration",
    "rates_by",
    "sensitivity_rates",
    "support_rates",
]
