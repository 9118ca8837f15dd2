"""Interventions that need the two objects' boxes: erasures, and the swap of the two objects."""

from vca_core.interventions.boxes import ImageError, mean_color
from vca_core.interventions.erasures import (
    erase_irrelevant,
    erase_relation,
    erasure_geometry,
    erasure_summary,
)
from vca_core.interventions.swap_check import SwapCheck, check_swap
from vca_core.interventions.swaps import SWAP_REASONS, SwapGeometry, swap_feasible, swap_objects

__all__ = [
    "SWAP_REASONS",
    "ImageError",
    "SwapCheck",
    "SwapGeometry",
    "check_swap",
    "erase_irrelevant",
    "erase_relation",
    "erasure_geometry",
    "erasure_summary",
    "mean_color",
    "swap_feasible",
    "swap_objects",
]
