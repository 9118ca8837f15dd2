"""The cells of a picture, one an image token, and what lies in them."""

from __future__ import annotations

from models.tokenizer import COLUMNS, ROWS
from vca_core.scenes.placing import Scene, SceneObject
from vca_core.scenes.world import CANVAS, CONTACTS, INVERSE

GRID = 4
"""Cells (and image tokens) per side of the picture."""


def cells_of(scene: Scene) -> list[int]:
    """Cell that each object takes, row by row: that of its centre, or the nearest free one.

    What is drawn last chooses first, so a small thing keeps its cell and what lies around it
    takes a neighbouring one.
    """
    taken: dict[SceneObject, int] = {}
    side = CANVAS // GRID
    for item in scene.drawn[::-1]:
        free = [cell for cell in range(GRID * GRID) if cell not in taken.values()]
        taken[item] = min(
            free,
            key=lambda cell: (
                (2 * (cell % GRID * side - item.x) + side - 1) ** 2
                + (2 * (cell // GRID * side - item.y) + side - 1) ** 2
            ),
        )
    return [taken[item] for item in scene.objects]


def cell_words(scene: Scene) -> list[tuple[str | None, ...]]:
    """Words of the 16 cells, row by row: colour, shape, column, row, what it does to another."""
    words = [(None, None, column, row, None) for row in ROWS for column in COLUMNS]
    deeds = (scene.relation, INVERSE[scene.relation])
    for number, (item, cell) in enumerate(zip(scene.objects, cells_of(scene), strict=True)):
        deed = deeds[number] if number < 2 and scene.relation in CONTACTS else None
        words[cell] = (item.color, item.shape, *words[cell][2:4], deed)
    return words
