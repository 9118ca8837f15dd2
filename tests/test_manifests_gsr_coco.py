import json
from collections import Counter
from pathlib import Path

import pytest

from vca_core.manifests import gsr_coco_manifest
from vca_core.records import SchemaError

DATA = Path(__file__).parents[1].parent / "shared" / "data"
COCO = DATA / "coco_qa_two_obj.json"
needs_coco = pytest.mark.skipif(not COCO.is_file(), reason="no What'sUp file in ../shared/data")


def coco_file(tmp_path, *rows):
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@needs_coco
def test_gsr_coco_manifest_keeps_every_pair_in_order():
    rows = json.loads(COCO.read_text(encoding="utf-8"))
    samples = gsr_coco_manifest(COCO)
    assert len(samples) == 880
    assert Counter(s.relation for s in samples) == {
        "left": 279,
        "right": 279,
        "above": 161,
        "below": 161,
    }
    true_relations = Counter(s.relation for s in samples if s.label == "yes")
    assert true_relations == {"left": 150, "right": 129, "above": 86, "below": 75}
    phrases = {
        "left": "to the left of",
        "right": "to the right of",
        "above": "above",
        "below": "below",
    }
    for number, (image_id, *captions) in enumerate(rows, start=1):
        pair = samples[2 * number - 2 : 2 * number]
        assert [s.polarity for s in pair] == ["true", "false"]
        assert [s.label for s in pair] == ["yes", "no"]
        for sample, caption in zip(pair, captions, strict=True):
            assert sample.pair_id == f"gsr-{number:04d}"
            assert sample.image == f"{image_id:012d}.jpg"
            phrase = phrases[sample.relation]
            assert caption == f"A photo of a {sample.subject} {phrase} a {sample.object}"
            asked = f"the {sample.subject} {phrase} the {sample.object}?"
            assert sample.question.split(" ", 1) in (["Is", asked], ["Are", asked])


def test_gsr_coco_manifest_pads_the_image_id(tmp_path):
    row = [139, "A photo of an oven below a TV", "A photo of an oven above a TV"]
    true, false = gsr_coco_manifest(coco_file(tmp_path, row))
    assert true.image == false.image == "000000000139.jpg"
    assert true.question == "Is the oven below the TV?"
    assert false.statement == "The oven is above the TV."


def test_gsr_coco_manifest_asks_plural_names_with_are(tmp_path):
    row = [1, "A photo of a scissors above a cup", "A photo of a scissors below a cup"]
    true, _ = gsr_coco_manifest(coco_file(tmp_path, row))
    assert true.question == "Are the scissors above the cup?"
    assert true.statement == "The scissors are above the cup."


LEFT, RIGHT = "A photo of a cat to the left of a cup", "A photo of a cat to the right of a cup"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([1, LEFT], "a row must be"),
        ({"image": 1}, "a row must be"),
        ([1, LEFT, LEFT], "opposite relations"),
        ([1, LEFT, "A photo of a dog to the right of a cup"], "same objects"),
        ([1, LEFT, "A photo of a cat"], "a caption must read"),
        ([1, LEFT, None], "a caption must read"),
        (["../1", LEFT, RIGHT], "COCO number"),
        ([-1, LEFT, RIGHT], "COCO number"),
        ([True, LEFT, RIGHT], "COCO number"),
        ([1.0, LEFT, RIGHT], "COCO number"),
    ],
)
def test_gsr_coco_manifest_names_row_and_reason(tmp_path, row, reason):
    path = coco_file(tmp_path, [1, LEFT, RIGHT], row)
    with pytest.raises(SchemaError) as caught:
        gsr_coco_manifest(path)
    assert str(caught.value).startswith(f"{path}, row 2: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "3"])
def test_gsr_coco_manifest_refuses_what_is_no_array_of_rows(tmp_path, text):
    path = tmp_path / "coco.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match="coco.json: "):
        gsr_coco_manifest(path)
