"""A deterministic model for tests: bytes are tokens, logits are a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from vca_core.backends.base import Encoded
from vca_core.records import VERBALIZERS

VOCABULARY = 257
IMAGE = 256


class ToyBackend:
    """Logits depend on every byte before them and on the image's pixels, and on nothing else.

    A continuation has as many tokens as bytes, so `` yes`` has four.
    """

    family = "toy"
    checkpoint = "toy"
    max_length = 2048
    max_batch = 64

    def __init__(self, *, max_length: int = 2048) -> None:
        self.max_length = max_length
        self.n_forwards = 0

    def prepare(self) -> None:  # noqa: D102
        pass

    def serialize(self, text: str, image: bool) -> str:  # noqa: D102
        return f"{'<image>' if image else ''}{text}\n"

    def prompt_ids(self, text: str, image: bool) -> list[int]:  # noqa: D102
        return [IMAGE] * image + list(f"{text}\n".encode())

    def encode(self, text: str, image: Image.Image | None) -> Encoded:  # noqa: D102
        ids = self.prompt_ids(text, image is not None)
        if image is None:
            return Encoded(ids, {})
        seed = hashlib.sha256(image.tobytes() + str(image.size).encode()).digest()
        return Encoded(ids, {"seed": torch.tensor(list(seed), dtype=torch.uint8)})

    def forward(  # noqa: D102
        self, batch: Sequence[Encoded], tails: Sequence[Sequence[int]]
    ) -> list[torch.Tensor]:
        self.n_forwards += 1
        rows = []
        for encoded, tail in zip(batch, tails, strict=True):
            image = bytes(encoded.images["seed"].tolist()) if encoded.images else b""
            rows.append(
                torch.stack(
                    [self._logits([*encoded.ids, *tail[:n]], image) for n in range(len(tail) + 1)]
                )
            )
        return rows

    def prefix(self, batch: Sequence[Encoded]) -> list[Encoded]:  # noqa: D102
        self.n_forwards += 1
        return list(batch)

    def extend(  # noqa: D102
        self,
        prefix: list[Encoded],
        owners: Sequence[int],
        rows: Sequence[Sequence[int]],
        asked: Sequence[int],
    ) -> list[torch.Tensor]:
        whole = [prefix[owner]._replace(ids=[*prefix[owner].ids, *row[: len(row) - n + 1]])
                 for owner, row, n in zip(owners, rows, asked, strict=True)]  # fmt: skip
        tails = [row[len(row) - n + 1 :] for row, n in zip(rows, asked, strict=True)]
        return self.forward(whole, tails)

    @staticmethod
    def _logits(ids: Sequence[int], image: bytes) -> torch.Tensor:
        raw = b",".join(str(i).encode() for i in ids) + b"|" + image
        seed = int.from_bytes(hashlib.sha256(raw).digest()[:7])
        return torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))

    def verbalizer_ids(self, interface: str) -> tuple[list[int], list[int]]:  # noqa: D102
        yes, no = VERBALIZERS[interface]
        return list(yes.encode()), list(no.encode())

    def decode(self, ids: Sequence[int]) -> str:  # noqa: D102
        return "".join("<image>" if i == IMAGE else chr(i) for i in ids)

    def fingerprint(self) -> dict[str, Any]:  # noqa: D102
        return {"family": self.family, "dtype": "float32"}
