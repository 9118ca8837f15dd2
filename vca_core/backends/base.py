"""What the scorer asks of a model, whatever its family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from PIL import Image


class BackendError(RuntimeError):
    """A checkpoint, tokenizer or option that cannot be scored with; says what to do."""


class Encoded(NamedTuple):
    """One prompt, ready for a forward pass."""

    ids: list[int]
    """Token ids with the image placeholders expanded; the prompt alone, no continuation."""
    images: dict[str, torch.Tensor]
    """The processor's other tensors for this prompt; empty for text only."""
    pixels: int | None = None
    """Pixels the vision tower sees after resizing, where a family has a budget."""


class Backend(Protocol):
    """A loaded checkpoint. ``image`` arguments are RGB or None for text only."""

    family: str
    checkpoint: str
    max_length: int
    """Longest sequence the text model takes, in tokens."""
    max_batch: int
    """Most prompts per forward that the family handles well."""

    def prepare(self) -> None:
        """Load the weights, so that what is wrong with them is no fault of a probe."""

    def serialize(self, text: str, image: bool) -> str:
        """Render the prompt as text, placeholders unexpanded, generation prefix included."""

    def prompt_ids(self, text: str, image: bool) -> list[int]:
        """Token ids of the prompt before placeholders are expanded; needs no image."""

    def encode(self, text: str, image: Image.Image | None) -> Encoded:
        """Run the native processor."""

    def forward(
        self, batch: Sequence[Encoded], tails: Sequence[Sequence[int]]
    ) -> list[torch.Tensor]:
        """Logits after each prompt and each tail token: one (len(tail) + 1, vocabulary) a row."""

    def prefix(self, batch: Sequence[Encoded]) -> Any:
        """Run the starts of several prompts, and keep what continues them."""

    def extend(
        self,
        prefix: Any,
        owners: Sequence[int],
        rows: Sequence[Sequence[int]],
        asked: Sequence[int],
    ) -> list[torch.Tensor]:
        """Logits of the last ``asked`` places of each row of tokens, which follows its owner.

        ``owners`` number the prompts of ``prefix``, whose state stays as it is.
        """

    def verbalizer_ids(self, interface: str) -> tuple[list[int], list[int]]:
        """Token ids of the affirmative and the negative continuation."""

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, special tokens kept."""

    def fingerprint(self) -> dict[str, Any]:
        """Facts besides prompt and pixels that can move a score, JSON-ready; no names or paths."""
