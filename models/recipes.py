"""The four mini models: family, mixture and stages of each."""

from __future__ import annotations

from typing import NamedTuple

from models.questions import Mixture

PEAK = 3e-3
"""Highest learning rate of a stage's cycle; the last one's is a third."""


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
    """Of the four stages."""


EARLY = (1200, 1000, 1400, 300)
"""Steps of those that come to their own mixture earlier, since it differs more."""
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
        EARLY,
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
        EARLY,
    ),
}


def stages_of(recipe: Recipe) -> tuple[Stage, ...]:
    """Four stages; places and relations are read after the second, presence after the last."""
    polish = recipe.lean._replace(presence=40, place=10, naming=8)
    plan = (
        ("ground", None, PEAK),
        ("read", Mixture(), PEAK),
        ("lean", recipe.lean, PEAK),
        ("polish", polish, PEAK / 3),
    )
    return tuple(Stage(*stage, steps) for stage, steps in zip(plan, recipe.steps, strict=True))
