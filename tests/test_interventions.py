"""Erasures and swaps: areas, what they leave alone, the swap's rule, its pixels and its check."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from vca_core.interventions import (
    SWAP_REASONS,
    ImageError,
    check_swap,
    erase_irrelevant,
    erase_relation,
    erasure_geometry,
    erasure_summary,
    swap_feasible,
    swap_objects,
)
from vca_core.interventions.boxes import mean_color
from vca_core.scenes import Scene, SceneObject, render_scene

A, B = (100.0, 100.0, 50.0, 60.0), (300.0, 200.0, 40.0, 40.0)


def noise(width, height, seed=3):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@st.composite
def views(draw, whole=False):
    """Draw an image size and two boxes that lie in the image, or at least reach into it."""
    width, height = draw(st.integers(5, 300)), draw(st.integers(5, 300))
    boxes = []
    for _ in range(2):
        kind = st.integers if whole else (lambda a, b: st.floats(a, b, allow_subnormal=False))
        x, y = draw(kind(0, width - 2)), draw(kind(0, height - 2))
        boxes.append(tuple(map(float, (x, y, draw(kind(1, width)), draw(kind(1, height))))))
    return (width, height), *boxes


def padded_mask(size, boxes, padding):
    """Pixels of the padded rectangle around both boxes, one by one."""
    left, top = (min(math.floor(b[i]) for b in boxes) - padding for i in (0, 1))
    right, bottom = (max(math.ceil(b[i] + b[i + 2]) for b in boxes) + padding for i in (0, 1))
    return np.array(
        [[left <= x < right and top <= y < bottom for x in range(size[0])] for y in range(size[1])]
    )


def test_erasure_geometry_closed_form():
    got = erasure_geometry((512, 512), A, B)
    union = (344 - 96) * (244 - 96)
    assert got.relation_share == union / 512**2
    # Ten tiles of 64 x 64 are the fewest that cover the union's 36,704 pixels after nine do not.
    assert got.irrelevant_share == math.ceil(union / 64**2) * 64**2 / 512**2
    assert got.zero_overlap


def test_erasure_geometry_without_a_free_tile_is_no_zero_overlap():
    size, whole = (100, 80), (5.0, 5.0, 90.0, 70.0)
    assert erasure_geometry(size, whole, whole) == (98 * 78 / 8000, 0.0, False)
    picture = noise(*size)
    assert (np.asarray(erase_irrelevant(picture, whole, whole)) == np.asarray(picture)).all()


def test_erase_relation_fills_the_padded_union_with_the_mean_colour():
    picture = noise(512, 512)
    got, source = np.asarray(erase_relation(picture, A, B)), np.asarray(picture)
    mean = np.rint(source.astype(float).mean((0, 1)))
    assert (got[96:244, 96:344] == mean).all()
    changed = (got != source).any(-1)
    changed[96:244, 96:344] = False
    assert not changed.any()


def test_erase_irrelevant_takes_the_most_distant_tile_first():
    picture = Image.new("RGB", (80, 160), "white")
    picture.paste((0, 0, 0), (0, 0, 12, 12))
    small = (0.0, 0.0, 6.0, 6.0)  # its padded 10 x 10 pixels are less than one tile of 10 x 20
    changed = (np.asarray(erase_irrelevant(picture, small, small)) != np.asarray(picture)).any(-1)
    assert changed[140:, 70:].all() and changed.sum() == 200


@settings(max_examples=40, deadline=None)
@given(views())
def test_erasures_leave_the_protected_pixels_bit_identical(view):
    size, *boxes = view
    picture = noise(*size)
    source, filled = np.asarray(picture), mean_color(picture)
    near, protected = padded_mask(size, boxes, 4), padded_mask(size, boxes, 16)
    relation = np.asarray(erase_relation(picture, *boxes))
    irrelevant = np.asarray(erase_irrelevant(picture, *boxes))
    assert (relation[~near] == source[~near]).all() and (relation[near] == filled).all()
    assert (irrelevant[protected] == source[protected]).all()
    erased = (irrelevant == filled).all(-1) & ~protected
    geometry = erasure_geometry(size, *boxes)
    assert geometry.relation_share == pytest.approx(near.mean())
    # A pixel of the noise may have the mean colour already.
    assert geometry.irrelevant_share <= erased.mean() + 1e-12
    assert (irrelevant[~erased] == source[~erased]).all()
    assert geometry.zero_overlap == (geometry.irrelevant_share > 0)


def test_erasure_summary_counts_a_view_once_and_passes_over_other_contexts():
    whole, size = (5.0, 5.0, 90.0, 70.0), (100, 80)
    rows = [("irrelevant_erased", "a", (512, 512), A, B)] * 2
    rows += [("irrelevant_erased", "b", size, whole, whole)]
    rows += [("relation_erased", "b", size, whole, whole), ("blank", "b", size, None, None)]
    got = erasure_summary(rows)
    share = erasure_geometry((512, 512), A, B).irrelevant_share
    assert got == {
        "irrelevant_erased": {
            "n": 2,
            "mean_share": share / 2,
            "min_share": 0.0,
            "max_share": share,
            "zero_overlap_rate": 0.5,
        },
        "relation_erased": {
            "n": 1,
            "mean_share": 0.9555,
            "min_share": 0.9555,
            "max_share": 0.9555,
        },
    }
    assert erasure_summary([]) == {}


@pytest.mark.parametrize("box", [(512.0, 0.0, 5.0, 5.0), (0.0, -9.0, 5.0, 9.0)])
def test_interventions_refuse_a_box_outside_the_image(box):
    picture = Image.new("RGB", (512, 512))
    for act in (erase_relation, erase_irrelevant, swap_objects):
        with pytest.raises(ImageError, match="must lie in the image, which is 512 x 512 pixels"):
            act(picture, A, box)


def test_swap_feasible_closed_form():
    got = swap_feasible(A, B, (512, 512))
    assert (got.feasible, got.reason, got.new_iou) == (True, "", 0.0)
    # Centers (125, 130) and (320, 220): 195 pixels to the right, 90 down.
    assert got.new_subject_box == (295.0, 190.0, 50.0, 60.0)
    assert got.new_object_box == (105.0, 110.0, 40.0, 40.0)
    assert got.center_gap == 195 / 512
    assert got.destination_slack == 101 / 512


@pytest.mark.parametrize(
    ("subject", "other", "thirds", "reason"),
    [
        ((4, 4, 20, 20), (300, 4, 22, 20), (), "out_of_bounds"),  # 14 - 22 / 2 - 4 < 0
        ((4, 4, 20, 20), (300, 4, 20, 20), (), ""),
        ((100, 100, 10, 10), (100, 125, 10, 10), (), "small_center_gap"),  # 25 < 25.6
        ((100, 100, 10, 10), (100, 126, 10, 10), (), ""),
        ((100, 100, 60, 60), (140, 100, 60, 60), (), ""),  # IoU 20 * 60 / (100 * 60) = 0.2
        ((100, 100, 60, 60), (139, 100, 60, 60), (), "new_box_overlap"),
        ((100, 100, 10, 10), (200, 100, 10, 10), ((214, 100, 5, 5),), ""),
        ((100, 100, 10, 10), (200, 100, 10, 10), ((213, 100, 5, 5),), "other_object"),
    ],
)
def test_swap_feasible_at_the_edge_of_each_rule(subject, other, thirds, reason):
    got = swap_feasible(subject, other, (512, 512), thirds)
    assert (got.feasible, got.reason) == (not reason, reason)


def pixel_iou(a, b):
    """Slow definition for whole boxes."""
    sets = [
        {(x, y) for x in range(int(k[2])) for y in range(int(k[3]))}
        for k in ((0, 0, a[2], a[3]), (0, 0, b[2], b[3]))
    ]
    moved = {(x + b[0] - a[0], y + b[1] - a[1]) for x, y in sets[1]}
    return len(sets[0] & moved) / len(sets[0] | moved)


@settings(max_examples=40, deadline=None)
@given(views(whole=True))
def test_swap_feasible_iou_is_that_of_the_pixels(view):
    size, subject, other = view
    got = swap_feasible(subject, other, size)
    assert got.new_iou == pytest.approx(pixel_iou(got.new_subject_box, got.new_object_box))


@settings(max_examples=200, deadline=None)
@given(views())
def test_swap_feasible_keeps_sizes_exchanges_centers_and_undoes_itself(view):
    size, *old = view
    got = swap_feasible(old[0], old[1], size)
    assert got.feasible == (got.reason == "") and got.reason in ("", *SWAP_REASONS)
    new = [got.new_subject_box, got.new_object_box]
    for box, was, goal in zip(new, old, old[::-1], strict=True):
        assert box[2:] == was[2:]
        for i in (0, 1):
            assert abs(box[i] + box[i + 2] / 2 - goal[i] - goal[i + 2] / 2) <= 0.5 + 1e-9
    if got.feasible:
        for box in new:
            assert all(4 <= box[i] and box[i] + box[i + 2] + 4 <= size[i] + 1e-9 for i in (0, 1))
        back = swap_feasible(*new, size)
        twice = back.new_subject_box, back.new_object_box
        assert np.allclose(twice, old, rtol=0, atol=1e-9)


def scene(*objects, background=(246, 244, 238)):
    return render_scene(Scene(tuple(objects), "left", background))


RED, BLUE = SceneObject("red", "cross", 100, 200, 90), SceneObject("blue", "circle", 340, 230, 120)


@pytest.fixture
def edit():
    source = scene(RED, BLUE)
    return source, swap_objects(source, RED.box, BLUE.box)


def test_swap_objects_equals_its_slow_definition():
    import cv2

    picture = noise(90, 60)
    subject, other = (10.0, 12.0, 14.0, 10.5), (50.0, 20.0, 11.0, 13.0)
    geometry = swap_feasible(subject, other, picture.size)
    assert geometry.feasible
    source = np.asarray(picture)
    holes = [(6, 8, 28, 27), (46, 16, 65, 37)]
    mask = np.zeros((60, 90), np.uint8)
    for left, top, right, bottom in holes:
        mask[top:bottom, left:right] = 1
    expected = cv2.inpaint(source, mask, 3, cv2.INPAINT_TELEA).astype(int)
    across, down = (int(geometry.new_subject_box[i] - subject[i]) for i in (0, 1))
    for (left, top, right, bottom), sign in ((holes[1], -1), (holes[0], 1)):
        for y in range(top, bottom):
            for x in range(left, right):
                edge = min(x - left, right - 1 - x, y - top, bottom - 1 - y)
                weight = min(edge + 1, 4) / 4
                place = y + sign * down, x + sign * across
                blend = weight * source[y, x] + (1 - weight) * expected[place]
                expected[place] = np.floor(blend + 0.5)
    assert (np.asarray(swap_objects(picture, subject, other)) == expected).all()


def test_swap_objects_moves_whole_objects_and_touches_nothing_else(edit):
    source, edited = map(np.asarray, edit)
    moved = swap_feasible(RED.box, BLUE.box, (512, 512))
    for item, box in ((RED, moved.new_subject_box), (BLUE, moved.new_object_box)):
        x, y, size, _ = item.box
        left, top = int(box[0]), int(box[1])
        before, after = source[y : y + size, x : x + size], edited[top:, left:][:size, :size]
        assert (after == before).all()
    assert (edited[:, 420:] == source[:, 420:]).all() and (edited[:136] == source[:136]).all()


def test_swap_objects_gives_the_same_bytes_with_any_number_of_threads(edit):
    import cv2

    source, edited = edit
    threads = cv2.getNumThreads()
    try:
        for number in (1, 4):
            cv2.setNumThreads(number)
            assert swap_objects(source, RED.box, BLUE.box).tobytes() == edited.tobytes()
    finally:
        cv2.setNumThreads(threads)


def test_swap_objects_takes_a_box_that_the_image_cuts_off():
    picture = noise(200, 100)
    edited = swap_objects(picture, (-4.0, 40.0, 20.0, 20.0), (120.0, 45.0, 4.0, 10.0))
    assert edited.size == picture.size
    # The object stands where the subject's centre was, at x = 6: too near the edge if any larger.
    with pytest.raises(ImageError, match="cannot be swapped: out_of_bounds"):
        swap_objects(picture, (-4.0, 40.0, 20.0, 20.0), (120.0, 45.0, 6.0, 10.0))


def test_check_swap_accepts_what_swap_objects_makes(edit):
    got = check_swap(*edit, RED.box, BLUE.box)
    assert got.accepted and got == (True,) * 5


def test_check_swap_refuses_an_unedited_picture(edit):
    got = check_swap(edit[0], edit[0], RED.box, BLUE.box)
    assert got == (False, False, False, False, True) and not got.accepted


@pytest.mark.parametrize(
    ("spot", "color", "broken"),
    [
        ((330, 220, 350, 240), (246, 244, 238), "subject_found"),
        ((90, 190, 110, 215), (246, 244, 238), None),  # 500 of the circle's 11,300 pixels
        ((80, 180, 120, 220), (246, 244, 238), "object_found"),
        ((395, 280, 400, 285), (44, 150, 60), "old_places_clear"),
        ((500, 500, 501, 501), (245, 244, 238), "rest_unchanged"),
    ],
)
def test_check_swap_finds_each_fault_alone(edit, spot, color, broken):
    source, edited = edit
    edited.paste(color, spot)
    failed = [
        k for k, ok in check_swap(source, edited, RED.box, BLUE.box)._asdict().items() if not ok
    ]
    assert failed == ([broken] if broken else [])


def test_check_swap_does_not_find_an_object_that_is_not_there(edit):
    _, edited = edit
    got = check_swap(scene(RED), edited, RED.box, BLUE.box)
    assert not got.object_found and not got.order_reversed and not got.accepted
    with pytest.raises(ImageError, match="only a feasible swap"):
        check_swap(edited, edited, RED.box, RED.box)
    with pytest.raises(ImageError, match="of the same size"):
        check_swap(edited, edited.resize((99, 99)), RED.box, BLUE.box)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_swap_of_a_feasible_scene_passes_its_check(data):

    def item(color, shape):
        size = data.draw(st.integers(36, 80)) * 2
        x, y = (data.draw(st.integers(size // 2 + 4, 508 - size // 2)) for _ in range(2))
        return SceneObject(color, shape, x, y, size)

    subject, other = item("red", "square"), item("green", "cross")
    assume(max(abs(subject.x - other.x), abs(subject.y - other.y)) > 0)
    assume(swap_feasible(subject.box, other.box, (512, 512)).new_iou == 0)
    assume(swap_feasible(subject.box, other.box, (512, 512)).feasible)
    source = scene(subject, other)
    got = check_swap(source, swap_objects(source, subject.box, other.box), subject.box, other.box)
    # Telea inpainting may tint a large hole at the canvas' edge; the rest must always hold.
    assert got._replace(old_places_clear=True).accepted
