import pytest

from vca_core.manifests import (
    check_images,
    check_pairs,
    image_fault,
    inverse_pairs,
    question_from_statement,
)
from vca_core.records import Sample, SchemaError


def member(pair_id, polarity, /, **changed):
    fields = {
        "sample_id": f"{pair_id}-{polarity}",
        "dataset": "d",
        "image": "a.jpg",
        "question": "Is it?",
        "label": "yes" if polarity == "true" else "no",
        "pair_id": pair_id,
        "polarity": polarity,
    }
    return Sample(**fields | changed)


def test_inverse_pairs_refuses_an_unknown_phrase():
    sample = member(
        "a", "true", pair_id=None, polarity=None, relation="left", statement="Cup left."
    )
    with pytest.raises(SchemaError, match="`statement` must name its relation .* 'a-true'"):
        inverse_pairs([sample])


def test_check_pairs_accepts_whole_pairs_in_any_wording():
    pair = [member("p", "true"), member("p", "false")]
    other = [s.model_copy(update={"wording": "paraphrase"}) for s in pair]
    check_pairs([*pair, *other, member("x", "true", pair_id=None)])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            [member("coco-139", "true"), member("coco-139", "true", sample_id="b")],
            "`pair_id` must name one true and one false statement, got 2 true "
            "for pair_id 'coco-139'.",
        ),
        ([member("p", "false")], "got 1 false for pair_id 'p'."),
        (
            [member("p", "true"), member("p", "false"), member("p", "false", sample_id="c")],
            "got 1 true and 2 false for pair_id 'p'.",
        ),
        (
            [member("p", "true"), member("p", "false", polarity=None)],
            "got 1 without `polarity` and 1 true for pair_id 'p'.",
        ),
        (
            [member("p", "true"), member("p", "false", image="b.jpg")],
            "two statements on one image, got 'a.jpg' and 'b.jpg' for pair_id 'p'.",
        ),
        (
            [member("p", "true"), member("p", "false", label="yes")],
            "got yes for the false one for pair_id 'p'.",
        ),
    ],
)
def test_check_pairs_names_the_pair(members, message):
    with pytest.raises(SchemaError) as caught:
        check_pairs(members)
    assert str(caught.value).endswith(message)


def test_check_pairs_counts_the_broken_pairs():
    with pytest.raises(SchemaError, match=r"pair_id 'a' \(1 of 2 such pairs\)\."):
        check_pairs([member("a", "true"), member("b", "false")])


@pytest.mark.parametrize("image", ["a.jpg", "val/a b.jpg", "a..b.jpg", "ä.png", "./a.jpg"])
def test_image_fault_accepts_paths_inside_the_folder(image):
    assert image_fault(image) is None


@pytest.mark.parametrize(
    "image",
    ["/a.jpg", "../a.jpg", "a/../../b.jpg", "C:/a.jpg", "C:a.jpg", "a\\b.jpg", "..\\a", "", "."]
    + ["http://x/a.jpg", "file:///a.jpg", "a\0.jpg", "//host/a.jpg"],
)
def test_image_fault_refuses_paths_that_leave_the_folder(image):
    assert "`image` must be a path inside the image folder" in image_fault(image)


def test_check_images_lists_twenty_missing_files_and_counts_all(tmp_path):
    (tmp_path / "there.jpg").touch()
    (tmp_path / "folder.jpg").mkdir()
    names = ["there.jpg", "folder.jpg", *(f"{i:02d}.jpg" for i in range(22)), "x" * 300 + ".jpg"]
    samples = [member(f"p{i}", "true", image=name) for i, name in enumerate(names)]
    with pytest.raises(SchemaError, match="got 24 missing of 25") as caught:
        check_images([*samples, *samples, member("q", "true", image=None)], tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[1:3] == ["  folder.jpg", "  00.jpg"]
    assert len(lines) == 22 and lines[-1] == "  … and 4 more"
    check_images(samples[:1], tmp_path)


def test_check_images_refuses_links_out_of_the_folder(tmp_path):
    root = tmp_path / "images"
    root.mkdir()
    (tmp_path / "secret.jpg").touch()
    (root / "inner.jpg").touch()
    (root / "out.jpg").symlink_to(tmp_path / "secret.jpg")
    (root / "in.jpg").symlink_to(root / "inner.jpg")
    (tmp_path / "alias").symlink_to(root)
    check_images([member("p", "true", image="in.jpg")], tmp_path / "alias")
    with pytest.raises(SchemaError, match="'out.jpg', a link out of it"):
        check_images([member("p", "true", image="out.jpg")], root)
    with pytest.raises(FileNotFoundError, match="No image folder at"):
        check_images([], tmp_path / "absent")


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("The cup is left of the book.", "Is the cup left of the book?"),
        ("The cups are left of the book", "Are the cups left of the book?"),
        ("the bowl contains two apples.", "Does the bowl contain two apples?"),
        ("There is a dog on the bed.", "Is there a dog on the bed?"),
        ("TV is on.", "Is TV on?"),
        ("The left half of the cup was red.", "Was the left half of the cup red?"),
    ],
)
def test_question_from_statement_turns_plain_sentences(statement, question):
    assert question_from_statement(statement) == question


@pytest.mark.parametrize(
    "statement",
    [
        "The cup that is on the table is red.",
        "The cup which the man is holding.",
        "The cup is not red.",
        "The cup isn't red.",
        "No cup is on the table.",
        "The bowl can contain an apple.",
        "The cat sleeps and the dog is near.",
        "John is left of the cup.",
        "A dog barks.",
        "The cup is red. The book is blue.",
        "The cup is.",
        'The sign is "open".',
    ],
)
def test_question_from_statement_quotes_the_rest(statement):
    assert question_from_statement(statement) == f'Is this statement true: "{statement}"?'
