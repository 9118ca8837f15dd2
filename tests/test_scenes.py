"""The procedural world: geometry, priors, pixels, and the data set `pairs`."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.contexts import pixel_sha256
from vca_core.records import SchemaError, read_manifest, write_manifest
from vca_core.scenes import build_scenes, check_pixels, draw_scene, prior_table, render_scene
from vca_core.scenes.datasets import draw_pairs
from vca_core.scenes.world import (
    CANVAS,
    COLORS,
    INVERSE,
    NAMES,
    PHRASES,
    RELATIONS,
    Scene,
    SceneObject,
    draw_pair,
    draw_relation,
    generate_priors,
)

SHIPPED = Path(__file__).resolve().parents[1] / "cached_scores" / "pairs" / "manifest.jsonl"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(RELATIONS))
def test_draw_scene_has_the_relation_and_no_overlap(seed, relation):
    scene = draw_scene(np.random.default_rng(seed), "red circle", "blue square", relation)
    subject, other = scene.objects[:2]
    assert (subject.name, other.name) == ("red circle", "blue square")
    dx, dy = other.x - subject.x, other.y - subject.y
    holds = {"left": dx > 0, "right": dx < 0, "above": dy > 0, "below": dy < 0}
    assert holds[relation]
    along, across = (dx, dy) if relation in ("left", "right") else (dy, dx)
    assert abs(across) <= 0.4 * abs(along)
    for number, a in enumerate(scene.objects):
        x, y, w, h = a.box
        assert 0 <= x and 0 <= y and x + w <= CANVAS and y + h <= CANVAS
        for b in scene.objects[:number]:
            bx, by, bw, bh = b.box
            assert x >= bx + bw or bx >= x + w or y >= by + bh or by >= y + h
    assert len({o.name for o in scene.objects}) == len(scene.objects)


def test_prior_table_is_generated_from_its_seed_and_inverts_with_the_order():
    table = prior_table()
    assert len(table) == len(NAMES) * (len(NAMES) - 1)
    for row in generate_priors():
        prior = table[row["subject"], row["object"]]
        assert (prior.relation, prior.percent, prior.held_out) == (
            row["relation"],
            row["percent"],
            row["held_out"],
        )
        assert 75 <= prior.percent <= 85
        back = table[row["object"], row["subject"]]
        assert back == prior._replace(relation=INVERSE[prior.relation])


def test_draw_relation_follows_the_prior_share(rng):
    prior = prior_table()["red circle", "blue square"]
    drawn = Counter(draw_relation(rng, "red circle", "blue square") for _ in range(4000))
    # Four standard errors of a binomial share.
    assert abs(drawn[prior.relation] / 4000 - prior.percent / 100) < 4 * np.sqrt(0.25 / 4000)
    others = [drawn[r] for r in RELATIONS if r != prior.relation]
    assert max(others) < 1.5 * min(others)


def test_draw_pair_can_be_held_out_or_not(rng):
    table = prior_table()
    assert all(table[draw_pair(rng, True)].held_out for _ in range(50))
    assert not any(table[draw_pair(rng, False)].held_out for _ in range(50))


@pytest.mark.parametrize("shape", ["circle", "square", "triangle", "cross"])
def test_render_scene_draws_each_shape_in_its_box_and_colour(shape):
    item = SceneObject("green", shape, 200, 300, 100)
    pixels = np.asarray(render_scene(Scene((item,), "left", (246, 244, 238))))
    inked = (pixels != (246, 244, 238)).any(axis=2)
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    x, y, w, h = item.box
    assert abs(columns[0] - x) <= 1 and abs(columns[-1] - (x + w - 1)) <= 1
    assert abs(rows[0] - y) <= 1 and abs(rows[-1] - (y + h - 1)) <= 1
    assert tuple(pixels[300, 200]) == COLORS["green"]
    share = {"circle": np.pi / 4, "square": 1, "triangle": 0.5, "cross": 5 / 9}[shape]
    assert inked.sum() / 100**2 == pytest.approx(share, abs=0.03)


def test_draw_pairs_has_the_published_sizes_and_needs_no_test_seed():
    items = list(draw_pairs(1))
    samples = [s for item in items for s in item.samples]
    assert len(items) == 440 and len(samples) == 880
    assert (
        Counter(s.relation for s in samples if s.relation in ("left", "right")).total() == 2 * 279
    )
    assert Counter(s.label for s in samples) == {"yes": 440, "no": 440}
    for item in items:
        true, false = item.samples
        assert (true.polarity, false.polarity) == ("true", "false")
        assert false.relation == INVERSE[true.relation] and true.image == false.image
        phrase = PHRASES[true.relation]
        assert true.question == f"Is the {true.subject} {phrase} the {true.object}?"
        assert true.statement == f"The {true.subject} is {phrase} the {true.object}."


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped manifest")
def test_build_scenes_equals_the_shipped_manifest_in_pixels(tmp_path):
    path = build_scenes("pairs", tmp_path, expected=SHIPPED, limit=12)
    samples = read_manifest(path)
    assert len(samples) == 24
    check_pixels(samples, path.parent)


def test_build_scenes_names_what_differs(tmp_path):
    path = build_scenes("pairs", tmp_path / "a", limit=2)
    samples = read_manifest(path)
    write_manifest([s.model_copy(update={"image_sha256": "0" * 64}) for s in samples], path)
    with pytest.raises(SchemaError, match=r"'pairs-0000-true'.*\['image_sha256'\]"):
        build_scenes("pairs", tmp_path / "b", expected=path, limit=2)
    again = build_scenes("pairs", tmp_path / "b", expected=path, limit=2, accept_pixels=True)
    assert read_manifest(again) == samples
    with pytest.raises(SchemaError, match="Unknown scene data set 'cats'"):
        build_scenes("cats", tmp_path)


def test_check_pixels_finds_another_picture(tmp_path):
    path = build_scenes("pairs", tmp_path, limit=2)
    samples = read_manifest(path)
    (path.parent / "pairs-0001.png").replace(path.parent / "pairs-0000.png")
    with pytest.raises(SchemaError, match="'pairs-0000.png' of 'pairs-0000-true' has pixels"):
        check_pixels(samples, path.parent)


def test_pixels_are_the_recorded_ones_on_every_machine():
    item = SceneObject("red", "circle", 101, 77, 90)
    other = SceneObject("blue", "triangle", 300, 400, 76)
    picture = render_scene(Scene((item, other), "left", (232, 238, 246)))
    assert pixel_sha256(picture) == RECORDED


RECORDED = "033e97c186855aef32256a6cdb537d392fdd2990afbdc5b516862fbdfe48ebff"
