"""The four mini models as committed: cards, what they read, scores that come out again."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from models.evaluate import Ask, evaluate, prior_rule_accuracy  # noqa: E402
from models.recipes import RECIPES, stages_of  # noqa: E402
from vca_core.backends import load_backend  # noqa: E402
from vca_core.cache import read_scores, scores_path  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.records import SCORE_SCHEMA, read_manifest  # noqa: E402
from vca_core.scenes import DATASETS, draw_scene, prior_table  # noqa: E402
from vca_core.scenes.datasets import DERIVED  # noqa: E402
from vca_core.scenes.world import INVERSE  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402

pytestmark = pytest.mark.live
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import score_all  # noqa: E402

SCORES = ROOT / "cached_scores"
MODELS = list(RECIPES)


def facts_of(model):
    return json.loads((ROOT / "models" / model / "training.json").read_text())


@pytest.mark.parametrize("model", MODELS)
def test_card_and_size_of_the_checkpoint(model):
    folder, facts = ROOT / "models" / model, facts_of(model)
    files = [p for p in folder.iterdir() if p.is_file()]
    assert sum(p.stat().st_size for p in files) <= 6e6
    assert not [p.name for p in files if p.suffix in (".bin", ".pt", ".pkl")]
    assert 5e5 <= facts["parameters"] <= 1.5e6
    stages = stages_of(RECIPES[model])
    assert facts["mixture_percent"] == {s.name: s.mixture._asdict() for s in stages if s.mixture}
    assert facts["steps"] == {s.name: s.steps for s in stages}
    assert facts["kind"] == RECIPES[model].kind
    card = (folder / "README.md").read_text()
    assert facts["kind"] in card and f"seed {facts['seed']}" in card
    for value in facts["held_out_accuracy"].values():
        assert f"{value:.3f}" in card


def test_targets_of_the_models_on_fresh_scenes():
    measured = {model: facts_of(model)["held_out_accuracy"] for model in MODELS}
    assert all(m["presence"] >= 0.90 for m in measured.values())
    assert sum(m["uniform"] >= 0.85 for m in measured.values()) >= 2
    for rate, apart in (("dcc", 0.20), ("cu", 0.10)):
        values = [m[rate] for m in measured.values()]
        assert max(values) - min(values) >= apart, rate


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_checkpoint_reads_as_its_card_says(model):
    facts = facts_of(model)
    backend = load_backend(str(ROOT / "models" / model))
    n, told = 15, facts["held_out_accuracy"]
    measured = evaluate(backend.model, backend.processor, RECIPES[model].family, n=n, seed=77)
    assert list(measured) == list(told)
    for name, p in told.items():
        # The scene is the unit, both runs vary; four standard errors of a share at least .02 wide.
        spread = max(p * (1 - p), 0.02) * (1 / n + 1 / facts["evaluation_scenes"])
        assert measured[name] == pytest.approx(p, abs=4 * spread**0.5), name


def test_prior_rule_accuracy_counts_answers_by_the_frequent_place():
    first, second = "red circle", "blue square"
    usual = prior_table()[first, second].place
    scene = draw_scene(np.random.default_rng(1), first, second, usual)
    turned = draw_scene(np.random.default_rng(1), first, second, INVERSE[usual])
    asks = [Ask(scene, usual, True), Ask(scene, INVERSE[usual], False), Ask(turned, usual, False)]
    assert [prior_rule_accuracy([ask]) for ask in asks] == [1, 1, 0]
    assert prior_rule_accuracy(asks) == pytest.approx(2 / 3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("run", score_all.RUNS, ids=lambda run: f"{run.dataset}-{run.interface}")
def test_committed_scores_are_complete(model, run):
    samples = read_manifest(SCORES / run.dataset / "manifest.jsonl")
    frame = read_scores(scores_path(SCORES, run.dataset, run.interface, model))
    wanted = {(s.sample_id, c, s.wording) for s in samples for c in run.contexts}
    assert set(zip(frame.sample_id, frame.context, frame.wording, strict=True)) == wanted
    assert len(frame) == len(wanted) and set(frame.status) == {"ok"}
    if run.dataset == "factorial":
        assert frame.probe_id.nunique() == 3000


def test_all_data_sets_are_scored_and_the_whole_is_small():
    assert {run.dataset for run in score_all.RUNS} == {*DATASETS, *DERIVED}
    assert set(score_all.MODELS) == set(MODELS)
    size = sum(p.stat().st_size for p in SCORES.rglob("*") if p.is_file())
    assert size < 25e6


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Pictures of the first items of every data set."""
    folder = tmp_path_factory.mktemp("scenes")
    for name, draw in DATASETS.items():
        (folder / name).mkdir()
        for number, item in enumerate(draw()):
            if number == 40:
                break
            item.picture().save(folder / name / item.image)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_committed_scores_come_out_again(scenes, model):
    checked = 0
    for run in score_all.RUNS:
        folder = scenes / run.folder
        there = {path.name for path in folder.iterdir()}
        samples = read_manifest(SCORES / run.dataset / "manifest.jsonl")
        probes = [
            p
            for p in build_probes(samples, run.contexts, run.interface)
            if p.image is None and p.sample.image in there or p.image in there
        ]
        chosen = np.random.default_rng(5).permutation(len(probes))[:24]
        backend = load_backend(str(ROOT / "models" / model), system=run.system)
        frame = read_scores(scores_path(SCORES, run.dataset, run.interface, model))
        cached = frame.set_index(["sample_id", "context", "wording"])
        for rows in score_probes(
            [probes[i] for i in chosen], backend, model=model, image_dir=folder
        ):
            for row in rows:
                old = cached.loc[(row.sample_id, row.context, row.wording)]
                assert row.prompt_sha256 == old["prompt_sha256"]
                assert row.image_sha256 == old["image_sha256"] or row.context == "text_only"
                # Another processor sums in another order: float32 noise, far under any gap shown.
                assert row.margin == pytest.approx(old["margin"], abs=score_all.TOLERANCE)
                checked += 1
    assert checked == 24 * len(score_all.RUNS)


def test_compare_lists_what_moved_and_what_is_missing(tmp_path, monkeypatch, capsys):
    run = score_all.RUNS[0]
    frame = read_scores(scores_path(SCORES, run.dataset, run.interface, MODELS[0])).head(50)
    new = frame.iloc[1:].copy()
    new.loc[new.index[6], "margin"] += 0.5
    new.loc[new.index[9], "prompt_sha256"] = "other"
    for root, rows in (("new", new), ("old", frame.drop(index=frame.index[3]))):
        path = scores_path(tmp_path / root, run.dataset, run.interface, MODELS[0])
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pandas(rows, SCORE_SCHEMA, preserve_index=False), path)
    monkeypatch.setattr(score_all, "COMMITTED", tmp_path / "old")
    monkeypatch.setattr(score_all, "RUNS", (run,))
    differences = score_all.compare(tmp_path / "new", [MODELS[0]])
    found = zip(differences.sample_id, differences.context, strict=True)
    expected = frame.iloc[[0, 3, 7, 10]]
    assert set(found) == set(zip(expected.sample_id, expected.context, strict=True))
    assert "largest difference of a margin 5.00e-01" in capsys.readouterr().out
    assert len(score_all.compare(tmp_path / "new", [MODELS[0]], whole=False)) == 3


def test_build_draws_again_what_is_stale(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(score_all, "build_scenes", lambda name, *a, **k: drawn.append(name))
    for name in DATASETS:
        (tmp_path / name).mkdir()
        text = (SCORES / name / "manifest.jsonl").read_text()
        (tmp_path / name / "manifest.jsonl").write_text(text + "\n" * (name == "edits"))
    (tmp_path / "neutral" / "manifest.jsonl").unlink()
    score_all.build(tmp_path, commit=False)
    assert drawn == ["neutral", "edits"]
    score_all.build(tmp_path, commit=True)
    assert drawn[2:] == list(DATASETS)
