"""Accuracy of a mini model on fresh scenes, by plain forwards through its processor."""

from __future__ import annotations

import numpy as np
import torch

from vca_core.probes import question_text, statement_text
from vca_core.records import VERBALIZERS
from vca_core.scenes import render_scene
from vca_core.scenes.datasets import relation_samples
from vca_core.scenes.world import RELATIONS, draw_pair, draw_relation, draw_scene, prior_table

EVALUATION_SEED = 20260902
"""Never used by training or by a data set."""


def evaluate(model, processor, n: int, seed: int = EVALUATION_SEED) -> dict[str, float]:
    """Measure what the model reads.

    Parameters
    ----------
    model, processor
        A mini model and its processor.
    n : int
        Fresh scenes per kind; each gives a true and a false statement.
    seed : int

    Returns
    -------
    dict of str to fraction
        ``relation``: scenes whose relation follows the priors; ``relation_uniform``: relations
        drawn alike, so that the prior is worth nothing; ``relation_held_out``: uniform, of object
        pairs that training never named together; ``true_false`` and ``text_only``: the first
        again, under the other interface and without the image; ``prior_rule``: what answering by
        the pair's frequent relation would give there.
    """
    rng = np.random.default_rng(seed)
    natural = [_scene(rng, None, True) for _ in range(n)]
    uniform = [_scene(rng, None, False) for _ in range(n)]
    held_out = [_scene(rng, True, False) for _ in range(n)]
    return {
        "relation": _accuracy(model, processor, natural, "yes_no", True),
        "relation_uniform": _accuracy(model, processor, uniform, "yes_no", True),
        "relation_held_out": _accuracy(model, processor, held_out, "yes_no", True),
        "true_false": _accuracy(model, processor, natural, "true_false", True),
        "text_only": _accuracy(model, processor, natural, "yes_no", False),
        "prior_rule": prior_rule_accuracy(
            [s for scene in natural for s in relation_samples("fresh", "fresh", scene)]
        ),
    }


def prior_rule_accuracy(samples) -> float:
    """Accuracy of answering yes exactly when a statement names its pair's frequent relation."""
    table = prior_table()
    hits = [
        (table[s.subject, s.object].relation == s.relation) == (s.label == "yes") for s in samples
    ]
    return sum(hits) / len(hits)


def _scene(rng: np.random.Generator, held_out: bool | None, natural: bool):
    subject, object_ = draw_pair(rng, held_out)
    relation = draw_relation(rng, subject, object_) if natural else RELATIONS[rng.integers(4)]
    return draw_scene(rng, subject, object_, relation)


@torch.inference_mode()
def _accuracy(model, processor, scenes, interface: str, image: bool) -> float:
    hits = []
    affirm, deny = (
        processor.tokenizer(word, add_special_tokens=False).input_ids[0]
        for word in VERBALIZERS[interface]
    )
    for start in range(0, len(scenes), 32):
        block = scenes[start : start + 32]
        samples = [s for scene in block for s in relation_samples("fresh", "fresh", scene)]
        inputs = processor(
            text=[_prompt(processor, s, interface, image) for s in samples],
            images=[render_scene(scene) for scene in block for _ in range(2)] if image else None,
            return_tensors="pt",
            padding=True,
            padding_side="right",
        )
        last = inputs.attention_mask.sum(dim=1) - 1
        logits = model(**inputs).logits[torch.arange(len(samples)), last]
        yes = (logits[:, affirm] >= logits[:, deny]).tolist()
        hits += [answer == (s.label == "yes") for answer, s in zip(yes, samples, strict=True)]
    return float(np.mean(hits))


def _prompt(processor, sample, interface: str, image: bool) -> str:
    text = (
        question_text(sample.question)
        if interface == "yes_no"
        else statement_text(sample.statement)
    )
    content = [{"type": "image"}] * image + [{"type": "text", "text": text}]
    return processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
