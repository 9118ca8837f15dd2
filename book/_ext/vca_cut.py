"""Pages that ask for scores which someone's folder lacks: shown as far as they go."""

from __future__ import annotations

import html
import json
from pathlib import Path

NOT_SCORED = "NotScoredError"
MARKER = "papermill-error-cell-tag"
"""Tag of the cells in which papermill announces an exception."""
MARK = "vca-cut"


def cut(notebook: dict) -> bool:
    """Cut an executed notebook where it found no scores, and say so; False where it did not.

    Parameters
    ----------
    notebook : dict
        Changed in place: the failing cell and all after it give way to a note.
    """
    for place, cell in enumerate(notebook["cells"]):
        for output in cell.get("outputs", []):
            if output["output_type"] == "error" and output["ename"] == NOT_SCORED:
                kept = [c for c in notebook["cells"][:place] if not marks_error(c)]
                notebook["cells"] = [*kept, note(output["evalue"])]
                return True
    return False


def marks_error(cell: dict) -> bool:
    """Whether a cell is papermill's own announcement."""
    return MARKER in cell["metadata"].get("tags", [])


def note(reason: str) -> dict:
    """Markdown cell in place of what could not be made."""
    text = html.escape(reason).replace("\n", " ")
    lines = [
        ":::{admonition} Not in these scores",
        ":class: note",
        "The rest of this page needs scores that are not there:",
        "",
        f"<p><code>{text}</code></p>",
        ":::",
    ]
    return {"cell_type": "markdown", "id": MARK, "metadata": {}, "source": "\n".join(lines)}


def is_cut(path: Path) -> bool:
    """Whether an executed notebook was cut."""
    if not path.exists():
        return False
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return any(cell.get("id") == MARK for cell in cells)
