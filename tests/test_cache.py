"""Journal, compaction, resume, wide margins."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from vca_core.cache import Journal, load_margins, missing_probes, read_scores, scores_path
from vca_core.cache.files import write_run_record, write_scores
from vca_core.cache.journal import journal_path
from vca_core.records import NotScoredError, SchemaError, Score


def score(sample_id="a", context="original", margin=0.5, **fields):
    base = {"model": "m", "dataset": "d", "interface": "yes_no", "label": "yes"}
    return Score(**base | {"sample_id": sample_id, "context": context, "margin": margin} | fields)


def failed(sample_id, context):
    return score(sample_id, context, None, status="error", error="unreadable")


@pytest.fixture
def path(tmp_path):
    return scores_path(tmp_path, "d", "yes_no", "m")


def put(path, rows, settings="s"):
    write_scores([r.model_dump() for r in rows], path)
    write_run_record(path, {"origin": "scored", "settings_sha256": settings})


def test_journal_keeps_rows_across_runs_and_compacts(path):
    with Journal(path, "s") as journal:
        journal.append([score("a"), score("b")])
    again = Journal(path, "s")
    assert [r.sample_id for r in again.rows] == ["a", "b"] and again.torn_bytes == 0
    again.append([score("a", margin=-1.0)])
    assert again.compact([score("c").model_dump()], {"origin": "scored"}) == 3
    assert not journal_path(path).exists()
    frame = read_scores(path)
    assert dict(zip(frame["sample_id"], frame["margin"], strict=True)) == {
        "a": -1.0,
        "b": 0.5,
        "c": 0.5,
    }


@pytest.mark.parametrize("tail", ['{"model":"m","sam', "{", '{"model":"m"', '{"x\n', '{"x\n\n  \n'])
def test_journal_cuts_a_torn_tail_and_appends_after_it(path, tail):
    with Journal(path, "s") as journal:
        journal.append([score("a"), score("b")])
    with journal_path(path).open("ab") as file:
        file.write(tail.encode())
    with Journal(path, "s") as again:
        assert [r.sample_id for r in again.rows] == ["a", "b"]
        assert again.torn_bytes == len(tail)
        again.append([score("c")])
    with Journal(path, "s") as third:
        assert [r.sample_id for r in third.rows] == ["a", "b", "c"]


def test_journal_cut_inside_a_character_is_torn_too(path):
    with Journal(path, "s") as journal:
        journal.append([score("a"), score("ü")])
    raw = journal_path(path).read_bytes()
    journal_path(path).write_bytes(raw[: raw.index("ü".encode()) + 1])
    with Journal(path, "s") as again:
        assert [r.sample_id for r in again.rows] == ["a"]


def test_journal_names_a_bad_line_elsewhere(path):
    with Journal(path, "s") as journal:
        journal.append([score("a"), score("b"), score("c")])
    lines = journal_path(path).read_text().splitlines()
    lines[2] = lines[2][:10]
    journal_path(path).write_text("\n".join(lines) + "\n")
    with pytest.raises(SchemaError, match="m.journal.jsonl, line 3: not JSON"):
        Journal(path, "s")
    lines[2] = json.dumps({"model": "m"})
    journal_path(path).write_text("\n".join(lines) + "\n")
    with pytest.raises(SchemaError, match="line 3: `dataset`"):
        Journal(path, "s")


def test_journal_sets_rows_of_other_settings_aside(path):
    with Journal(path, "old") as journal:
        journal.append([score("a")])
    new = Journal(path, "new")
    assert new.rows == [] and new.set_aside.exists()
    assert b'"a"' in new.set_aside.read_bytes()
    new.close()
    assert not journal_path(path).exists()


def test_journal_is_locked_for_others(path):
    journal = Journal(path, "s")
    with pytest.raises(RuntimeError, match="Another run is writing"):
        Journal(path, "s")
    journal.close()


def test_journal_survives_kill_9(path, tmp_path):
    """Every batch that `append` returned from is there after a kill."""
    code = (
        "import sys, itertools; from pathlib import Path\n"
        "from vca_core.cache import Journal; from vca_core.records import Score\n"
        "journal = Journal(Path(sys.argv[1]), 's')\n"
        "for n in itertools.count():\n"
        "    journal.append([Score(model='m', dataset='d', interface='yes_no', context=c,\n"
        "        sample_id=str(n), margin=0.1) for c in ('original', 'blank')])\n"
        "    print(n, flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    last = [child.stdout.readline() for _ in range(5)][-1]
    os.kill(child.pid, signal.SIGKILL)
    rest = child.communicate()[0].split()
    printed = int(rest[-1]) if rest else int(last)
    journal = Journal(path, "s")
    assert len(journal.rows) >= 2 * (printed + 1)
    journal.close()


class Identity:
    def __init__(self, probe_id, prompt="p", image="i"):
        self.probe_id, self.prompt_sha256, self.image_sha256 = probe_id, prompt, image


def wanted(*entries):
    return [(key[0], key, identity) for key, identity in entries]


def test_missing_probes_says_what_is_missing_and_why(path):
    facts = {"probe_id": "x", "prompt_sha256": "p", "image_sha256": "i"}
    put(
        path,
        [score(s, **facts) for s in ("hit", "image", "prompt", "settings", "gone")]
        + [failed("failed", "original")],
    )

    def key(name):
        return (name, "original", "canonical")

    todo = missing_probes(
        wanted(
            (key("hit"), Identity("x")),
            (key("image"), Identity("y", image="j")),
            (key("prompt"), Identity("y", prompt="q")),
            (key("settings"), Identity("y")),
            (key("gone"), None),
            (key("failed"), Identity("x")),
            (key("new"), Identity("x")),
        ),
        path,
        [],
        "s",
        "s",
    )
    assert todo.probes == ["image", "prompt", "settings", "gone", "failed", "new"]
    assert todo.reasons == {
        "image changed": 1,
        "prompt changed": 1,
        "checkpoint, dtype, system message, processor or --exact changed": 1,
        "image cannot be read": 1,
        "failed before": 1,
        "not scored yet": 1,
    }
    assert len(todo.keep) == 6 and not todo.outdated


def test_missing_probes_takes_the_journal_before_the_file_and_drops_other_settings(path):
    put(path, [score("a", probe_id="old")])
    rows = [score("a", probe_id="new")]
    want = wanted((("a", "original", "canonical"), Identity("new")))
    assert missing_probes(want, path, rows, "s", "s").probes == []
    todo = missing_probes(want, path, [], "other", "s")
    assert todo.probes == ["a"] and todo.keep == [] and todo.outdated


def test_load_margins_pivots_to_one_row_per_sample(tmp_path):
    for model, shift in (("m", 0.0), ("n", 1.0)):
        rows = [
            score(s, c, margin=shift + i + 10 * j, model=model, pair_id="p")
            for i, s in enumerate("ab")
            for j, c in enumerate(("original", "text_only", "blank"))
        ]
        put(scores_path(tmp_path, "d", "yes_no", model), rows)
    wide = load_margins(tmp_path)
    assert list(wide["model"]) == ["m", "m", "n", "n"]
    row = wide[(wide["model"] == "n") & (wide["sample_id"] == "b")].iloc[0]
    assert (row["margin_original"], row["margin_text_only"], row["margin_blank"]) == (2, 12, 22)
    assert row["pair_id"] == "p" and row["label"] == "yes" and pd.isna(row["relation"])
    assert list(load_margins(tmp_path, models=["n"])["model"].unique()) == ["n"]
    assert "margin_blank" not in load_margins(tmp_path, contexts=["original", "text_only"])


def test_load_margins_refuses_incomplete_samples_by_name_or_drops_them_aloud(tmp_path, capsys):
    rows = [score(s, c) for s in ("a", "b") for c in ("original", "blank")]
    rows += [score("c", "original"), score("d", "original"), failed("d", "blank")]
    put(scores_path(tmp_path, "d", "yes_no", "m"), rows)
    with pytest.raises(SchemaError, match=r"2 of 4 samples .*'blank': 2.*'c', 'd'.*drop"):
        load_margins(tmp_path)
    kept = load_margins(tmp_path, incomplete="drop")
    assert list(kept["sample_id"]) == ["a", "b"]
    assert "2 of 4 samples" in capsys.readouterr().err
    assert len(load_margins(tmp_path, contexts=["original"])) == 4
    with pytest.raises(SchemaError, match="'mismatch': 4"):
        load_margins(tmp_path, contexts=["mismatch"])
    with pytest.raises(SchemaError, match="No sample below"):
        load_margins(tmp_path, contexts=["mismatch"], incomplete="drop")


def test_load_margins_names_what_is_unknown_or_absent(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "none")):
        load_margins(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="No yes_no scores"):
        load_margins(tmp_path)
    put(scores_path(tmp_path, "d", "yes_no", "m"), [score()])
    for options, match in (
        ({"interface": "ab"}, "Unknown interface 'ab'"),
        ({"contexts": ["grey"]}, "Unknown context 'grey'"),
        ({"incomplete": "x"}, "`incomplete` must be"),
    ):
        with pytest.raises(SchemaError, match=match):
            load_margins(tmp_path, **options)
    for options, match in (
        ({"models": ["x"]}, r"no yes_no scores of models \['x'\].*there are \['m'\]"),
        ({"datasets": ["x"]}, "no yes_no scores of datasets"),
        ({"interface": "true_false"}, "No true_false scores"),
        ({"contexts": ["original", "blank"]}, r"1 of 1 samples .*\{'blank': 1\}"),
    ):
        with pytest.raises(NotScoredError, match=match):
            load_margins(tmp_path, **options)


def test_load_margins_reads_extra_special_sets_where_they_are(tmp_path):
    for name in ("d", "queries_inverse", "edits"):
        put(scores_path(tmp_path, name, "yes_no", "m"), [score(dataset=name)])
    read = lambda **options: list(load_margins(tmp_path, **options)["dataset"])  # noqa: E731
    assert read() == ["d"]
    assert read(extra=["queries_inverse", "factorial"]) == ["d", "queries_inverse"]
    assert read(datasets=["d"], extra=["edits"]) == ["d", "edits"]


def test_load_margins_says_that_a_run_is_unfinished(path):
    with Journal(path, "s") as journal:
        journal.append([score()])
    with pytest.raises(FileNotFoundError, match="Unfinished runs.*resume"):
        load_margins(path.parents[2])


@pytest.mark.parametrize("name", ["..", ".", "", "  ", "..."])
def test_scores_path_refuses_names_that_are_no_file_names(tmp_path, name):
    for dataset, model in ((name, "m"), ("d", name)):
        with pytest.raises(SchemaError, match="cannot name"):
            scores_path(tmp_path, dataset, "yes_no", model)


@pytest.mark.parametrize("name", ["org/model", "../../x", "a\\b", "ü", "a:b"])
def test_scores_path_stays_below_its_root_and_keeps_names_apart(tmp_path, name):
    path = scores_path(tmp_path, name, "yes_no", name)
    assert path.parents[2] == tmp_path and path.suffix == ".parquet"
    put(path, [score(model=name, dataset=name)])
    assert list(load_margins(tmp_path)["model"]) == [name]


def test_read_scores_names_the_file_and_the_fault(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(SchemaError, match="m.parquet: not a scores file"):
        read_scores(path)
    pd.DataFrame({"model": ["m"]}).to_parquet(path)
    with pytest.raises(SchemaError, match="column `checkpoint` is missing"):
        read_scores(path)


def test_write_scores_gives_the_same_bytes_in_any_order(tmp_path):
    rows = [score(s, c).model_dump() for s in "abc" for c in ("original", "blank")]
    write_scores(rows, tmp_path / "a.parquet")
    time.sleep(0.01)
    write_scores(rows[::-1], tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
