"""The start of a prompt, run once: its key-value cache serves every continuation of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from inspect import signature
from typing import NamedTuple

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from vca_core.backends.base import BackendError, Encoded

PACK = 256
"""Tokens of questions that stand in one row: each looks at all others there, in vain."""


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

    Nothing is copied where every row is asked for once, or one alone: the rows are views.
    """
    rows = DynamicCache()
    rows.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in rows.layers:
        for name in ("keys", "values"):
            states = getattr(layer, name)
            if len(set(owners)) == 1:
                states = states[owners[0] : owners[0] + 1].expand(len(owners), -1, -1, -1)
            elif list(owners) != list(range(len(states))):
                states = states[torch.tensor(owners, device=states.device)]
            setattr(layer, name, states)
    return rows


class Pack(NamedTuple):
    """Rows that follow one prefix, laid end to end; they do not see one another."""

    owner: int
    rows: list[int]


def pack_rows(owners: Sequence[int], lengths: Sequence[int]) -> list[Pack]:
    """Lay rows of the same owner end to end, up to `PACK` tokens, so that its cache serves all."""
    packs: list[Pack] = []
    for owner in sorted(set(owners)):
        room = 0
        for row in (row for row, own in enumerate(owners) if own == owner):
            if lengths[row] > room:
                packs.append(Pack(owner, []))
                room = PACK
            packs[-1].rows.append(row)
            room -= lengths[row]
    return packs


def lay_out(
    packs: Sequence[Pack], rows: Sequence[Sequence[int]], pad: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[tuple[int, int]]]:
    """Token ids of packs, their place within their own row, who sees whom, and where rows end.

    Returns
    -------
    ids, places : Tensor of int, (packs, longest)
    sees : Tensor of bool, (packs, longest, longest)
        Whether a token sees another: of the same row, and not after it.
    ends : list of (int, int)
        Pack and place after the last token, for each row.
    """
    ids, real = padded([[i for row in pack.rows for i in rows[row]] for pack in packs], pad)
    within = [[n for row in pack.rows for n in range(len(rows[row]))] for pack in packs]
    places, _ = padded(within, 0)
    parts, _ = padded([[row for row in pack.rows for _ in rows[row]] for pack in packs], -1)
    sees = (parts[:, :, None] == parts[:, None, :]).tril() & real[:, None, :].bool()
    ends: dict[int, tuple[int, int]] = {}
    for number, pack in enumerate(packs):
        end = 0
        for row in pack.rows:
            end += len(rows[row])
            ends[row] = (number, end)
    return ids, places, sees, [ends[row] for row in range(len(rows))]


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
        starts = [e.ids for e in batch]
        cache = DynamicCache(config=self.config.get_text_config())
        check_growable(cache)
        self.model.model(**self.inputs(batch, starts), **self._cached(cache))
        lengths = torch.tensor([len(ids) for ids in starts])
        return Prefix(cache, lengths, self.positions_after(lengths, bool(batch[0].images)))

    def inputs(
        self, batch: Sequence[Encoded], rows: Sequence[Sequence[int]]
    ) -> dict[str, torch.Tensor]:
        """Make what the whole model takes: rows padded on the right, and their images."""
        ids, mask = padded(rows, self.pad_id)
        images = self.collate(batch, ids.shape[1]) if batch[0].images else {}
        given = {"input_ids": ids, "attention_mask": mask, **images}
        return {name: self._move(tensor) for name, tensor in given.items()}

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
        packs = pack_rows(owners, [len(row) for row in rows])
        ids, places, sees, ends = lay_out(packs, rows, self.pad_id)
        owner = torch.tensor([pack.owner for pack in packs])
        shown = torch.arange(prefix.cache.get_seq_length()) < prefix.lengths[owner][:, None]
        shown = shown[:, None, :].expand(-1, ids.shape[1], -1)
        positions = prefix.starts[owner][:, None] + places
        hidden = self.model.model.language_model(
            input_ids=self._move(ids),
            attention_mask=self._move(torch.cat([shown, sees], dim=2)[:, None]),
            position_ids=self._move(self.as_positions(positions)),
            **self._cached(rows_of(prefix.cache, owner.tolist())),
        ).last_hidden_state
        return self.logits_at(hidden, ends, asked)

    def as_positions(self, positions: torch.Tensor) -> torch.Tensor:
        """Positions of text tokens in the form the text model takes; given (rows, tokens)."""
        return positions

    def logits_at(
        self, hidden: torch.Tensor, ends: Sequence[tuple[int, int]], asked: Sequence[int]
    ) -> list[torch.Tensor]:
        """Logits of the ``asked`` places before each end, float32, one (asked, vocabulary) each."""
        rows = [row for (row, _), n in zip(ends, asked, strict=True) for _ in range(n)]
        places = [
            place for (_, end), n in zip(ends, asked, strict=True) for place in range(end - n, end)
        ]
        return list(self.model.lm_head(hidden[rows, places]).float().cpu().split(list(asked)))
