"""`vca verify`: each kind of fault is found and named with its file and row."""

import math

import pytest

from vca_core.cache import scores_path, update_manifest, verify
from vca_core.cache.files import run_record_path, write_run_record, write_scores
from vca_core.records import Score


def row(sample_id="a", context="original", yes=1.0, no=1.5, **fields):
    base = Score(
        model="m",
        dataset="d",
        interface="yes_no",
        label="yes",
        sample_id=sample_id,
        context=context,
        loss_yes=yes,
        loss_no=no,
        margin=no - yes,
        n_tokens_yes=1,
        n_tokens_no=1,
        answer_mass=math.exp(-yes) + math.exp(-no),
        probe_id=f"{sample_id}-{context}",
    ).model_dump()
    return base | fields


def store(root, rows, record=None):
    path = scores_path(root, "d", "yes_no", "m")
    write_scores(rows, path)
    write_run_record(path, record or {"origin": "scored"})
    update_manifest(root, [path, run_record_path(path)])
    return path


def test_verify_passes_clean_scores(tmp_path):
    store(tmp_path, [row(), row("b")])
    report = verify(tmp_path)
    assert report.faults == [] and (report.files, report.rows, report.errors) == (1, 2, 0)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([row(), row("b", margin=0.7)], "row 2 (b): margin 0.7 is not loss_no - loss_yes"),
        ([row(margin=math.nan)], "row 1 (a): `margin` must be finite"),
        ([row(), row()], "second row for context original"),
        ([row() | {"context": "grey"}], "unknown context grey"),
        ([row(label="Yes")], "`label` Yes is not yes or no"),
        ([row(status="error")], "an error row has margin"),
        ([row(status="fine")], "`status` must be ok or error"),
        ([row(answer_mass=0.9)], "`answer_mass` 0.9 is not the sum"),
        ([row(yes=-0.5, no=0.0)], "`loss_yes` must be at least 0"),
        ([row(probe_id=None)], "`probe_id` is missing"),
        ([row(probe_id="x"), row("b", yes=1.1, probe_id="x")], "different margins"),
        ([row(probe_id="x"), row("b", yes=1.0002, probe_id="x")], "different margins"),
        ([row(), row("b", model="n")], "one `model` a file"),
        ([row(dataset="e")], "lies elsewhere"),
        ([row(), row(context="blank", label="no")], "agree on `label`, got ['no', 'yes'] for 'a'"),
        ([], "no rows"),
    ],
)
def test_verify_names_the_fault(tmp_path, rows, match):
    store(tmp_path, rows)
    faults = verify(tmp_path).faults
    assert any(match in fault for fault in faults), faults


def test_verify_skips_the_arithmetic_of_imports_and_says_so(tmp_path):
    bare = row() | {k: None for k in ("loss_yes", "loss_no", "answer_mass", "probe_id")}
    store(tmp_path, [bare], {"origin": "imported"})
    report = verify(tmp_path)
    assert report.faults == [] and "imported" in report.notes[0]
    store(tmp_path, [bare])
    assert any("`loss_yes`" in fault for fault in verify(tmp_path).faults)


def test_verify_checks_the_manifest(tmp_path):
    path = store(tmp_path, [row()])
    (tmp_path / "d" / "manifest.jsonl").write_text("{}\n")
    assert any("not listed" in fault for fault in verify(tmp_path).faults)
    update_manifest(tmp_path, [tmp_path / "d" / "manifest.jsonl"])
    assert verify(tmp_path).faults == []
    (tmp_path / "d" / "manifest.jsonl").write_text("{ }\n")
    assert any("differs" in fault for fault in verify(tmp_path).faults)
    update_manifest(tmp_path, [path])
    assert any("differs" in fault for fault in verify(tmp_path).faults)
    (tmp_path / "MANIFEST.sha256").write_text("zz\n")
    assert any("line 1: expected" in fault for fault in verify(tmp_path).faults)
    (tmp_path / "MANIFEST.sha256").unlink()
    assert any("missing" in fault for fault in verify(tmp_path).faults)


def test_verify_finds_files_cut_short_and_removed(tmp_path):
    path = store(tmp_path, [row()])
    path.write_bytes(path.read_bytes()[:-20])
    assert any("not a scores file" in fault for fault in verify(tmp_path).faults)
    path.unlink()
    faults = verify(tmp_path).faults
    assert any("no scores files" in fault for fault in faults)
    assert any("not there" in fault for fault in faults)
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none")


def test_verify_notes_unfinished_runs(tmp_path):
    path = store(tmp_path, [row()])
    path.with_name("n.journal.jsonl").write_text("")
    assert "unfinished" in verify(tmp_path).notes[0]


def test_update_manifest_keeps_all_entries_of_runs_at_the_same_time(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    files = [tmp_path / f"{number}.txt" for number in range(60)]
    for file in files:
        file.write_text(file.name)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda file: update_manifest(tmp_path, [file]), files))
    lines = (tmp_path / "MANIFEST.sha256").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == {file.name for file in files}
