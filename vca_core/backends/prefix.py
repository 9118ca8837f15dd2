"""The start of a prompt, run once: its key-value cache serves every continuation of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from inspect import signature
from typing import NamedTuple

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from vca_core.backends.base import BackendError, Encoded


class Prefix(NamedTuple):
    """Prefixes of several prompts after their forward pass, padded on the right."""

    cache: DynamicCache
    lengths: torch.Tensor
    """Tokens of each prefix, shape (prefixes,)."""
    starts: torch.Tensor
    """Position of the token after each prefix; with M-RoPE not its length."""


def check_growable(cache: DynamicCache) -> None:
    """Refuse caches that forget: a window would count padding, and rows could not be cut out.

    Raises
    ------
    BackendError
        Naming the kind of layer.
    """
    for layer in cache.layers:
        if type(layer) is not DynamicLayer:
            raise BackendError(f"{type(layer).__name__} cannot be shared between prompts")


def rows_of(cache: DynamicCache, owners: Sequence[int]) -> DynamicCache:
    """Cache with one row per owner; the given one stays as it is.

    One owner of all rows is not copied: the rows are views of it.
    """
    rows = DynamicCache()
    rows.layers = [copy.copy(layer) for layer in cache.layers]
    alone = len(set(owners)) == 1
    for layer in rows.layers:
        for name in ("keys", "values"):
            states = getattr(layer, name)
            if alone:
                states = states[owners[0] : owners[0] + 1].expand(len(owners), -1, -1, -1)
            else:
                states = states[torch.tensor(owners, device=states.device)]
            setattr(layer, name, states)
    return rows


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids padded on the right, and which of them are real; both (rows, longest)."""
    length = max(map(len, rows))
    ids = torch.tensor([[*row] + [pad] * (length - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(length) < lengths[:, None]).long()


class SharesPrefixes:
    """Prefix and continuation for backends whose text model is a transformers decoder."""

    @torch.inference_mode()
    def prefix(self, batch: Sequence[Encoded]) -> Prefix:  # noqa: D102
        ids, mask = padded([e.ids for e in batch], self.pad_id)
        images = self.collate(batch, ids.shape[1]) if batch[0].images else {}
        given = {"input_ids": ids, "attention_mask": mask, **images}
        given = {name: self._move(tensor) for name, tensor in given.items()}
        cache = DynamicCache(config=self.config.get_text_config())
        check_growable(cache)
        self.model.model(**given, **self._cached(cache))
        lengths = mask.sum(dim=1)
        return Prefix(cache, lengths, self.positions_after(lengths, bool(images)))

    def _cached(self, cache: DynamicCache) -> dict:
        # Renamed in transformers 5; both names are in use within the versions we take.
        known = signature(type(self.model.model.language_model).forward).parameters
        return {"cache" if "cache" in known else "past_key_values": cache, "use_cache": True}

    def positions_after(self, lengths: torch.Tensor, images: bool) -> torch.Tensor:
        """Position of the token after each prefix of the last forward pass."""
        return lengths

    @torch.inference_mode()
    def extend(  # noqa: D102
        self,
        prefix: Prefix,
        owners: Sequence[int],
        rows: Sequence[Sequence[int]],
        asked: Sequence[int],
    ) -> list[torch.Tensor]:
        ids, mask = padded(rows, self.pad_id)
        owner = torch.tensor(owners)
        width = prefix.cache.get_seq_length()
        seen = (torch.arange(width) < prefix.lengths[owner][:, None]).long()
        positions = prefix.starts[owner][:, None] + torch.arange(ids.shape[1])
        hidden = self.model.model.language_model(
            input_ids=self._move(ids),
            attention_mask=self._move(torch.cat([seen, mask], dim=1)),
            position_ids=self._move(self.as_positions(positions)),
            **self._cached(rows_of(prefix.cache, owners)),
        ).last_hidden_state
        return self.logits_at(hidden, [len(row) for row in rows], asked)

    def as_positions(self, positions: torch.Tensor) -> torch.Tensor:
        """Positions of text tokens in the form the text model takes; given (rows, tokens)."""
        return positions

    def logits_at(
        self, hidden: torch.Tensor, lengths: Sequence[int], asked: Sequence[int]
    ) -> list[torch.Tensor]:
        """Logits of each row's last ``asked`` places, float32, one (asked, vocabulary) each."""
        rows = [row for row, n in enumerate(asked) for _ in range(n)]
        places = [
            place
            for length, n in zip(lengths, asked, strict=True)
            for place in range(length - n, length)
        ]
        return list(self.model.lm_head(hidden[rows, places]).float().cpu().split(list(asked)))
