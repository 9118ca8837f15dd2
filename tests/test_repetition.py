"""How often an audit asks about the same picture, and what sharing its tokens leaves."""

import numpy as np
import pandas as pd
import pytest

from vca_core import tables
from vca_core.metrics import repetition, token_ratio
from vca_core.records import SchemaError

KEYS = ["model", "dataset", "sample_id", "context", "prompt_sha256", "image_sha256"]


def audit_rows(pictures, statements, model="m", interfaces=("?",)):
    """Rows of an audit in which every statement has words of its own."""
    rows = []
    for i in range(pictures):
        for j in range(statements):
            for form in interfaces:
                words, shown = f"{i}-{j}{form}", {"original": f"picture {i}", "blank": "grey"}
                rows += [
                    (model, "own", f"{i}-{j}", context, words + str(picture is None), picture)
                    for context in ("original", "text_only", "blank")
                    for picture in [shown.get(context)]
                ]
    return pd.DataFrame(rows, columns=KEYS)


def test_repetition_of_pairs_counts_each_picture_once():
    (found,) = repetition(audit_rows(5, 2)).to_dict("records")
    assert (found["n_statements"], found["n_plain"], found["n_prompts"]) == (10, 10, 30)
    assert (found["n_distinct"], found["n_shown"], found["n_pictures"]) == (30, 20, 6)
    assert found["prompts_per_picture"] == 20 / 6 and found["pictures_per_plain"] == 0.6


def test_repetition_a_second_interface_shows_no_new_picture():
    (found,) = repetition(audit_rows(5, 2, interfaces="?!")).to_dict("records")
    assert (found["n_plain"], found["n_pictures"]) == (20, 6)


def test_repetition_equal_prompts_on_equal_pictures_are_one():
    rows = audit_rows(3, 1)
    twice = pd.concat([rows, rows.assign(sample_id=rows["sample_id"] + "b")])
    (found,) = repetition(twice).to_dict("records")
    assert (found["n_statements"], found["n_prompts"], found["n_distinct"]) == (6, 18, 9)


def test_repetition_keeps_models_apart_and_leaves_out_rows_without_digests():
    rows = pd.concat([audit_rows(4, 1), audit_rows(4, 1, model="imported")])
    rows.loc[rows["model"] == "imported", ["prompt_sha256", "image_sha256"]] = None
    assert repetition(rows)["model"].tolist() == ["m"]
    nothing = repetition(rows[rows["model"] == "imported"])
    assert nothing.empty and "pictures_per_plain" in nothing


def test_repetition_without_pictures_is_nan():
    rows = audit_rows(4, 1)
    (found,) = repetition(rows[rows["context"] == "text_only"]).to_dict("records")
    assert found["n_pictures"] == found["n_plain"] == 0
    assert np.isnan(found["prompts_per_picture"]) and np.isnan(found["pictures_per_plain"])


def test_repetition_names_a_missing_column():
    with pytest.raises(SchemaError, match="`image_sha256` is missing"):
        repetition(audit_rows(1, 1).drop(columns="image_sha256"))


def test_repetition_matches_the_committed_pairs():
    from vca_core.cache import read_scores, scores_path
    from vca_core.cache.files import ROOT

    rows = read_scores(scores_path(ROOT / "cached_scores", "pairs", "yes_no", "mini-llava"))
    rows = rows[rows["context"].isin(["original", "text_only", "blank"])]
    (found,) = repetition(rows).to_dict("records")
    assert (found["n_plain"], found["n_prompts"], found["n_pictures"]) == (880, 2640, 441)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_token_ratio_against_counted_tokens(k):
    """Many pictures, each with k questions; blank and text-only prefixes run once."""
    head, rest, pictures = 600, 30, 10_000
    prompts = k * pictures
    plain = prompts * (head + rest)
    shared = (pictures + 2) * head + 3 * prompts * rest
    share = head / (head + rest)
    assert token_ratio(share, k) == pytest.approx(shared / plain, rel=1e-3)


def test_token_ratio_limits():
    assert token_ratio(0, 5) == 3 and token_ratio(1, 5) == 0.2
    assert token_ratio(0.5, 1, n_contexts=1) == 1
    with pytest.raises(ValueError, match=r"at least one prompt, got 0\.5"):
        token_ratio(0.5, 0.5)


def test_repetition_table_joins_models_that_agree():
    rows = pd.concat([audit_rows(5, 2), audit_rows(5, 2, model="b"), audit_rows(4, 2, model="c")])
    table = tables.repetition_table(repetition(rows).assign(scored="all"))
    assert table["Data"].tolist() == ["own (m, b)", "own (c)"]
    assert tables.repetition_table(repetition(rows[:30]).assign(scored=""))["Data"].item() == "own"
    assert table["Per plain prompt"].tolist() == ["0.60", "0.62"]
    assert (
        tables.repetition_table(repetition(rows[:0]).assign(scored="")).iloc[0, 0] == "not counted"
    )
