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

import numpy as np
import torch
from torch.nn import functional

from models.miniatures import TEXT, internvl
from models.questions import Mixture, Question, training_scene
from models.tokenizer import COLUMNS, ROWS
from vca_core.scenes import render_scene
from vca_core.scenes.world import CANVAS, COLORS, INVERSE, RELATIONS, SHAPES, Scene

BACKGROUND = 0.2
"""Weight of an empty cell in grounding; most cells are empty."""
GRID = 4
"""Image tokens per side of the picture."""
POINTING, RELATING = 3, 4
"""After which text layer the two are read off; the answer comes after the fifth."""


class Trainer:
    """One model in training: its processor's prompts, its pool of pictures, its losses."""

    def __init__(self, n_scenes: int, seed: int, mixture: Mixture) -> None:
        self.model, self.processor = internvl(seed)
        self.rng = np.random.default_rng(seed)
        encode = self.processor.tokenizer
        none = encode.pad_token
        self.word_classes = []
        for words in ((none, *COLORS), (none, *SHAPES), COLUMNS, ROWS):
            ids = [
                encode(w if w == none else f" {w}", add_special_tokens=False).input_ids[0]
                for w in words
            ]
            weight = torch.ones(len(words))
            weight[0] = BACKGROUND if words[0] == none else 1.0
            self.word_classes.append((words, torch.tensor(ids), weight))
        self.shape_ids = self.word_classes[1][1][1:]
        self.point = torch.nn.Linear(TEXT["hidden_size"], GRID * GRID + 1)
        self.relate = torch.nn.Linear(TEXT["hidden_size"], len(RELATIONS))
        self.prompts: dict[tuple[str, bool], list[int]] = {}
        self.hits: dict[str, float] = {}
        started = time.monotonic()
        self.scenes = [training_scene(self.rng, mixture) for _ in range(n_scenes)]
        # Block by block: 16,000 pictures at once would be 12 GB.
        with ProcessPoolExecutor(2) as pool:
            self.pixels = torch.cat(
                [
                    self.to_pixels(list(pool.map(render_scene, block, chunksize=32)))
                    for block in (self.scenes[i : i + 512] for i in range(0, n_scenes, 512))
                ]
            )
        print(f"{n_scenes} scenes in {time.monotonic() - started:.0f} s", flush=True)

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """All that is trained: the model and the two heads that are dropped afterwards."""
        return [p for m in (self.model, self.point, self.relate) for p in m.parameters()]

    def to_pixels(self, pictures: list) -> torch.Tensor:
        """Pixel values of pictures through the native processor, (n, 3, 64, 64)."""
        image_processor = self.processor.image_processor
        return image_processor(pictures, crop_to_patches=True, return_tensors="pt").pixel_values

    def prompt_ids(self, text: str, image: bool) -> list[int]:
        """Ids of a whole prompt, made once by the processor from template, image and text."""
        if (text, image) not in self.prompts:
            content = [{"type": "image"}] * image + [{"type": "text", "text": text}]
            prompt = self.processor.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
            )
            pictures = {"images": [render_scene(self.scenes[0])]} if image else {}
            self.prompts[text, image] = self.processor(text=[prompt], **pictures).input_ids[0]
        return self.prompts[text, image]

    def grounding_loss(self, batch: np.ndarray) -> torch.Tensor:
        """Cross-entropy of what lies in each image token's cell, said in the words' embeddings.

        Each token names colour and shape of the object whose centre lies in its cell (or none), and
        its own column and row. The classes are the input embeddings of those words, so that the
        text model can match what it reads with what it sees.
        """
        features = self.features(batch).flatten(0, 1)
        embedding = self.model.get_input_embeddings().weight
        cells = [cell for i in batch for cell in cell_words(self.scenes[i])]
        losses = []
        for words, ids, weight in self.word_classes:
            target = torch.tensor([words.index(self.word_of(cell, words)) for cell in cells])
            logits = features @ embedding[ids].T
            losses.append(functional.cross_entropy(logits, target, weight))
        return torch.stack(losses).mean()

    @staticmethod
    def word_of(cell: tuple[str, ...], words: tuple[str, ...]) -> str:
        """Word of a cell that belongs to a class of words, or the first of the class (none)."""
        return next((word for word in cell if word in words), words[0])

    def features(self, batch: np.ndarray) -> torch.Tensor:
        """Projected image tokens, (n, 16, width)."""
        return self.model.model.get_image_features(self.pixels[batch]).pooler_output

    def answer_loss(
        self, questions: list[Question], scenes: list[Scene], features: torch.Tensor | None
    ) -> torch.Tensor:
        """Mean cross-entropy of the answers' tokens, and of pointing where there is an image.

        Question i is about scene i; ``features`` holds each picture once, its questions in a row.
        """
        tokenizer = self.processor.tokenizer
        prompts = [self.prompt_ids(q.text, features is not None) for q in questions]
        answers = [tokenizer(q.answer, add_special_tokens=False).input_ids for q in questions]
        length = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
        ids = torch.full((len(questions), length), tokenizer.pad_token_id)
        target = torch.full((len(questions), length), -100)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor(prompt + answer)
            target[row, len(prompt) - 1 : end - 1] = torch.tensor(answer)
        core = self.model.model
        embeds = core.get_input_embeddings()(ids)
        if features is not None:
            repeated = features.repeat_interleave(len(questions) // len(features), dim=0)
            where = (ids == self.model.config.image_token_id).unsqueeze(-1).expand_as(embeds)
            embeds = embeds.masked_scatter(where, repeated.flatten(0, 1))
        # Padding stands on the right, where a causal model's answers never look.
        out = core.language_model(inputs_embeds=embeds, output_hidden_states=True)
        asked = target != -100
        logits = self.model.lm_head(out.last_hidden_state[asked])
        self.note_hits(questions, features is not None, asked, logits.argmax(-1) == target[asked])
        loss = functional.cross_entropy(logits, target[asked])
        if features is None:
            return loss
        return loss + self.reading_loss(ids, scenes, out.hidden_states)

    def reading_loss(
        self, ids: torch.Tensor, scenes: list[Scene], hidden: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """Cross-entropy of pointing and of relating, read off the last tokens of names.

        Pointing: the cell that the object lies in, or that it is absent. Relating: how the first
        named object stands to the second, at the second.
        """
        rows, columns = torch.isin(ids, self.shape_ids).nonzero(as_tuple=True)
        names, pairs = [], []
        for place, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            name = self.processor.tokenizer.decode(ids[row, column - 1 : column + 1]).strip()
            names.append(cell_of(scenes[row], name))
            if place and rows[place - 1] == row:
                subject = scenes[row].objects[0].name
                holds = scenes[row].relation
                pairs.append((place, INVERSE[holds] if name == subject else holds))
        target = torch.tensor(names)
        logits = self.point(hidden[POINTING][rows, columns])
        self.hits["pointing"] = float((logits.argmax(-1) == target).float().mean())
        loss = functional.cross_entropy(logits, target)
        places = torch.tensor([place for place, _ in pairs])
        target = torch.tensor([RELATIONS.index(relation) for _, relation in pairs])
        logits = self.relate(hidden[RELATING][rows[places], columns[places]])
        self.hits["relating"] = float((logits.argmax(-1) == target).float().mean())
        return loss + functional.cross_entropy(logits, target)

    def note_hits(self, questions, shown: bool, asked: torch.Tensor, right: torch.Tensor) -> None:
        """Keep a running accuracy per kind of question, for the log."""
        rows = asked.nonzero()[:, 0]
        for row, question in enumerate(questions):
            kind = question.kind if shown else "text_only"
            hit = float(right[rows == row].all())
            self.hits[kind] = 0.998 * self.hits.get(kind, 0.5) + 0.002 * hit


def cell_of(scene: Scene, name: str) -> int:
    """Index of the cell an object's centre lies in, row by row; 16 if it is not in the scene."""
    for item in scene.objects:
        if item.name == name:
            return item.y * GRID // CANVAS * GRID + item.x * GRID // CANVAS
    return GRID * GRID


def cell_words(scene: Scene) -> list[tuple[str, ...]]:
    """Words of each of the 16 cells, row by row: column, row, and an object's colour and shape."""
    cells = [(column, row) for row in ROWS for column in COLUMNS]
    for item in reversed(scene.objects):
        column, row = item.x * GRID // CANVAS, item.y * GRID // CANVAS
        cells[row * GRID + column] = (COLUMNS[column], ROWS[row], item.color, item.shape)
    return cells
