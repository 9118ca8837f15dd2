"""``vca filter`` on small imported scores."""

import io

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from vca_core.cache import import_scores, load_margins
from vca_core.cli import app
from vca_core.metrics import keep_groups, panel_score

CONTEXTS = ("original", "text_only", "blank")


def records(model, dataset="bench", n_pairs=6, prefix="p", label=True, seed=0):
    """Scored pairs, and one statement that stands alone."""
    names = [(f"{prefix}{i}", side) for i in range(n_pairs) for side in ("yes", "no")]
    rows = [{"sample_id": f"{p}-{s}", "pair_id": p, "label": s} for p, s in names]
    rows.append({"sample_id": f"{prefix}-alone", "pair_id": None, "label": "yes"})
    frame = pd.DataFrame(rows).assign(model=model, dataset=dataset)
    rng = np.random.default_rng([seed, len(model)])
    for context in CONTEXTS:
        frame[f"margin_{context}"] = rng.normal(size=len(frame))
    return frame if label else frame.drop(columns="label")


@pytest.fixture
def add(tmp_path):
    """Put records into a scores folder, which is returned."""

    def add(*frames):
        for number, frame in enumerate(frames):
            path = tmp_path / f"records-{number}.jsonl"
            frame.to_json(path, orient="records", lines=True)
            import_scores(path, tmp_path / "scores")
        return tmp_path / "scores"

    return add


@pytest.fixture
def scores(add):
    return add(records("one"), records("three"), records("seventh"))


def run(scores, *args):
    return CliRunner().invoke(app, ["filter", "--scores", str(scores), *args])


def expected(scores, coverage=0.5, score="vca", **options):
    margins = load_margins(scores, contexts=CONTEXTS, **options)
    kept = keep_groups(panel_score(margins, score), coverage)
    return [name for group in kept for name in
            sorted(margins.loc[margins["pair_id"].fillna(margins["sample_id"]) == group,
                               "sample_id"].unique())]  # fmt: skip


@pytest.mark.parametrize("coverage", ["0.3", "0.5", "1"])
def test_filter_writes_kept_ids_best_first(scores, coverage):
    done = run(scores, "--coverage", coverage)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == expected(scores, float(coverage))


def test_filter_says_how_many_are_kept_and_by_whom(scores):
    done = run(scores)
    n_kept = len(done.stdout.splitlines())
    assert done.stderr == (
        f"bench: {n_kept} of 13 statements kept (4 of 7 groups), by vca of one, seventh, three\n"
    )


@pytest.mark.parametrize("score", ["shortcut", "visnec", "confidence", "probability_gap"])
def test_filter_takes_another_score(scores, score):
    done = run(scores, "--score", score)
    assert done.stdout.splitlines() == expected(scores, score=score)


def test_filter_asks_a_panel_of_the_named_models(scores):
    done = run(scores, "--models", "one", "--models", "three")
    assert done.stdout.splitlines() == expected(scores, models=["one", "three"])
    assert "by vca of one, three" in done.stderr
    wrong = run(scores, "--models", "gpt")
    assert wrong.exit_code == 1 and wrong.stdout == "" and "'gpt'" in wrong.stderr


def test_filter_ranking_holds_every_statement(scores):
    done = run(scores, "--ranking")
    table = pd.read_csv(io.StringIO(done.stdout))
    assert list(table.columns) == ["dataset", "sample_id", "group_id", "score", "rank", "kept"]
    assert len(table) == 13 and table["rank"].is_monotonic_increasing
    assert table.loc[table["kept"], "sample_id"].tolist() == expected(scores)
    panel = panel_score(load_margins(scores, contexts=CONTEXTS), "vca")
    by_group = table.drop_duplicates("group_id").set_index("group_id")
    assert by_group["score"].to_dict() == pytest.approx(panel.to_dict())
    assert by_group["rank"].tolist() == list(range(1, 8))
    assert by_group.index.tolist() == list(keep_groups(panel, 1))


def test_filter_writes_to_a_file(scores, tmp_path):
    done = run(scores, "--out", str(tmp_path / "kept.txt"))
    assert done.exit_code == 0 and done.stdout == ""
    assert (tmp_path / "kept.txt").read_text().splitlines() == expected(scores)
    failed = run(scores, "--out", str(tmp_path / "nowhere" / "kept.txt"))
    assert failed.exit_code == 2 and "nowhere" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_filter_needs_no_labels_unless_the_score_does(add):
    scores = add(records("one", label=False), records("three", label=False))
    assert run(scores).stdout.splitlines() == expected(scores)
    for score in ("shortcut", "visnec"):
        done = run(scores, "--score", score)
        assert done.exit_code == 1 and done.stdout == ""
        assert f"`label` must be given for the filter '{score}'" in done.stderr


def test_filter_reads_only_the_contexts_of_its_score(add):
    scores = add(records("one").drop(columns=["margin_text_only", "margin_blank"]))
    assert len(run(scores, "--score", "confidence", "--coverage", "1").stdout.splitlines()) == 13
    done = run(scores)
    assert done.exit_code == 1 and "text_only" in done.stderr


def test_filter_takes_each_data_set_by_itself(add):
    other = records("one", "other", 4, "q", seed=1)
    scores = add(records("one"), records("three"), other, records("one", "edits", 3, "e"))
    done = run(scores)
    parts = [expected(scores, datasets=[name]) for name in ("bench", "other")]
    assert done.stdout.splitlines() == parts[0] + parts[1]
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["bench", "other"]
    assert "by vca of one\n" in done.stderr
    # `edits` is built for one question, and read only where it is named.
    only = run(scores, "--datasets", "edits")
    assert only.stdout.splitlines() == expected(scores, datasets=["edits"])


def test_filter_refuses_a_list_that_does_not_say_which_data_set(add):
    scores = add(records("one"), records("one", "other"))
    done = run(scores)
    assert done.exit_code == 1 and done.stdout == ""
    assert "in the data sets 'bench', 'other': choose one with --datasets" in done.stderr
    assert len(run(scores, "--ranking").stdout.splitlines()) == 1 + 26
    assert len(run(scores, "--datasets", "other", "--coverage", "1").stdout.splitlines()) == 13


def test_filter_leaves_out_what_one_model_lost(add):
    torn = records("three")
    torn.loc[0, "margin_blank"] = np.nan
    scores = add(records("one"), torn)
    refused = run(scores)
    assert refused.exit_code == 1 and "--drop-incomplete" in refused.stderr
    done = run(scores, "--drop-incomplete", "--coverage", "1")
    assert done.exit_code == 0 and len(done.stdout.splitlines()) == 12
    assert "p0-yes" not in done.stdout.splitlines() and "12 of 12" in done.stderr


def test_filter_refuses_models_with_other_statements(add):
    scores = add(records("one"), records("three", n_pairs=7))
    done = run(scores)
    assert done.exit_code == 1 and "same statements" in done.stderr and "'one'" in done.stderr


@pytest.mark.parametrize("coverage", ["0", "-1", "50", "nan"])
def test_filter_refuses_a_share_that_is_none(scores, coverage):
    done = run(scores, f"--coverage={coverage}")
    assert done.exit_code == 1 and done.stdout == "" and "share in (0, 1]" in done.stderr


def test_filter_tells_a_missing_folder_without_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("cached_scores")  # a relative folder is the caller's, not the project's
    assert done.exit_code == 2 and str(tmp_path / "cached_scores") in done.stderr
    assert "Traceback" not in done.stderr


def test_filter_help_shows_an_example():
    done = CliRunner().invoke(app, ["filter", "--help"])
    assert "vca filter --scores my_scores --coverage 0.5" in done.stdout
