"""The data set `edits`: feasibility, six probes each, pictures, and the table of geometry."""

import csv
import re
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vca_core.contexts import pixel_sha256
from vca_core.interventions import SWAP_REASONS, check_swap
from vca_core.records import SchemaError, read_manifest
from vca_core.scenes import build_scenes, edits, render_scene
from vca_core.scenes.compare import check_table
from vca_core.scenes.natural import draw_pairs
from vca_core.scenes.world import CANVAS, COLORS, INVERSE, question_of, statement_of

SHIPPED = Path(__file__).resolve().parents[1] / "cached_scores" / "edits" / "geometry.csv"
ROLES = {
    "source_queried": "yes",
    "source_inverse": "no",
    "edited_queried": "no",
    "edited_inverse": "yes",
    "subject_present": "yes",
    "object_present": "yes",
}


@pytest.fixture(scope="module")
def candidates():
    return list(edits.edit_candidates())


@pytest.fixture(scope="module")
def groups():
    """Pair the items of each edit: before, after."""
    items = list(edits.draw_edits())
    assert len(items) % 2 == 0
    return list(zip(items[::2], items[1::2], strict=True))


@pytest.fixture
def few(monkeypatch):
    """Let the first 8 pairs be all there are."""
    every = edits.edit_candidates
    monkeypatch.setattr(edits, "edit_candidates", lambda *seeds: islice(every(*seeds), 8))


def test_edit_candidates_are_the_440_pairs_each_feasible_or_with_a_reason(candidates):
    scenes = [item.picture.args[0] for item in draw_pairs()]
    assert [c.scene for c in candidates] == scenes and len(scenes) == 440
    assert [c.pair_id for c in candidates] == [f"pairs-{n:04d}" for n in range(440)]
    assert [c.edit_id for c in candidates] == [f"edit-{n:04d}" for n in range(440)]
    for c in candidates:
        assert c.swap.feasible == (c.swap.reason == "")
        assert c.swap.reason in ("", *SWAP_REASONS)
    share = np.mean([c.swap.feasible for c in candidates])
    assert 0.2 <= share <= 0.6


def test_edit_candidates_follow_the_rule_box_by_box(candidates):
    """Slow definition of the rule, on whole pixels."""
    for c in candidates:
        first, second, *others = c.scene.objects
        # Even sizes and whole centres: a box moves onto the other's centre exactly.
        boxes = [(second.x, second.y, first.size), (first.x, first.y, second.size)]
        padded = [(x - s // 2 - 4, y - s // 2 - 4, x + s // 2 + 4, y + s // 2 + 4)
                  for x, y, s in [*boxes, first[2:], second[2:]]]  # fmt: skip
        inside = all(min(p) >= 0 and max(p) <= CANVAS for p in padded[:2])
        hit = any(
            p[0] < o.x + o.size // 2
            and o.x - o.size // 2 < p[2]
            and p[1] < o.y + o.size // 2
            and o.y - o.size // 2 < p[3]
            for p in padded
            for o in others
        )
        gap = max(abs(first.x - second.x), abs(first.y - second.y))
        # Boxes apart stay apart when they exchange their centres, so IoU is 0 in these scenes.
        assert c.swap.new_iou == 0 and c.swap.center_gap == gap / CANVAS >= 0.05
        reason = "out_of_bounds" if not inside else "other_object" if hit else ""
        assert c.swap.reason == reason


def test_draw_edits_has_six_probes_for_each_feasible_pair(groups, candidates):
    feasible = [c.edit_id for c in candidates if c.swap.feasible]
    assert [before.samples[0].edit_id for before, _ in groups] == feasible
    samples = [s for group in groups for item in group for s in item.samples]
    assert len(samples) == 6 * len(feasible) == len({s.sample_id for s in samples})
    assert Counter(s.probe_role for s in samples) == dict.fromkeys(ROLES, len(feasible))


def test_draw_edits_exchanges_the_labels(groups, candidates):
    known = {c.edit_id: c for c in candidates}
    for before, after in groups:
        samples = [*before.samples, *after.samples]
        candidate = known[samples[0].edit_id]
        shown = candidate.scene.relation
        subject, other = candidate.scene.objects[:2]
        assert {s.probe_role: s.label for s in samples} == ROLES
        assert {(s.edit_id, s.pair_id) for s in samples} == {candidate[1::-1]}
        assert len(before.samples) == 2 and len(after.samples) == 4
        for s in samples[:4]:
            said = shown if s.probe_role.endswith("queried") else INVERSE[shown]
            words = subject.name, said, other.name
            assert (s.subject, s.relation, s.object) == words
            assert s.question == question_of(*words) and s.statement == statement_of(*words)
            boxes = (subject.box, other.box)
            if s.probe_role.startswith("edited"):
                boxes = candidate.swap.new_subject_box, candidate.swap.new_object_box
            assert (s.subject_box, s.object_box) == boxes
        for s, name in zip(samples[4:], (subject.name, other.name), strict=True):
            assert s.question == f"Is there a {name} in the picture?"
            assert s.statement == f"There is a {name} in the picture."
        assert {s.image for s in samples} == {before.image, after.image}


def test_draw_edits_starts_from_the_picture_of_its_pair(groups):
    pictures = {item.samples[0].pair_id: item.picture.args[0] for item in draw_pairs()}
    for before, after in groups:
        scene = pictures[before.samples[0].pair_id]
        assert before.picture.args == after.picture.args == (scene,)
    before, _ = groups[7]
    pair = pictures[before.samples[0].pair_id]
    assert pixel_sha256(before.picture()) == pixel_sha256(render_scene(pair))


def test_draw_edits_of_another_seed_belongs_to_the_pairs_of_that_seed():
    item = next(edits.draw_edits(5))
    number = int(item.samples[0].pair_id.removeprefix("pairs-"))
    pair = next(islice(draw_pairs(5), number, None))
    assert item.picture.args == pair.picture.args


def test_swapped_picture_shows_each_object_where_the_other_was(candidates):
    for c in [c for c in candidates if c.swap.feasible][:3]:
        source, edited = render_scene(c.scene), edits.swapped_picture(c.scene)
        first, second = c.scene.objects[:2]
        assert check_swap(source, edited, first.box, second.box).order_reversed
        # The middle of each object's new box has its colour.
        for item, place in ((first, second), (second, first)):
            assert edited.getpixel((place.x, place.y)) == COLORS[item.color]


def read_table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_geometry(rows, candidates):
    """Check each row of the table against its candidate."""
    assert len(rows) == len(candidates)
    for row, c in zip(rows, candidates, strict=True):
        assert list(row) == [*edits.GEOMETRY, *edits.CHECKS, "accepted"]
        told = c.pair_id, c.edit_id, c.scene.relation, str(c.swap.feasible), c.swap.reason
        assert tuple(row[key] for key in edits.GEOMETRY[:5]) == told
        for key in ("center_gap", "new_iou", "destination_slack"):
            assert float(row[key]) == getattr(c.swap, key)
        for key, item in zip(("subject_share", "object_share"), c.scene.objects, strict=False):
            assert float(row[key]) == item.size**2 / 512**2
        checks = [row[key] for key in edits.CHECKS]
        assert set(checks) <= ({"True", "False"} if c.swap.feasible else {""})
        accepted = str(checks == ["True"] * 5) if c.swap.feasible else ""
        assert row["accepted"] == accepted


def test_shipped_geometry_has_all_440_pairs(candidates):
    rows = read_table(SHIPPED)
    check_geometry(rows, candidates)
    assert len(rows) == 440
    assert all(row["reason"] for row in rows if row["feasible"] == "False")


def test_build_scenes_writes_the_table_of_geometry_and_compares_it(tmp_path, few):
    path = build_scenes("edits", tmp_path / "a")
    table = path.parent / "geometry.csv"
    candidates = list(edits.edit_candidates())
    check_geometry(read_table(table), candidates)
    assert 0 < sum(c.swap.feasible for c in candidates) < len(candidates) == 8
    whole = table.read_text()
    number = next(n for n, row in enumerate(whole.splitlines()) if row.endswith("True"))
    table.write_text(re.sub("True$", "False", whole, count=1, flags=re.M))
    with pytest.raises(SchemaError, match=f"geometry.csv, row {number + 1}: must equal"):
        build_scenes("edits", tmp_path / "b", expected=path)
    # Whether an edit was accepted hangs on its pixels; its geometry does not.
    again = build_scenes("edits", tmp_path / "b", expected=path, accept_pixels=True)
    assert (again.parent / "geometry.csv").read_text() == whole
    assert again.read_bytes() == path.read_bytes()


def test_check_table_names_the_first_row_that_differs(tmp_path):
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    new.write_text("a,b\n1,2\n3,4\n")
    for text, message in (
        ("a,b\n1,5\n9,9\n", "new.csv, row 2: must equal the shipped table, got 1,2, shipped 1,5"),
        ("a,b\n1,2\n", "row 3: .* got 3,4, shipped nothing"),
        ("a,b\n1,2\n3,4\n5,6\n", "row 4: .* got nothing, shipped 5,6"),
        ("a,b,c\n1,2,3\n3,4,5\n", "row 1: .* got a,b, shipped a,b,c"),
    ):
        old.write_text(text)
        with pytest.raises(SchemaError, match=message):
            check_table(new, old)
    check_table(new, old, n_columns=2)


def test_write_geometry_finds_a_picture_that_was_not_edited(tmp_path, few):
    path = build_scenes("edits", tmp_path)
    source = read_manifest(path)[0]
    edited = path.parent / source.image.replace("source", "edited")
    Image.open(path.parent / source.image).save(edited)
    rows = {row["edit_id"]: row for row in read_table(edits.write_geometry(path.parent))}
    assert rows[source.edit_id]["accepted"] == rows[source.edit_id]["order_reversed"] == "False"
