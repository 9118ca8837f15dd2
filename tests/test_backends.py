"""The four families at miniature size, against plain forwards of transformers."""

import base64
import io
import json
import shutil
from pathlib import Path

import pytest
from conftest import FAMILIES

torch = pytest.importorskip("torch", reason="live extra is not installed")

from PIL import Image  # noqa: E402
from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: E402

from vca_core.backends import BackendError, load_backend  # noqa: E402
from vca_core.contexts import apply_context, open_image  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402

pytestmark = pytest.mark.live
CONTEXTS = ["original", "text_only", "blank", "mean_color", "mismatch"]
PLACEHOLDERS = {
    "qwen3_vl": "<|vision_start|><|image_pad|><|vision_end|>",
    "internvl": "<IMG_CONTEXT>\n",
    "llava_onevision": "<image>",
    "ministral3": "[IMG]",
}


def run(probes, backend, picture_dir, batch_size=1):
    batches = score_probes(probes, backend, model="m", image_dir=picture_dir, batch_size=batch_size)
    return {(s.sample_id, s.context): s for batch in batches for s in batch}


@torch.no_grad()
def reference_margin(folder, probe, picture_dir, system):
    """One forward over prompt and continuation, loss by torch's own cross-entropy on its tokens."""
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    messages = [{"role": "user", "content": [{"type": "text", "text": probe.text}]}]
    images = {}
    if probe.image is not None:
        image = apply_context(open_image(picture_dir, probe.image), probe.context)
        messages[0]["content"].insert(0, {"type": "image", "image": image})
    if system:
        messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
    inputs = processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    losses = []
    for word in (" yes", " no"):
        answer = processor.tokenizer(word, add_special_tokens=False, return_tensors="pt").input_ids
        ids = torch.cat([inputs["input_ids"], answer], dim=1)
        images = {k: v for k, v in inputs.items() if k not in ("input_ids", "attention_mask")}
        if "mm_token_type_ids" in images:
            types = images["mm_token_type_ids"]
            images["mm_token_type_ids"] = torch.cat([types, torch.zeros_like(answer)], dim=1)
        logits = model(input_ids=ids, **images).logits[0, -len(answer[0]) - 1 : -1]
        losses.append(float(torch.nn.functional.cross_entropy(logits, answer[0])))
    return losses[1] - losses[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_margins_equal_a_plain_forward(
    family, miniatures, load_miniature, picture_dir, make_samples
):
    backend = load_miniature(family)
    assert backend.family == family
    probes = build_probes(make_samples(2), CONTEXTS, "yes_no")
    got = run(probes, backend, picture_dir, batch_size=5)
    for probe in probes[:7]:
        expected = reference_margin(miniatures / family, probe, picture_dir, backend.system)
        score = got[probe.sample.sample_id, probe.context]
        assert score.margin == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_batched_equals_one_by_one_in_any_order(
    family, load_miniature, picture_dir, make_samples, rng
):
    backend = load_miniature(family)
    probes = build_probes(make_samples(5), CONTEXTS, "true_false")
    single = run(probes, backend, picture_dir)
    for batch_size in (3, 8):
        shuffled = [probes[i] for i in rng.permutation(len(probes))]
        batched = run(shuffled, backend, picture_dir, batch_size)
        assert batched.keys() == single.keys()
        for key, score in batched.items():
            assert score.status == "ok" and score.probe_id == single[key].probe_id
            assert score.loss_yes == pytest.approx(single[key].loss_yes, abs=1e-5)
            assert score.loss_no == pytest.approx(single[key].loss_no, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_differ_between_contexts_by_the_placeholder_alone(
    family, load_miniature, picture_dir, make_samples
):
    backend = load_miniature(family)
    for probe in build_probes(make_samples(2), CONTEXTS, "yes_no"):
        shown = probe.image is not None
        prompt = backend.serialize(probe.text, shown)
        assert prompt.count(PLACEHOLDERS[family]) == shown
        assert prompt.replace(PLACEHOLDERS[family], "") == backend.serialize(probe.text, False)
        image = apply_context(open_image(picture_dir, "p0.png"), probe.context)
        encoded = backend.encode(probe.text, image)
        placeholder = PLACEHOLDERS[family].strip().removeprefix("<|vision_start|>")
        image_id = backend.tokenizer.convert_tokens_to_ids(placeholder.split("<|vision_end|>")[0])
        assert (image_id in encoded.ids) == shown
        if not shown:
            assert encoded.images == {}
            assert encoded.ids == backend.prompt_ids(probe.text, False)


@pytest.mark.parametrize("family", FAMILIES)
def test_continuations_are_single_space_prefixed_tokens(family, load_miniature):
    backend = load_miniature(family)
    for interface, words in (("yes_no", (" yes", " no")), ("true_false", (" true", " false"))):
        ids = backend.verbalizer_ids(interface)
        assert [backend.decode(i) for i in ids] == list(words)
        assert all(len(i) == 1 for i in ids)


def test_multi_token_continuations_average_over_their_tokens(
    load_miniature, picture_dir, make_samples, monkeypatch
):
    """Words of any length score right: the mean over one forward per prefix, by hand."""
    backend = load_miniature("internvl")
    words = {"yes_no": (" yes indeed", " not at all")}
    monkeypatch.setattr("vca_core.backends.hf.VERBALIZERS", words)
    probes = build_probes(make_samples(1), ["original", "text_only"], "yes_no")
    got = run(probes, backend, picture_dir, batch_size=4)
    for probe in probes:
        score = got[probe.sample.sample_id, probe.context]
        image = open_image(picture_dir, probe.image) if probe.image else None
        encoded = backend.encode(probe.text, image)
        for ids, loss in zip(
            backend.verbalizer_ids("yes_no"), (score.loss_yes, score.loss_no), strict=True
        ):
            assert len(ids) > 1
            steps = [
                -torch.log_softmax(backend.forward([encoded], [ids[:k]])[0][-1], -1)[ids[k]]
                for k in range(len(ids))
            ]
            assert loss == pytest.approx(float(sum(steps)) / len(ids), abs=1e-5)


def test_qwen_pixel_budget_is_kept_and_seen(miniatures, picture_dir):
    backend = load_backend(str(miniatures / "qwen3_vl"), pixels=(50176, 50176))
    wide = Image.new("RGB", (2000, 1500))
    seen = backend.encode("?", wide).pixels
    assert 0.9 * 50176 < seen <= 50176
    with pytest.raises(BackendError, match="over the budget of 300"):
        load_backend(str(miniatures / "qwen3_vl"), pixels=(256, 300)).encode(
            "?", Image.new("RGB", (640, 10))
        )
    with pytest.raises(BackendError, match="qwen3_vl alone, got family 'internvl'"):
        load_backend(str(miniatures / "internvl"), pixels=(1, 2))


def test_system_message_defaults_by_family_and_can_be_replaced(miniatures):
    folder = miniatures
    assert load_backend(str(folder / "qwen3_vl")).system == "You are a helpful assistant."
    for family in FAMILIES[1:]:
        assert "system" not in load_backend(str(folder / family)).serialize("?", True).lower()
    for family in FAMILIES:
        backend = load_backend(str(folder / family), system="Be brief.")
        assert "Be brief." in backend.serialize("?", True)
        assert backend.fingerprint()["system"] == "Be brief."
    assert "system" not in load_backend(str(folder / "qwen3_vl"), system="").serialize("?", False)


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16_runs_and_is_part_of_the_fingerprint(
    family, miniatures, load_miniature, picture_dir, make_samples
):
    half = load_backend(str(miniatures / family), dtype="bfloat16")
    probes = build_probes(make_samples(1), ["original"], "yes_no")
    a = run(probes, load_miniature(family), picture_dir)
    b = run(probes, half, picture_dir)
    for key in a:
        assert a[key].probe_id != b[key].probe_id
        assert b[key].margin == pytest.approx(a[key].margin, abs=0.1)


def copy(miniatures, family, tmp_path):
    return Path(shutil.copytree(miniatures / family, tmp_path / family))


def test_load_backend_refuses_with_advice(tmp_path, miniatures):
    with pytest.raises(BackendError, match=f"No checkpoint .*{tmp_path}"):
        load_backend(str(tmp_path / "nothing"))
    folder = copy(miniatures, "internvl", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "internvl_chat"}))
    with pytest.raises(BackendError, match="'internvl_chat'.*-HF conversion"):
        load_backend(str(folder))
    with pytest.raises(BackendError, match="Unknown dtype 'int3'"):
        load_backend(str(miniatures / "internvl"), dtype="int3")


def test_weights_load_from_safetensors_only(tmp_path, miniatures):
    folder = copy(miniatures, "internvl", tmp_path)
    weights = folder / "model.safetensors"
    torch.save({}, folder / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(BackendError, match="safetensors only"):
        load_backend(str(folder)).fingerprint()
    with pytest.raises(BackendError, match="safetensors only"):
        _ = load_backend(str(folder)).model


def test_open_thought_is_refused(tmp_path, miniatures):
    folder = copy(miniatures, "qwen3_vl", tmp_path)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text() + "{{ '<think>\\n' }}")
    with pytest.raises(BackendError, match="<think> block open"):
        load_backend(str(folder))
    template.write_text(template.read_text() + "{{ '\\n</think>\\n' }}")
    load_backend(str(folder))


def test_weights_cut_short_say_so(tmp_path, miniatures):
    folder = copy(miniatures, "internvl", tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(BackendError, match="cannot be read .*Fetch them again"):
        load_backend(str(folder)).prepare()


def test_words_that_do_not_survive_the_tokenizer_are_refused(load_miniature, monkeypatch):
    backend = load_miniature("ministral3")
    monkeypatch.setattr(backend, "_words", {})
    monkeypatch.setattr(type(backend), "decode", lambda self, ids: "yes")
    with pytest.raises(BackendError, match="' yes' must survive.*mistral-common"):
        backend.verbalizer_ids("yes_no")
    monkeypatch.setattr(backend.tokenizer, "encode", lambda *a, **k: [])
    with pytest.raises(BackendError, match="' yes' has no tokens"):
        backend.verbalizer_ids("yes_no")


def test_a_bos_in_the_template_is_not_doubled(load_miniature):
    backend = load_miniature("ministral3")
    bos = backend.tokenizer.bos_token_id
    assert backend.encode("?", None).ids.count(bos) == 1
    assert backend.prompt_ids("?", True).count(bos) == 1


def test_fingerprint_has_no_path_and_sees_weights_and_processor(tmp_path, miniatures):
    folder = copy(miniatures, "internvl", tmp_path)
    before = load_backend(str(folder)).fingerprint()
    assert str(tmp_path) not in json.dumps(before)
    assert load_backend(str(miniatures / "internvl")).fingerprint() == before
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (folder / "model.safetensors").write_bytes(raw)
    assert load_backend(str(folder)).fingerprint() != before
    settings = json.loads((folder / "processor_config.json").read_text())
    settings["image_processor"]["image_mean"] = [0.4, 0.5, 0.5]
    (folder / "processor_config.json").write_text(json.dumps(settings))
    after = load_backend(str(folder)).fingerprint()
    assert after["image_processor"] != before["image_processor"]


@pytest.fixture(scope="module")
def tekken(tmp_path_factory):
    """Build a Ministral miniature with mistral-common's own tokenizer file."""
    mistral_common = pytest.importorskip("mistral_common")
    from transformers.tokenization_mistral_common import MistralCommonBackend

    from models.miniatures import ministral3_model

    data = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    if not data.is_file():
        pytest.skip("mistral-common ships no tekken file")
    folder = tmp_path_factory.mktemp("tekken")
    shutil.copy(data, folder / "tekken.json")
    tokenizer = MistralCommonBackend.from_pretrained(folder)
    small = {"hidden_size": 24, "head_dim": 6, "intermediate_size": 48, "num_hidden_layers": 1}
    model = ministral3_model(5, tokenizer, tokenizer.convert_tokens_to_ids("[IMG]"), **small)
    model.save_pretrained(folder)
    return folder


def test_ministral_uses_the_shipped_mistral_tokenizer(tekken, picture_dir, make_samples):
    backend = load_backend(str(tekken))
    assert type(backend.tokenizer).__name__ == "MistralCommonBackend"
    assert backend.fingerprint()["processor"] == "mistral-common"
    assert [backend.decode(i) for i in backend.verbalizer_ids("yes_no")] == [" yes", " no"]
    assert backend.serialize("Is it?", False) == "<s>[INST]Is it?[/INST]"
    assert "[IMG]" in backend.serialize("Is it?", True)
    probes = build_probes(make_samples(2), ["original", "text_only", "blank"], "yes_no")
    single, batched = (run(probes, backend, picture_dir, size) for size in (1, 6))
    for key, score in single.items():
        assert score.status == "ok", score.error
        assert batched[key].margin == pytest.approx(score.margin, abs=1e-5)


@torch.no_grad()
def test_mistral_tokenizer_margin_equals_a_plain_forward(tekken, picture_dir, make_samples):
    backend = load_backend(str(tekken))
    (probe, *_) = build_probes(make_samples(2), ["original"], "yes_no")
    (score, *_) = run([probe], backend, picture_dir).values()
    buffer = io.BytesIO()
    open_image(picture_dir, probe.image).save(buffer, format="PNG")
    image = {"type": "image", "base64": base64.b64encode(buffer.getvalue()).decode()}
    content = [image, {"type": "text", "text": probe.text}]
    inputs = backend.tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], return_tensors="pt", return_dict=True
    )
    logits = AutoModelForImageTextToText.from_pretrained(tekken).eval()(**inputs).logits[0, -1]
    yes, no = (backend.tokenizer.encode(w, add_special_tokens=False) for w in (" yes", " no"))
    expected = torch.log_softmax(logits, -1)[yes[0]] - torch.log_softmax(logits, -1)[no[0]]
    assert len(yes) == len(no) == 1
    assert score.margin == pytest.approx(float(expected), abs=1e-5)
