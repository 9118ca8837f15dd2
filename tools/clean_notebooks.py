"""Take outputs and run metadata out of notebooks/*.ipynb, then bring each .md pair in step."""

import subprocess
import sys
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT = ("tags", "mystnb")


def jupytext(*arguments: str | Path) -> None:
    """Run jupytext, which reads jupytext.toml."""
    command = [sys.executable, "-m", "jupytext", "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True)


def clean(path: Path) -> None:
    """Leave sources, tags and figure captions alone in one notebook."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = {k: v for k, v in notebook.metadata.items() if k == "jupytext"}
    notebook.metadata["kernelspec"] = KERNEL
    notebook.cells = [
        c for c in notebook.cells if "injected-parameters" not in c.metadata.get("tags", [])
    ]
    for cell in notebook.cells:
        cell.metadata = {k: cell.metadata[k] for k in KEPT if cell.metadata.get(k)}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def main() -> None:
    """Clean and pair every notebook; an edited .md that is newer than its .ipynb wins."""
    for text in sorted(NOTEBOOKS.glob("*.md")):
        path = text.with_suffix(".ipynb")
        if not path.exists() or text.stat().st_mtime > path.stat().st_mtime:
            jupytext("--to", "ipynb", "--update", text)
        clean(path)
        jupytext("--sync", path)


if __name__ == "__main__":
    main()
