"""Train the mini models from scratch: `python -m models.train` (or `make models`).

Ground first (each image token names what lies in its cell), then a mixture of relation, presence
and place questions. Prompts are the very ids that the processor makes. Writes an ordinary
checkpoint folder with a card. `--quick` proves the script in a minute or two.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from models.card import write_card
from models.evaluate import evaluate
from models.losses import Trainer
from models.questions import Mixture, draw_question, relation_question

MODEL = "mini-internvl"


class Stage(NamedTuple):
    """One stage of training: its questions, its steps, the length of its learning-rate cycle."""

    name: str
    mixture: Mixture | None
    """None grounds alone."""
    steps: int
    cycle: int


FIRST = Mixture(
    prior=70, relation=50, naming=20, presence=15, true_false=35, other_axis=30, text_only=12
)
STAGES = (
    Stage("ground", None, 500, 500),
    Stage("read", FIRST, 1650, 4000),
    Stage("answer", FIRST._replace(relation=76, naming=8, presence=7), 2400, 2400),
)
"""Places and relations are read after the second stage, while yes and no are still even; the third
asks for yes and no mostly. The second ends in mid-cycle, where more of it changed little."""
SEED = 20260901


def log(text: str) -> None:
    """Print at once, so that a long run can be watched."""
    print(text, flush=True)


def run(trainer: Trainer, stages: Sequence[Stage], peak: float = 3e-3) -> None:
    """Train stage after stage, each with an optimiser and a learning-rate cycle of its own."""
    model, rng = trainer.model.train(), trainer.rng
    for stage in stages:
        optimiser = torch.optim.AdamW(
            trainer.parameters, lr=peak, betas=(0.9, 0.98), weight_decay=0.01
        )
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, peak, total_steps=max(stage.cycle, 2), pct_start=0.05, cycle_momentum=False
        )
        started, mean = time.monotonic(), 0.0
        for step in range(1, stage.steps + 1):
            batch = rng.integers(len(trainer.scenes), size=64)
            if stage.mixture is None:
                loss = trainer.grounding_loss(batch)
            else:
                answers = mixture_loss(trainer, batch[:48], stage.mixture)
                loss = answers + 0.2 * trainer.grounding_loss(batch[:16])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trainer.parameters, 1.0)
            optimiser.step()
            schedule.step()
            mean = 0.98 * mean + 0.02 * loss.item()
            if step % 100 == 0 or step == stage.steps:
                spent = time.monotonic() - started
                clock = f"{spent:.0f} s, {spent / step * (stage.steps - step):.0f} s left"
                hits = " ".join(f"{kind} {hit:.2f}" for kind, hit in sorted(trainer.hits.items()))
                log(
                    f"{stage.name} {step}/{stage.steps} loss {mean / (1 - 0.98**step):.3f} "
                    f"{clock} {hits}"
                )
    model.eval()


def mixture_loss(
    trainer: Trainer, batch: np.ndarray, mixture: Mixture, per_image: int = 3
) -> torch.Tensor:
    """One step of a mixture: with images, or without any."""
    rng = trainer.rng
    scenes = [trainer.scenes[i] for i in batch for _ in range(per_image)]
    if rng.integers(100) < mixture.text_only:
        questions = [relation_question(rng, scene, mixture) for scene in scenes]
        return trainer.answer_loss(questions, scenes, None)
    questions = [draw_question(rng, scene, mixture) for scene in scenes]
    return trainer.answer_loss(questions, scenes, trainer.features(batch))


def main() -> None:
    """Parse the command line, train, evaluate on fresh scenes, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="parent folder")
    parser.add_argument("--scenes", type=int, default=6000, help="size of the training pool")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--quick", action="store_true", help="a minute's run, to prove the script")
    args = parser.parse_args()
    stages = STAGES
    if args.quick:
        args.scenes = 400
        stages = tuple(stage._replace(steps=20, cycle=100) for stage in STAGES)
    torch.manual_seed(args.seed)
    started = time.monotonic()
    trainer = Trainer(args.scenes, args.seed, FIRST)
    run(trainer, stages)
    minutes = (time.monotonic() - started) / 60
    finish(trainer, args.out / MODEL, stages, args.seed, minutes, n=50 if args.quick else 1000)


def finish(
    trainer: Trainer, folder: Path, stages: Sequence[Stage], seed: int, minutes: float, n: int
) -> None:
    """Measure on fresh scenes, save the checkpoint, write its card."""
    accuracy = evaluate(trainer.model, trainer.processor, n=n)
    log(json.dumps(accuracy))
    trainer.model.save_pretrained(folder)
    trainer.processor.save_pretrained(folder)
    facts = {"seed": seed, "training_scenes": len(trainer.scenes), "minutes": round(minutes, 1)}
    write_card(folder, MODEL, trainer.model, stages, facts, accuracy)
    log(f"{folder}: trained in {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
