"""Records, their vocabularies, and manifests on disk."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from vca_core.records import (
    SCORE_SCHEMA,
    Sample,
    SchemaError,
    Score,
    read_manifest,
    write_manifest,
)

BASE = {"sample_id": "a", "dataset": "d", "question": "Is it?", "label": "yes"}
SCORE = {
    "model": "m",
    "dataset": "d",
    "sample_id": "a",
    "context": "original",
    "interface": "yes_no",
}
words = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))


@given(sample_id=words, question=words, note=st.none() | words, box=st.booleans())
def test_manifest_round_trip(tmp_path_factory, sample_id, question, note, box):
    path = tmp_path_factory.mktemp("m") / "manifest.jsonl"
    boxes = {"subject_box": (0.0, 1.5, 2.0, 3.0)} if box else {}
    sample = Sample(**BASE | {"sample_id": sample_id, "question": question, "note": note} | boxes)
    assert write_manifest([sample], path) == 1
    assert read_manifest(path) == [sample]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"label": "Yes"}, "`label`"),
        ({"sample_id": 42}, "`sample_id`.*got 42"),
        ({"sample_id": " "}, "`sample_id`"),
        ({"question": None}, "`question`"),
        ({"quesion": "x"}, "`quesion`"),
        ({"subject_box": [0, 0, -1, 2]}, "box"),
        ({"subject_box": [0, 0, 1]}, "subject_box"),
        ({"polarity": "maybe"}, "`polarity`"),
    ],
)
def test_read_manifest_names_file_line_and_rule(tmp_path, change, match):
    path = tmp_path / "manifest.jsonl"
    path.write_text(json.dumps(BASE) + "\n\n" + json.dumps(BASE | {"sample_id": "b"} | change))
    with pytest.raises(SchemaError, match=f"manifest.jsonl, line 3: .*{match}"):
        read_manifest(path)


def test_read_manifest_refuses_duplicates_torn_lines_and_nothing(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(BASE) + "\n" + json.dumps(BASE) + "\n")
    with pytest.raises(SchemaError, match="line 2: `sample_id` must be unique.*line 1"):
        read_manifest(path)
    path.write_text(json.dumps(BASE)[:-5])
    with pytest.raises(SchemaError, match="line 1: not JSON"):
        read_manifest(path)
    path.write_text("\n")
    with pytest.raises(SchemaError, match="at least one sample"):
        read_manifest(path)
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        read_manifest(tmp_path / "none.jsonl")


def test_read_manifest_keeps_wordings_apart_and_skips_a_bom(tmp_path):
    path = tmp_path / "m.jsonl"
    lines = [BASE, BASE | {"wording": "beside"}]
    path.write_text("\ufeff" + "\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [s.wording for s in read_manifest(path)] == ["canonical", "beside"]


@pytest.mark.parametrize("margin", [None, math.nan, math.inf])
def test_score_ok_needs_a_finite_margin(margin):
    with pytest.raises(ValidationError, match="`margin` must be finite"):
        Score(**SCORE, margin=margin)


def test_score_error_needs_a_reason_and_no_numbers():
    with pytest.raises(ValidationError, match="`error` must give the reason"):
        Score(**SCORE, status="error")
    with pytest.raises(ValidationError, match="must be null"):
        Score(**SCORE, status="error", error="x", margin=0.1)


def test_score_schema_has_the_columns_of_a_score_in_order():
    assert SCORE_SCHEMA.names == list(Score.model_fields)
