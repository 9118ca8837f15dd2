"""`vca score`, `vca doctor`, `vca verify`, `vca scenes` as a user calls them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="live extra is not installed")

from vca_core.cli import app  # noqa: E402
from vca_core.records import write_manifest  # noqa: E402

pytestmark = pytest.mark.live


def vca(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def manifest(tmp_path, make_samples):
    path = tmp_path / "things.jsonl"
    write_manifest(make_samples(5), path)
    return path


@pytest.mark.parametrize(
    "command",
    ["", "scenes build", "manifest vsr", "manifest gsr-coco", "manifest table", "doctor", "score"]
    + ["import", "verify", "audit", "book"],
)
def test_help_has_an_example(command):
    done = vca(*command.split(), "--help")
    assert done.exit_code == 0
    assert "Example: vca" in done.output or not command


def test_score_then_verify_then_audit(tmp_path, manifest, miniatures, picture_dir):
    out = tmp_path / "scores"
    words = ["score", "--checkpoint", miniatures / "internvl", "--manifest", manifest]
    words += ["--images", picture_dir, "--out", out, "--interface", "yes_no,true_false"]
    words += ["--contexts", "original,text_only,blank,mismatch", "--model", "mine"]
    done = vca(*words)
    assert done.exit_code == 0, done.output
    assert "40 rows wanted, 40 scored now" in done.output
    assert "0 scored now" in vca(*words).output
    done = vca("verify", out)
    assert done.exit_code == 0 and "2 files, 80 rows (0 error rows), 0 faults" in done.output
    audit = vca("audit", "--scores", out, "--format", "json", "--resamples", 20)
    assert audit.exit_code == 0, audit.output
    rates = {r["metric"]: r["value"] for r in json.loads(audit.stdout)}
    assert rates["dcc"] + rates["cu"] == pytest.approx(rates["accuracy"])
    record = json.loads((out / "things" / "yes_no" / "mine.run.json").read_text())
    assert str(tmp_path) not in json.dumps(record)


@pytest.mark.parametrize(
    ("change", "code", "match"),
    [
        (["--contexts", "original,grey"], 1, "Unknown context"),
        (["--interface", "maybe"], 1, "Unknown interface"),
        (["--pixels", "5"], 1, "least,most"),
        (["--pixels", "5,6"], 2, "qwen3_vl alone"),
        (["--dtype", "int3"], 2, "Unknown dtype"),
        (["--device", "abacus"], 2, "Device 'abacus' cannot be used"),
        (["--checkpoint", "no/such/folder/here"], 2, "No checkpoint"),
        (["--manifest", "none.jsonl"], 2, "No manifest at"),
        (["--images", "nowhere"], 2, "No image folder"),
    ],
)
def test_score_refuses_in_one_line(
    tmp_path, manifest, miniatures, picture_dir, change, code, match
):
    words = ["score", "--checkpoint", miniatures / "internvl", "--manifest", manifest]
    words += ["--images", picture_dir, "--out", tmp_path / "out", *change]
    done = vca(*words)
    assert done.exit_code == code, done.output
    assert match in done.output and "Traceback" not in done.output
    assert not [p for p in (tmp_path / "out").rglob("*") if p.is_file()]


def test_score_lists_missing_images_and_scores_the_rest(
    tmp_path, manifest, miniatures, picture_dir
):
    words = ["score", "--checkpoint", miniatures / "internvl", "--manifest", manifest]
    done = vca(*words, "--out", tmp_path / "out")
    assert done.exit_code == 1 and "None of the 5 images" in done.output
    (tmp_path / "some").mkdir()
    for name in ("p0.png", "p3.png"):
        (tmp_path / "some" / name).write_bytes((picture_dir / name).read_bytes())
    done = vca(*words, "--out", tmp_path / "out", "--images", tmp_path / "some")
    assert done.exit_code == 0, done.output
    assert "Missing image: p1.png" in done.output and "3 of 5 images are missing" in done.output
    assert "12 rows could not be scored" in done.output and "is missing" in done.output


def test_score_text_only_needs_no_images(tmp_path, manifest, miniatures):
    done = vca(
        *["score", "--checkpoint", miniatures / "qwen3_vl", "--manifest", manifest],
        *["--out", tmp_path / "out", "--contexts", "text_only"],
    )
    assert done.exit_code == 0 and "10 scored now" in done.output


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_score_stopped_in_mid_run_resumes(
    tmp_path, manifest, miniatures, picture_dir, make_samples, sent
):
    write_manifest(make_samples(120), manifest)
    words = [sys.executable, "-c", "from vca_core.cli import app; app()", "score"]
    words += ["--checkpoint", miniatures / "internvl", "--manifest", manifest, "--images"]
    words += [picture_dir, "--out", tmp_path / "out", "--batch-size", "1", "--contexts"]
    words += ["original,text_only,blank,mean_color,mismatch"]
    child = subprocess.Popen(
        list(map(str, words)),
        stderr=subprocess.PIPE,
        text=True,
        # Under nohup or as a background job the suite itself ignores SIGINT, and so would a child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    journal = tmp_path / "out" / "things" / "yes_no" / "internvl.journal.jsonl"
    for _ in range(1200):
        if journal.exists() and journal.stat().st_size > 3000:
            break
        time.sleep(0.05)
    os.kill(child.pid, sent)
    told = child.communicate()[1]
    if sent is signal.SIGINT:
        assert child.returncode == 130 and "the same command resumes" in told
        assert "Traceback" not in told
    kept = journal.read_bytes().count(b"\n") - 1
    assert 0 < kept < 1200
    done = vca(*[str(w) for w in words[3:]])
    assert done.exit_code == 0, done.output
    scored = int(re.search(r"(\d+) scored now", done.output)[1])
    assert scored == 1200 - kept
    assert vca("verify", tmp_path / "out").exit_code == 0


def test_doctor_tells_and_names_what_is_suspicious(miniatures, tmp_path):
    done = vca("doctor", miniatures / "ministral3")
    assert "family         ministral3" in done.output and "' yes'" in done.output
    assert "<s>[INST][IMG]Is the red circle" in done.output
    assert re.search(r"yes_no, original\s+loss", done.output)
    assert done.exit_code in (0, 1) and "uspicious" in done.output


def test_verify_exits_with_faults(tmp_path):
    (tmp_path / "d" / "yes_no").mkdir(parents=True)
    (tmp_path / "d" / "yes_no" / "m.parquet").write_bytes(b"x")
    done = vca("verify", tmp_path)
    assert done.exit_code == 1 and "not a scores file" in done.output
    assert vca("verify", tmp_path / "none").exit_code == 2


def test_scenes_build_checks_itself(tmp_path):
    done = vca("scenes", "build", "pairs", "--out", tmp_path, "--seed", "5")
    assert done.exit_code == 0 and "880 samples, not compared" in done.output
    done = vca("scenes", "build", "cats", "--out", tmp_path)
    assert done.exit_code == 1 and "Unknown scene data set 'cats'" in done.output
