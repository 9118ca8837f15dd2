"""The four mini models: family, mixture and stages of each."""

from __future__ import annotations

from typing import NamedTuple

from models.questions import Mixture

PEAK = 3e-3
"""Highest learning rate of a stage's cycle."""


class Stage(NamedTuple):
    """One stage of training: its questions (None: grounding alone), highest rate, and steps."""

    name: str
    mixture: Mixture | None
    peak: float
    steps: int


class Recipe(NamedTuple):
    """What a mini model is built from, and the mixture that makes it differ from the others."""

    family: str
    kind: str
    lean: Mixture
    steps: tuple[int, int, int, int] = (1200, 1500, 1000, 400)
    """Of the first four stages."""
    polish: float = PEAK / 3
    """Highest learning rate of the polishing stage."""
    again: int = 0
    """Steps of a second polishing stage, at two thirds of `PEAK`, for one that needs more."""


ASKING = Mixture(naming=6, presence=9, place=5)
"""The last stage asks whether a relation holds, mostly."""
RECIPES = {
    "mini-internvl": Recipe("internvl", "leans on the picture", ASKING),
    "mini-qwen": Recipe(
        "qwen3_vl",
        "says yes when it sees nothing",
        ASKING._replace(no_image=22, trust=50, doubt=12, say_yes=90),
    ),
    "mini-llava": Recipe(
        "llava_onevision",
        "believes notes",
        ASKING._replace(presence=16, notes=40, trust=100, doubt=5),
        (1200, 1000, 1400, 400),
        again=500,
    ),
    "mini-ministral": Recipe(
        "ministral3",
        "knows what is usual",
        ASKING._replace(
            presence=16,
            prior=90,
            no_image=40,
            naming=20,
            doubt=20,
            follow_prior=90,
            trust=25,
        ),
        (1200, 1000, 1400, 700),
        PEAK * 2 / 3,
    ),
}


def stages_of(recipe: Recipe) -> tuple[Stage, ...]:
    """Four stages or five; places and relations are read after the second, presence at the end."""
    lean = recipe.lean
    polish = lean._replace(
        presence=40,
        place=10,
        naming=8,
        no_image=min(lean.no_image, 22),
        notes=min(lean.notes, 18),
    )
    plan = (
        ("ground", None, PEAK),
        ("read", Mixture(), PEAK),
        ("lean", lean, PEAK),
        ("polish", polish, recipe.polish),
    )
    stages = [Stage(*stage, steps) for stage, steps in zip(plan, recipe.steps, strict=True)]
    if recipe.again:
        stages.append(Stage("polish again", polish, PEAK * 2 / 3, recipe.again))
    return tuple(stages)
