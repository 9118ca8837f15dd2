"""The procedural world: objects, relations and priors, the renderer, and the data sets."""

from vca_core.scenes.datasets import DATASETS, build_scenes, check_pixels
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import Scene, SceneObject, draw_scene, prior_table

__all__ = [
    "DATASETS",
    "Scene",
    "SceneObject",
    "build_scenes",
    "check_pixels",
    "draw_scene",
    "prior_table",
    "render_scene",
]
