"""Ministral 3: Pixtral images of any shape; mistral-common's tokenizer where it is shipped."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from PIL import Image
from torch.nn import functional

from vca_core.backends.base import BackendError, Encoded
from vca_core.backends.hf import HFBackend

MARK = Image.new("RGB", (16, 16))


class Ministral3(HFBackend):
    """Ministral 3 (and Mistral 3 with the same layout)."""

    family = "ministral3"
    # The vision tower packs a batch's images into one sequence, so attention grows with its square.
    max_batch = 8

    @cached_property
    def mistral_common(self):
        """mistral-common's tokenizer, or None where the checkpoint ships no tekken.json."""
        if self.files.find("tekken.json") is None:
            return None
        try:
            from transformers.tokenization_mistral_common import MistralCommonBackend
        except ImportError as error:
            raise BackendError(
                f"{self.checkpoint!r} ships a tekken.json: pip install mistral-common to use it."
            ) from error
        return MistralCommonBackend.from_pretrained(self.files.source)

    @property
    def tokenizer(self):  # noqa: D102
        return self.mistral_common or self.processor.tokenizer

    def processor_settings(self) -> dict[str, Any]:  # noqa: D102
        if not self.mistral_common:
            return super().processor_settings()
        encoder = self.mistral_common.tokenizer.instruct_tokenizer.mm_encoder
        return {
            "processor": "mistral-common",
            "image_processor": None if encoder is None else vars(encoder.image_config),
        }

    @property
    def image_mark(self) -> str | None:  # noqa: D102
        # mistral-common reads no control token in a user's text.
        return None if self.mistral_common else super().image_mark

    def render(self, text: str, image: bool) -> tuple[str, list[int]]:  # noqa: D102
        if not self.mistral_common:
            return super().render(text, image)
        ids = self._request(text, MARK if image else None)["input_ids"][0].tolist()
        return self.decode(ids), ids

    def _request(self, text: str, image: Image.Image | None) -> dict[str, torch.Tensor]:
        messages = self.conversation(text, image is not None)
        if image is not None:
            buffer = io.BytesIO()
            image.save(buffer, format="PNG")
            encoded = base64.b64encode(buffer.getvalue()).decode()
            messages[-1]["content"][0] = {"type": "image", "base64": encoded}
        # One-item batch: tensors come with a leading 1 as from the processors.
        return dict(self.mistral_common.apply_chat_template([messages], return_tensors="pt"))

    def encode(self, text: str, image: Image.Image | None) -> Encoded:  # noqa: D102
        if not self.mistral_common:
            return super().encode(text, image)
        tensors = self._request(text, image)
        ids = tensors.pop("input_ids")[0].tolist()
        tensors.pop("attention_mask", None)
        return Encoded(ids, tensors)

    def collate(self, batch: Sequence[Encoded], length: int) -> dict[str, torch.Tensor]:
        """Pad images to the largest of the batch; the tower cuts them again by ``image_sizes``."""
        pixels = [e.images["pixel_values"] for e in batch]
        high, wide = (max(p.shape[axis] for p in pixels) for axis in (-2, -1))
        padded = [functional.pad(p, (0, wide - p.shape[-1], 0, high - p.shape[-2])) for p in pixels]
        sizes = [torch.as_tensor(e.images["image_sizes"]) for e in batch]
        return {"pixel_values": torch.cat(padded), "image_sizes": torch.cat(sizes)}
