"""Ask a mini model about scenes: margins of its yes/no answers, and whole answers."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image

from models.prompts import chat_prompt
from models.questions import Question
from vca_core.contexts import GRAY
from vca_core.records import VERBALIZERS
from vca_core.scenes import Scene, render_scene
from vca_core.scenes.world import CANVAS

BLOCK = 16


class Judge:
    """One model, its processor and family; a view is a scene, "blank", or None for no picture."""

    def __init__(self, model, processor, family: str) -> None:
        self.model, self.processor, self.family = model, processor, family

    def margins(self, asked: list[tuple], interface: str = "yes_no") -> np.ndarray:
        """Log-probability of the affirmative word less that of the other, per (view, text)."""
        affirm, deny = (self._ids(word)[0] for word in VERBALIZERS[interface])
        found = []
        for start in range(0, len(asked), BLOCK):
            block = asked[start : start + BLOCK]
            logits, ends = self._forward(block)
            last = logits[torch.arange(len(block)), torch.tensor(ends) - 1]
            found += (last[:, affirm] - last[:, deny]).tolist()
        return np.array(found)

    def says(self, asked: list[tuple[Scene, Question]]) -> float:
        """Share of questions whose whole answer greedy decoding gives, token by token."""
        hits = []
        for start in range(0, len(asked), BLOCK):
            block = asked[start : start + BLOCK]
            answers = [self._ids(question.answer) for _, question in block]
            texts = [(scene, question.text) for scene, question in block]
            logits, ends = self._forward(texts, [question.answer for _, question in block])
            for row, (answer, end) in enumerate(zip(answers, ends, strict=True)):
                first = end - len(answer) - 1
                best = logits[row, first : end - 1].argmax(-1).tolist()
                hits.append(best == answer)
        return float(np.mean(hits))

    def _ids(self, text: str) -> list[int]:
        return self.processor.tokenizer(text, add_special_tokens=False).input_ids

    @torch.inference_mode()
    def _forward(self, block: list[tuple], answers: list[str] | None = None):
        """Logits of each row, and where its text ends."""
        pictures = [[_picture(view)] for view, _ in block if view is not None]
        texts = [
            chat_prompt(self.processor, self.family, text, view is not None) + tail
            for (view, text), tail in zip(block, answers or [""] * len(block), strict=True)
        ]
        inputs = self.processor(
            text=texts,
            images=pictures or None,
            return_tensors="pt",
            padding=True,
            padding_side="right",
        )
        return self.model(**inputs).logits, inputs.attention_mask.sum(dim=1).tolist()


def _picture(view: Scene | str) -> Image.Image:
    return Image.new("RGB", (CANVAS, CANVAS), GRAY) if view == "blank" else render_scene(view)
