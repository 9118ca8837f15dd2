"""The text that is asked, and which probes there are."""

from pathlib import Path

import pytest

from vca_core.contexts import BOX_CONTEXTS
from vca_core.probes import build_probes, probe_key, probe_text, question_text
from vca_core.records import CONTEXTS, INTERFACES, Sample, SchemaError

SAMPLE = Sample(
    sample_id="a",
    dataset="d",
    image="a.png",
    question="Is the red circle to the left of the blue square?",
    statement="The red circle is to the left of the blue square.",
    label="yes",
)


def test_probe_text_is_the_documented_prompt():
    assert probe_text(SAMPLE, "yes_no") == (
        "Is the red circle to the left of the blue square? Answer yes or no."
    )
    assert probe_text(SAMPLE, "true_false") == (
        "Statement: The red circle is to the left of the blue square."
        " Is the statement true or false?"
    )


def test_the_book_prints_the_prompts_that_are_asked():
    book = Path(__file__).resolve().parents[1] / "book" / "intro.md"
    printed = " ".join(book.read_text(encoding="utf-8").split())
    for interface in INTERFACES:
        assert f'`{interface}`: "{probe_text(SAMPLE, interface)}"' in printed


def test_probe_text_puts_a_note_before_the_question():
    noted = SAMPLE.model_copy(update={"note": "The circle is on the right. "})
    assert probe_text(noted, "yes_no").startswith("The circle is on the right. Is the red")


def test_question_text_does_not_double_the_instruction():
    once = question_text("Is it? ")
    assert once == "Is it? Answer yes or no." and question_text(once) == once


def test_probe_text_refuses_a_missing_statement_and_an_unknown_interface():
    bare = SAMPLE.model_copy(update={"statement": None})
    with pytest.raises(SchemaError, match="needs a `statement`, sample 'a'"):
        probe_text(bare, "true_false")
    with pytest.raises(SchemaError, match="Unknown interface 'ab'"):
        probe_text(bare, "ab")


def test_build_probes_keeps_the_text_across_contexts(make_samples):
    contexts = CONTEXTS[:5]
    probes = build_probes(make_samples(3), contexts, "yes_no")
    assert len(probes) == 6 * 5
    for start in range(0, 30, 5):
        block = probes[start : start + 5]
        assert len({p.text for p in block}) == 1
        assert [p.context for p in block] == list(contexts)
        original, text_only, blank, mean, mismatch = (p.image for p in block)
        assert original == blank == mean != mismatch and text_only is None


def test_build_probes_refuses_unknown_contexts_and_missing_images(make_samples):
    with pytest.raises(SchemaError, match="Unknown context 'grey'; expected one of"):
        build_probes(make_samples(), ["grey"], "yes_no")
    bare = [s.model_copy(update={"image": None}) for s in make_samples()]
    assert len(build_probes(bare, ["text_only"], "yes_no")) == 4
    with pytest.raises(SchemaError, match="'blank' needs an image, sample 's0-true'"):
        build_probes(bare, ["blank"], "yes_no")


def test_build_probes_refuses_a_box_context_for_a_sample_without_boxes(make_samples):
    boxes = {"subject_box": (1.0, 1.0, 9.0, 9.0), "object_box": (20.0, 9.0, 9.0, 9.0)}
    boxed = [s.model_copy(update=boxes) for s in make_samples()]
    assert len(build_probes(boxed, BOX_CONTEXTS, "yes_no")) == 4 * 3
    boxed[2] = boxed[2].model_copy(update={"object_box": None})
    assert len(build_probes(boxed, ["original", "blank"], "yes_no")) == 8
    for context in BOX_CONTEXTS:
        with pytest.raises(SchemaError, match=f"'{context}' needs .* sample 's1-true' lacks one"):
            build_probes(boxed, ["original", context], "yes_no")


def test_probe_key_changes_with_each_part():
    parts = [("p", [1, 2], [[3], [4]], "s"), ("q", [1, 2], [[3], [4]], "s")]
    parts += [("p", [1, 2, 3], [[4]], "s"), ("p", [1, 2], [[3], [5]], "s")]
    parts += [("p", [1, 2], [[3], [4]], "t"), (None, [1, 2], [[3], [4]], "s")]
    parts += [("p", [12], [[3], [4]], "s"), ("p", [1, 2], [[3, 4]], "s")]
    assert len({probe_key(*p) for p in parts}) == len(parts)
    assert probe_key(*parts[0]) == probe_key("p", (1, 2), [(3,), (4,)], "s")
