"""Draw a scene: Pillow, integers only, at twice the size and averaged down."""

from __future__ import annotations

from PIL import Image, ImageDraw

from vca_core.scenes.placing import Scene, SceneObject
from vca_core.scenes.world import CANVAS, COLORS

SCALE = 2
"""Supersampling factor; averaging whole pixels keeps the result free of floating point."""


def render_scene(scene: Scene) -> Image.Image:
    """Draw a scene.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    Image, RGB, 512 × 512
        Drawn in the order of `Scene.drawn`.
    """
    image = Image.new("RGB", (CANVAS * SCALE, CANVAS * SCALE), scene.background)
    draw = ImageDraw.Draw(image)
    for item in scene.drawn:
        _draw_object(draw, item)
    return image.reduce(SCALE)


def _draw_object(draw: ImageDraw.ImageDraw, item: SceneObject) -> None:
    color = COLORS[item.color]
    x, y, size, _ = (SCALE * v for v in item.box)
    right, bottom = x + size - 1, y + size - 1
    if item.shape == "circle":
        draw.ellipse((x, y, right, bottom), fill=color)
    elif item.shape == "square":
        draw.rectangle((x, y, right, bottom), fill=color)
    elif item.shape == "triangle":
        draw.polygon(((x, bottom), (x + size // 2, y), (right, bottom)), fill=color)
    elif item.shape == "cross":
        third = size // 3
        draw.rectangle((x + third, y, right - third, bottom), fill=color)
        draw.rectangle((x, y + third, right, bottom - third), fill=color)
    else:
        raise ValueError(f"Unknown shape {item.shape!r}.")
