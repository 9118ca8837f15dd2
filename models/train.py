"""Train the mini models from scratch: `python -m models.train` (or `make models`).

Ground first (each image token names what lies in its cell), then read (a mixture of relation,
presence and place questions, alike for all), then lean (each model's own mixture), then polish
(more of presence, slowly). Prompts are the very ids that the processor makes. Writes ordinary
checkpoint folders with a card each. A stage that is done is kept under `.training/`, so an
interrupted run goes on behind it. `--quick` proves the script in a minute or two.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from models.card import write_card
from models.evaluate import evaluate
from models.losses import Trainer
from models.questions import Mixture, blind_question, draw_question, relation_question
from models.recipes import RECIPES, Stage, stages_of
from models.vision import Seen

SEED = 20260901
IMAGES, PER_IMAGE = 32, 4
"""Pictures in a step, and questions about each."""


def log(text: str) -> None:
    """Print at once, so that a long run can be watched."""
    print(text, flush=True)


def run(trainer: Trainer, stage: Stage) -> None:
    """Train one stage, with an optimiser and a learning-rate cycle of its own."""
    model = trainer.model.train()
    optimiser = torch.optim.AdamW(
        trainer.parameters, lr=stage.peak, betas=(0.9, 0.98), weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, stage.peak, total_steps=max(stage.steps, 2), pct_start=0.05, cycle_momentum=False
    )
    started, mean = time.monotonic(), 0.0
    for step in range(1, stage.steps + 1):
        loss = step_loss(trainer, stage.mixture)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainer.parameters, 1.0)
        optimiser.step()
        schedule.step()
        mean = 0.98 * mean + 0.02 * loss.item()
        if step % 100 == 0 or step == stage.steps:
            spent = time.monotonic() - started
            clock = f"{spent:.0f} s, {spent / step * (stage.steps - step):.0f} s left"
            hits = ", ".join(f"{kind} {hit:.2f}" for kind, hit in sorted(trainer.hits.items()))
            log(
                f"{stage.name} {step}/{stage.steps}: {mean / (1 - 0.98**step):.3f}; {clock}; {hits}"
            )
    model.eval()


def step_loss(trainer: Trainer, mixture: Mixture | None) -> torch.Tensor:
    """One step: grounding alone, or a mixture's questions with notes, without, or unseen."""
    rng = trainer.rng
    if mixture is None:
        batch = rng.integers(len(trainer.scenes), size=2 * IMAGES)
        return trainer.grounding_loss(batch, trainer.see(batch))
    batch = rng.integers(len(trainer.scenes), size=IMAGES)
    scenes = [trainer.scenes[i] for i in batch for _ in range(PER_IMAGE)]
    style = rng.integers(300)
    if style < 3 * mixture.no_image:
        ask = blind_question
        if rng.integers(100) < mixture.notes:
            ask = noted_blind_question
        seen = trainer.see_blank(len(scenes)) if style < mixture.no_image else None
        return trainer.answer_loss([ask(rng, scene, mixture) for scene in scenes], seen)
    if style < 3 * (mixture.no_image + mixture.notes):
        questions = [relation_question(rng, scene, mixture, note=True) for scene in scenes]
    else:
        questions = [draw_question(rng, scene, mixture) for scene in scenes]
    seen = trainer.see(batch)
    answers = trainer.answer_loss(questions, seen.repeat(PER_IMAGE), scenes)
    return answers + 0.2 * trainer.grounding_loss(batch[:16], Seen(seen.tokens[:16]))


def noted_blind_question(rng: np.random.Generator, scene, mixture: Mixture):
    """Ask about a scene that is not shown, after a note."""
    return relation_question(rng, scene, mixture, note=True, shown=False)


def train(name: str, args: argparse.Namespace) -> None:
    """Train one model, or go on behind its last finished stage; evaluate on fresh scenes; save."""
    recipe = RECIPES[name]
    stages: Sequence[Stage] = stages_of(recipe)
    if args.quick:
        stages = [stage._replace(steps=2) for stage in stages]
    torch.manual_seed(args.seed)
    trainer = Trainer(recipe.family, args.scenes, args.seed, Mixture())
    kept = args.out / ".training" / f"{name}.{'quick' if args.quick else args.seed}.pt"
    plan = f"{stages} {args.scenes}"
    done, minutes = restore(trainer, kept, plan)
    for number, stage in enumerate(stages[done:], start=done + 1):
        started = time.monotonic()
        log(f"{name}, {recipe.kind}: stage {stage.name}")
        if stage.name not in ("ground", "read"):
            trainer.renew(args.scenes, recipe.lean)
        run(trainer, stage)
        minutes += (time.monotonic() - started) / 60
        keep(trainer, kept, plan, number, minutes)
    facts = {
        "seed": args.seed,
        "training_scenes": args.scenes,
        "minutes": round(minutes, 1),
        "threads": torch.get_num_threads(),
    }
    finish(name, trainer.model, trainer.processor, args.out, stages, facts, args.quick)
    kept.unlink()


def finish(name, model, processor, out: Path, stages, facts: dict, quick: bool = False) -> None:
    """Measure on fresh scenes, save the checkpoint, write its card."""
    recipe = RECIPES[name]
    facts["evaluation_scenes"] = 8 if quick else 150
    measured = evaluate(model, processor, recipe.family, facts["evaluation_scenes"])
    log(json.dumps(measured))
    folder = out / name
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    write_card(folder, name, recipe.kind, model, stages, facts, measured)
    log(f"{folder}: trained in {facts['minutes']} minutes")


def keep(trainer: Trainer, path: Path, plan: str, done: int, minutes: float) -> None:
    """Keep weights, heads and random state after a stage of a plan."""
    path.parent.mkdir(exist_ok=True, parents=True)
    modules = (trainer.model, trainer.point, trainer.relate)
    state = {
        "modules": [module.state_dict() for module in modules],
        "rng": json.dumps(trainer.rng.bit_generator.state),
        "plan": plan,
        "done": done,
        "minutes": minutes,
    }
    torch.save(state, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def restore(trainer: Trainer, path: Path, plan: str) -> tuple[int, float]:
    """Take up what `keep` kept of the same plan: the number of stages done and their minutes."""
    state = torch.load(path, weights_only=True) if path.is_file() else {}
    if state.get("plan") != plan:
        return 0, 0.0
    for module, weights in zip(
        (trainer.model, trainer.point, trainer.relate), state["modules"], strict=True
    ):
        module.load_state_dict(weights)
    trainer.rng.bit_generator.state = json.loads(state["rng"])
    log(f"{path.name}: {state['done']} stages done in {state['minutes']:.1f} minutes")
    return state["done"], state["minutes"]


def main() -> None:
    """Parse the command line and train one model after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(RECIPES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="parent folder")
    parser.add_argument("--scenes", type=int, default=6000, help="size of a pool of scenes")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=0, help="processor threads; 0: all")
    parser.add_argument("--quick", action="store_true", help="a minute's run, to prove the script")
    args = parser.parse_args()
    unknown = set(args.names) - set(RECIPES)
    if unknown:
        parser.error(f"unknown models {sorted(unknown)}; expected of {list(RECIPES)}")
    if args.quick:
        args.scenes = 48
    if args.threads:
        torch.set_num_threads(args.threads)
    for name in args.names or RECIPES:
        train(name, args)


if __name__ == "__main__":
    main()
