"""The procedural world: objects, relations and priors, the renderer, and the data sets."""

from vca_core.scenes.datasets import DATASETS, build_scenes, check_pixels
from vca_core.scenes.factorial_checks import check_factorial, check_neutral
from vca_core.scenes.placing import Scene, SceneObject, draw_scene
from vca_core.scenes.render import render_scene
from vca_core.scenes.world import evidence_note, prior_table

__all__ = [
    "DATASETS",
    "Scene",
    "SceneObject",
    "build_scenes",
    "check_factorial",
    "check_neutral",
    "check_pixels",
    "draw_scene",
    "evidence_note",
    "prior_table",
    "render_scene",
]
