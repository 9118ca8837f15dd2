import json
from collections import Counter
from pathlib import Path

import pytest

from vca_core.manifests import inverse_pairs, vsr_manifest
from vca_core.manifests.text import FAMILIES, INVERSE_FAMILY
from vca_core.records import SchemaError, read_manifest, write_manifest

DATA = Path(__file__).parents[1].parent / "shared" / "data"
VSR = DATA / "vsr_random_test.jsonl"
needs_vsr = pytest.mark.skipif(not VSR.is_file(), reason="no public VSR file in ../shared/data")


def vsr_file(tmp_path, *rows):
    lines = []
    for row in rows:
        full = {"image": "1.jpg", "caption": "The cat is on the mat.", "label": 1, "relation": "on"}
        lines.append(row if isinstance(row, str) else json.dumps(full | row))
    path = tmp_path / "vsr.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@needs_vsr
def test_vsr_manifest_gives_the_published_subset():
    outside = Counter()
    samples = vsr_manifest(VSR, outside=outside)
    assert len(samples) == 1249
    assert Counter(s.label for s in samples) == {"yes": 667, "no": 582}
    assert len(samples) + outside.total() == 2195
    by_family = Counter((s.relation, s.label) for s in samples)
    published = {
        "left": (68, 68),
        "right": (59, 50),
        "above": (118, 77),
        "below": (124, 107),
        "front": (84, 58),
        "behind": (86, 64),
        "on": (49, 68),
        "in": (51, 52),
        "contains": (28, 38),
    }
    assert {f: (by_family[f, "yes"], by_family[f, "no"]) for f in FAMILIES} == published


@needs_vsr
def test_vsr_manifest_texts_agree_with_every_caption():
    rows = dict(enumerate(map(json.loads, VSR.read_text(encoding="utf-8").splitlines()), start=1))
    samples = vsr_manifest(VSR)
    assert len({s.sample_id for s in samples}) == len(samples)
    for sample in samples:
        row = rows[int(sample.sample_id.removeprefix("vsr-"))]
        verb = "" if row["relation"] == "contains" else "is "
        assert sample.image == row["image"]
        assert sample.statement == row["caption"]
        assert (
            row["caption"] == f"The {sample.subject} {verb}{row['relation']} the {sample.object}."
        )
        # the slow way round: move the one verb to the front
        words = row["caption"].removesuffix(".").split(" ")
        words[0] = "the"
        if verb:
            words.remove("is")
            expected = ["Is", *words]
        else:
            words[words.index("contains")] = "contain"
            expected = ["Does", *words]
        assert sample.question == " ".join(expected) + "?"
        assert sample.question.count("?") == 1
        assert all(a != b for a, b in zip(expected, expected[1:], strict=False))


@needs_vsr
def test_vsr_manifest_survives_writing_and_reading(tmp_path):
    samples = inverse_pairs(vsr_manifest(VSR))
    write_manifest(samples, tmp_path / "m.jsonl")
    assert read_manifest(tmp_path / "m.jsonl") == samples


@pytest.mark.parametrize(
    ("caption", "relation", "question", "statement"),
    [
        ("The cats are on the mat.", "on", "Are the cats on the mat?", "The cats are on the mat."),
        ("cat is on mat", "on", "Is the cat on the mat?", "The cat is on the mat."),
        ("  the cat  is on the\tmat .", "on", "Is the cat on the mat?", "The cat is on the mat."),
        ("A cat is on a mat.", "On ", "Is a cat on a mat?", "A cat is on a mat."),
        ("TV is on the mat.", "on", "Is the TV on the mat?", "The TV is on the mat."),
        (
            "The bowls contain the apple.",
            "contains",
            "Do the bowls contain the apple?",
            "The bowls contain the apple.",
        ),
    ],
)
def test_vsr_manifest_mends_irregular_captions(tmp_path, caption, relation, question, statement):
    (sample,) = vsr_manifest(vsr_file(tmp_path, {"caption": caption, "relation": relation}))
    assert (sample.question, sample.statement) == (question, statement)
    assert sample.subject in ("cat", "cats", "TV", "bowls")
    assert sample.object in ("mat", "apple")


def test_vsr_manifest_ids_stay_when_other_rows_are_outside(tmp_path):
    outside = Counter()
    near = {"caption": "The cat is near the mat.", "relation": "near"}
    path = vsr_file(tmp_path, near, "", {})
    assert [s.sample_id for s in vsr_manifest(path, outside=outside)] == ["vsr-0003"]
    assert outside == {"near": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{not json", "not JSON"),
        ("[1]", "JSON object, got list"),
        ('{"image": "a.jpg", "image": "b.jpg"}', "'image' stands twice"),
        ({"label": 2}, "`label`"),
        ({"label": None}, "`label`"),
        ({"label": "1"}, "`label`"),
        ({"caption": "The cat sat on the mat."}, "`caption` must read"),
        ({"caption": "The is on the mat."}, "`caption` must read"),
        ({"caption": "The cat is on the."}, "`caption` must read"),
        ({"caption": "The cat is behind the mat."}, "`caption` must read"),
        ({"image": "../1.jpg"}, "with '..'"),
        ({"image": ""}, "names no file"),
    ],
)
def test_vsr_manifest_names_line_and_reason_of_a_malformed_row(tmp_path, row, reason):
    path = vsr_file(tmp_path, {}, "", row)
    with pytest.raises(SchemaError) as caught:
        vsr_manifest(path)
    assert str(caught.value).startswith(f"{path}, line 3 (row 2): ")
    assert reason in str(caught.value)


def test_vsr_manifest_lists_all_malformed_rows(tmp_path):
    path = vsr_file(tmp_path, {"label": 2}, {}, {"image": "/1.jpg"})
    with pytest.raises(SchemaError, match=r"2 rows refused:\n.*line 1.*\n.*line 3"):
        vsr_manifest(path)


def test_vsr_manifest_refuses_a_file_without_the_families(tmp_path):
    with pytest.raises(SchemaError, match="got none"):
        vsr_manifest(vsr_file(tmp_path, ""))
    with pytest.raises(FileNotFoundError, match=str(tmp_path.resolve())):
        vsr_manifest(tmp_path / "absent.jsonl")


@needs_vsr
def test_inverse_pairs_pairs_each_positive_candidate_of_vsr():
    queries = vsr_manifest(VSR)
    samples = inverse_pairs(queries)
    false = [s for s in samples if s.polarity == "false"]
    assert len(false) == 539 == sum(s.polarity == "true" for s in samples)
    # what is no inverse is the subset of before, in its order
    rest = [s for s in samples if s.polarity != "false"]
    assert [s.model_copy(update={"pair_id": None, "polarity": None}) for s in rest] == queries
    by_id = {s.sample_id: s for s in samples}
    for inverse in false:
        true = by_id[inverse.pair_id]
        assert (true.label, inverse.label) == ("yes", "no")
        assert inverse.relation == INVERSE_FAMILY[true.relation]
        assert inverse.image == true.image
        head, tail = f"The {true.subject} is ", f" the {true.object}."
        assert inverse.statement.startswith(head) and inverse.statement.endswith(tail)
        phrase = inverse.statement.removeprefix(head).removesuffix(tail)
        assert phrase in FAMILIES[inverse.relation]
        assert inverse.question == f"Is the {true.subject} {phrase} the {true.object}?"


def test_inverse_pairs_twice_is_the_same(tmp_path):
    caption = {"caption": "The cat is at the left side of the mat."}
    path = vsr_file(tmp_path, caption | {"relation": "at the left side of"}, {})
    once = inverse_pairs(vsr_manifest(path))
    assert once[1].statement == "The cat is at the right side of the mat."
    assert [s.sample_id for s in once] == ["vsr-0001", "vsr-0001-inverse", "vsr-0002"]
    assert inverse_pairs(once) == once
