import json

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import vca_core.cli.audit as module
from vca_core import metrics
from vca_core.records import SchemaError

app = typer.Typer()
app.command()(module.audit)
TABLES = ["headline", "cells", "strata", "balanced", "survival", "sensitivity", "permutation"]


@pytest.fixture
def margins(monkeypatch):
    rng = np.random.default_rng(3)
    contexts = ("original", "text_only", "blank", "mismatch")
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=[f"margin_{c}" for c in contexts])
    frame["sample_id"] = [f"s{i}" for i in range(40)]
    frame["pair_id"] = [f"p{i // 2}" for i in range(40)]
    frame["label"] = rng.choice(["yes", "no"], 40)
    frame = frame.assign(model="mini|qwen", dataset="pairs", interface="yes_no")
    monkeypatch.setattr(module, "load_margins", lambda *args, **options: frame)
    return frame


def run(*args):
    return CliRunner().invoke(app, ["--scores", "here", "--resamples", "40", *args])


@pytest.mark.parametrize("table", TABLES)
def test_audit_prints_each_table_in_each_format(margins, table):
    rows = json.loads(run("--table", table, "--format", "json").stdout)
    shown = run("--table", table, "--format", "csv").stdout.splitlines()
    assert len(shown) == len(rows) + 1
    assert shown[0].split(",") == list(rows[0])
    text = run("--table", table, "--format", "md")
    assert text.exit_code == 0 and text.stdout.startswith("| Model")


def test_audit_json_is_unrounded_and_seeded(margins):
    rows = json.loads(run("--format", "json", "--seed", "5").stdout)
    audit = metrics.audit_support(margins)
    expected = metrics.support_rates(audit, n_resamples=40, rng=np.random.default_rng(5))
    pd.testing.assert_frame_equal(pd.DataFrame(rows), expected, check_dtype=False)


def test_audit_json_writes_null_for_an_empty_rate(margins, monkeypatch):
    bare = margins.assign(label=None)
    monkeypatch.setattr(module, "load_margins", lambda *args, **options: bare)
    rows = json.loads(run("--format", "json").stdout)
    assert rows[0]["metric"] == "accuracy" and rows[0]["value"] is None and rows[0]["n"] == 0


def test_audit_md_escapes_a_bar_in_a_name(margins):
    assert "| mini\\|qwen |" in run().stdout


def test_audit_passes_its_options_on(margins, monkeypatch):
    seen = {}

    def load(*args, **options):
        seen.update(options, args=args)
        return margins

    monkeypatch.setattr(module, "load_margins", load)
    run("--models", "a", "--models", "b", "--datasets", "pairs", "--drop-incomplete")
    assert seen["models"] == ("a", "b") and seen["datasets"] == ("pairs",)
    assert seen["incomplete"] == "drop" and "mismatch" not in seen["contexts"]
    run("--table", "permutation", "--interface", "true_false")
    assert seen["incomplete"] == "refuse" and "mismatch" in seen["contexts"]
    assert seen["interface"] == "true_false"


@pytest.mark.parametrize("error", [SchemaError("rule, got, where"), FileNotFoundError("No folder")])
def test_audit_tells_an_error_without_traceback(monkeypatch, error):
    def load(*args, **options):
        raise error

    monkeypatch.setattr(module, "load_margins", load)
    result = run()
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == f"Error: {error}\n"


def test_audit_help_shows_an_example():
    result = CliRunner().invoke(app, ["--help"])
    assert "vca audit --scores" in result.stdout


def test_audit_looks_for_a_relative_folder_where_it_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["--scores", "cached_scores"])
    assert done.exit_code == 1 and str(tmp_path / "cached_scores") in done.output
