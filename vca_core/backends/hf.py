"""What the four families share: native processor, chat template, right-padded forward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import torch
from PIL import Image
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor
from transformers.utils import logging as hf_logging

from vca_core.backends.base import BackendError, Encoded
from vca_core.backends.files import CheckpointFiles
from vca_core.backends.prefix import SharesPrefixes
from vca_core.records import VERBALIZERS

ATTENTION = "sdpa"
"""Pinned, since attention implementations differ in the last bits; recorded with each run."""

REMEMBERED = 8192
"""Prompts kept as text and ids: those of some chunks, whatever the size of the data."""


class HFBackend(SharesPrefixes, ABC):
    """A checkpoint of transformers; weights load at the first forward.

    Parameters
    ----------
    files : CheckpointFiles
    device, dtype : str
        ``dtype`` "auto" takes the checkpoint's own.
    system : str, optional
        Replaces the family's system message.
    trust_remote_code : bool
    """

    family: ClassVar[str]
    SYSTEM: ClassVar[str | None] = None
    max_batch: ClassVar[int] = 64

    def __init__(
        self,
        files: CheckpointFiles,
        *,
        device: str = "cpu",
        dtype: str = "auto",
        system: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        self.files = files
        self.checkpoint = files.name
        self.device = device
        self.dtype = dtype
        self.system = self.SYSTEM if system is None else system
        self.trust_remote_code = trust_remote_code
        self._prompts: dict[tuple[str, bool], tuple[str, list[int]]] = {}
        self._words: dict[str, list[int]] = {}
        hf_logging.disable_progress_bar()  # loading would draw over the scoring's own bar
        self._refuse_open_thought()

    @cached_property
    def config(self):
        """Configuration with the family's defaults filled in."""
        return AutoConfig.from_pretrained(
            self.files.source, trust_remote_code=self.trust_remote_code
        )

    @cached_property
    def processor(self):
        """Native processor."""
        return AutoProcessor.from_pretrained(
            self.files.source, trust_remote_code=self.trust_remote_code
        )

    @property
    def tokenizer(self):
        """The processor's tokenizer."""
        return self.processor.tokenizer

    @cached_property
    def model(self):
        """Weights, from safetensors alone, on the device and in evaluation mode."""
        _ = self.files.weights_sha256  # raises with advice where there are none
        try:
            model = AutoModelForImageTextToText.from_pretrained(
                self.files.source,
                dtype=self.dtype if self.dtype == "auto" else getattr(torch, self.dtype),
                use_safetensors=True,
                attn_implementation=ATTENTION,
                trust_remote_code=self.trust_remote_code,
            )
        except SafetensorError as error:
            raise BackendError(
                f"The weights of {self.checkpoint!r} cannot be read ({error}): a download that "
                "stopped half-way? Fetch them again."
            ) from error
        try:
            model = model.to(self.device).eval()
            # Mapped from their file until they are read; that is no memory of a forward.
            for weight in model.parameters():
                weight.max()
            return model
        except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
            raise BackendError(f"Device {self.device!r} cannot be used: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the weights: a process that reads images ahead has no use for them."""
        return {name: value for name, value in self.__dict__.items() if name != "model"}

    def prepare(self) -> None:  # noqa: D102
        _ = self.model

    @property
    def max_length(self) -> int:
        """Longest sequence of the text model, in tokens."""
        return int(self.config.get_text_config().max_position_embeddings)

    def conversation(self, text: str, image: bool) -> list[dict]:
        """Build structured messages; the content is a list in every context."""
        user = [{"type": "image"}] * image + [{"type": "text", "text": text}]
        messages = [{"role": "user", "content": user}]
        if self.system:
            system = [{"type": "text", "text": self.system}]
            messages.insert(0, {"role": "system", "content": system})
        return messages

    def serialize(self, text: str, image: bool) -> str:  # noqa: D102
        return self._prompt(text, image)[0]

    def prompt_ids(self, text: str, image: bool) -> list[int]:  # noqa: D102
        return self._prompt(text, image)[1]

    def _prompt(self, text: str, image: bool) -> tuple[str, list[int]]:
        if (text, image) not in self._prompts:
            if len(self._prompts) >= REMEMBERED:
                self._prompts.clear()
            self._prompts[text, image] = self.render(text, image)
        return self._prompts[text, image]

    def render(self, text: str, image: bool) -> tuple[str, list[int]]:
        """Prompt as text and as token ids."""
        prompt = self.processor.apply_chat_template(
            self.conversation(text, image), add_generation_prompt=True, tokenize=False
        )
        return prompt, list(self.tokenizer(prompt, **self._specials(prompt)).input_ids)

    def _specials(self, prompt: str) -> dict[str, bool]:
        # A template that writes the BOS token itself must not get a second one.
        bos = self.tokenizer.bos_token
        return {"add_special_tokens": False} if bos and prompt.startswith(bos) else {}

    def encode(self, text: str, image: Image.Image | None) -> Encoded:  # noqa: D102
        prompt = self.serialize(text, image is not None)
        given = {} if image is None else {"images": [image]}
        tensors = dict(
            self.processor(text=[prompt], return_tensors="pt", **given, **self._specials(prompt))
        )
        ids = tensors.pop("input_ids")[0].tolist()
        tensors.pop("attention_mask", None)
        if image is None:
            tensors = {}
        return Encoded(ids, tensors, self.pixels_seen(tensors))

    def pixels_seen(self, images: dict[str, torch.Tensor]) -> int | None:
        """Pixels after resizing, where a family has a budget to verify."""
        return None

    @abstractmethod
    def collate(self, batch: Sequence[Encoded], length: int) -> dict[str, torch.Tensor]:
        """Join the image tensors of several prompts, each with one image; ``length`` is padded."""

    @torch.inference_mode()
    def forward(  # noqa: D102
        self, batch: Sequence[Encoded], tails: Sequence[Sequence[int]]
    ) -> list[torch.Tensor]:
        rows = [[*e.ids, *tail] for e, tail in zip(batch, tails, strict=True)]
        # Padding stands on the right: positions start at 0 in every row, and a causal model
        # never looks ahead, so a row's logits do not depend on its neighbours' lengths.
        hidden = self.model.model(**self.inputs(batch, rows), use_cache=False).last_hidden_state
        ends = [(number, len(row)) for number, row in enumerate(rows)]
        return self.logits_at(hidden, ends, [len(tail) + 1 for tail in tails])

    @property
    def image_mark(self) -> str | None:
        """Text that stands for a picture in a prompt."""
        return getattr(self.processor, "image_token", None)

    @property
    def pad_id(self) -> int:
        """Token that fills the right of a row; it is masked."""
        return self.tokenizer.pad_token_id or 0

    def _move(self, tensor: torch.Tensor) -> torch.Tensor:
        floating = tensor.is_floating_point()
        return tensor.to(self.device, self.model.dtype if floating else None)

    def verbalizer_ids(self, interface: str) -> tuple[list[int], list[int]]:  # noqa: D102
        return tuple(self._continuation_ids(word) for word in VERBALIZERS[interface])

    def _continuation_ids(self, word: str) -> list[int]:
        if word in self._words:
            return self._words[word]
        ids = list(self.tokenizer.encode(word, add_special_tokens=False))
        if not ids:
            raise BackendError(f"The continuation {word!r} has no tokens under this tokenizer.")
        back = self.decode(ids)
        if back != word:
            raise BackendError(
                f"The continuation {word!r} must survive the tokenizer, came back as {back!r} "
                f"(ids {ids}). For a Mistral checkpoint install mistral-common and keep its "
                "tekken.json beside the weights."
            )
        self._words[word] = ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:  # noqa: D102
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def _refuse_open_thought(self) -> None:
        prompt = self.serialize("?", False)
        if prompt.rfind("<think>") > prompt.rfind("</think>"):
            raise BackendError(
                "The chat template leaves a <think> block open, so the next token is prose and no "
                f"answer: {prompt[-40:]!r}. Use the instruct checkpoint, or a template without it."
            )

    def fingerprint(self) -> dict[str, Any]:  # noqa: D102
        return {
            "family": self.family,
            "config_sha256": self.files.config_sha256,
            "weights_sha256": self.files.weights_sha256,
            "dtype": self.resolved_dtype,
            "attention": ATTENTION,
            **self.processor_settings(),
            "tokenizer": type(self.tokenizer).__name__,
            "system": self.system,
            "prompt": self.serialize("?", True),
        }

    def processor_settings(self) -> dict[str, Any]:
        """Name the processor and list what it does to images."""
        processor = self.processor
        settings = processor.image_processor.to_dict()
        return {"processor": type(processor).__name__, "image_processor": settings}

    @property
    def resolved_dtype(self) -> str:
        """The dtype asked for, or the checkpoint's own where that is "auto"."""
        if self.dtype != "auto":
            return self.dtype
        own = self.config.dtype or self.config.get_text_config().dtype
        return str(own or "auto").removeprefix("torch.")
