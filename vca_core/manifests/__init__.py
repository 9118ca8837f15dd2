"""Public dataset files, and a user's own tables, to samples: before any model is run."""

from vca_core.manifests.gsr_coco import gsr_coco_manifest
from vca_core.manifests.images import check_images, image_fault
from vca_core.manifests.pairs import check_pairs, inverse_pairs
from vca_core.manifests.rows import RefusedRow
from vca_core.manifests.table import table_manifest
from vca_core.manifests.text import question_from_statement
from vca_core.manifests.vsr import vsr_manifest

__all__ = [
    "RefusedRow",
    "check_images",
    "check_pairs",
    "gsr_coco_manifest",
    "image_fault",
    "inverse_pairs",
    "question_from_statement",
    "table_manifest",
    "vsr_manifest",
]
