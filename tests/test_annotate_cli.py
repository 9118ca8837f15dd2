"""`vca annotate`: a whole audit on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from vca_core.annotate import CRITERIA
from vca_core.annotate.edits import ROLES
from vca_core.cli import app
from vca_core.records import Sample, write_manifest


@pytest.fixture
def run():
    def invoke(*words):
        return CliRunner().invoke(app, ["annotate", *(str(word) for word in words)])

    return invoke


@pytest.fixture
def manifest(tmp_path):
    """Manifest of three edits, pictures beside it."""
    generator = np.random.default_rng(2)
    samples = []
    for number in range(3):
        for name in ("source", "edited"):
            pixels = generator.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / f"{name}{number}.png")
        samples += [
            Sample(
                sample_id=f"e|{number}-{role}",
                dataset="edits",
                image=f"{'source' if 'source' in role else 'edited'}{number}.png",
                question="Is it so?",
                statement=f"The cup is {'right' if 'inverse' in role else 'left'} of the book.",
                label=label,
                subject="cup",
                object="book",
                edit_id=f"e|{number}",
                probe_role=role,
            )
            for role, label in ROLES.items()
        ]
    path = tmp_path / "manifest.jsonl"
    write_manifest(samples, path)
    return path


def decide(out, reject=None):
    """Decisions files of all sheets; annotators 1 and 2 see edit `reject` not flipped."""
    paths = []
    for sheet in json.loads((out / "key.json").read_text())["sheets"]:
        decisions = []
        for item in sheet["items"]:
            answers = dict.fromkeys(CRITERIA, "yes")
            if item["edit_id"] == reject and sheet["annotator"] < 3:
                answers["edited_flipped"] = "no"
            decisions.append({"item": item["item"], **answers})
        content = {"format": "vca-annotation-decisions/1", "sheet": sheet["sheet"], "saved": "now"}
        paths.append(out / f"decisions-{sheet['annotator']}.json")
        paths[-1].write_text(json.dumps(content | {"decisions": decisions}))
    return paths


def test_annotate_export_then_import_writes_both_tables(run, manifest, tmp_path):
    out = tmp_path / "audit"
    result = run("export", "--manifest", manifest, "--out", out)
    assert result.exit_code == 0, result.output
    assert "sheet-3.html: 0.0 MB" in result.output and "3 edits. Keep" in result.output
    files = decide(out, reject="e|1")
    result = run("import", *files, "--key", out / "key.json", "--out", out, "--resamples", 50)
    assert result.exit_code == 0, result.output
    edits = pd.read_csv(out / "consensus.csv").set_index("edit_id")
    assert edits["accepted"].to_dict() == {"e|0": True, "e|1": False, "e|2": True}
    assert edits.loc["e|1", ["edited_flipped_yes", "edited_flipped_n"]].tolist() == [1, 3]
    agreed = pd.read_csv(out / "agreement.csv")
    assert len(agreed) == (3 + 1 + 1 + 3) * 4
    flipped = agreed.query("criterion == 'edited_flipped'").set_index(["metric", "annotators"])
    assert flipped.loc[("pairwise_agreement", "1 and 2"), "value"] == 1
    assert flipped.loc[("pairwise_agreement", "1 and 3"), "value"] == 2 / 3
    # P = (1 + 1/3 + 1) / 3 = 7/9; shares 7/9 and 2/9
    chance = (7 / 9) ** 2 + (2 / 9) ** 2
    expected = (7 / 9 - chance) / (1 - chance)
    assert flipped.loc[("fleiss_kappa", "all"), "value"] == pytest.approx(expected, rel=1e-12)
    assert "| e\\|1      | 3/3" in result.output and "rejected" in result.output
    assert "3 edits: 2 accepted, 1 rejected." in result.output
    assert "– [–, –] n=3" in result.output  # kappa where every answer is yes
    assert "0.667 [" in result.output


def test_annotate_import_asks_for_all_sheets_unless_incomplete(run, manifest, tmp_path):
    out = tmp_path / "audit"
    assert run("export", "--manifest", manifest, "--out", out).exit_code == 0
    words = ["import", decide(out)[0], "--key", out / "key.json", "--out", tmp_path / "r"]
    result = run(*words)
    assert result.exit_code == 1 and "Error: Every sheet of key" in result.output
    assert not (tmp_path / "r").exists()
    result = run(*words, "--incomplete", "--resamples", 20)
    assert result.exit_code == 0 and "3 edits: 3 undecided" in result.output


def test_annotate_export_keeps_a_key_that_is_there(run, manifest, tmp_path):
    out = tmp_path / "audit"
    assert run("export", "--manifest", manifest, "--out", out).exit_code == 0
    result = run("export", "--manifest", manifest, "--out", out)
    assert result.exit_code == 1 and "is there already" in result.output


def test_annotate_export_names_a_missing_picture(run, manifest, tmp_path):
    result = run(
        "export", "--manifest", manifest, "--out", tmp_path / "a", "--images", tmp_path / "a"
    )
    assert result.exit_code == 1
    assert "Error: edit_id 'e|0': image 'source0.png' is missing" in result.output


@pytest.mark.parametrize("command", ["export", "import"])
def test_annotate_help_shows_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0 and f"Example: vca annotate {command}" in result.output
