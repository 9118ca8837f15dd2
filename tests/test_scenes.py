"""The procedural world: words, priors, the geometry of each relation, and its pixels."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.contexts import pixel_sha256
from vca_core.scenes import Scene, SceneObject, draw_scene, prior_table, render_scene
from vca_core.scenes.placing import BORDER, GAP
from vca_core.scenes.world import (
    CANVAS,
    COLORS,
    CONTACTS,
    FALSE,
    INVERSE,
    NAMES,
    PHRASES,
    PLACES,
    RELATIONS,
    SHAPES,
    WORDINGS,
    draw_pair,
    draw_relation,
    evidence_note,
    generate_priors,
    presence_question,
    question_of,
    statement_of,
)

SHOWN = (*PLACES, *CONTACTS)
"""All that a scene may show: the nine families and `supports`."""


def edges(item):
    x, y, width, height = item.box
    return x, y, x + width, y + height


def clear(a, b):
    """Whether a gap lies between two boxes."""
    a, b = edges(a), edges(b)
    return max(b[0] - a[2], a[0] - b[2], b[1] - a[3], a[1] - b[3]) >= GAP


def true_of(scene):
    """Slow definition: the relations that hold between the first two, from boxes and order."""
    a, b = scene.objects[:2]
    (left, top, right, bottom), (l2, t2, r2, b2) = edges(a), edges(b)
    across, down = abs(a.x - b.x), abs(a.y - b.y)
    later = scene.drawn.index(a) > scene.drawn.index(b)
    within = l2 < left and t2 < top and right < r2 and bottom < b2
    around = left < l2 and top < t2 and r2 < right and b2 < bottom
    covers = left < r2 and l2 < right and top < b2 and t2 < bottom and not (within or around)
    meets = left < r2 and l2 < right
    facts = {
        "left": l2 - right >= GAP and down <= 0.4 * across,
        "right": left - r2 >= GAP and down <= 0.4 * across,
        "above": t2 - bottom >= GAP and across <= 0.4 * down,
        "below": top - b2 >= GAP and across <= 0.4 * down,
        "front": covers and later,
        "behind": covers and not later,
        "on": bottom == t2 and meets,
        "supports": top == b2 and meets,
        "in": within and later,
        "contains": around and not later,
    }
    return {relation for relation, holds in facts.items() if holds}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SHOWN), st.permutations(NAMES))
def test_draw_scene_shows_its_relation_and_no_other(seed, relation, names):
    scene = draw_scene(np.random.default_rng(seed), names[0], names[1], relation)
    assert scene.relation == relation and true_of(scene) == {relation}
    # Neither what is said falsely of it, nor its inverse, is true.
    assert not {*FALSE[relation], INVERSE[relation]} & true_of(scene)
    assert [o.name for o in scene.objects[:2]] == names[:2]
    assert len({o.name for o in scene.objects}) == len(scene.objects)
    for number, item in enumerate(scene.objects):
        assert item.size % 2 == 0 and min(edges(item)) >= BORDER
        assert max(edges(item)) <= CANVAS - BORDER
        if number >= 2:
            assert all(clear(item, other) for other in scene.objects[:number])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(CONTACTS), st.permutations(NAMES))
def test_draw_scene_contacts_have_their_measures(seed, relation, names):
    scene = draw_scene(np.random.default_rng(seed), names[0], names[1], relation)
    first, second = scene.objects[:2]
    if relation in ("supports", "contains"):
        first, second = second, first
    offsets = sorted((abs(first.x - second.x), abs(first.y - second.y)))
    mean = (first.size + second.size) / 2
    if relation in ("front", "behind"):
        overlap = mean - offsets[1]
        assert 0.35 * mean - 1 <= overlap <= 0.5 * mean + 1  # whole pixels
        assert offsets[0] <= max(first.size, second.size) / 6
    elif relation in ("on", "supports"):
        assert abs(first.x - second.x) <= second.size / 8
        assert second.y - first.y == mean
    else:
        assert first.size <= 0.3 * second.size and first.x == second.x


def ink(*items, relation="left", background=(1, 2, 3)):
    """Pixels of a picture with these objects alone, and where they aren't the background's."""
    pixels = np.asarray(render_scene(Scene(items, relation, background)))
    return pixels, (pixels != np.uint8(background)).any(axis=2)


@pytest.mark.parametrize("outer", SHAPES)
def test_render_scene_keeps_the_inner_object_inside_the_shape(rng, outer):
    for inner, relation in zip(SHAPES, ("in", "contains") * 2, strict=True):
        names = {"in": (inner, outer), "contains": (outer, inner)}[relation]
        scene = draw_scene(rng, f"red {names[0]}", f"blue {names[1]}", relation)
        small, large = sorted(scene.objects[:2], key=lambda item: item.size)
        pixels, container = ink(large)
        solid = (pixels == np.uint8(COLORS[large.color])).all(axis=2)
        _, nested = ink(small)
        assert small.shape == inner and solid[nested].all()
        both = np.asarray(render_scene(scene))
        alone, _ = ink(small, background=COLORS[large.color])
        assert (both[nested] == alone[nested]).all()  # seen whole, nothing over it
        assert container.sum() > 4 * nested.sum()


@pytest.mark.parametrize("other", SHAPES)
def test_render_scene_draws_the_front_object_on_top(rng, other):
    for shape, relation in zip(SHAPES, ("front", "behind") * 2, strict=True):
        scene = draw_scene(rng, f"red {shape}", f"blue {other}", relation)
        front, back = scene.objects[:2] if relation == "front" else scene.objects[1::-1]
        solid = [(ink(o)[0] == np.uint8(COLORS[o.color])).all(axis=2) for o in (front, back)]
        shared = solid[0] & solid[1]
        assert shared.sum() >= 50, "the shapes themselves must overlap, not their boxes alone"
        pixels = np.asarray(render_scene(scene))
        assert (pixels[solid[0]] == COLORS[front.color]).all()
        seen = (pixels[solid[1]] == COLORS[back.color]).all(axis=1).mean()
        assert 0.25 < seen < 1


@pytest.mark.parametrize("shape", SHAPES)
def test_render_scene_draws_each_shape_in_its_box_and_colour(shape):
    item = SceneObject("green", shape, 200, 300, 100)
    pixels, inked = ink(item)
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    x, y, w, h = item.box
    assert abs(columns[0] - x) <= 1 and abs(columns[-1] - (x + w - 1)) <= 1
    assert abs(rows[0] - y) <= 1 and abs(rows[-1] - (y + h - 1)) <= 1
    assert tuple(pixels[300, 200]) == COLORS["green"]
    share = {"circle": np.pi / 4, "square": 1, "triangle": 0.5, "cross": 5 / 9}[shape]
    assert inked.sum() / 100**2 == pytest.approx(share, abs=0.03)


def test_pixels_are_the_recorded_ones_on_every_machine():
    item = SceneObject("red", "circle", 101, 77, 90)
    other = SceneObject("blue", "triangle", 300, 400, 76)
    picture = render_scene(Scene((item, other), "left", (232, 238, 246)))
    assert pixel_sha256(picture) == RECORDED


RECORDED = "033e97c186855aef32256a6cdb537d392fdd2990afbdc5b516862fbdfe48ebff"


def test_inverse_is_an_involution_without_a_fixed_point():
    assert set(INVERSE) == set(SHOWN) and len(SHOWN) == 10
    for relation, inverse in INVERSE.items():
        assert inverse != relation and INVERSE[inverse] == relation
    assert set(RELATIONS) == set(SHOWN) - {"supports"} == set(PHRASES)
    # What may be said falsely is one of the nine askable families, never what is shown.
    assert set(FALSE) == set(SHOWN)
    assert all(shown not in said and set(said) <= set(RELATIONS) for shown, said in FALSE.items())


def test_words_of_a_relation():
    words = "red circle", "left", "blue square"
    asked = [question_of(*words, number) for number in range(len(WORDINGS))]
    assert asked == [
        "Is the red circle to the left of the blue square?",
        "Is the red circle left of the blue square?",
        "Is the red circle at the left side of the blue square?",
    ]
    assert statement_of(*words) == "The red circle is to the left of the blue square."
    assert statement_of("red circle", "in", "blue square", 1) == (
        "The red circle is inside the blue square."
    )
    verb = "red circle", "contains", "blue square"
    assert question_of(*verb) == "Does the red circle contain the blue square?"
    assert statement_of(*verb, 2) == "The red circle encloses the blue square."
    assert evidence_note("red circle", "blue square", "left") == (
        "Note: the red circle is to the left of the blue square."
    )
    assert evidence_note("red circle", "blue square", None) == (
        "Note: there is a red circle and a blue square."
    )
    assert presence_question("red circle") == "Is there a red circle in the picture?"
    phrases = [phrase for wordings in PHRASES.values() for phrase in wordings]
    assert len(phrases) == len(set(phrases)) == 27


def test_prior_table_is_generated_from_its_seed_and_inverts_with_the_order():
    table = prior_table()
    rows = generate_priors()
    assert len(rows) == 276 and len(table) == 24 * 23
    for row in rows:
        subject, object_ = row.pop("subject"), row.pop("object")
        prior = table[subject, object_]
        assert prior._asdict() == row and 75 <= prior.percent <= 85
        assert table[object_, subject] == prior._replace(
            place=INVERSE[prior.place], contact=INVERSE[prior.contact]
        )
    held = np.mean([row["held_out"] for row in rows])
    assert abs(held - 0.1) < 4 * np.sqrt(0.1 * 0.9 / len(rows))


def test_generate_priors_follow_two_colours_or_within_a_colour_two_shapes():
    rules = {}
    for row in generate_priors():
        colors, shapes = zip(row["subject"].split(), row["object"].split(), strict=True)
        rule = shapes if colors[0] == colors[1] else colors
        rules.setdefault(rule, set()).add((row["place"], row["contact"]))
    assert len(rules) == 15 + 6 and all(len(frequent) == 1 for frequent in rules.values())


@pytest.mark.parametrize("among", [PLACES, CONTACTS])
def test_draw_relation_follows_the_prior_share(rng, among):
    prior = prior_table()["red circle", "blue square"]
    drawn = Counter(draw_relation(rng, "red circle", "blue square", among) for _ in range(4000))
    frequent = prior.place if among == PLACES else prior.contact
    share = prior.percent / 100
    # Four standard errors of a binomial share.
    assert abs(drawn[frequent] / 4000 - share) < 4 * np.sqrt(share * (1 - share) / 4000)
    rest = (1 - share) / (len(among) - 1)
    for relation in set(among) - {frequent}:
        assert abs(drawn[relation] / 4000 - rest) < 4 * np.sqrt(rest * (1 - rest) / 4000)


def test_draw_pair_can_be_held_out_or_not_and_of_two_colours(rng):
    table = prior_table()
    assert all(table[draw_pair(rng, True)].held_out for _ in range(50))
    assert not any(table[draw_pair(rng, False)].held_out for _ in range(50))
    pairs = [draw_pair(rng, same_color=False) for _ in range(200)]
    assert all(a.split()[0] != b.split()[0] for a, b in pairs)
    assert any(a.split()[0] == b.split()[0] for a, b in (draw_pair(rng) for _ in range(200)))
