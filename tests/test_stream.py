"""Scores read in parts: the rows and rates of the whole, whatever the order of the file."""

import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import vca_core.cli.audit as cli
from vca_core import metrics
from vca_core.cache import count_rows, load_margins, scores_path, stream_margins
from vca_core.cache import parts as parts_module
from vca_core.cache import stream as stream_module
from vca_core.cache.files import write_run_record
from vca_core.cache.parts import parts_of
from vca_core.records import SCORE_SCHEMA, NotScoredError, SchemaError

CONTEXTS = ("original", "text_only", "blank")
INDEX = ["model", "dataset", "interface", "wording", "sample_id"]
TABLES = [(events, cli.TABLES[table][0]) for table, events in cli.COUNTED.items()]


def generator():
    return np.random.default_rng(11)


def row(sample_id="a", context="original", margin=0.5, **fields):
    base = {"model": "m", "dataset": "d", "interface": "yes_no", "wording": "canonical",
            "label": "yes", "status": "ok"}  # fmt: skip
    return base | {"sample_id": sample_id, "context": context, "margin": margin} | fields


def put(root, rows, order=None):
    """Write rows of one file in the order given, in small row groups."""
    rows = rows if order is None else [rows[i] for i in order]
    first = rows[0]
    path = scores_path(root, first["dataset"], first["interface"], first["model"])
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, SCORE_SCHEMA), path, row_group_size=50)
    write_run_record(path, {"origin": "imported"})
    return path


def rows_of(model, dataset, n, rng, wordings=("canonical",), contexts=CONTEXTS):
    """Half of the samples in pairs, some without a label, with ties; facts not in every row."""
    rows = []
    for i in range(n):
        facts = {
            "label": rng.choice(["yes", "no", None], p=[0.45, 0.45, 0.1]),
            "pair_id": f"p{i % (n // 4)}" if i < n // 2 else None,
        }
        for wording in wordings:
            for j, context in enumerate(contexts):
                known = facts if j == i % len(contexts) or rng.random() < 0.5 else {"label": None}
                margin = float(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0]))
                rows.append(row(f"s{i:03d}", context, margin, model=model, dataset=dataset,
                                wording=wording, **known))  # fmt: skip
    return rows


@pytest.fixture
def small_parts(monkeypatch, tmp_path):
    """Parts, batches and splits so small that a test's rows need many, and two levels."""
    monkeypatch.setattr(stream_module, "PART_ROWS", 200)
    monkeypatch.setattr(parts_module, "_BATCH", 130)
    monkeypatch.setattr(parts_module, "_MOST", 3)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two models on two data sets, rows of each file in random order."""
    folder = tmp_path_factory.mktemp("scores")
    rng = generator()
    for dataset, n, wordings in (("d", 240, ("canonical",)), ("e", 60, ("canonical", "synonym"))):
        for model in ("m", "m-2"):
            rows = rows_of(model, dataset, n, rng, wordings, (*CONTEXTS, "mismatch"))
            put(folder, rows, rng.permutation(len(rows)))
    return folder


def streamed(root, **options):
    return list(stream_margins(root, contexts=CONTEXTS, **options))


def test_stream_margins_gives_the_rows_of_load_margins(root, small_parts):
    parts = streamed(root)
    assert len(parts) > 12
    whole = load_margins(root, contexts=CONTEXTS)
    together = pd.concat(parts).sort_values(INDEX, ignore_index=True)
    pd.testing.assert_frame_equal(
        together, whole[together.columns].sort_values(INDEX, ignore_index=True)
    )
    assert list(together.columns) == [
        *INDEX,
        "label",
        "pair_id",
        *map("margin_{}".format, CONTEXTS),
    ]


def test_stream_margins_keeps_clusters_whole(root, small_parts):
    seen = {}
    for number, part in enumerate(streamed(root)):
        names = part["pair_id"].fillna(part["sample_id"])
        for key in set(zip(part["model"], part["dataset"], names, strict=True)):
            assert seen.setdefault(key, number) == number, key
    assert sum(name.startswith("p") for *_, name in seen) == 2 * (60 + 15)


def test_stream_margins_reads_a_small_file_at_once(root):
    parts = streamed(root, models=["m"], datasets=["e"])
    assert len(parts) == 1 and len(parts[0]) == 120
    assert count_rows(root, models=["m"], datasets=["e"]) == 480
    assert count_rows(root) == 2 * (960 + 480)


@pytest.mark.parametrize("events, rates", TABLES)
def test_rates_of_parts_equal_those_of_the_whole(root, small_parts, events, rates):
    audits = map(metrics.audit_support, streamed(root))
    counts = metrics.count_events(audits, events)
    got = metrics.rates_of_events(counts, n_resamples=60, rng=generator())
    audit = metrics.audit_support(load_margins(root, contexts=CONTEXTS))
    whole = rates(audit, n_resamples=60, rng=generator())
    # 45 clusters of the small data set show too many patterns to be drawn by pattern.
    drawn_alike = whole["dataset"] == "d"
    pd.testing.assert_frame_equal(got[drawn_alike], whole[drawn_alike], check_exact=True)
    exact = [c for c in whole.columns if c not in ("low", "high", "n_undefined")]
    pd.testing.assert_frame_equal(got[exact], whole[exact], check_exact=True)
    assert (got["n"] > 0).all() and got["low"].notna().all()


def test_temporary_files_go_also_when_the_reader_stops(root, small_parts):
    stream = stream_margins(root, contexts=CONTEXTS)
    next(stream)
    assert any(small_parts.iterdir())
    stream.close()
    assert not any(small_parts.iterdir())
    streamed(root)
    assert not any(small_parts.iterdir())


def broken(name):
    """Rows of 60 samples of which one breaks a rule."""
    rows = [row(f"s{i:02d}", c, 0.1 * i, pair_id=f"p{i // 2}") for i in range(60) for c in CONTEXTS]
    change = {
        "missing": lambda: rows.pop(3),
        "failed": lambda: rows[40].update(margin=None, status="error", error="unreadable"),
        "nan": lambda: rows[41].update(margin=float("nan")),
        "several": lambda: [rows.pop(3 * i) for i in range(20, 0, -1)],
        "never": lambda: [rows.remove(r) for r in list(rows) if r["context"] == "blank"],
        "twice": lambda: rows.append(rows[100] | {"margin": 3.0}),
        "label": lambda: rows[31].update(label="no"),
        "pair": lambda: rows[32].update(pair_id="other"),
    }
    change[name]()
    return rows


@pytest.mark.parametrize(
    "name", ["missing", "failed", "nan", "several", "never", "twice", "label", "pair"]
)
def test_stream_margins_refuses_what_load_margins_refuses(tmp_path, small_parts, capsys, name):
    rows = broken(name)
    put(tmp_path, rows, generator().permutation(len(rows)))

    def outcome(read, **options):
        try:
            frame = pd.concat(read(tmp_path, contexts=CONTEXTS, **options))
        except SchemaError as error:
            return type(error), str(error)
        return sorted(frame["sample_id"]), capsys.readouterr().err

    load = lambda *args, **options: [load_margins(*args, **options)]  # noqa: E731
    for options in ({}, {"incomplete": "drop"}):
        found = outcome(stream_margins, **options)
        assert found == outcome(load, **options)
        assert options or isinstance(found[0], type)


def test_stream_margins_names_what_is_unknown_or_absent(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "none")):
        streamed(tmp_path / "none")
    path = put(tmp_path, [row(c, context) for c in "ab" for context in CONTEXTS])
    for options, match in (
        ({"interface": "ab"}, "Unknown interface 'ab'"),
        ({"contexts": ["grey"]}, "Unknown context 'grey'"),
        ({"incomplete": "x"}, "`incomplete` must be"),
    ):
        with pytest.raises(SchemaError, match=match):
            list(stream_margins(tmp_path, **{"contexts": CONTEXTS} | options))
    with pytest.raises(NotScoredError, match=r"of models \['x'\]"):
        streamed(tmp_path, models=["x"])
    with pytest.raises(NotScoredError, match=r"of models \['x'\]"):
        count_rows(tmp_path, models=["x"])
    table = pq.read_table(path, partitioning=None)
    for changed, match in (
        (table.drop_columns("pair_id"), "column `pair_id` is missing"),
        (table.append_column("mood", table["label"]), r"unknown columns \['mood'\]"),
        (table.set_column(table.column_names.index("margin"), "margin", table["label"]),
         "`margin` must be double, got string"),
        (table.set_column(table.column_names.index("sample_id"), "sample_id",
                          pa.nulls(len(table), pa.string())), "`sample_id` must be given"),
    ):  # fmt: skip
        pq.write_table(changed, path)
        for read in (streamed, load_margins):
            with pytest.raises(SchemaError, match=f"m.parquet: .*{match}"):
                read(tmp_path)


def test_stream_margins_reads_the_types_of_other_writers(tmp_path, small_parts):
    rows = broken("missing")[5:]
    path = put(tmp_path, rows)
    table = pq.read_table(path, partitioning=None)
    large = [f.with_type(pa.large_string()) if f.type == pa.string() else f for f in table.schema]
    table = table.cast(pa.schema(large))
    table = table.set_column(table.column_names.index("label"), "label", pa.nulls(len(table)))
    pq.write_table(table, path)
    together = pd.concat(streamed(tmp_path)).sort_values(INDEX, ignore_index=True)
    whole = load_margins(tmp_path, contexts=CONTEXTS)[together.columns]
    pd.testing.assert_frame_equal(together, whole)


def test_parts_keep_keys_whole_and_rows_in_order(tmp_path, small_parts):
    keys = generator().integers(90, size=2000)
    keys[keys < 30] = 0  # one key of several hundred rows, which no split can part
    table = pa.table({"key": [f"k{k}" for k in keys], "place": np.arange(2000.0)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
    found = list(parts_of(tmp_path / "rows.parquet", "key", table.schema, rows=100))
    names = [set(part["key"].to_pylist()) for part in found]
    assert sum(map(len, names)) == len(set.union(*names)) == len(set(keys))
    assert all(np.all(np.diff(part["place"]) > 0) for part in found if len(part) > 1)
    assert sorted(np.concatenate([part["place"] for part in found])) == list(range(2000))
    assert sorted(len(part) for part in found)[-2] < 200


@pytest.mark.parametrize("table", ["headline", "cells", "survival", "strata"])
def test_audit_reads_large_scores_in_parts(root, small_parts, monkeypatch, table):
    app = typer.Typer()
    app.command()(cli.audit)
    call = ["--scores", str(root), "--datasets", "d", "--table", table, "--resamples", "30"]
    whole = CliRunner().invoke(app, call)
    assert whole.exit_code == 0, whole.output
    monkeypatch.setattr(cli, "LARGE", 100)
    if table != "strata":  # needs more than counts
        monkeypatch.setattr(cli, "load_margins", None)
    assert CliRunner().invoke(app, call).stdout == whole.stdout
