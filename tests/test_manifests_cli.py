import json

import pytest
from typer.testing import CliRunner

from vca_core.cli.manifest import app
from vca_core.records import read_manifest

LEFT, RIGHT = "A photo of a cat to the left of a cup", "A photo of a cat to the right of a cup"


@pytest.fixture
def run(tmp_path):
    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture
def vsr_path(tmp_path):
    path = tmp_path / "vsr.jsonl"
    rows = [("left of", 1), ("on", 0), ("near", 1)]
    path.write_text(
        "".join(
            json.dumps(
                {
                    "image": f"{r}.jpg",
                    "caption": f"The cat is {r} the cup.",
                    "label": y,
                    "relation": r,
                }
            )
            + "\n"
            for r, y in rows
        )
    )
    return path


def test_vsr_command_says_what_it_left_out(run, vsr_path, tmp_path):
    out = tmp_path / "out" / "m.jsonl"
    result = run("vsr", "--annotations", vsr_path, "--out", out)
    assert result.exit_code == 0
    assert "1 rows of 1 relations outside the nine families left out: near 1" in result.output
    assert len(read_manifest(out)) == 2


def test_vsr_command_adds_inverse_pairs(run, vsr_path, tmp_path):
    out = tmp_path / "m.jsonl"
    result = run("vsr", "--annotations", vsr_path, "--inverse-pairs", "--out", out)
    assert result.exit_code == 0
    assert "1 pairs, 2 images" in result.output and "504" in result.output
    assert [s.polarity for s in read_manifest(out)] == ["true", "false", None]


def test_vsr_command_lists_missing_images_and_writes_nothing(run, vsr_path, tmp_path):
    out = tmp_path / "m.jsonl"
    result = run("vsr", "--annotations", vsr_path, "--images", tmp_path, "--out", out)
    assert result.exit_code == 1
    assert "got 2 missing of 2:\n  left of.jpg\n  on.jpg" in result.output
    assert not out.exists()


def test_gsr_coco_command_writes_both_statements(run, tmp_path):
    pairs, out = tmp_path / "p.json", tmp_path / "m.jsonl"
    pairs.write_text(json.dumps([[7, LEFT, RIGHT]]))
    result = run("gsr-coco", "--pairs", pairs, "--out", out)
    assert result.exit_code == 0
    assert "1 pairs, 1 images" in result.output
    assert [s.label for s in read_manifest(out)] == ["yes", "no"]


def test_table_command_stops_at_a_refused_row(run, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "m.jsonl"
    file.write_text("image,question,label\na.jpg,[red]?,yes\nb.jpg,[red]?,grey\n")
    result = run("table", file, "--out", out)
    assert result.exit_code == 1
    assert f"Error: {file}, line 3 (row 2): `label` must be" in result.output
    assert not out.exists()


def test_table_command_writes_refused_rows_to_a_side_file(run, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "m.jsonl"
    side = tmp_path / "m.jsonl.refused.jsonl"
    file.write_text("image,question,label\na.jpg,Red?,yes\nb.jpg,Red?,grey\n")
    result = run("table", file, "--skip-bad", "--dataset", "own", "--out", out)
    assert result.exit_code == 0
    assert "1 rows refused" in result.output
    (sample,) = read_manifest(out)
    assert sample.dataset == "own"
    refused = json.loads(side.read_text())
    assert (refused["file"], refused["line"], refused["row"]) == (str(file), 3, 2)
    assert "got 'grey'" in refused["reason"]
    assert refused["data"] == {"image": "b.jpg", "question": "Red?", "label": "grey"}
    # a clean run leaves no list of an earlier one
    file.write_text("image,question,label\na.jpg,Red?,yes\n")
    assert run("table", file, "--skip-bad", "--out", out).exit_code == 0
    assert not side.exists()


def test_table_command_keeps_the_side_file_when_no_row_is_good(run, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "m.jsonl"
    file.write_text("image,question,label\nb.jpg,Red?,grey\n")
    result = run("table", file, "--skip-bad", "--out", out)
    assert result.exit_code == 1
    assert "at least one good row" in result.output
    assert (tmp_path / "m.jsonl.refused.jsonl").exists() and not out.exists()


def test_commands_name_a_file_that_is_not_there(run, tmp_path):
    absent, out = tmp_path / "absent.csv", tmp_path / "m.jsonl"
    for words in (
        ("table", absent),
        ("vsr", "--annotations", absent),
        ("gsr-coco", "--pairs", absent),
    ):
        result = run(*words, "--out", out)
        assert result.exit_code == 2
        assert f"Error: No file at {absent.resolve()}." in result.output


def test_table_command_does_not_write_over_its_input(run, tmp_path):
    file = tmp_path / "t.jsonl"
    text = '{"image": "a.jpg", "question": "Red?", "label": 1}\n'
    file.write_text(text)
    result = run("table", file, "--out", file)
    assert result.exit_code == 1 and "must not be the input" in result.output
    assert file.read_text() == text


@pytest.mark.parametrize("command", ["vsr", "gsr-coco", "table"])
def test_help_shows_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: vca manifest {command} " in result.output
