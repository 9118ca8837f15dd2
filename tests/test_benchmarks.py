"""The comparison with other tools: its checkpoint, its drivers, the rules read in their code."""

import hashlib
import json
import sys

import pandas as pd
import pytest

pytest.importorskip("torch", reason="live extra is not installed")

from benchmarks import checkpoint, peer_io, peer_margins, peer_ours, peers  # noqa: E402

pytestmark = pytest.mark.live


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Two pictures, both interfaces, for the mini model; everything below a scratch folder."""
    monkeypatch.setattr(peers, "BUILD", tmp_path)
    return peers.make_tasks(checkpoint.SOURCE, 2, ("yes_no", "true_false"), threads=1)


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.slow
def test_build_same_seed_same_weights(tmp_path):
    first, again, other = (
        digest(checkpoint.build(tmp_path / name, seed))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other


@pytest.mark.slow
def test_built_checkpoint_has_its_size_and_scores_alike(tmp_path):
    from PIL import Image

    from vca_core.backends import load_backend

    folder = checkpoint.build(tmp_path / "built")
    backend = load_backend(str(folder))
    assert 12e6 < sum(p.numel() for p in backend.model.parameters()) < 16e6
    shown = backend.encode("?", Image.new("RGB", (512, 512))).ids
    pictured = shown.count(backend.config.image_token_id)
    assert pictured == checkpoint.TOKENS == 595
    tasks = peers.make_tasks(folder, 1, ("yes_no",), threads=1)
    shared = peer_ours.load(tasks)(tasks["rows"])
    exact = peer_ours.load({**tasks, "exact": True})(tasks["rows"])
    margins = [[no - yes for yes, no in answers] for answers in (shared, exact)]
    assert margins[0] == pytest.approx(margins[1], abs=1e-5)
    # Random weights must still see: a picture and its blank are not scored alike.
    assert abs(margins[1][0] - margins[1][1]) > 0.01


def test_our_driver_margins_are_those_of_score_probes(tasks, tmp_path, monkeypatch):
    import torch

    from vca_core.backends import load_backend
    from vca_core.probes import build_probes
    from vca_core.records import read_manifest
    from vca_core.scorer import score_probes

    given, answers = tmp_path / "tasks.json", tmp_path / "answers.jsonl"
    given.write_text(json.dumps({**tasks, "threads": torch.get_num_threads()}))
    monkeypatch.setattr(sys, "argv", ["peer_ours", str(given), str(answers)])
    peer_io.drive(peer_ours.__doc__, "vca-core", peer_ours.load, sign=-1)
    facts, *rows = map(json.loads, answers.read_text().splitlines())
    assert facts["n_item_contexts"] == len(rows) == 16
    assert facts["seconds"] > 0 and facts["peak_bytes"] > 1 << 20
    samples = read_manifest(f"{tasks['images']}/manifest.jsonl")
    probes = [p for i in ("yes_no", "true_false") for p in build_probes(samples, peers.CONTEXTS, i)]
    batches = score_probes(
        probes, load_backend(tasks["checkpoint"]), model="m", image_dir=tasks["images"]
    )
    expected = {(s.sample_id, s.context, s.interface): s.margin for batch in batches for s in batch}
    got = {(row["id"], row["context"], row["interface"]): row["margin"] for row in rows}
    assert got == pytest.approx(expected, abs=1e-6)


def test_blank_is_gray_and_as_large_as_the_picture(tasks):
    original, blank = tasks["rows"][0], tasks["rows"][1]
    assert (original["context"], blank["context"]) == ("original", "blank")
    pictures = [peer_io.shown(tasks["images"], row) for row in (original, blank)]
    assert pictures[0].size == pictures[1].size
    assert pictures[1].getcolors() == [(512 * 512, peer_io.GRAY)]
    assert peer_io.shown(tasks["images"], {**original, "context": "text_only"}) is None


@pytest.mark.slow
def test_compare_rows_have_the_columns_of_the_file(tasks, monkeypatch):
    monkeypatch.setattr(peers, "PEERS", {})
    rows, margins = peers.compare("mini-llava", tasks, "pairs, 2 pictures", "set", repeats=1)
    frame = pd.DataFrame(rows)
    assert set(frame) == set(peers.COLUMNS)
    assert frame["repeat"].tolist() == [0] and frame["n_item_contexts"].tolist() == [16]
    assert margins["n"].sum() == margins["same_decisions"].sum() == 16
    assert margins["max_difference"].max() < 1e-5


def test_aims_stand_beside_what_the_committed_files_hold(tmp_path):
    from benchmarks.__main__ import HERE, aims

    table = aims(HERE / "results")
    assert (table["Aim"] == aims(tmp_path)["Aim"]).all()
    assert (aims(tmp_path)["Met by"] == "not measured").all()
    assert (table["Met by"] != "not measured").any()


def test_agreement_counts_decisions_and_differences():
    keys = {"context": "original", "interface": "yes_no"}
    exact = pd.DataFrame({"id": list("abc"), "margin": [1.0, -2.0, 0.0]}).assign(**keys)
    other = exact.assign(margin=[0.5, 2.0, 0.0])[::-1]
    row = peer_margins.agreement({}, exact, {"other": other}).iloc[0]
    assert (row["n"], row["same_decisions"]) == (3, 2)
    assert (row["median_difference"], row["max_difference"]) == (0.5, 4.0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_lmms_eval_rule_is_the_model_own_loss_over_unmasked_labels(tasks):
    """The tool's steps, written out with transformers alone."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from vca_core.backends import load_backend

    source = tasks["checkpoint"]
    model, processor = (
        kind.from_pretrained(source) for kind in (AutoModelForImageTextToText, AutoProcessor)
    )
    row = tasks["rows"][0]
    image = peer_io.shown(tasks["images"], row)
    prompt = f"<|im_start|>user <image>\n{row['text']}<|im_end|><|im_start|>assistant\n"
    short = len(processor.tokenizer(prompt)["input_ids"])
    losses = []
    for word in (row["yes"], row["no"]):
        text = f"{prompt}{word}<|im_end|>"
        inputs = processor(text=text, images=[image], return_tensors="pt")
        labels = inputs["input_ids"].clone()
        labels[:, :short] = -100
        losses.append(model(**inputs, labels=labels).loss.item())
    found = peer_margins.lmms_eval_margin(load_backend(source), row, image)
    assert found == pytest.approx(losses[1] - losses[0], abs=1e-5)
    assert abs(found) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("tool", peers.PEERS)
def test_peer_margins_follow_the_rule_read_in_its_code(tool, tasks, monkeypatch):
    monkeypatch.undo()  # the environments are not in the scratch folder
    if not peers.python_of(tool).exists():
        pytest.skip(f"{tool} has no environment: run `python -m benchmarks.peers setup`")
    facts, answers = peers.run_tool(tool, tasks)
    assert facts["version"] == peers.PEERS[tool].requirement.partition("==")[2]
    redone = peer_margins.redo(tasks, peer_margins.RULES[tool])
    both = answers.merge(redone, on=peer_margins.KEYS, validate="one_to_one")
    assert len(both) == len(tasks["rows"])
    assert both["margin"].tolist() == pytest.approx(both["redone"].tolist(), abs=1e-4)
