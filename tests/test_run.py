"""A scoring run into the cache: resume, misses and what is said of them, errors, interruption."""

import json

import pytest

pytest.importorskip("torch", reason="live extra is not installed")

from PIL import Image  # noqa: E402

from vca_core.backends import ToyBackend  # noqa: E402
from vca_core.cache import load_margins, read_scores, verify  # noqa: E402
from vca_core.cache.files import read_run_record  # noqa: E402
from vca_core.cache.journal import journal_path  # noqa: E402
from vca_core.records import SchemaError  # noqa: E402
from vca_core.run import Progress, score_manifest, take_groups  # noqa: E402

CONTEXTS = ["original", "text_only", "blank"]


@pytest.fixture
def images(tmp_path, picture_dir):
    folder = tmp_path / "images"
    folder.mkdir()
    for path in picture_dir.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def go(tmp_path, images, make_samples):
    """Run with defaults; returns the outcome and what was said."""

    def run(samples=None, backend=None, contexts=CONTEXTS, interface="yes_no", **options):
        said = []
        outcome = score_manifest(
            samples or make_samples(4),
            backend or ToyBackend(),
            model="toy",
            contexts=contexts,
            interface=interface,
            out_dir=tmp_path / "scores",
            image_dir=images,
            progress=Progress(say=said.append, score=options.pop("score", lambda *a: None)),
            **options,
        )
        return outcome, said

    return run


def test_score_manifest_writes_verified_scores_once(go, tmp_path):
    outcome, said = go()
    assert (outcome.wanted, outcome.scored, outcome.errors.total(), said) == (24, 24, 0, [])
    report = verify(tmp_path / "scores")
    assert report.faults == [] and report.rows == 24
    record = read_run_record(outcome.path)
    assert record["origin"] == "scored" and set(record["prompts"]) == set(CONTEXTS)
    again, said = go()
    assert (again.wanted, again.scored, said) == (24, 0, ["24 of 24 scores are cached."])


def test_score_manifest_adds_contexts_and_samples_to_what_is_there(go, tmp_path, make_samples):
    go(contexts=["original"], limit=2)
    outcome, _ = go()
    assert outcome.scored == 20
    assert len(load_margins(tmp_path / "scores")) == 8
    more, _ = go(samples=make_samples(5))
    assert more.scored == 6


def test_score_manifest_says_what_changed(go, images, make_samples):
    go()
    picture = Image.open(images / "p1.png").convert("RGB")
    picture.putpixel((0, 0), (1, 2, 3))
    picture.save(images / "p1.png")
    outcome, said = go()
    # Same size, so the blank control is the same picture: only the original is scored again.
    assert outcome.scored == 2 and "2 scored again: image changed." in said
    samples = make_samples(4)
    samples[0] = samples[0].model_copy(update={"question": "Is it at all?"})
    outcome, said = go(samples=samples)
    assert outcome.scored == 3 and "3 scored again: prompt changed." in said


def test_score_manifest_takes_corrected_labels_without_scoring_again(go, tmp_path, make_samples):
    go()
    samples = make_samples(4)
    samples[0] = samples[0].model_copy(update={"label": "no", "relation": "beside"})
    outcome, said = go(samples=samples)
    assert outcome.scored == 0
    assert "3 cached rows take their label and other facts anew." in said
    wide = load_margins(tmp_path / "scores").set_index("sample_id")
    assert wide.loc["s0-true", "label"] == "no" and wide.loc["s0-true", "relation"] == "beside"
    assert verify(tmp_path / "scores").faults == []


def test_score_manifest_warns_of_pixels_that_the_manifest_does_not_know(go, make_samples):
    pinned = [s.model_copy(update={"image_sha256": "0" * 64}) for s in make_samples(2)]
    outcome, said = go(samples=pinned)
    assert outcome.errors.total() == 0
    assert any("2 images differ from the manifest" in text for text in said)


def with_boxes(sample, subject_box, object_box):
    return sample.model_copy(update={"subject_box": subject_box, "object_box": object_box})


def test_score_manifest_erases_by_each_samples_boxes_and_records_the_area(
    go, tmp_path, make_samples
):
    # Two statements share boxes; the third, on the same picture of 64 x 48 pixels, has others.
    first, second, third, _ = make_samples(2)
    third, object_box = third.model_copy(update={"image": first.image}), (20.0, 2.0, 4.0, 4.0)
    samples = [with_boxes(s, (2.0, 2.0, 4.0, 4.0), object_box) for s in (first, second)]
    samples.append(with_boxes(third, (0.0, 0.0, 60.0, 44.0), object_box))
    contexts = ["blank", "relation_erased", "irrelevant_erased"]
    outcome, _ = go(samples=samples, contexts=contexts)
    assert outcome.errors.total() == 0 and verify(tmp_path / "scores").faults == []
    views = read_scores(outcome.path).groupby("context")["image_sha256"].nunique()
    assert views.to_dict() == {"blank": 1, "irrelevant_erased": 2, "relation_erased": 2}
    areas = [28 * 10 / (64 * 48), 1.0]
    got = read_run_record(outcome.path)["erasures"]
    assert got["relation_erased"] == {
        "n": 2,
        "mean_share": pytest.approx(sum(areas) / 2),
        "min_share": areas[0],
        "max_share": areas[1],
    }
    assert got["irrelevant_erased"]["n"] == 2
    assert got["irrelevant_erased"]["zero_overlap_rate"] == 0.5
    # A later run of other contexts keeps what is known of the rows that stay in the file.
    go(samples=samples, contexts=["original"])
    assert read_run_record(outcome.path)["erasures"] == got
    assert "erasures" not in read_run_record(go(interface="true_false")[0].path)


def test_score_manifest_makes_an_infeasible_swap_an_error_row(go, make_samples):
    pytest.importorskip("cv2", reason="OpenCV is not installed")
    object_box, samples = (40.0, 30.0, 6.0, 6.0), make_samples(2)
    subject_boxes = [(10.0, 10.0, 6.0, 6.0)] * 2 + [(0.0, 0.0, 60.0, 44.0)] * 2
    samples = [with_boxes(s, b, object_box) for s, b in zip(samples, subject_boxes, strict=True)]
    samples = [s.model_copy(update={"image": "p0.png"}) for s in samples]
    outcome, _ = go(samples=samples, contexts=["swapped"])
    assert outcome.scored == 4
    assert outcome.errors == {"the two objects cannot be swapped: out_of_bounds": 2}


def test_score_manifest_keeps_settings_apart_and_loses_nothing(go, tmp_path):
    class Other(ToyBackend):
        def fingerprint(self):
            return super().fingerprint() | {"dtype": "bfloat16"}

    first, _ = go()
    before = first.path.read_bytes()
    outcome, said = go(backend=Other(), contexts=["original"])
    assert outcome.scored == 8
    assert (
        "8 scored again: checkpoint, dtype, system message, processor or --exact changed." in said
    )
    assert any("other settings" in text for text in said)
    assert set(read_scores(first.path)["context"]) == {"original"}
    (aside,) = first.path.parent.glob("*.old")
    assert aside.read_bytes() == before
    assert verify(tmp_path / "scores").faults == []


def test_score_manifest_keeps_interfaces_apart(go, tmp_path):
    yes_no, _ = go()
    true_false, _ = go(interface="true_false")
    assert yes_no.path != true_false.path and true_false.scored == 24
    a, b = (load_margins(tmp_path / "scores", interface=i) for i in ("yes_no", "true_false"))
    assert not (a["margin_original"] == b["margin_original"]).any()


def test_score_manifest_resumes_after_an_interrupt(go, tmp_path):
    def stop(done, total):
        if done >= 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(batch_size=3, score=stop)
    path = tmp_path / "scores" / "things" / "yes_no" / "toy.parquet"
    kept = len(journal_path(path).read_text().splitlines()) - 1
    assert 9 <= kept < 24 and not path.exists()
    outcome, said = go(batch_size=3)
    assert outcome.scored == 24 - kept
    assert f"Resuming: {kept} rows of an unfinished run are kept." in said
    assert len(read_scores(path)) == 24 and not journal_path(path).exists()


def test_score_manifest_equals_an_uninterrupted_run(go, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(batch_size=2, score=stop)
    resumed, _ = go(batch_size=5)
    frame = read_scores(resumed.path)
    resumed.path.unlink()
    whole, _ = go(batch_size=8)
    assert read_scores(whole.path).equals(frame)


def test_score_manifest_records_errors_retries_them_and_refuses_them_later(go, tmp_path, images):
    bytes_of = (images / "p2.png").read_bytes()
    (images / "p2.png").write_bytes(bytes_of[:100])
    outcome, _ = go()
    assert outcome.errors.total() == 4 and "cannot be read" in next(iter(outcome.errors))
    assert verify(tmp_path / "scores").errors == 4
    with pytest.raises(SchemaError, match="2 of 8 samples"):
        load_margins(tmp_path / "scores")
    (images / "p2.png").write_bytes(bytes_of)
    outcome, said = go()
    assert outcome.scored == 4 and "4 scored again: failed before." in said
    assert len(load_margins(tmp_path / "scores")) == 8


def test_score_manifest_refuses_imported_files_and_two_data_sets(go, make_samples):
    first, _ = go()
    record = first.path.with_name("toy.run.json")
    record.write_text(json.dumps({"origin": "imported"}))
    with pytest.raises(SchemaError, match="imported scores"):
        go()
    with pytest.raises(SchemaError, match=r"one data set, got \['a', 'b'\]"):
        go(samples=make_samples(1, "a") + make_samples(1, "b"))


def test_score_manifest_warns_of_low_answer_mass(go):
    class Prose(ToyBackend):
        def forward(self, batch, tails):
            rows = super().forward(batch, tails)
            for row in rows:
                row[:, 65] = 60.0
            return rows

    outcome, _ = go(backend=Prose())
    assert outcome.low_mass == outcome.scored == 24


def test_take_groups_takes_whole_pairs(make_samples):
    samples = make_samples(3)
    mixed = [samples[0], samples[2], samples[1], samples[3], samples[4], samples[5]]
    assert take_groups(mixed, 2) == samples[:4]
    assert len(take_groups(mixed, 0)) == 6
    with pytest.raises(SchemaError, match="`limit` must be"):
        take_groups(mixed, -1)
