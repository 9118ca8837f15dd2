"""Building the scene data sets: the shipped ones come out again, and what differs is named."""

import importlib.util
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vca_core.cli import app, scenes
from vca_core.records import SchemaError, read_manifest, write_manifest
from vca_core.scenes import (
    DATASETS,
    build_scenes,
    check_factorial,
    check_neutral,
    check_pixels,
    datasets,
)
from vca_core.scenes.compare import check_samples
from vca_core.scenes.natural import derived_queries

SHIPPED = Path(__file__).resolve().parents[1] / "cached_scores"
SIZES = {"pairs": 880, "queries": 1249, "factorial": 1800, "neutral": 400}


def shipped(name):
    return read_manifest(SHIPPED / name / "manifest.jsonl")


@pytest.fixture
def short(monkeypatch):
    """Cut data sets to their first pictures."""

    def cut(name, n):
        whole = DATASETS[name]
        monkeypatch.setitem(DATASETS, name, lambda *seeds: islice(whole(*seeds), n))

    return cut


@pytest.mark.parametrize("name", DATASETS)
def test_build_scenes_equals_the_shipped_manifest_in_pixels(tmp_path, name):
    if name == "edits" and importlib.util.find_spec("cv2") is None:
        pytest.skip("OpenCV is not installed")
    path = build_scenes(name, tmp_path, expected=SHIPPED / name / "manifest.jsonl", limit=12)
    samples = read_manifest(path)
    assert len({s.image for s in samples}) == 12
    assert all(s.image_sha256 for s in samples)
    assert samples == shipped(name)[: len(samples)]
    check_pixels(samples, path.parent)


@pytest.mark.parametrize("name", DATASETS)
def test_shipped_manifest_is_the_whole_data_set(name):
    drawn = [s for item in DATASETS[name]() for s in item.samples]
    check_samples(drawn, shipped(name), accept_pixels=True, complete=True)
    assert len(drawn) == SIZES.get(name, len(drawn))
    images = {s.image: s.image_sha256 for s in shipped(name)}
    assert None not in images.values() and len(set(images.values())) == len(images)


def test_shipped_manifests_fit_each_other():
    assert derived_queries(shipped("queries")) == {key: shipped(key) for key in datasets.DERIVED}
    check_factorial(shipped("factorial"))
    check_neutral(shipped("neutral"), shipped("factorial"))
    pictures = {s.pair_id: s.image_sha256 for s in shipped("pairs")}
    for s in shipped("edits"):
        source = s.probe_role.startswith("source")
        assert (s.image_sha256 == pictures[s.pair_id]) == source


def test_build_scenes_names_what_differs(tmp_path):
    path = build_scenes("pairs", tmp_path / "a", limit=2)
    samples = read_manifest(path)
    write_manifest([s.model_copy(update={"image_sha256": "0" * 64}) for s in samples], path)
    with pytest.raises(SchemaError, match=r"'pairs-0000-true'.*\['image_sha256'\]"):
        build_scenes("pairs", tmp_path / "b", expected=path, limit=2)
    again = build_scenes("pairs", tmp_path / "b", expected=path, limit=2, accept_pixels=True)
    assert read_manifest(again) == samples
    write_manifest([samples[0].model_copy(update={"label": "no"}), *samples[1:]], path)
    with pytest.raises(SchemaError, match=r"'pairs-0000-true' must equal sample 1 .*\['label'\]"):
        build_scenes("pairs", tmp_path / "b", expected=path, limit=2, accept_pixels=True)
    with pytest.raises(SchemaError, match="Unknown scene data set 'cats'"):
        build_scenes("cats", tmp_path)


def test_build_scenes_wants_all_shipped_samples_and_no_more(tmp_path, short):
    path = build_scenes("pairs", tmp_path / "a", limit=3)
    short("pairs", 2)
    with pytest.raises(
        SchemaError, match="has 2 samples more than .* 'pairs-0002-true' of 'pairs'"
    ):
        build_scenes("pairs", tmp_path / "b", expected=path)
    write_manifest(read_manifest(path)[:3], path)
    with pytest.raises(SchemaError, match="'pairs-0001-false' of 'pairs' is not in .* 3 samples"):
        build_scenes("pairs", tmp_path / "b", expected=path)


def test_build_scenes_compares_derived_manifests(tmp_path, short):
    short("queries", 5)
    path = build_scenes("queries", tmp_path / "a")
    built = [path.parent / f"{key}.jsonl" for key in datasets.DERIVED]
    assert [len(read_manifest(file)) for file in built[1:]] == [15, 5]
    place = tmp_path / "a" / "queries_wordings" / "manifest.jsonl"
    samples = read_manifest(built[1])
    write_manifest(samples, place)
    build_scenes("queries", tmp_path / "b", expected=path)
    write_manifest([samples[0], samples[2], samples[1], *samples[3:]], place)
    with pytest.raises(SchemaError, match=r"sample 2 .* of 'queries_wordings'\), differs in"):
        build_scenes("queries", tmp_path / "b", expected=path)
    write_manifest(samples[:-1], place)
    with pytest.raises(SchemaError, match="ends after 14 samples"):
        build_scenes("queries", tmp_path / "b", expected=path)


def test_build_scenes_checks_whole_structures(tmp_path, short):
    short("factorial", 2)
    with pytest.raises(SchemaError, match="Stem 'stem-00-left' must have 9 cells, got 6"):
        build_scenes("factorial", tmp_path)
    short("neutral", 2)
    with pytest.raises(SchemaError, match="got 0 for stem 'stem-00-above'"):
        build_scenes("neutral", tmp_path)


def test_build_scenes_tells_its_progress_and_obeys_its_seed(tmp_path, short):
    short("queries", 3)
    told = []
    path = build_scenes("queries", tmp_path, on_image=lambda *numbers: told.append(numbers))
    assert told == [(1, 3), (2, 3), (3, 3)]
    own, bytes_ = read_manifest(path), path.read_bytes()
    assert build_scenes("queries", tmp_path / "again").read_bytes() == bytes_
    fresh = read_manifest(build_scenes("queries", tmp_path / "fresh", seed=4))
    assert not {s.image_sha256 for s in own} & {s.image_sha256 for s in fresh}


def test_check_pixels_finds_another_picture(tmp_path):
    path = build_scenes("pairs", tmp_path, limit=2)
    samples = read_manifest(path)
    (path.parent / "pairs-0001.png").replace(path.parent / "pairs-0000.png")
    with pytest.raises(SchemaError, match="'pairs-0000.png' of 'pairs-0000-true' has pixels"):
        check_pixels(samples, path.parent)


def vca(*words):
    return CliRunner().invoke(app, ["scenes", "build", *(str(word) for word in words)])


def test_scenes_build_compares_with_what_is_shipped(tmp_path, short, monkeypatch):
    monkeypatch.setattr(scenes, "ROOT", tmp_path)
    short("queries", 8)
    done = vca("queries", "--out", tmp_path / "a")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("not compared") == 4 and "8 samples, not compared" in done.stdout
    root = tmp_path / "cached_scores"
    for key in ("queries", "queries_inverse", "queries_system"):
        name = "manifest" if key == "queries" else key
        write_manifest(
            read_manifest(tmp_path / "a" / "queries" / f"{name}.jsonl"),
            root / key / "manifest.jsonl",
        )
    done = vca("queries", "--out", tmp_path / "b")
    assert done.exit_code == 0, done.output
    states = [line.rpartition(", ")[2] for line in done.stdout.splitlines()]
    same = "equal to what is shipped"
    assert states == [same, same, "not compared", same]
    done = vca("queries", "--out", tmp_path / "c", "--seed", "9")
    assert done.exit_code == 0 and done.stdout.count("not compared") == 4
    place = root / "queries_system" / "manifest.jsonl"
    write_manifest(read_manifest(place)[:-1], place)
    done = vca("queries", "--out", tmp_path / "b")
    assert done.exit_code == 1 and done.stderr.startswith("Error: Scene 'queries-")
    assert "ends after 7 samples" in done.stderr


def test_scenes_build_refuses_a_negative_seed(tmp_path):
    assert vca("pairs", "--out", tmp_path, "--seed", "-1").exit_code == 2


def test_a_build_cut_short_leaves_no_manifest(tmp_path, monkeypatch):
    """A set with a manifest counts as built."""

    def stop(*args):
        raise KeyboardInterrupt

    (tmp_path / "neutral").mkdir()
    (tmp_path / "neutral" / "manifest.jsonl").write_text("an older one")
    monkeypatch.setattr("vca_core.scenes.datasets._finish", stop)
    with pytest.raises(KeyboardInterrupt):
        build_scenes("neutral", tmp_path)
    assert not (tmp_path / "neutral" / "manifest.jsonl").exists()
