"""The factorial and its neutral pictures: cells, geometry, words, pixels, and their checks."""

from collections import Counter

import numpy as np
import pytest

from vca_core.probes import build_probes
from vca_core.records import SchemaError, read_manifest
from vca_core.scenes import build_scenes, check_factorial, check_neutral, render_scene
from vca_core.scenes.factorial import (
    FACTORIAL_SEED,
    STATES,
    draw_factorial,
    draw_neutral,
    factorial_scenes,
)
from vca_core.scenes.placing import GAP
from vca_core.scenes.world import INVERSE, PLACES, evidence_note, question_of, statement_of

PRIMARY = ("original", "text_only", "blank")


@pytest.fixture(scope="module")
def groups():
    """Scenes of each stem by visual state."""
    return {stem: (relation, scenes) for stem, relation, scenes in factorial_scenes()}


@pytest.fixture(scope="module")
def samples():
    return [s for item in draw_factorial() for s in item.samples]


@pytest.fixture(scope="module")
def neutral():
    return [s for item in draw_neutral() for s in item.samples]


def test_factorial_has_nine_cells_in_200_groups_and_balanced_directions(samples):
    assert FACTORIAL_SEED == 20260724
    cells = Counter((s.stem_id, s.visual_state, s.text_state) for s in samples)
    assert len(samples) == len(cells) == 1800 and len({s.stem_id for s in samples}) == 200
    assert {cell[1:] for cell in cells} == {(v, t) for v in STATES for t in STATES}
    directions = Counter({s.stem_id: s.relation for s in samples}.values())
    assert directions == dict.fromkeys(PLACES, 50)
    pairs = Counter(frozenset((s.subject, s.object)) for s in samples)
    assert len(pairs) == 50 and set(pairs.values()) == {36}
    check_factorial(samples)


def test_factorial_text_does_not_change_with_the_picture_nor_the_picture_with_the_text(samples):
    texts, images = {}, {}
    for s in samples:
        text = (s.question.encode(), s.statement.encode(), s.note.encode())
        assert texts.setdefault((s.stem_id, s.text_state), text) == text
        assert images.setdefault((s.stem_id, s.visual_state), s.image) == s.image
    assert len(set(texts.values())) == len(texts) == 600
    assert len(set(images.values())) == len(images) == 600


def test_factorial_says_what_it_should(samples):
    for s in samples:
        assert s.question == question_of(s.subject, s.relation, s.object)
        assert s.statement == statement_of(s.subject, s.relation, s.object)
        stated = {"supports": s.relation, "opposes": INVERSE[s.relation], "absent": None}
        assert s.note == evidence_note(s.subject, s.object, stated[s.text_state])
        assert s.label == ("yes" if s.visual_state == "supports" else "no")


def middle(item, relation):
    """Centre on the queried axis and on the other, from the box."""
    x, y, width, height = item.box
    center = (x + width / 2, y + height / 2)
    return center if relation in ("left", "right") else center[::-1]


def test_factorial_geometry_of_each_visual_state(groups):
    sign = {"left": 1, "right": -1, "above": 1, "below": -1}
    for relation, scenes in groups.values():
        at = {
            state: [middle(item, relation) for item in scene.objects]
            for state, scene in scenes.items()
        }
        sizes = {
            state: [(o.name, o.size) for o in scene.objects] for state, scene in scenes.items()
        }
        assert all(named == sizes["supports"] for named in sizes.values())
        (a, across_a), (b, across_b) = at["supports"]
        half = sum(item.size for item in scenes["supports"].objects) / 2
        # The queried relation holds with its margin, and the other axis is clearly smaller.
        assert sign[relation] * (b - a) >= half + GAP
        assert half + GAP <= abs(across_b - across_a) <= 0.4 * abs(b - a)
        assert at["opposes"] == [(b, across_a), (a, across_b)]
        assert at["neutral"] == [((a + b) // 2, across_a), ((a + b) // 2, across_b)]
        absent = at["absent"]
        assert absent[0][0] == absent[1][0] and abs(absent[0][1] - absent[1][1]) >= half + GAP
        assert at["absent"] != at["neutral"]
        assert len({scene.background for scene in scenes.values()}) == 1
        for scene in scenes.values():
            for x, y, width, height in (item.box for item in scene.objects):
                assert min(x, y) >= 4 and max(x + width, y + height) <= 508


def test_factorial_pictures_of_a_stem_hold_the_same_colours_equally_often(groups):
    # Objects that are whole, equal and apart on the same background give equal counts of colours.
    for stem in ("stem-00-left", "stem-21-above"):
        pictures = {state: render_scene(scene) for state, scene in groups[stem][1].items()}
        counts = [sorted(picture.getcolors(1 << 18)) for picture in pictures.values()]
        assert all(count == counts[0] for count in counts)
        assert len({picture.tobytes() for picture in pictures.values()}) == 4


def shown(probe):
    """Tell what a probe shows and asks; scenes have one size, so all blanks are one."""
    image = probe.image if probe.context == "original" else probe.context
    return image, probe.text


def test_factorial_has_3000_probes_after_deduplication_and_neutral_400_more(samples, neutral):
    inputs = {shown(p) for p in build_probes(samples, PRIMARY, "yes_no")}
    assert len(samples) * 3 == 5400 and len(inputs) == 3000
    more = {shown(p) for p in build_probes(neutral, PRIMARY, "yes_no")}
    assert len(more - inputs) == 400 and {image for image, _ in more & inputs} == {
        "text_only",
        "blank",
    }


@pytest.mark.live
def test_factorial_scores_15_probes_a_stem(tmp_path, toy):
    from vca_core.identity import identify

    ids = {}
    for name, limit in (("factorial", 6), ("neutral", 2)):
        path = build_scenes(name, tmp_path, limit=limit)
        probes = build_probes(read_manifest(path), PRIMARY, "yes_no")
        for probe, named in zip(probes, identify(probes, toy, path.parent, "", 0), strict=True):
            ids.setdefault((name, probe.sample.stem_id), set()).add(named.probe_id)
    stems = ["stem-00-left", "stem-00-right"]
    assert [len(ids["factorial", stem]) for stem in stems] == [15, 15]
    assert len(set.union(*(ids["factorial", stem] for stem in stems))) == 30
    # The neutral pictures' text-only and blank controls are the factorial's.
    for stem in stems:
        assert len(ids["neutral", stem]) == 6
        assert len(ids["neutral", stem] - ids["factorial", stem]) == 2


def change(samples, number, **fields):
    """Change one sample of a list."""
    changed = samples[number].model_copy(update=fields)
    return [*samples[:number], changed, *samples[number + 1 :]]


# Samples 9 to 17 are the nine cells of stem-00-right, "supports" first, three notes a picture.
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda s: s[:9] + s[10:],
            r"must have 9 cells, got 8 and not \[\('supports', 'supports'\)",
        ),
        (lambda s: [*s, s[10]], r"'stem-00-right' has its cell \('supports', 'opposes'\) twice"),
        (lambda s: change(s, 9, visual_state=None), "must have 9 cells, got 9 and not"),
        (lambda s: change(s, 9, stem_id=None), r"Stem None must have 9 cells, got 1 and"),
        (
            lambda s: s[9:],
            r"equally often, got \{'right': 50, 'above': 50, 'below': 50, 'left': 49",
        ),
        (lambda s: [x for x in s if x.relation != "left"], "equally often, got"),
        (lambda s: change(s, 9, note="Note: "), r"one note .* got \[2, 1, 1\], 4 in all"),
        (lambda s: change(s, 9, image="x.png"), r"one picture .* got \[2, 1, 1\], 4 in all"),
        (lambda s: change(s, 9, image_sha256="0"), r"one picture .* got \[2, 1, 1\], 4 in all"),
        (lambda s: change(s, 9, question="Is it?"), "'stem-00-right' must ask one question, got 2"),
        (lambda s: change(s, 9, statement="It is."), "must ask one question, got 2"),
        (lambda s: change(s, 9, relation="left"), "must ask one question, got 2"),
        (lambda s: change(s, 9, label="no"), "the label is what the picture shows, got 'no'"),
        (lambda s: change(s, 12, label="yes"), "the label is what the picture shows, got 'yes'"),
        (
            lambda s: [x.model_copy(update={"note": "Note."}) for x in s],
            r"one note .* got \[1, 1, 1\], 1 in all",
        ),
        (
            lambda s: [x.model_copy(update={"image": f"{x.stem_id}.png"}) for x in s],
            r"one picture .* got \[1, 1, 1\], 1 in all",
        ),
        (lambda s: [], "equally often"),
    ],
)
def test_check_factorial_refuses_a_broken_structure(samples, broken, message):
    with pytest.raises(SchemaError, match=message):
        check_factorial(broken(samples))


def test_neutral_is_each_stem_with_both_speaking_notes(neutral, samples):
    assert len(neutral) == 400 and len({s.image for s in neutral}) == 200
    assert Counter(s.text_state for s in neutral) == {"supports": 200, "opposes": 200}
    assert {(s.visual_state, s.label) for s in neutral} == {("absent", "no")}
    check_neutral(neutral, samples)


def moved(box, right=0.0, down=0.0, wider=0.0):
    x, y, width, height = box
    return x + right, y + down, width + wider, height


# Sample 0 is stem-00-left: its queried axis is x.
@pytest.mark.parametrize(
    "fields",
    [
        lambda s: {"subject_box": moved(s.subject_box, right=1)},
        lambda s: {"subject_box": moved(s.subject_box, down=1)},
        lambda s: {"object_box": moved(s.object_box, right=-1)},
        lambda s: {"object_box": moved(s.object_box, right=-1, wider=2)},
        lambda s: {  # aligned, but not midway
            "subject_box": moved(s.subject_box, right=5),
            "object_box": moved(s.object_box, right=5),
        },
        lambda s: {"note": "Note: nothing."},
        lambda s: {"question": "Is it?"},
        lambda s: {"statement": "It is."},
        lambda s: {"relation": "right"},
        lambda s: {"subject": "red dog"},
        lambda s: {"object": "red dog"},
        lambda s: {"label": "yes"},
    ],
)
def test_check_neutral_refuses_each_difference(neutral, samples, fields):
    sample = neutral[0]
    with pytest.raises(SchemaError, match="'stem-00-left-neutral-supports' must equal"):
        check_neutral(change(neutral, 0, **fields(sample)), samples)


def test_check_neutral_wants_each_stem_with_both_notes_once(neutral, samples):
    with pytest.raises(SchemaError, match="got 0 for stem 'stem-00-left' with the note 'supports'"):
        check_neutral(neutral[1:], samples)
    with pytest.raises(SchemaError, match="got 2 for stem 'stem-00-left' with the note 'opposes'"):
        check_neutral([*neutral, neutral[1]], samples)
    with pytest.raises(SchemaError, match="got 1 for stem 'stem-99' with the note 'supports'"):
        check_neutral(change(neutral, 0, stem_id="stem-99"), samples[9:])
    with pytest.raises(SchemaError, match="got 1 for stem 'stem-00-left' with the note 'absent'"):
        check_neutral([neutral[0].model_copy(update={"text_state": "absent"}), *neutral], samples)


def test_neutral_boxes_are_integers_of_the_factorial(neutral, samples):
    boxes = {s.stem_id: (s.subject_box, s.object_box) for s in samples if s.label == "yes"}
    for s in neutral:
        new, old = np.array([s.subject_box, s.object_box]), np.array(boxes[s.stem_id])
        assert (new == new.round()).all() and (new[:, 2:] == old[:, 2:]).all()
