"""Training of the mini models: prompts as scored, losses that fall, runs that go on."""

import argparse
import json

import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from PIL import Image  # noqa: E402

from models.cells import cell_words, cells_of  # noqa: E402
from models.losses import Trainer  # noqa: E402
from models.miniatures import FAMILIES  # noqa: E402
from models.questions import Mixture, Question  # noqa: E402
from models.recipes import PEAK, RECIPES, Stage, stages_of  # noqa: E402
from models.train import main, run, step_loss, train  # noqa: E402
from models.vision import Seen, mrope_positions, see  # noqa: E402
from vca_core.backends import load_backend  # noqa: E402
from vca_core.scenes import render_scene  # noqa: E402
from vca_core.scenes.world import CONTACTS  # noqa: E402

pytestmark = pytest.mark.live
TEXT = "Is the red circle on the blue square? Answer yes or no."


@pytest.fixture(scope="module", params=FAMILIES)
def trainer(request):
    return Trainer(request.param, 8, 1, Mixture())


@pytest.mark.parametrize("image", [True, False])
def test_prompts_and_pixels_are_those_of_scoring(trainer, image, tmp_path):
    trainer.model.save_pretrained(tmp_path)
    trainer.processor.save_pretrained(tmp_path)
    backend = load_backend(str(tmp_path))
    assert trainer.chat(TEXT, image) == backend.serialize(TEXT, image)
    picture = render_scene(trainer.scenes[3]) if image else None
    encoded = backend.encode(TEXT, picture)
    assert trainer.prompt_ids(TEXT, image) == list(encoded.ids)
    with torch.no_grad():
        expected = backend.forward([encoded], [[]])[0][0]
        pixels = {name: values[[3]] for name, values in trainer.pixels.items()}
        seen = see(trainer.family, trainer.model, pixels) if image else None
        ids = torch.tensor([trainer.prompt_ids(TEXT, image)])
        hidden = trainer._read(ids, seen).last_hidden_state[0, -1]
        got = trainer.model.lm_head(hidden)
    torch.testing.assert_close(got, expected, rtol=0, atol=2e-5)


def test_answer_loss_is_the_mean_over_answer_tokens(trainer):
    questions = [Question(TEXT, " no", "yes_no"), Question("Where is it?", " b 3", "place")]
    with torch.no_grad():
        loss = trainer.answer_loss(questions, None)
        terms = []
        for question in questions:
            prompt = trainer.prompt_ids(question.text, False)
            answer = trainer.processor.tokenizer(
                question.answer, add_special_tokens=False
            ).input_ids
            logits = trainer.model(input_ids=torch.tensor([prompt + answer])).logits[0]
            log_p = logits.log_softmax(-1)
            terms += [-log_p[len(prompt) - 1 + i, t] for i, t in enumerate(answer)]
    assert loss.item() == pytest.approx(torch.stack(terms).mean().item(), abs=1e-5)


@pytest.mark.slow
def test_run_lowers_the_loss_on_few_scenes(trainer, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr("models.train.IMAGES", 6)
    for stage in (
        Stage("ground", None, PEAK, 15),
        Stage("read", Mixture(no_image=0, notes=0), PEAK, 12),
    ):
        before = step_loss(trainer, stage.mixture).item()
        run(trainer, stage)
        assert step_loss(trainer, stage.mixture).item() < 0.8 * before
    assert not trainer.model.training


def test_cell_words_say_what_lies_where():
    trainer = Trainer("internvl", 40, 2, Mixture())
    for scene in trainer.scenes:
        words = cell_words(scene)
        for item, cell in zip(scene.objects, cells_of(scene), strict=True):
            assert words[cell][:2] == (item.color, item.shape)
        assert sum(w[0] is not None for w in words) == len(scene.objects)
        deeds = [w[4] for w in words if w[4]]
        assert len(deeds) == (2 if scene.relation in CONTACTS else 0)


def test_mrope_positions_are_the_models_own():
    model, processor = FAMILIES["qwen3_vl"](1)
    prompt = processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": TEXT}]}],
        add_generation_prompt=True,
        tokenize=False,
    )
    inputs = processor(text=[prompt], images=[Image.new("RGB", (64, 64))], return_tensors="pt")
    where = inputs["input_ids"] == model.config.image_token_id
    expected, _ = model.model.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=where.int(),
        image_grid_thw=inputs["image_grid_thw"],
        attention_mask=inputs["attention_mask"],
    )
    assert torch.equal(mrope_positions(where), expected[-3:])


def test_seen_repeats_each_picture_in_a_row():
    seen = Seen(torch.arange(2.0).view(2, 1, 1), (torch.arange(2.0).view(2, 1, 1),)).repeat(3)
    assert seen.tokens.flatten().tolist() == seen.deep[0].flatten().tolist() == [0, 0, 0, 1, 1, 1]


def test_stages_are_alike_until_each_leans():
    plans = [stages_of(recipe) for recipe in RECIPES.values()]
    assert len({tuple(stage.mixture for stage in plan[:2]) for plan in plans}) == 1
    assert len({plan[2].mixture for plan in plans}) == len(plans) == len(FAMILIES)


@pytest.mark.slow
def test_quick_training_of_all_four_writes_checkpoints_that_load(tmp_path, monkeypatch):
    """What `make models QUICK=1` runs."""
    monkeypatch.setattr("sys.argv", ["train", "--quick", "--out", str(tmp_path)])
    main()
    for name, recipe in RECIPES.items():
        folder = tmp_path / name
        facts = json.loads((folder / "training.json").read_text())
        assert (
            facts["kind"] == recipe.kind
            and f"**{recipe.kind}**" in (folder / "README.md").read_text()
        )
        assert [p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt")] == []
        backend = load_backend(str(folder))
        assert backend.family == recipe.family
        assert backend.model.num_parameters() == facts["parameters"]
    assert not list((tmp_path / ".training").iterdir())


@pytest.mark.slow
def test_training_goes_on_after_a_stop_and_starts_over_with_another_plan(tmp_path, monkeypatch):
    args = argparse.Namespace(out=tmp_path, scenes=24, seed=3, quick=True)
    ran, stop = [], ["lean"]

    def run_or_stop(trainer, stage):
        if stage.name in stop:
            raise KeyboardInterrupt
        ran.append(stage.name)

    monkeypatch.setattr("models.train.run", run_or_stop)
    monkeypatch.setattr("models.train.finish", lambda *a: None)
    with pytest.raises(KeyboardInterrupt):
        train("mini-internvl", args)
    stop.clear()
    args.scenes = 25
    train("mini-internvl", args)
    assert ran == ["ground", "read", "ground", "read", "lean", "polish"]
    stop.append("lean")
    with pytest.raises(KeyboardInterrupt):
        train("mini-internvl", args)
    stop.clear()
    train("mini-internvl", args)
    assert ran[6:] == ["ground", "read", "lean", "polish"]
