"""The mini model: what it was asked in training, its card, and its committed scores."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from models.evaluate import evaluate, prior_rule_accuracy  # noqa: E402
from models.losses import Trainer  # noqa: E402
from models.questions import (  # noqa: E402
    draw_question,
    presence_question,
    relation_question,
    training_scene,
)
from models.tokenizer import build_tokenizer, corpus  # noqa: E402
from models.train import FIRST, MODEL, STAGES, mixture_loss, run  # noqa: E402
from vca_core.backends import load_backend  # noqa: E402
from vca_core.cache import read_scores  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.records import read_manifest  # noqa: E402
from vca_core.scenes import build_scenes, prior_table, render_scene  # noqa: E402
from vca_core.scenes.world import NAMES, PHRASES  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402

pytestmark = pytest.mark.live
ROOT = Path(__file__).resolve().parents[1]
CHECKPOINT = ROOT / "models" / MODEL
HOLDS = {
    "left": lambda a, b: a.x < b.x,
    "right": lambda a, b: a.x > b.x,
    "above": lambda a, b: a.y < b.y,
    "below": lambda a, b: a.y > b.y,
}


def names_in(text):
    """Object names in the order of a question's text."""
    found = [(text.index(name), name) for name in NAMES if name in text]
    return [name for _, name in sorted(found)]


def test_relation_question_tells_the_truth_and_is_even(rng):
    answers = []
    for _ in range(400):
        scene = training_scene(rng, FIRST)
        by_name = {item.name: item for item in scene.objects}
        question = relation_question(rng, scene, FIRST)
        first, second = (by_name[name] for name in names_in(question.text))
        (relation,) = (r for r, phrase in PHRASES.items() if f" {phrase} the" in question.text)
        truth = HOLDS[relation](first, second)
        axis = {"left": 0, "right": 0, "above": 1, "below": 1}
        same_axis = axis[relation] == axis[scene.relation]
        yes = question.answer in (" yes", " true")
        assert yes == (truth and same_axis)
        answers.append(yes)
    assert 0.4 < np.mean(answers) < 0.6


def test_presence_question_tells_the_truth(rng):
    for _ in range(100):
        scene = training_scene(rng, FIRST)
        question = presence_question(rng, scene)
        (name,) = names_in(question.text)
        assert (question.answer == " yes") == (name in [item.name for item in scene.objects])


def test_draw_question_follows_the_mixture(rng):
    only = FIRST._replace(relation=0, naming=100, presence=0)
    scene = training_scene(rng, only)
    for _ in range(20):
        question = draw_question(rng, scene, only)
        first, second = names_in(question.text)
        by_name = {item.name: item for item in scene.objects}
        assert HOLDS[question.answer.strip()](by_name[first], by_name[second])


def test_training_scene_never_shows_a_held_out_pair(rng):
    for _ in range(300):
        subject, other = training_scene(rng, FIRST).objects[:2]
        assert not prior_table()[subject.name, other.name].held_out


def test_answers_are_single_tokens_and_words_are_never_split():
    tokenizer = build_tokenizer(["<pad>", "</s>"], pad="<pad>", eos="</s>")
    for line in corpus()[:60]:
        assert tokenizer.decode(tokenizer(line).input_ids) == line
    for word in ("yes", "no", "true", "false", *PHRASES):
        assert len(tokenizer(f" {word}", add_special_tokens=False).input_ids) == 1


def test_trainer_feeds_the_ids_that_the_processor_makes():
    trainer = Trainer(2, 1, FIRST)
    content = [{"type": "image", "image": render_scene(trainer.scenes[1])}]
    content.append({"type": "text", "text": "Where is the red circle?"})
    expected = trainer.processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=True
    )
    assert trainer.prompt_ids("Where is the red circle?", True) == list(expected[0])


@pytest.mark.slow
def test_run_lowers_the_loss_on_two_scenes():
    trainer = Trainer(2, 1, FIRST)
    batch = np.array([0, 1] * 4)

    def loss():
        with torch.no_grad():
            return float(mixture_loss(trainer, batch, FIRST))

    before = loss()
    run(trainer, [stage._replace(steps=15, cycle=15) for stage in STAGES[:2]])
    assert loss() < 0.5 * before and not trainer.model.training


def test_prior_rule_accuracy_matches_its_definition():
    samples = read_manifest(ROOT / "cached_scores" / "pairs" / "manifest.jsonl")
    hits = 0
    for sample in samples:
        frequent = prior_table()[sample.subject, sample.object].relation
        hits += (sample.relation == frequent and sample.label == "yes") or (
            sample.relation != frequent and sample.label == "no"
        )
    assert prior_rule_accuracy(samples) == hits / len(samples)


def test_card_and_size_of_the_checkpoint():
    facts = json.loads((CHECKPOINT / "training.json").read_text())
    files = [p for p in CHECKPOINT.iterdir() if p.is_file()]
    assert sum(p.stat().st_size for p in files) <= 6e6
    assert not [p.name for p in files if p.suffix in (".bin", ".pt", ".pkl")]
    assert 5e5 <= facts["parameters"] <= 1.5e6
    trained = {s.name: s.mixture._asdict() for s in STAGES if s.mixture}
    assert facts["mixture_percent"] == trained
    assert facts["steps"] == {s.name: s.steps for s in STAGES}
    card = (CHECKPOINT / "README.md").read_text()
    for value in facts["held_out_accuracy"].values():
        assert f"{value:.3f}" in card


def test_checkpoint_reads_the_image_as_its_card_says():
    facts = json.loads((CHECKPOINT / "training.json").read_text())
    assert facts["held_out_accuracy"]["relation_uniform"] >= 0.80
    backend = load_backend(str(CHECKPOINT))
    n = 150
    measured = evaluate(backend.model, backend.processor, n=n, seed=77)
    for name in ("relation", "relation_uniform", "true_false", "text_only"):
        # Statements of a scene go together, so the scene is the unit; four standard errors.
        slack = 4 * np.sqrt(0.25 / n)
        assert measured[name] == pytest.approx(facts["held_out_accuracy"][name], abs=slack)


@pytest.mark.parametrize("interface", ["yes_no", "true_false"])
def test_committed_scores_come_out_again(tmp_path, interface):
    shipped = ROOT / "cached_scores" / "pairs" / "manifest.jsonl"
    build_scenes("pairs", tmp_path, expected=shipped)
    samples = read_manifest(shipped)
    contexts = ["original", "text_only", "blank", "mean_color", "mismatch"]
    probes = build_probes(samples, contexts, interface)[200:280]
    frame = read_scores(ROOT / "cached_scores" / "pairs" / interface / f"{MODEL}.parquet")
    cached = frame.set_index(["sample_id", "context"])
    assert len(frame) == 880 * 5 and set(frame["status"]) == {"ok"}
    backend = load_backend(str(CHECKPOINT))
    for rows in score_probes(probes, backend, model=MODEL, image_dir=tmp_path / "pairs"):
        for row in rows:
            old = cached.loc[(row.sample_id, row.context)]
            assert row.image_sha256 == old["image_sha256"] or row.context == "text_only"
            assert row.prompt_sha256 == old["prompt_sha256"]
            # Another processor sums in another order: float32 noise, far under any gap shown.
            assert row.margin == pytest.approx(old["margin"], abs=1e-3)
