"""The card of a mini model: what it is, how it was trained, and what it reads."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

HELP = {
    "relation": "relations that follow the priors, yes/no",
    "relation_uniform": "relations drawn alike (the prior is worth nothing), yes/no",
    "relation_held_out": "the same, of object pairs that training never named together",
    "true_false": "relations that follow the priors, true/false",
    "text_only": "the first again without the image",
    "prior_rule": "what always choosing the pair's frequent relation would give there",
}


def write_card(folder: Path, name: str, model, stages, facts: dict, accuracy: dict) -> None:
    """Write ``README.md`` for people and ``training.json`` for programs beside the weights."""
    mixtures = {s.name: s.mixture._asdict() for s in stages if s.mixture is not None}
    facts = {
        "model": name,
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
    text = f"""# {name}

A miniature of `{facts["architecture"]}` with {facts["parameters"]:,} parameters, trained
from random weights on rendered scenes of coloured shapes. It is **not** the published checkpoint
of that architecture and says nothing about it; it exists so that every number of the audit can be
computed live on any machine.

Rebuild it with `make models`: {steps},
seed {facts["seed"]}, {facts["training_scenes"]:,} training scenes; this copy took
{facts["minutes"]} minutes on two processor cores. Another machine sums in another order, so a
rebuilt model is a sibling, not this one.

## Mixture

| share in percent | {" | ".join(mixtures)} |
|---|{"---|" * len(mixtures)}
{shares}

`prior`: training scenes whose relation follows the object pair's prior. `relation`, `naming`,
`presence`: questions whether a relation holds, which one does, and whether an object is there (the
rest ask for places). `true_false`: relation questions put as statements. `other_axis`:
false statements about the other axis. `text_only`: steps without images.

## Accuracy on fresh scenes

Scenes share no seed with training. One object pair in eleven is left out of training, to be
measured apart.

| what | accuracy |
|---|---|
{rows}

Versions: {", ".join(f"{k} {v}" for k, v in facts["versions"].items())}. Licence Apache-2.0.
"""
    (folder / "README.md").write_text(text, encoding="utf-8")
