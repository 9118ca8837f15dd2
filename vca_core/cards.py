"""Cards of the mini models: what training wrote beside the weights."""

from __future__ import annotations

import json
from pathlib import Path

from vca_core.records import SchemaError

REQUIRED = (
    "model",
    "architecture",
    "parameters",
    "steps",
    "seed",
    "training_scenes",
    "minutes",
    "held_out_accuracy",
)


def read_cards(models_dir: str | Path) -> list[dict]:
    """Read ``training.json`` of every model folder, sorted by the folder's name.

    Parameters
    ----------
    models_dir : path
        Parent of the model folders.

    Returns
    -------
    list of dict
        As written by the training script; `REQUIRED` are there, ``kind`` (what the model leans on)
        and ``mixture_percent`` (shares by stage) may be. Accuracies are fractions.

    Raises
    ------
    SchemaError
        If there is no card, or one lacks a key or is no JSON object; names the file.
    """
    paths = sorted(Path(models_dir).glob("*/training.json"))
    if not paths:
        raise SchemaError(
            f"No <model>/training.json in {Path(models_dir).name!r}: `make models` trains the "
            "mini models and writes their cards."
        )
    return [_read(path) for path in paths]


def _read(path: Path) -> dict:
    where = f"{path.parent.name}/{path.name}"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SchemaError(f"{where} must be a JSON object: {error}") from None
    missing = [key for key in REQUIRED if key not in card] if isinstance(card, dict) else REQUIRED
    if missing:
        raise SchemaError(f"{where} must be an object with all of {REQUIRED}, lacks {missing}.")
    return card
