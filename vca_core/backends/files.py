"""A checkpoint's files: a local folder or a hub name, its configuration and fingerprint."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from transformers.utils import cached_file

from vca_core.backends.base import BackendError

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"


class CheckpointFiles:
    """Find a checkpoint's files.

    Parameters
    ----------
    checkpoint : str
        A folder, or a hub name such as ``Qwen/Qwen3-VL-8B-Instruct``.

    Raises
    ------
    BackendError
        If it is neither, or holds no safetensors.
    """

    def __init__(self, checkpoint: str) -> None:
        folder = Path(checkpoint).expanduser()
        self.source = str(folder) if folder.is_dir() else checkpoint
        self.name = folder.resolve().name if folder.is_dir() else checkpoint
        if not self.name:
            raise BackendError("`checkpoint` must name a folder or a model on the hub, got ''.")
        self.config_path = self.find("config.json")
        if self.config_path is None:
            raise BackendError(
                f"No checkpoint {checkpoint!r}: no folder with a config.json at "
                f"{folder.resolve()}, and no such model on the hub or in its cache."
            )
        self.config: dict[str, Any] = json.loads(self.config_path.read_text(encoding="utf-8"))

    def find(self, name: str) -> Path | None:
        """Path of one of the checkpoint's files, or None."""
        if Path(self.source).is_dir():
            path = Path(self.source) / name
            return path if path.is_file() else None
        try:
            return Path(cached_file(self.source, name))
        except (OSError, ValueError):
            return None

    @cached_property
    def config_sha256(self) -> str:
        """sha256 of config.json."""
        return _sha256(self.config_path)

    @cached_property
    def weights_sha256(self) -> str:
        """sha256 of the weights' index, or of the single weights file."""
        # Where both stand, transformers loads the single file; an old index may be left over.
        path = self.find(SINGLE) or self.find(INDEX)
        if path is None:
            raise BackendError(
                f"Weights load from safetensors only; {self.name!r} has neither {INDEX} nor "
                f"{SINGLE}. Convert them with save_pretrained(safe_serialization=True)."
            )
        return _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
