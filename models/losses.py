"""What a mini model is trained on: its pool of pictures, its prompts, and the four losses.

Beside the answers there are three losses that are dropped with their heads after training:
grounding (what lies in each image token's cell), pointing (where the object named here lies) and
relating (which relation holds between the two objects named). Yes and no alone give no gradient
until name, place and relation are read: they are even for each relation asked and for each one
seen.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from multiprocessing import get_context

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from models.cells import GRID, cell_words, cells_of
from models.miniatures import FAMILIES, TEXT
from models.prompts import chat_prompt
from models.questions import Mixture, Question, training_scene
from models.tokenizer import COLUMNS, ROWS
from models.vision import Seen, cells, mrope_positions, see, to_pixels
from vca_core.contexts import GRAY
from vca_core.scenes import Scene, render_scene
from vca_core.scenes.world import CANVAS, COLORS, CONTACTS, INVERSE, PLACES, SHAPES

EMPTY = 0.2
"""Weight of an empty cell in grounding; most cells are empty."""
POINTING, RELATING = 3, 4
"""After which text layer the two are read off; the answer comes after the fifth."""
STATES = PLACES + CONTACTS


class Trainer:
    """One model in training: its processor's prompts, its pool of pictures, its losses."""

    def __init__(self, family: str, n_scenes: int, seed: int, mixture: Mixture) -> None:
        self.family = family
        self.model, self.processor = FAMILIES[family](seed)
        self.rng = np.random.default_rng(seed)
        config = self.model.config
        self.image_token_id = getattr(config, "image_token_id", None) or config.image_token_index
        self.word_classes = [
            self._word_class(words)
            for words in ((None, *COLORS), (None, *SHAPES), COLUMNS, ROWS, (None, *CONTACTS))
        ]
        self.color_ids, self.shape_ids = (ids[1:] for _, ids, _ in self.word_classes[:2])
        self.point = torch.nn.Linear(TEXT["hidden_size"], GRID * GRID + 1)
        self.relate = torch.nn.Linear(TEXT["hidden_size"], len(STATES))
        self.prompts: dict[tuple[str, bool], list[int]] = {}
        self.hits: dict[str, float] = {}
        self.blank = to_pixels(family, self.processor, [Image.new("RGB", (CANVAS, CANVAS), GRAY)])
        self.renew(n_scenes, mixture)

    def renew(self, n_scenes: int, mixture: Mixture) -> None:
        """Draw and render a new pool of scenes."""
        started = time.monotonic()
        self.scenes = [training_scene(self.rng, mixture) for _ in range(n_scenes)]
        parts = []
        # Block by block: 16,000 pictures at once would be 12 GB. Spawned, since torch has threads.
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            for first in range(0, n_scenes, 512):
                pictures = list(
                    pool.map(render_scene, self.scenes[first : first + 512], chunksize=32)
                )
                parts.append(to_pixels(self.family, self.processor, pictures))
        self.pixels = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        self.cell_words = [cell_words(scene) for scene in self.scenes]
        print(f"{n_scenes} scenes in {time.monotonic() - started:.0f} s", flush=True)

    def _word_class(self, words: tuple[str | None, ...]) -> tuple:
        tokenizer = self.processor.tokenizer
        ids = [
            tokenizer.pad_token_id
            if word is None
            else tokenizer(f" {word}", add_special_tokens=False).input_ids[0]
            for word in words
        ]
        weight = torch.tensor([EMPTY if word is None else 1.0 for word in words])
        return {word: i for i, word in enumerate(words)}, torch.tensor(ids), weight

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """All that is trained: the model and the two heads that are dropped afterwards."""
        return [p for m in (self.model, self.point, self.relate) for p in m.parameters()]

    def see(self, batch: np.ndarray) -> Seen:
        """Image tokens of scenes of the pool."""
        pixels = {name: values[batch] for name, values in self.pixels.items()}
        return see(self.family, self.model, pixels)

    def see_blank(self, n: int) -> Seen:
        """Image tokens of the blank canvas, n times."""
        return see(self.family, self.model, self.blank).repeat(n)

    def prompt_ids(self, text: str, image: bool) -> list[int]:
        """Ids of a whole prompt as the processor makes them.

        Image tokens are special tokens, so the words around them split alike whether one or all of
        them stand there; the processor itself, slow, is asked once how many there are.
        """
        if (text, image) not in self.prompts:
            ids = self.processor.tokenizer(self.chat(text, image)).input_ids
            if image:
                at = ids.index(self.image_token_id)
                ids[at : at + 1] = self.image_ids
            self.prompts[text, image] = ids
        return self.prompts[text, image]

    def chat(self, text: str, image: bool) -> str:
        """Text of a whole prompt."""
        return chat_prompt(self.processor, self.family, text, image)

    @cached_property
    def image_ids(self) -> list[int]:
        """What the processor puts in the place of the template's one image token."""
        prompt, picture = self.chat("", True), Image.new("RGB", (CANVAS, CANVAS))
        short = self.processor.tokenizer(prompt).input_ids
        full = [int(i) for i in self.processor(text=[prompt], images=[picture]).input_ids[0]]
        at = short.index(self.image_token_id)
        return full[at : at + 1 + len(full) - len(short)]

    def grounding_loss(self, batch: np.ndarray, seen: Seen) -> torch.Tensor:
        """Cross-entropy of what lies in each image token's cell, said in the words' embeddings.

        Each token names colour and shape of the object in its cell (or none), what it does to
        another that it touches, and its own column and row. The classes are the input embeddings
        of those words, so that the text model can match what it reads with what it sees.
        """
        embedding = self.model.get_input_embeddings().weight
        losses = []
        for place, (index, ids, weight) in enumerate(self.word_classes):
            target = torch.tensor(
                [index[cell[place]] for scene in batch for cell in self.cell_words[scene]]
            )
            for view in cells(self.family):
                logits = seen.tokens[:, view].flatten(0, 1) @ embedding[ids].T
                losses.append(functional.cross_entropy(logits, target, weight))
        return torch.stack(losses).mean()

    def answer_loss(
        self,
        questions: list[Question],
        seen: Seen | None,
        scenes: list[Scene] | None = None,
    ) -> torch.Tensor:
        """Mean cross-entropy of the answers' tokens, and of reading where scenes are given.

        ``seen`` holds one row per question; question i is about scene i.
        """
        tokenizer = self.processor.tokenizer
        prompts = [self.prompt_ids(q.text, seen is not None) for q in questions]
        answers = [tokenizer(q.answer, add_special_tokens=False).input_ids for q in questions]
        length = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
        ids = torch.full((len(questions), length), tokenizer.pad_token_id)
        target = torch.full((len(questions), length), -100)
        asked = torch.zeros(len(questions), length, dtype=torch.bool)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor(prompt + answer)
            asked[row, : len(prompt)] = True
            target[row, len(prompt) - 1 : end - 1] = torch.tensor(answer)
        out = self._read(ids, seen)
        said = target != -100
        logits = self.model.lm_head(out.last_hidden_state[said])
        kind = "" if scenes else "blank " if seen else "no image "
        self._note_hits([kind + q.kind for q in questions], said, logits.argmax(-1) == target[said])
        loss = functional.cross_entropy(logits, target[said])
        if scenes is None:
            return loss
        return loss + self.reading_loss(ids.where(asked, -1), scenes, out.hidden_states)

    def _read(self, ids: torch.Tensor, seen: Seen | None):
        """Forward of the text model, the image tokens in their places.

        Padding stands on the right, where a causal model's answers never look.
        """
        core = self.model.model
        embeds = core.get_input_embeddings()(ids)
        more = {}
        if seen is not None:
            where = ids == self.image_token_id
            embeds = embeds.masked_scatter(where.unsqueeze(-1), seen.tokens.flatten(0, 1))
            if seen.deep:
                more["visual_pos_masks"] = where
                more["deepstack_visual_embeds"] = [d.flatten(0, 1) for d in seen.deep]
                more["position_ids"] = mrope_positions(where)
        return core.language_model(inputs_embeds=embeds, output_hidden_states=True, **more)

    def reading_loss(
        self, ids: torch.Tensor, scenes: list[Scene], hidden: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """Cross-entropy of pointing and of relating, read off the last tokens of names.

        Pointing: the cell that the object takes, or that it is absent. Relating: how the first of
        two objects named stands to the second, at the second.
        """
        rows, columns = torch.isin(ids, self.shape_ids).nonzero(as_tuple=True)
        words = {int(i): w for index, ids_, _ in self.word_classes[:2]
                 for w, i in zip(index, ids_, strict=True)}  # fmt: skip
        places = [dict(zip((o.name for o in s.objects), cells_of(s), strict=True)) for s in scenes]
        cell, pairs, before = [], [], None
        colors, shapes = ids[rows, columns - 1].tolist(), ids[rows, columns].tolist()
        for i, row in enumerate(rows.tolist()):
            name = f"{words.get(colors[i])} {words[shapes[i]]}"
            cell.append(places[row].get(name, GRID * GRID))
            if before is None or before[0] != row:
                before = row, name
                continue
            first, second = (o.name for o in scenes[row].objects[:2])
            if (before[1], name) == (first, second):
                pairs.append((i, scenes[row].relation))
            elif (before[1], name) == (second, first):
                pairs.append((i, INVERSE[scenes[row].relation]))
            before = None
        loss = self._read_off("pointing", self.point, hidden[POINTING][rows, columns], cell)
        if not pairs:
            return loss
        at = torch.tensor([i for i, _ in pairs])
        states = [STATES.index(state) for _, state in pairs]
        read = hidden[RELATING][rows[at], columns[at]]
        return loss + self._read_off("relating", self.relate, read, states)

    def _read_off(self, kind: str, head, hidden: torch.Tensor, target: list[int]) -> torch.Tensor:
        logits, target = head(hidden), torch.tensor(target)
        hit = float((logits.argmax(-1) == target).float().mean())
        self.hits[kind] = 0.9 * self.hits.get(kind, hit) + 0.1 * hit
        return functional.cross_entropy(logits, target)

    def _note_hits(self, kinds: list[str], said: torch.Tensor, right: torch.Tensor) -> None:
        """Keep a running accuracy per kind of question, for the log."""
        wrong = set(said.nonzero()[:, 0][~right].tolist())
        for row, kind in enumerate(kinds):
            self.hits[kind] = 0.995 * self.hits.get(kind, 0.5) + 0.005 * (row not in wrong)
