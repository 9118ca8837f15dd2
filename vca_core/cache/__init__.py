"""The scores cache: journal, compaction, resume, import, verification, and wide margins."""

from vca_core.cache.files import read_scores, scores_files, scores_path
from vca_core.cache.imports import import_scores
from vca_core.cache.journal import Journal, append_scores
from vca_core.cache.load import load_margins
from vca_core.cache.missing import missing_probes
from vca_core.cache.stream import count_rows, stream_margins
from vca_core.cache.verify import covered_files, update_manifest, verify

__all__ = [
    "Journal",
    "append_scores",
    "count_rows",
    "covered_files",
    "import_scores",
    "load_margins",
    "missing_probes",
    "read_scores",
    "scores_files",
    "scores_path",
    "stream_margins",
    "update_manifest",
    "verify",
]
