"""The human audit of edited images: blinded sheets out, decisions in, consensus and agreement."""

from vca_core.annotate.agreement import agreement, consensus, fleiss_kappa
from vca_core.annotate.decisions import AuditReport, import_sheets
from vca_core.annotate.edits import Edit, edits_from_samples
from vca_core.annotate.files import ANSWERS, CRITERIA
from vca_core.annotate.sheets import export_sheets

__all__ = [
    "ANSWERS",
    "CRITERIA",
    "AuditReport",
    "Edit",
    "agreement",
    "consensus",
    "edits_from_samples",
    "export_sheets",
    "fleiss_kappa",
    "import_sheets",
]
