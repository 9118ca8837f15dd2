"""Train the mini models from scratch: `python -m models.train` (or `make models`).

Ground first (each image token names what lies in its cell), then a mixture of relation, presence
and place questions. Prompts are the very ids that the processor makes. Writes an ordinary
checkpoint folder with a card. `--quick` proves the script in a minute or two.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from models.card import write_card
from models.evaluate import evaluate
from models.losses import Trainer
from models.questions import Mixture, draw_question, relation_question

MODEL = "mini-internvl"
MIXTURE = Mixture(
    prior=70, relation=50, naming=20, presence=15, true_false=35, other_axis=30, text_only=12
)
SEED = 20260901


def log(text: str) -> None:
    """Print at once, so that a long run can be watched."""
    print(text, flush=True)


def run(trainer: Trainer, ground_steps: int, steps: int, peak: float = 3e-3) -> None:
    """Ground, then train on the mixture; one optimiser and one learning-rate schedule each."""
    model, rng = trainer.model.train(), trainer.rng
    parameters = trainer.parameters
    for stage, total in (("ground", ground_steps), ("answer", steps)):
        optimiser = torch.optim.AdamW(parameters, lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, peak, total_steps=max(total, 2), pct_start=0.05, cycle_momentum=False
        )
        started, mean = time.monotonic(), 0.0
        for step in range(1, total + 1):
            batch = rng.integers(len(trainer.scenes), size=64)
            if stage == "ground":
                loss = trainer.grounding_loss(batch)
            else:
                loss = mixture_loss(trainer, batch[:48]) + 0.2 * trainer.grounding_loss(batch[:16])
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
    rng = trainer.rng
    scenes = [trainer.scenes[i] for i in batch for _ in range(per_image)]
    if rng.integers(100) < MIXTURE.text_only:
        questions = [relation_question(rng, scene, MIXTURE) for scene in scenes]
        return trainer.answer_loss(questions, scenes, None)
    questions = [draw_question(rng, scene, MIXTURE) for scene in scenes]
    return trainer.answer_loss(questions, scenes, trainer.features(batch))


def main() -> None:
    """Parse the command line, train, evaluate on fresh scenes, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="parent folder")
    parser.add_argument("--steps", type=int, default=4000, help="steps of the mixture")
    parser.add_argument("--ground-steps", type=int, default=500)
    parser.add_argument("--scenes", type=int, default=6000, help="size of the training pool")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--quick", action="store_true", help="a minute's run, to prove the script")
    args = parser.parse_args()
    if args.quick:
        args.steps, args.ground_steps, args.scenes = 30, 30, 400
    torch.manual_seed(args.seed)
    started = time.monotonic()
    trainer = Trainer(args.scenes, args.seed, MIXTURE)
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
