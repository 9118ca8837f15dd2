"""The four mini models as committed: cards, what they read, scores that come out again."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from models.evaluate import evaluate, prior_rule_accuracy  # noqa: E402
from models.train import RECIPES, stages_of  # noqa: E402
from vca_core.backends import load_backend  # noqa: E402
from vca_core.cache import read_scores, scores_path  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.records import read_manifest  # noqa: E402
from vca_core.scenes import DATASETS, prior_table  # noqa: E402
from vca_core.scenes.datasets import DERIVED  # noqa: E402
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
    accuracy = {model: facts_of(model)["held_out_accuracy"] for model in MODELS}
    assert all(a["presence"] >= 0.90 for a in accuracy.values())
    assert sum(a["uniform"] >= 0.85 for a in accuracy.values()) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_checkpoint_reads_as_its_card_says(model):
    told = facts_of(model)["held_out_accuracy"]
    backend = load_backend(str(ROOT / "models" / model))
    n = 60
    measured = evaluate(backend.model, backend.processor, RECIPES[model].family, n=n, seed=77)
    # Statements of a scene go together, so the scene is the unit; four standard errors.
    slack = 4 * np.sqrt(0.25 / n)
    assert measured == pytest.approx(told, abs=slack)


def test_prior_rule_accuracy_matches_its_definition(rng):
    from models.evaluate import PLACES, _asks

    asks = _asks(rng, 200, PLACES, natural=True)
    hits = 0
    for ask in asks:
        frequent = prior_table()[ask.names].place
        hits += (ask.relation == frequent) if ask.holds else (ask.relation != frequent)
    assert prior_rule_accuracy(asks) == hits / len(asks)
    assert 0.75 < hits / len(asks) < 0.95


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
                assert (row.prompt_sha256, row.image_sha256) == (
                    old["prompt_sha256"],
                    old["image_sha256"],
                )
                # Another processor sums in another order: float32 noise, far under any gap shown.
                assert row.margin == pytest.approx(old["margin"], abs=score_all.TOLERANCE)
                checked += 1
    assert checked == 24 * len(score_all.RUNS)


def test_compare_lists_what_moved_and_what_is_missing(tmp_path, monkeypatch, capsys):
    run = score_all.RUNS[0]
    frame = read_scores(scores_path(SCORES, run.dataset, run.interface, MODELS[0])).head(50)
    for root, changed in (("new", frame.copy()), ("old", frame.iloc[1:])):
        if root == "new":
            changed.loc[changed.index[7], "margin"] += 0.5
        path = scores_path(tmp_path / root, run.dataset, run.interface, MODELS[0])
        path.parent.mkdir(parents=True)
        changed.to_parquet(path)
    monkeypatch.setattr(score_all, "COMMITTED", tmp_path / "old")
    monkeypatch.setattr(score_all, "RUNS", (run,))
    differences = score_all.compare(tmp_path / "new", [MODELS[0]])
    assert list(differences.sample_id) == [frame.sample_id.iloc[0], frame.sample_id.iloc[7]]
    assert "50 rows compared; largest difference of a margin 5.00e-01" in capsys.readouterr().out
