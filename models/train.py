"""Train the mini models from scratch: `python -m models.train` (or `make models`).

Ground first (each image token names the object in its cell), then a mixture of relation, presence
and place questions. Prompts are the very ids that the processor makes. Writes an ordinary
checkpoint folder with a card. `--quick` proves the script in a minute or two.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from models.card import write_card
from models.evaluate import evaluate
from models.miniatures import internvl
from models.questions import Mixture, Question, draw_question, relation_question, training_scene
from vca_core.scenes import render_scene
from vca_core.scenes.world import CANVAS, NAMES, Scene

MODEL = "mini-internvl"
MIXTURE = Mixture(
    prior=70, relation=50, naming=20, presence=10, true_false=35, other_axis=30, text_only=12
)
SEED = 20260901
GRID = 4
"""Image tokens per side of the picture."""


def log(text: str) -> None:
    """Print at once, so that a long run can be watched."""
    print(text, flush=True)


class Trainer:
    """One model in training: its processor's prompts, its pool of pictures, its losses."""

    def __init__(self, n_scenes: int, seed: int) -> None:
        self.model, self.processor = internvl(seed)
        self.rng = np.random.default_rng(seed)
        self.prompts: dict[tuple[str, bool], list[int]] = {}
        self.hits: dict[str, float] = {}
        started = time.monotonic()
        self.scenes = [training_scene(self.rng, MIXTURE) for _ in range(n_scenes)]
        # Block by block: 16,000 pictures at once would be 12 GB.
        with ProcessPoolExecutor(2) as pool:
            self.pixels = torch.cat(
                [
                    self.to_pixels(list(pool.map(render_scene, block, chunksize=32)))
                    for block in (self.scenes[i : i + 512] for i in range(0, n_scenes, 512))
                ]
            )
        log(f"{n_scenes} scenes in {time.monotonic() - started:.0f} s")

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

    def grounding_loss(self, head: torch.nn.Module, batch: np.ndarray) -> torch.Tensor:
        """Cross-entropy of the object whose centre lies in each image token's cell."""
        features = self.features(batch)
        target = torch.stack([cell_names(self.scenes[i]) for i in batch])
        weight = torch.ones(len(NAMES) + 1)
        weight[0] = 0.2
        return functional.cross_entropy(head(features).flatten(0, 1), target.flatten(), weight)

    def features(self, batch: np.ndarray) -> torch.Tensor:
        """Projected image tokens, (n, 16, width)."""
        return self.model.model.get_image_features(self.pixels[batch]).pooler_output

    def answer_loss(
        self, questions: list[Question], features: torch.Tensor | None, per_image: int
    ) -> torch.Tensor:
        """Mean cross-entropy of the answers' tokens; question i belongs to image i // per_image."""
        encode = self.processor.tokenizer
        prompts = [self.prompt_ids(q.text, features is not None) for q in questions]
        answers = [encode(q.answer, add_special_tokens=False).input_ids for q in questions]
        length = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
        ids = torch.full((len(questions), length), encode.pad_token_id)
        target = torch.full((len(questions), length), -100)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor(prompt + answer)
            target[row, len(prompt) - 1 : end - 1] = torch.tensor(answer)
        core = self.model.model
        embeds = core.get_input_embeddings()(ids)
        if features is not None:
            repeated = features.repeat_interleave(per_image, dim=0).flatten(0, 1)
            where = (ids == self.model.config.image_token_id).unsqueeze(-1).expand_as(embeds)
            embeds = embeds.masked_scatter(where, repeated)
        # Padding stands on the right, where a causal model's answers never look.
        hidden = core.language_model(inputs_embeds=embeds).last_hidden_state
        asked = target != -100
        logits = self.model.lm_head(hidden[asked])
        self.note_hits(questions, features is not None, asked, logits.argmax(-1) == target[asked])
        return functional.cross_entropy(logits, target[asked])

    def note_hits(self, questions, shown: bool, asked: torch.Tensor, right: torch.Tensor) -> None:
        """Keep a running accuracy per kind of question, for the log."""
        rows = asked.nonzero()[:, 0]
        for row, question in enumerate(questions):
            kind = question.kind if shown else "text_only"
            hit = float(right[rows == row].all())
            self.hits[kind] = 0.998 * self.hits.get(kind, 0.5) + 0.002 * hit


def cell_names(scene: Scene) -> torch.Tensor:
    """Class of each of the 16 cells: 0 for background, else 1 + index of the object's name."""
    cells = torch.zeros(GRID * GRID, dtype=torch.long)
    for item in reversed(scene.objects):
        column, row = item.x * GRID // CANVAS, item.y * GRID // CANVAS
        cells[row * GRID + column] = 1 + NAMES.index(item.name)
    return cells


def run(trainer: Trainer, ground_steps: int, steps: int, peak: float = 1.5e-3) -> None:
    """Ground, then train on the mixture; one optimiser and one learning-rate schedule each."""
    model, rng = trainer.model.train(), trainer.rng
    head = torch.nn.Linear(model.config.text_config.hidden_size, len(NAMES) + 1)
    parameters = [*model.parameters(), *head.parameters()]
    for stage, total in (("ground", ground_steps), ("answer", steps)):
        optimiser = torch.optim.AdamW(parameters, lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, peak, total_steps=max(total, 2), pct_start=0.1, cycle_momentum=False
        )
        started, mean = time.monotonic(), 0.0
        for step in range(1, total + 1):
            batch = rng.integers(len(trainer.scenes), size=64)
            if stage == "ground":
                loss = trainer.grounding_loss(head, batch)
            else:
                loss = mixture_loss(trainer, batch[:48])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
            mean = 0.98 * mean + 0.02 * loss.item()
            if step % 100 == 0 or step == total:
                spent = time.monotonic() - started
                left = spent / step * (total - step)
                value = mean / (1 - 0.98**step)
                hits = " ".join(f"{kind} {hit:.2f}" for kind, hit in sorted(trainer.hits.items()))
                clock = f"{spent:.0f} s, {left:.0f} s left"
                log(f"{stage} {step}/{total} loss {value:.3f} {clock} {hits}")
            if stage == "answer" and step % 1000 == 0 and step < total:
                log(json.dumps(evaluate(model.eval(), trainer.processor, n=100)))
                model.train()
    model.eval()


def mixture_loss(trainer: Trainer, batch: np.ndarray, per_image: int = 3) -> torch.Tensor:
    """One step of the mixture: with images, or without any."""
    rng, scenes = trainer.rng, [trainer.scenes[i] for i in batch]
    if rng.integers(100) < MIXTURE.text_only:
        questions = [relation_question(rng, s, MIXTURE) for s in scenes for _ in range(per_image)]
        return trainer.answer_loss(questions, None, per_image)
    questions = [draw_question(rng, s, MIXTURE) for s in scenes for _ in range(per_image)]
    return trainer.answer_loss(questions, trainer.features(batch), per_image)


def main() -> None:
    """Parse the command line, train, evaluate on fresh scenes, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="parent folder")
    parser.add_argument("--steps", type=int, default=5000, help="steps of the mixture")
    parser.add_argument("--ground-steps", type=int, default=1500)
    parser.add_argument("--scenes", type=int, default=16000, help="size of the training pool")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--quick", action="store_true", help="a minute's run, to prove the script")
    args = parser.parse_args()
    if args.quick:
        args.steps, args.ground_steps, args.scenes = 30, 30, 400
    torch.manual_seed(args.seed)
    started = time.monotonic()
    trainer = Trainer(args.scenes, args.seed)
    run(trainer, args.ground_steps, args.steps)
    minutes = (time.monotonic() - started) / 60
    accuracy = evaluate(trainer.model, trainer.processor, n=50 if args.quick else 1000)
    log(json.dumps(accuracy))
    folder = args.out / MODEL
    trainer.model.save_pretrained(folder)
    trainer.processor.save_pretrained(folder)
    write_card(folder, MODEL, trainer.model, MIXTURE, vars(args), minutes, accuracy)
    log(f"{folder}: trained in {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
