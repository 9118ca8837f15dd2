"""Consensus and agreement of annotators against tables by hand and slow definitions."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from vca_core.annotate import ANSWERS, CRITERIA, agreement, consensus, fleiss_kappa

# Consensus


def table(answers, criterion_rest="yes", showing=1):
    """Decisions on one edit: `answers` of the annotators on the first criterion."""
    rows = [
        (annotator, "e", showing, criterion, answer if at == 0 else criterion_rest)
        for annotator, answer in enumerate(answers, start=1)
        for at, criterion in enumerate(CRITERIA)
    ]
    columns = ["annotator", "edit_id", "showing", "criterion", "answer"]
    return pd.DataFrame(rows, columns=columns).astype({"answer": "string"})


@pytest.mark.parametrize(
    ("answers", "holds", "outcome"),
    [
        (("yes", "yes", "yes"), True, "accepted"),
        (("yes", "yes", "no"), True, "accepted"),
        (("yes", "yes", None), True, "accepted"),
        (("yes", "no", "no"), False, "rejected"),
        (("yes", "unsure", "unsure"), False, "rejected"),
        (("yes", "no", "unsure"), False, "no_majority"),
        (("no", "no", None), False, "rejected"),
        (("no", "unsure", None), False, "undecided"),
        (("yes", "no", None), None, "undecided"),
        (("yes", None, None), None, "undecided"),
    ],
)
def test_consensus_of_three(answers, holds, outcome):
    (row,) = consensus(table(answers), 3).to_dict("records")
    assert row["outcome"] == outcome
    for name in ("original_valid", "accepted"):
        assert pd.isna(row[name]) if holds is None else row[name] is holds
    assert row["edited_flipped"] is True
    assert row["original_valid_yes"] == answers.count("yes")
    assert row["original_valid_n"] == 3 - answers.count(None)


def test_consensus_needs_more_than_half_of_two():
    assert consensus(table(("yes", "no")), 2)["outcome"].item() == "no_majority"
    assert consensus(table(("yes", "yes")), 2)["outcome"].item() == "accepted"


def test_consensus_no_beats_a_tie_on_another_criterion():
    decisions = table(("yes", "no", "unsure"), criterion_rest="no")
    assert consensus(decisions, 3)["outcome"].item() == "rejected"


def test_consensus_leaves_repeats_out():
    decisions = pd.concat([table(["yes"] * 3), table(["no"] * 3, showing=2)])
    assert consensus(decisions, 3)["accepted"].tolist() == [True]


# Agreement

WIKIPEDIA_EXAMPLE = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]  # ten items, fourteen raters, kappa 0.210


def test_fleiss_kappa_published_example():
    assert round(fleiss_kappa(WIKIPEDIA_EXAMPLE), 3) == 0.210


def test_fleiss_kappa_limits():
    assert fleiss_kappa([[3, 0], [0, 3], [3, 0]]) == 1
    # two raters who always differ, on categories used alike
    assert fleiss_kappa([[1, 1], [1, 1]]) == -1
    # (r - 1) pairs of three agree as chance has it: P = 1/3, sum p^2 = 5/9
    assert fleiss_kappa([[2, 1], [2, 1]]) == pytest.approx(-0.5)


def test_fleiss_kappa_is_nan_without_room_items_or_second_rater():
    assert np.isnan(fleiss_kappa([[3, 0], [3, 0]]))
    assert np.isnan(fleiss_kappa(np.zeros((0, 3))))
    assert np.isnan(fleiss_kappa([[1, 0], [0, 1]]))


def test_fleiss_kappa_refuses_unequal_numbers_of_raters():
    with pytest.raises(ValueError, match="same number of raters, got 2 to 3"):
        fleiss_kappa([[3, 0], [1, 1]])


def random_decisions(rng, n=30):
    rows = [
        (annotator, f"e{number}", showing, criterion, rng.choice(ANSWERS, p=[0.7, 0.2, 0.1]))
        for annotator in (1, 2, 3)
        for number in range(n)
        for showing in ((1, 2) if number < 5 else (1,))
        for criterion in CRITERIA
    ]
    columns = ["annotator", "edit_id", "showing", "criterion", "answer"]
    return pd.DataFrame(rows, columns=columns).astype({"answer": "string"})


def test_agreement_matches_slow_definitions(rng):
    decisions = random_decisions(rng)
    result = agreement(decisions, n_resamples=200, rng=rng).set_index(
        ["metric", "annotators", "criterion"]
    )
    said = {
        (r.annotator, r.edit_id, r.showing, r.criterion): r.answer for r in decisions.itertuples()
    }
    names = [f"e{number}" for number in range(30)]
    for criterion in CRITERIA:
        same = {}
        for a, b in combinations((1, 2, 3), 2):
            same[a, b] = np.mean(
                [said[a, e, 1, criterion] == said[b, e, 1, criterion] for e in names]
            )
            row = result.loc["pairwise_agreement", f"{a} and {b}", criterion]
            assert row["value"] == pytest.approx(same[a, b], rel=1e-12) and row["n"] == 30
        observed = np.mean(list(same.values()))
        assert result.loc[("pairwise_agreement", "all", criterion), "value"] == pytest.approx(
            observed, rel=1e-12
        )
        given = [said[a, e, 1, criterion] for a in (1, 2, 3) for e in names]
        chance = sum((given.count(word) / 90) ** 2 for word in ANSWERS)
        row = result.loc["fleiss_kappa", "all", criterion]
        assert row["value"] == pytest.approx((observed - chance) / (1 - chance), rel=1e-12)
        assert row["low"] < row["value"] < row["high"] and row["n"] == 30
        for a in (1, 2, 3):
            repeats = [said[a, e, 1, criterion] == said[a, e, 2, criterion] for e in names[:5]]
            row = result.loc["repeat_agreement", str(a), criterion]
            assert row["value"] == pytest.approx(np.mean(repeats)) and row["n"] == 5


def test_agreement_kappa_interval_is_that_of_resampled_edits(rng):
    decisions = random_decisions(rng)
    row = agreement(decisions, n_resamples=4000, rng=rng).query(
        "metric == 'fleiss_kappa' and criterion == 'original_valid'"
    )
    first = decisions.query("showing == 1 and criterion == 'original_valid'")
    counts = pd.crosstab(first["edit_id"], first["answer"]).to_numpy()
    slow = [fleiss_kappa(counts[rng.integers(30, size=30)]) for _ in range(4000)]
    low, high = np.quantile(slow, [0.025, 0.975])
    assert row["low"].item() == pytest.approx(low, abs=0.03)
    assert row["high"].item() == pytest.approx(high, abs=0.03)


def test_agreement_without_repeats_is_nan_with_its_n(rng):
    decisions = random_decisions(rng).query("showing == 1")
    repeats = agreement(decisions, n_resamples=20, rng=rng).query("metric == 'repeat_agreement'")
    assert repeats["value"].isna().all() and (repeats["n"] == 0).all() and len(repeats) == 12
