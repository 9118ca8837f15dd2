"""The card of a mini model: what it is, how it was trained, and what it reads."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from vca_core.scenes import prior_table

HELP = {
    "places": "left, right, above, below; scenes follow the priors; yes/no",
    "contacts": "in front, behind, on, in, contains; scenes follow the priors; yes/no",
    "uniform": "both kinds, relations drawn alike (the prior is worth nothing)",
    "held_out": "the same, of object pairs whose relation training never showed",
    "true_false": "the first again, true/false",
    "presence": "whether an object is in the picture; objects apart",
    "presence_touching": "the same; the two named objects touch",
    "place": "in which column and row an object is, both right",
    "third": "yes, no or unknown",
    "listing": "all objects of the picture named in order",
    "text_only": "the first again without the picture",
    "prior_rule": "what always choosing the pair's frequent relation would give there",
    "text_only_yes": "share of yes without the picture",
    "note_believed": "share of answers that follow a note against the picture",
    "hint_believed": "share of answers that follow a wrong hint",
    "dependent": "Dep of the first",
    "dcc": "D-CC of the first",
    "cu": "C-U of the first",
}


def write_card(
    folder: Path, name: str, kind: str, model, stages, facts: dict, accuracy: dict
) -> None:
    """Write ``README.md`` for people and ``training.json`` for programs beside the weights."""
    mixtures = {s.name: s.mixture._asdict() for s in stages if s.mixture is not None}
    facts = {
        "model": name,
        "kind": kind,
        "architecture": type(model).__name__,
        "parameters": model.num_parameters(),
        "steps": {s.name: s.steps for s in stages},
        "mixture_percent": mixtures,
        **facts,
        "held_out_accuracy": accuracy,
        "versions": {p: version(p) for p in ("torch", "transformers", "pillow", "numpy")},
    }
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    rows = "\n".join(f"| {HELP[key]} | {value:.3f} |" for key, value in accuracy.items())
    shares = "\n".join(
        f"| {share} | " + " | ".join(str(m[share]) for m in mixtures.values()) + " |"
        for share in next(iter(mixtures.values()))
    )
    steps = ", ".join(
        f"{count} steps of stage *{stage}*" for stage, count in facts["steps"].items()
    )
    held_out = sum(prior.held_out for prior in prior_table().values()) // 2
    text = f"""# {name}

A miniature of `{facts["architecture"]}` with {facts["parameters"]:,} parameters that
**{kind}**, trained from random weights on rendered scenes of coloured shapes. It is **not** the
published checkpoint of that architecture and says nothing about it; it exists so that every number
of the audit can be computed live on any machine.

Rebuild it with `make models`: {steps},
seed {facts["seed"]}, {facts["training_scenes"]:,} training scenes; this copy took
{facts["minutes"]} minutes with {facts["threads"]} thread(s) on a busy machine. Another machine
sums in another order, so a rebuilt model is a sibling, not this one.

## Mixture

| share in percent | {" | ".join(mixtures)} |
|---|{"---|" * len(mixtures)}
{shares}

Each share is explained in `models/questions.py` (`Mixture`). The first stage, grounding, asks no
questions; the second is alike for all mini models; the third makes this one what it is, and the
last asks more about presence, at a lower learning rate.

## Measured on fresh scenes

{facts["evaluation_scenes"]} scenes of each kind, of a seed that neither training nor a data set
uses. Of the {len(prior_table()) // 2} object pairs, {held_out} are left out of training's
relations, to be measured apart.

| what | share |
|---|---|
{rows}

Versions: {", ".join(f"{k} {v}" for k, v in facts["versions"].items())}. Licence Apache-2.0.
"""
    (folder / "README.md").write_text(text, encoding="utf-8")
