"""Parameters of the book's notebooks: read, checked against their cells, and handed out."""

from __future__ import annotations

import json
import os
from pathlib import Path

from papermill import inspect_notebook
from sphinx.errors import ExtensionError

VARIABLE = "VCA_PARAMS"
TYPES = {"str": str, "int": int, "float": (int, float), "bool": bool, "list": list}


def read_override() -> dict:
    """Parameters from the environment."""
    try:
        override = json.loads(os.environ.get(VARIABLE) or "{}")
    except json.JSONDecodeError as error:
        raise ExtensionError(f"{VARIABLE} must be a JSON object: {error}") from None
    if not isinstance(override, dict):
        raise ExtensionError(f"{VARIABLE} must be a JSON object, got {override!r}.")
    return override


def check_type(doc: str, name: str, value: object, declared: str) -> None:
    """Refuse a value that isn't of the type its parameters cell declares."""
    wanted = TYPES.get(declared)
    wrong_bool = isinstance(value, bool) and declared != "bool"
    if wanted and (wrong_bool or not isinstance(value, wanted)):
        raise ExtensionError(
            f"{doc}: parameter `{name}` must be {declared}, got {value!r} ({type(value).__name__})."
        )


def resolve(notebooks: dict[str, Path], configured: dict, override: dict) -> dict[str, dict]:
    """Give each notebook its parameters; refuse names and types no notebook declares.

    `"*"` and VCA_PARAMS reach every notebook that has the name; a notebook's own entry in
    `vca_params` must fit it. The most particular wins, the environment over all.
    """
    declared = {doc: inspect_notebook(str(path)) for doc, path in notebooks.items()}
    known = {name for names in declared.values() for name in names}
    shared = configured.get("*", {})
    for where, given in (("vca_params['*']", shared), (VARIABLE, override)):
        if unknown := sorted(set(given) - known):
            raise ExtensionError(
                f"{where}: no notebook has a parameter {unknown}; known: {sorted(known)}"
            )
    if unknown := sorted(set(configured) - set(notebooks) - {"*"}):
        raise ExtensionError(f"vca_params: no notebook {unknown}; known: {sorted(notebooks)}")
    resolved = {}
    for doc, names in declared.items():
        own = configured.get(doc, {})
        if unknown := sorted(set(own) - set(names)):
            raise ExtensionError(f"{doc}: no parameter {unknown}; it has {sorted(names)}")
        given = {**shared, **own, **override}
        resolved[doc] = {name: value for name, value in given.items() if name in names}
        for name, value in resolved[doc].items():
            check_type(doc, name, value, names[name]["inferred_type_name"])
    return resolved


def scores_root(root: Path, notebook: Path, params: dict) -> Path | None:
    """Folder that a notebook reads its scores from; None when it reads none."""
    declared = inspect_notebook(str(notebook)).get("scores_dir")
    if declared is None:
        return None
    folder = root / params.get("scores_dir", declared["default"].strip("\"'"))
    if not folder.is_dir():
        raise ExtensionError(f"No scores folder at {folder.resolve()}.")
    return folder
