"""The paper's four checkpoints, and whether a loaded checkpoint is one of them."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from vca_core.published import published, published_table

if TYPE_CHECKING:
    from vca_core.backends.base import Backend

# The paper prints the last part alone, and some of those otherwise than the hub spells them.
HUB_NAMES = {
    "Qwen": "Qwen/Qwen3-VL-8B-Instruct",
    "InternVL": "OpenGVLab/InternVL3_5-8B-HF",
    "LLaVA": "llava-hf/llava-onevision-qwen2-7b-ov-hf",
    "Ministral": "mistralai/Ministral-3-14B-Instruct-2512",
}
"""Name on the hub by the model's short name in the published tables."""

SETTINGS = ("dtype", "processor", "system", "pixels", "torch", "transformers")


class PaperCheckpoint(NamedTuple):
    """What the paper states of one of its checkpoints."""

    model: str
    """Short name, as in every published table."""
    name: str
    """Full name, as printed."""
    hub: str
    config_sha256: str
    index_sha256: str
    """Of model.safetensors.index.json, which lists the weights and does not hold them."""
    settings: dict[str, Any]
    """`SETTINGS` that are stated, torch without its build, and ``verbalizer_ids``; a ``system`` of
    "" is no message."""


class Fact(NamedTuple):
    """One thing the paper states, and what is found here."""

    name: str
    got: Any
    paper: Any

    @property
    def same(self) -> bool:
        """Whether both are equal."""
        return self.got == self.paper


class CheckpointMatch(NamedTuple):
    """How a checkpoint stands to the paper's."""

    checkpoint: str
    status: Literal["same", "differs", "other"]
    """Both files are the paper's; the name or one file is, and not both files; neither."""
    paper: str | None
    """The paper's checkpoint that it was compared with."""
    named: bool = False
    """Whether it bears that checkpoint's name."""
    files: tuple[Fact, ...] = ()
    settings: tuple[Fact, ...] = ()

    def record(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        facts = {
            fact.name: {"got": fact.got, "paper": fact.paper, "same": fact.same}
            for fact in (*self.files, *self.settings)
        }
        return {"status": self.status, "paper": self.paper, "facts": facts}

    def headline(self) -> str:
        """Say whose files these are, without the settings."""
        if self.status == "other":
            return f"{self.checkpoint}: not one of the paper's checkpoints"
        if self.status == "same":
            return (
                f"{self.checkpoint}: same files as the paper's {self.paper} (config.json and the "
                "weights' index; the paper gives no hash of the weights themselves)"
            )
        differ = [fact for fact in self.files if not fact.same]
        how = "named as" if self.named else "shares a file with"
        which = " and ".join(f"{f.name} ({f.got[:8]}, paper {f.paper[:8]})" for f in differ)
        verb = "differs" if len(differ) == 1 else "differ"
        return f"{self.checkpoint}: {how} the paper's {self.paper}, but {which} {verb}"

    def sentence(self) -> str:
        """Say everything in one line."""
        if not self.settings:
            return f"{self.headline()}."
        equal = ", ".join(fact.name for fact in self.settings if fact.same) or "none"
        differ = "; ".join(
            f"{f.name} {f.got!r}, paper {f.paper!r}" for f in self.settings if not f.same
        )
        return f"{self.headline()}. Settings as in the paper: {equal}. Other: {differ or 'none'}."


def paper_checkpoints() -> tuple[PaperCheckpoint, ...]:
    """Give the paper's four checkpoints with fingerprints and settings.

    Notes
    -----
    Source: [liu2026visual]_ and its repository's README; hub owners are not in the paper.
    """
    printed = published_table("checkpoints").to_dict("records")
    words = published_table("verbaliser_token_ids").to_dict("records")
    found = []
    for model, hub in HUB_NAMES.items():
        row = next(row for row in printed if _plain(row["model"]) == _plain(hub))
        environment = published("environment", model=model)
        settings = {n: environment[n] for n in SETTINGS if environment[n] is not None}
        settings["torch"] = _release(settings["torch"])
        ids = next(row for row in words if model in row["backends"])
        settings["verbalizer_ids"] = {word: [ids[word]] for word in ("yes", "no", "true", "false")}
        hashes = row["config_sha256"], row["index_sha256"]
        found.append(PaperCheckpoint(model, row["model"], hub, *hashes, settings))
    return tuple(found)


def compare_checkpoint(backend: Backend, fingerprint: dict[str, Any]) -> CheckpointMatch:
    """Compare a checkpoint's files and settings with those the paper states.

    Parameters
    ----------
    backend : Backend
    fingerprint : dict
        ``backend.fingerprint()``; the comparison is no part of it, so no probe id depends on it.

    Returns
    -------
    CheckpointMatch
        Compared with the paper's checkpoint whose two files these are, else of whose name it is
        (last part, whatever case and punctuation), else with which it has one file in common. A
        model of the same architecture with another name and other files is "other".

    Raises
    ------
    BackendError
        If a paper's checkpoint has a tokenizer that the answer words do not survive.
    """
    hashes = fingerprint.get("config_sha256"), fingerprint.get("weights_sha256")

    def closeness(paper: PaperCheckpoint) -> tuple[bool, bool, bool]:
        equal = [a == b for a, b in zip(hashes, _hashes(paper), strict=True)]
        return all(equal), _plain(backend.checkpoint) == _plain(paper.hub), any(equal)

    paper = max(paper_checkpoints(), key=closeness)
    same, named, shares = closeness(paper)
    if not (named or shares):
        return CheckpointMatch(backend.checkpoint, "other", None)
    names = "config.json", "index"
    files = tuple(map(Fact, names, hashes, _hashes(paper)))
    got = _settings(backend, fingerprint, native_dtype=paper.settings["dtype"] == "auto")
    settings = tuple(Fact(name, got[name], value) for name, value in paper.settings.items())
    status = "same" if same else "differs"
    return CheckpointMatch(backend.checkpoint, status, paper.name, named, files, settings)


def _hashes(paper: PaperCheckpoint) -> tuple[str, str]:
    return paper.config_sha256, paper.index_sha256


def _release(number: str) -> str:
    # The same wheel names its CUDA build (+cu124) in its metadata or not, by where it came from.
    return number.partition("+")[0]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.rsplit("/", 1)[-1].lower())


def _settings(backend, fingerprint: dict[str, Any], *, native_dtype: bool) -> dict[str, Any]:
    """Find what is in force here, in the form of `PaperCheckpoint.settings`."""
    size = (fingerprint["image_processor"] or {}).get("size") or {}
    common = fingerprint["processor"] == "mistral-common"
    words = {}
    for interface, (yes, no) in (("yes_no", ("yes", "no")), ("true_false", ("true", "false"))):
        words[yes], words[no] = backend.verbalizer_ids(interface)
    return {
        "dtype": backend.dtype if native_dtype else fingerprint["dtype"],
        "processor": "mistral-common" if common else "AutoProcessor",
        "system": fingerprint["system"] or "",
        "pixels": [size.get("shortest_edge"), size.get("longest_edge")],
        "torch": _release(version("torch")),
        "transformers": version("transformers"),
        "verbalizer_ids": words,
    }
