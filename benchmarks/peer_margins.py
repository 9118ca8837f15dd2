"""Are the other tools' margins right, and why not: their rules, redone with our backend.

`agreement` compares each tool's margins with ours from whole prompts. Where they differ, the rule
that was read in the tool's code is applied to the logits of our own backend; that this gives the
tool's numbers back shows that the rule, and nothing else, is the difference.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import torch

from benchmarks.peer_io import shown
from vca_core.backends import Backend, load_backend

REDONE = 8
"""Items whose margins are redone."""
KEYS = ["id", "context", "interface"]
Rule = Callable[[Backend, dict, object], float]


def lmms_eval_margin(backend: Backend, row: dict, image: object) -> float:
    r"""Margin of two losses as lmms-eval's `llava_hf` computes them.

    The loss is the mean over all tokens from the place where the prompt would end if the picture
    were one token. So it counts picture and question tokens too, which are the same for both
    answers and only dilute the difference, and the token that ends the turn, which is not::

        margin = (NLL(no, end) - NLL(yes, end)) / tokens counted
    """
    losses = []
    prompt, end = backend.encode(row["text"], image), backend.tokenizer.eos_token_id
    counted_from = len(backend.prompt_ids(row["text"], True))
    for word in (row["yes"], row["no"]):
        continuation = backend.tokenizer.encode(word, add_special_tokens=False)
        ids = [*prompt.ids, *continuation, end]
        counted = ids[counted_from:]
        start = prompt._replace(ids=ids[:counted_from])
        logits = backend.forward([start], [counted[:-1]])[0]
        found = torch.log_softmax(logits, -1).gather(-1, torch.tensor(counted)[:, None])
        losses.append(-float(found.mean()))
    return losses[1] - losses[0]


def glance_margin(backend: Backend, row: dict, image: object) -> float:
    """Margin as glance's generic backend computes it.

    The picture's name stands as a line of text before the question, and an answer counts with all
    spellings that are one token: with and without the space and, for yes and no, the capital.
    Other words are read after one more token, a space, where the tokenizer splits " 0" into two.
    """
    prompt = backend.encode(f"Image `img0`:\n{row['text']}", image)
    spaced, bare = (backend.tokenizer.encode(z, add_special_tokens=False) for z in (" 0", "0"))
    split = row["interface"] != "yes_no" and len(spaced) == 2 and spaced[1:] == bare
    logits = backend.forward([prompt], [spaced[:1] if split else []])[0][-1]
    sides = []
    for word in (row["yes"].strip(), row["no"].strip()):
        forms = [word, f" {word}"]
        if row["interface"] == "yes_no":
            forms += [word.capitalize(), f" {word.capitalize()}"]
        ids = [backend.tokenizer.encode(form, add_special_tokens=False) for form in forms]
        single = [own[0] for own in ids if len(own) == 1]
        sides.append(float(torch.logsumexp(logits[single], -1)))
    return sides[0] - sides[1]


RULES: dict[str, Rule] = {"lmms-eval": lmms_eval_margin, "glance": glance_margin}


def redo(tasks: dict, rule: Rule) -> pd.DataFrame:
    """Margins of the first items by a tool's rule, from our backend's logits."""
    backend = load_backend(tasks["checkpoint"])
    first = list(dict.fromkeys(row["id"] for row in tasks["rows"]))[:REDONE]
    rows = [row for row in tasks["rows"] if row["id"] in first]
    return pd.DataFrame(
        {key: row[key] for key in KEYS}
        | {"redone": rule(backend, row, shown(tasks["images"], row))}
        for row in rows
    )


def agreement(tasks: dict, exact: pd.DataFrame, found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare margins with ours from whole prompts, one row per tool, context and interface.

    Parameters
    ----------
    tasks : dict
        As the drivers got them.
    exact : DataFrame
        Our answers from whole prompts, with ``id``, ``context``, ``interface``, ``margin`` (nats).
    found : dict
        Answers of each tool, with the same columns.

    Returns
    -------
    DataFrame
        ``n`` rows, ``same_decisions`` among them, ``median_difference`` and ``max_difference``
        (nats, absolute), and, where the tool's rule was redone, ``n_redone`` rows and
        ``max_unexplained``: the largest difference that the rule leaves.
    """
    parts = []
    for tool, answers in found.items():
        both = answers.merge(exact, on=KEYS, suffixes=("", "_exact"), validate="one_to_one")
        both["redone"] = float("nan")
        if tool in RULES:
            both = both.drop(columns="redone").merge(redo(tasks, RULES[tool]), on=KEYS, how="left")
        both["difference"] = (both["margin"] - both["margin_exact"]).abs()
        both["unexplained"] = (both["margin"] - both["redone"]).abs()
        both["same"] = (both["margin"] >= 0) == (both["margin_exact"] >= 0)
        groups = both.groupby(["context", "interface"], sort=False)
        table = groups.agg(
            n=("same", "size"),
            same_decisions=("same", "sum"),
            median_difference=("difference", "median"),
            max_difference=("difference", "max"),
            n_redone=("redone", "count"),
            max_unexplained=("unexplained", "max"),
        ).reset_index()
        table.insert(0, "tool", tool)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)
