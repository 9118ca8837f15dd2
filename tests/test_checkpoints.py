"""The paper's four checkpoints as reference, and what is said of a checkpoint that is loaded."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import FAMILIES
from typer.testing import CliRunner

from vca_core import checkpoints
from vca_core.checkpoints import HUB_NAMES, compare_checkpoint, paper_checkpoints
from vca_core.cli import app
from vca_core.identity import settings_digest
from vca_core.records import write_manifest

SPEC = Path(__file__).parents[2] / "shared/spec/vca_tables.json"
BY_FAMILY = dict(zip(FAMILIES, ("Qwen", "InternVL", "LLaVA", "Ministral"), strict=True))
WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def paper(model):
    return next(p for p in paper_checkpoints() if p.model == model)


def test_paper_checkpoints_are_those_of_the_specification():
    if not SPEC.is_file():
        pytest.skip("../shared is not here")
    items = {item["id"]: item["rows"] for item in json.loads(SPEC.read_text())["items"]}
    got = [(p.name, p.config_sha256, p.index_sha256) for p in paper_checkpoints()]
    assert got == [tuple(row.values()) for row in items["checkpoints"]]
    for row in items["verbaliser_token_ids"]:
        for model in row["backends"]:
            ids = {word: [row[word]] for word in ("yes", "no", "true", "false")}
            assert paper(model).settings["verbalizer_ids"] == ids
    for row in items["environment"][:2]:
        for model in row["models"]:
            settings = paper(model).settings
            assert (settings["torch"], settings["transformers"]) == (
                row["torch"].removesuffix("+cu124"),
                row["transformers"],
            )
            auto = row["dtype"] == "checkpoint-native automatic"
            assert settings["dtype"] == ("auto" if auto else row["dtype"])
    budget = {row["name"]: row["value"] for row in items["readme_protocol"]}
    assert paper("Qwen").settings["pixels"] == [
        budget["qwen_min_pixels"],
        budget["qwen_max_pixels"],
    ]


def test_paper_settings_say_nothing_the_paper_does_not():
    assert [p.hub for p in paper_checkpoints()] == list(HUB_NAMES.values())
    systems = [p.settings["system"] for p in paper_checkpoints()]
    assert systems == ["You are a helpful assistant.", "", "", ""]
    assert [p.model for p in paper_checkpoints() if "pixels" in p.settings] == ["Qwen"]
    processors = [p.settings["processor"] for p in paper_checkpoints()]
    assert processors == ["AutoProcessor"] * 3 + ["mistral-common"]
    assert [p.settings["dtype"] for p in paper_checkpoints()] == ["bfloat16"] * 3 + ["auto"]


@pytest.fixture
def as_published(monkeypatch):
    """Build a backend and fingerprint with everything as the paper has it, and change some."""

    def build(model, checkpoint, *, dtype=None, **changes):
        stated = paper(model)
        settings = stated.settings
        found = {"torch": "2.6.0+cu124", "transformers": settings["transformers"]}
        monkeypatch.setattr(checkpoints, "version", found.__getitem__)
        ids = settings["verbalizer_ids"]
        words = {"yes_no": ("yes", "no"), "true_false": ("true", "false")}
        backend = SimpleNamespace(
            checkpoint=checkpoint,
            dtype=dtype or "auto",
            verbalizer_ids=lambda interface: tuple(ids[w] for w in words[interface]),
        )
        least, most = settings.get("pixels", (None, None))
        fingerprint = {
            "config_sha256": stated.config_sha256,
            "weights_sha256": stated.index_sha256,
            "dtype": dtype or "bfloat16",
            "processor": "mistral-common" if model == "Ministral" else "TheirProcessor",
            "system": settings["system"] or None,
            "image_processor": {"size": {"shortest_edge": least, "longest_edge": most}},
        }
        return backend, fingerprint | changes

    return build


@pytest.mark.parametrize("model", HUB_NAMES)
@pytest.mark.parametrize("checkpoint", ["hub", "any-folder"])
def test_same_files_are_said_whatever_the_name(as_published, model, checkpoint):
    name = HUB_NAMES[model] if checkpoint == "hub" else checkpoint
    match = compare_checkpoint(*as_published(model, name))
    assert (match.status, match.paper) == ("same", paper(model).name)
    assert all(fact.same for fact in (*match.files, *match.settings))
    assert f"{name}: same files as the paper's {match.paper}" in match.sentence()
    assert match.sentence().endswith("Other: none.") and "\n" not in match.sentence()


@pytest.mark.parametrize(
    ("model", "name"),
    [*HUB_NAMES.items()]
    + [(model, hub.split("/")[1]) for model, hub in HUB_NAMES.items()]
    + [("InternVL", "internvl3.5-8b-hf"), ("Ministral", "me/Ministral-3-14B-Instruct-2512")],
)
def test_revision_drift_is_said_by_file(as_published, model, name):
    for changed, told in (("config_sha256", "config.json"), ("weights_sha256", "index")):
        match = compare_checkpoint(*as_published(model, name, **{changed: "f" * 64}))
        assert (match.status, match.paper) == ("differs", paper(model).name)
        assert [fact.name for fact in match.files if not fact.same] == [told]
        assert f"named as the paper's {match.paper}, but {told} (ffffffff, " in match.sentence()
    other = {"config_sha256": "e" * 64, "weights_sha256": "f" * 64}
    match = compare_checkpoint(*as_published(model, name, **other))
    assert match.status == "differs" and "and index (ffffffff, paper " in match.sentence()


def test_one_file_in_common_is_said_under_another_name(as_published):
    match = compare_checkpoint(*as_published("LLaVA", "tuned", weights_sha256="f" * 64))
    assert match.status == "differs"
    assert "tuned: shares a file with the paper's LLaVA-OneVision" in match.headline()
    # Files outweigh the name.
    match = compare_checkpoint(*as_published("LLaVA", HUB_NAMES["Qwen"]))
    assert (match.status, match.paper) == ("same", paper("LLaVA").name)


@pytest.mark.parametrize(
    "name",
    ["mini-qwen", "mini-internvl", "Qwen3-VL-8B-Instruct-FP8", "Qwen/Qwen3-VL-4B-Instruct", "8B"]
    + ["OpenGVLab/InternVL3_5-8B", "Qwen", "llava-onevision-qwen2-7b-ov-hf/step-100"],
)
def test_another_model_is_not_one_of_the_papers(as_published, name):
    changes = {"config_sha256": "e" * 64, "weights_sha256": "f" * 64}
    match = compare_checkpoint(*as_published("Qwen", name, **changes))
    assert match.sentence() == f"{name}: not one of the paper's checkpoints."
    assert match.record() == {"status": "other", "paper": None, "facts": {}}


def test_a_fingerprint_without_files_is_not_one_of_the_papers():
    toy = SimpleNamespace(checkpoint="toy")
    assert compare_checkpoint(toy, {"family": "toy", "dtype": "float32"}).status == "other"


@pytest.mark.parametrize(
    ("model", "changes", "name", "got"),
    [
        ("Qwen", {"dtype": "float32"}, "dtype", "float32"),
        ("Ministral", {"dtype": "bfloat16"}, "dtype", "bfloat16"),
        ("Qwen", {"system": None}, "system", ""),
        ("LLaVA", {"system": "Be brief."}, "system", "Be brief."),
        ("Ministral", {"processor": "PixtralProcessor"}, "processor", "AutoProcessor"),
        ("Qwen", {"image_processor": {"size": {"shortest_edge": 1}}}, "pixels", [1, None]),
    ],
)
def test_a_setting_that_differs_is_named(as_published, model, changes, name, got):
    match = compare_checkpoint(*as_published(model, HUB_NAMES[model], **changes))
    assert match.status == "same"
    assert [(f.name, f.got) for f in match.settings if not f.same] == [(name, got)]
    told = f"Other: {name} {got!r}, paper {paper(model).settings[name]!r}."
    assert match.sentence().endswith(told)
    assert json.loads(json.dumps(match.record()))["facts"][name] == {
        "got": got,
        "paper": paper(model).settings[name],
        "same": False,
    }


# Real folders, at miniature size.


def vca(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def manifest(tmp_path, make_samples):
    path = tmp_path / "things.jsonl"
    write_manifest(make_samples(1), path)
    return path


@pytest.fixture(scope="session")
def sharded(miniatures, tmp_path_factory):
    """Each family's miniature, its weights in several files with an index."""
    from transformers import AutoModelForImageTextToText

    folder = tmp_path_factory.mktemp("sharded")
    for family in FAMILIES:
        kept = shutil.ignore_patterns(WEIGHTS)
        shutil.copytree(miniatures / family, folder / family, ignore=kept)
        model = AutoModelForImageTextToText.from_pretrained(miniatures / family)
        model.save_pretrained(folder / family, max_shard_size="400KB")
    return folder


@pytest.mark.live
@pytest.mark.parametrize("family", FAMILIES)
def test_sharded_weights_load_and_are_fingerprinted_by_their_index(
    family, sharded, load_miniature, picture_dir, make_samples
):
    from vca_core.backends import load_backend
    from vca_core.probes import build_probes
    from vca_core.scorer import score_probes

    folder = sharded / family
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 1
    assert not (folder / WEIGHTS).exists()
    backend = load_backend(str(folder))
    facts = backend.fingerprint()
    assert facts["weights_sha256"] == sha256(folder / INDEX)
    assert facts["config_sha256"] == sha256(folder / "config.json")
    probes = build_probes(make_samples(1), ["original", "text_only"], "yes_no")
    whole = load_miniature(family)
    states = backend.model.state_dict(), whole.model.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(tensor.equal(states[1][name]) for name, tensor in states[0].items())

    def margins(loaded):
        batches = score_probes(probes, loaded, model="m", image_dir=picture_dir)
        return [score.margin for rows in batches for score in rows]

    # Where a tensor lies in its file moves the last bits of a float32 product.
    assert margins(backend) == pytest.approx(margins(whole), abs=1e-5)


@pytest.mark.live
@pytest.mark.parametrize("family", FAMILIES)
def test_score_says_that_a_folder_of_the_papers_name_differs(
    family, sharded, tmp_path, manifest, picture_dir
):
    stated = paper(BY_FAMILY[family])
    folder = shutil.copytree(sharded / family, tmp_path / stated.hub.rsplit("/", 1)[-1])
    words = ["score", "--checkpoint", folder, "--manifest", manifest, "--images", picture_dir]
    done = vca(*words, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (said,) = [line for line in done.stderr.splitlines() if "paper's" in line]
    assert said.startswith(f"{folder.name}: named as the paper's {stated.name}, but config.json (")
    (path,) = (tmp_path / "out").rglob("*.run.json")
    record = json.loads(path.read_text())
    assert record["paper_checkpoint"]["status"] == "differs"
    facts = record["paper_checkpoint"]["facts"]
    assert facts["index"] == {
        "got": sha256(folder / INDEX),
        "paper": stated.index_sha256,
        "same": False,
    }
    assert facts["system"]["same"]
    assert facts["processor"]["same"] == (family != "ministral3")  # has no tekken.json
    assert facts["dtype"]["same"] == (family == "ministral3")  # auto was asked
    assert not facts["verbalizer_ids"]["same"]
    # The comparison decides no score.
    assert record["settings_sha256"] == settings_digest(record["fingerprint"])
    assert not any("paper" in name for name in record["fingerprint"])


@pytest.mark.live
def test_score_and_doctor_say_that_the_files_are_the_papers(
    sharded, tmp_path, manifest, picture_dir, monkeypatch
):
    folder = shutil.copytree(sharded / "qwen3_vl", tmp_path / "my-copy")
    hashes = {
        "config_sha256": sha256(folder / "config.json"),
        "index_sha256": sha256(folder / INDEX),
    }
    stated = [p._replace(**hashes) if p.model == "Qwen" else p for p in paper_checkpoints()]
    monkeypatch.setattr(checkpoints, "paper_checkpoints", lambda: stated)
    words = ["score", "--checkpoint", folder, "--manifest", manifest, "--images", picture_dir]
    words += ["--pixels", "50176,50176", "--dtype", "bfloat16", "--out"]
    done = vca(*words, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "my-copy: same files as the paper's Qwen3-VL-8B-Instruct" in done.stderr
    assert "as in the paper: dtype, processor, system, pixels" in done.stderr
    (path,) = (tmp_path / "out").rglob("*.run.json")
    record = json.loads(path.read_text())["paper_checkpoint"]
    assert (record["status"], record["paper"]) == ("same", "Qwen3-VL-8B-Instruct")
    assert record["facts"]["pixels"]["same"] and record["facts"]["dtype"]["same"]

    told = vca("doctor", folder).output
    assert "paper          my-copy: same files as the paper's Qwen3-VL-8B-Instruct" in told
    assert "  system         as in the paper: You are a helpful assistant." in told
    assert f"  config.json    as in the paper: {hashes['config_sha256']}" in told
    assert "  dtype          float32, paper bfloat16" in told
    config = folder / "config.json"
    config.write_text(config.read_text() + "\n")
    assert "shares a file with the paper's Qwen3-VL-8B-Instruct" in vca("doctor", folder).output


@pytest.mark.live
def test_a_miniature_is_not_one_of_the_papers(tmp_path, manifest, miniatures, picture_dir):
    words = ["score", "--checkpoint", miniatures / "internvl", "--manifest", manifest]
    done = vca(*words, "--images", picture_dir, "--out", tmp_path / "out")
    assert done.stderr.splitlines()[0] == "internvl: not one of the paper's checkpoints."
    (path,) = (tmp_path / "out").rglob("*.run.json")
    assert json.loads(path.read_text())["paper_checkpoint"]["status"] == "other"


@pytest.mark.live
def test_a_hub_name_is_scored_from_the_hub_cache(sharded, tmp_path, manifest, picture_dir):
    """The hub's own folder layout, offline: the name alone leads to files, prompt and scores."""
    hub = HUB_NAMES["Qwen"]
    cached = tmp_path / "hub" / f"models--{hub.replace('/', '--')}"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("1" * 40)
    shutil.copytree(sharded / "qwen3_vl", cached / "snapshots" / ("1" * 40))
    words = [sys.executable, "-c", "from vca_core.cli import app; app()", "score"]
    words += ["--checkpoint", hub, "--manifest", manifest, "--images", picture_dir]
    offline = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [*map(str, words), "--out", str(tmp_path / "out")],
        env=os.environ | offline,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "6 rows wanted, 6 scored now" in done.stdout
    assert f"{hub}: named as the paper's Qwen3-VL-8B-Instruct, but" in done.stderr
    (path,) = (tmp_path / "out").rglob("*.run.json")
    record = json.loads(path.read_text())
    assert record["checkpoint"] == hub
    assert record["fingerprint"]["weights_sha256"] == sha256(sharded / "qwen3_vl" / INDEX)
    assert str(tmp_path) not in json.dumps(record)


@pytest.mark.live
def test_an_index_left_beside_a_single_file_is_not_the_fingerprint(miniatures, sharded, tmp_path):
    """Saved in parts and then whole: the index stays behind, and the single file is what loads."""
    from vca_core.backends import load_backend

    folder = shutil.copytree(miniatures / "internvl", tmp_path / "saved-twice")
    shutil.copy(sharded / "internvl" / INDEX, folder)
    assert load_backend(str(folder)).fingerprint()["weights_sha256"] == sha256(folder / WEIGHTS)
