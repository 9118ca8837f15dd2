"""Records of other tools: wide and long, three formats, and every refusal."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from vca_core.cache import import_scores, load_margins, read_scores, scores_path, verify
from vca_core.cache.files import read_run_record, write_run_record, write_scores
from vca_core.cli import app
from vca_core.records import SchemaError, Score

CONFORMANCE = (
    Path(__file__).resolve().parents[2] / "shared/conformance/reconstructed_qwen_llava.jsonl"
)
WIDE = [
    {"id": "007", "gold": "Yes", "m_o": 1.5, "m_t": -0.25, "m_b": 0.0},
    {"id": "8", "gold": "NO", "m_o": -1e-3, "m_t": 2, "m_b": 3.5},
]
MAP = {
    "sample_id": "id",
    "label": "gold",
    "margin_original": "m_o",
    "margin_text_only": "m_t",
    "margin_blank": "m_b",
}


def write(tmp_path, records, kind):
    path = tmp_path / f"records.{kind}"
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, records)) + "\n")
    elif kind == "csv":
        pd.DataFrame(records).to_csv(path, index=False)
    else:
        pd.DataFrame(records).to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_import_scores_wide(tmp_path, kind):
    out = tmp_path / "out"
    done = import_scores(
        write(tmp_path, WIDE, kind), out, mapping=MAP, model="org/m", dataset="bench"
    )
    assert (
        list(done.files.values()) == [6]
        and done.errors == done.replaced == 0
        and done.ignored == []
    )
    wide = load_margins(out).set_index("sample_id")
    assert list(wide.index) == ["007", "8"] and list(wide["label"]) == ["yes", "no"]
    assert wide.loc["007", "margin_text_only"] == -0.25
    assert wide.loc["8", "margin_original"] == -1e-3
    assert verify(out).faults == []
    record = read_run_record(scores_path(out, "bench", "yes_no", "org/m"))
    assert record["origin"] == "imported" and len(record["source_sha256"]) == 64


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_import_scores_long_computes_the_margin_from_losses(tmp_path, kind):
    records = [
        {"model": m, "dataset": "d", "sample_id": 5, "context": c, "label": "yes",
         "loss_yes": 1.0, "loss_no": 1.0 + n, "note": "x"}
        for m in ("a", "b")
        for n, c in enumerate(("original", "text_only"))
    ]  # fmt: skip
    done = import_scores(write(tmp_path, records, kind), tmp_path / "out")
    assert len(done.files) == 2 and done.ignored == ["note"]
    wide = load_margins(tmp_path / "out")
    assert list(wide["sample_id"]) == ["5", "5"]
    assert list(wide["margin_original"]) == [0.0, 0.0] and list(wide["margin_text_only"]) == [1, 1]


def test_import_scores_refuses_rows_that_disagree_on_a_label(tmp_path):
    rows = [
        {"model": "m", "dataset": "d", "sample_id": "a", "context": c, "margin": 1.0, "label": lab}
        for c, lab in (("original", "yes"), ("blank", None), ("text_only", "no"))
    ]
    path = write(tmp_path, rows, "jsonl")
    with pytest.raises(SchemaError, match="row 3: .*agree on `label`, got 'no' for 'a', in row 1"):
        import_scores(path, tmp_path / "o")
    import_scores(write(tmp_path, rows[:2], "jsonl"), tmp_path / "o")
    assert list(load_margins(tmp_path / "o")["label"]) == ["yes"]
    assert import_scores(write(tmp_path, rows[:1], "jsonl"), tmp_path / "o").replaced == 2


def test_import_scores_makes_missing_margins_error_rows(tmp_path):
    records = [WIDE[0] | {"m_b": None}, WIDE[1] | {"m_t": float("nan")}]
    done = import_scores(
        write(tmp_path, records, "jsonl"), tmp_path / "o", mapping=MAP, model="m", dataset="d"
    )
    assert done.errors == 2
    frame = read_scores(next(iter(done.files)))
    bad = frame[frame["status"] == "error"]
    assert set(bad["context"]) == {"blank", "text_only"} and bad["margin"].isna().all()
    assert bad["error"].str.contains("row 1|row 2").all()
    with pytest.raises(SchemaError, match="2 of 2 samples"):
        load_margins(tmp_path / "o")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"gold": "maybe"}, r"records.jsonl, row 2: `label`.*'maybe'"),
        ({"m_o": "high"}, "row 2: `margin_original` must be a number, got 'high'"),
        ({"id": 1.5}, "row 2: `sample_id` must be text or a whole number, got 1.5"),
        ({"id": None}, "row 2: `sample_id` is missing"),
        ({"id": "007"}, "row 2: second record of '007' .*first in row 1"),
    ],
)
def test_import_scores_names_file_and_row(tmp_path, change, match):
    path = write(tmp_path, [WIDE[0], WIDE[1] | change], "jsonl")
    with pytest.raises(SchemaError, match=match):
        import_scores(path, tmp_path / "o", mapping=MAP, model="m", dataset="d")
    assert not (tmp_path / "o").exists()


def test_import_scores_refuses_wrong_maps_and_files(tmp_path):
    path = write(tmp_path, WIDE, "jsonl")
    options = {"model": "m", "dataset": "d"}
    for mapping, match in (
        ({"margin_grey": "m_o"}, "unknown field"),
        (MAP | {"label": "golden"}, "no such column; got"),
        ({"sample_id": "id"}, "needs `margin_original`"),
    ):
        with pytest.raises(SchemaError, match=match):
            import_scores(path, tmp_path / "o", mapping=mapping, **options)
    with pytest.raises(SchemaError, match="`model` is missing; give --model"):
        import_scores(path, tmp_path / "o", mapping=MAP, dataset="d")
    path.write_text("[1]\n")
    with pytest.raises(SchemaError, match="row 1: expected an object"):
        import_scores(path, tmp_path / "o", **options)
    path.write_text('{"a": 1}\n{"a"')
    with pytest.raises(SchemaError, match="row 2: not JSON"):
        import_scores(path, tmp_path / "o", **options)
    (tmp_path / "x.csv").write_text("")
    with pytest.raises(SchemaError, match="not a CSV file"):
        import_scores(tmp_path / "x.csv", tmp_path / "o", **options)
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(SchemaError, match="expected .jsonl"):
        import_scores(tmp_path / "x.txt", tmp_path / "o", **options)
    with pytest.raises(FileNotFoundError):
        import_scores(tmp_path / "none.csv", tmp_path / "o", **options)


def test_import_scores_replaces_an_import_but_never_live_scores(tmp_path):
    path, out = write(tmp_path, WIDE, "jsonl"), tmp_path / "o"
    options = {"mapping": MAP, "model": "m", "dataset": "d"}
    import_scores(path, out, **options)
    import_scores(path, out, **options)
    target = scores_path(out, "d", "yes_no", "m")
    live = Score(
        model="m", dataset="d", sample_id="a", context="original", interface="yes_no", margin=1.0
    )
    write_scores([live.model_dump()], target)
    write_run_record(target, {"origin": "scored"})
    with pytest.raises(SchemaError, match="not imported"):
        import_scores(path, out, **options)
    assert len(read_scores(target)) == 1


@pytest.mark.skipif(not CONFORMANCE.exists(), reason="no ../shared/conformance")
def test_import_and_audit_command_give_the_published_headline(tmp_path):
    out = str(tmp_path / "scores")
    runner = CliRunner()
    maps = {
        "margin_text_only": "margin_text",
        "margin_mean_color": "margin_mean_blank",
        "label": "gold",
    }
    done = runner.invoke(
        app,
        ["import", str(CONFORMANCE), "--out", out]
        + [word for k, v in maps.items() for word in ("--map", f"{k}={v}")],
    )
    assert done.exit_code == 0, done.output
    audit = runner.invoke(app, ["audit", "--scores", out, "--format", "json", "--resamples", "50"])
    assert audit.exit_code == 0, audit.output
    rates = {(r["model"], r["dataset"], r["metric"]): r["value"] for r in json.loads(audit.stdout)}
    # T01 as quoted in the paper's introduction, and its ranges' ends.
    assert 100 * rates["Qwen", "GSR-COCO", "accuracy"] == pytest.approx(90.91, abs=0.005)
    assert 100 * rates["Qwen", "GSR-COCO", "dcc"] == pytest.approx(78.18, abs=0.005)
    assert 100 * rates["LLaVA", "GSR-COCO", "accuracy"] == pytest.approx(81.93, abs=0.005)
    assert 100 * rates["LLaVA", "GSR-COCO", "dcc"] == pytest.approx(55.68, abs=0.005)
    assert 100 * rates["LLaVA", "GSR-COCO", "cu"] == pytest.approx(26.25, abs=0.005)
    assert 100 * rates["Qwen", "GSR-COCO", "cu"] == pytest.approx(12.73, abs=0.005)
