"""Agreement of two answer surfaces on relation pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core import tables
from vca_core.metrics import audit_support, pair_inverses, pair_surface_agreement, surface_agreement
from vca_core.published import published_table
from vca_core.records import SchemaError

random_margins = settings(max_examples=30, deadline=None, derandomize=True)
CONTEXTS = ("original", "text_only", "blank")
margin = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
pair = st.tuples(*[margin] * 12)


def statements(values, interface="yes_no"):
    """Statements of pairs from an array (pairs, 2, contexts): the true one, then the false one."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    frame = pd.DataFrame(values.reshape(2 * n, 3), columns=[f"margin_{c}" for c in CONTEXTS])
    return frame.assign(
        model="toy",
        dataset="own",
        interface=interface,
        pair_id=np.repeat([f"p{i}" for i in range(n)], 2),
        polarity=["true", "false"] * n,
        sample_id=[f"p{i // 2}-{i % 2}" for i in range(2 * n)],
        label=["yes", "no"] * n,
    )


def gains(of_pairs):
    """Statements whose gaps in favour of their own decision are given, (true, false) per pair."""
    true, false = np.asarray(of_pairs, dtype=float).T
    # Decisions are right (10, -10); the controls lie a gap below them.
    values = [[[10, 10 - g, 10 - g], [-10, h - 10, h - 10]] for g, h in zip(true, false)]  # noqa: B905
    return statements(values)


def found(first, second, n_resamples=3, **options):
    audits = (audit_support(f) for f in (first, second))
    rng = np.random.default_rng(1)
    rates = pair_surface_agreement(*audits, n_resamples=n_resamples, rng=rng, **options)
    return rates.set_index("metric")


BOTH, TRUE, FALSE, NONE, WEAK = (2, 2), (2, -1), (-1, 2), (-1, -1), (1, -2)
"""Gaps of a true and a false statement; PairCredit in the first three, by their sum."""


def test_pair_surface_agreement_read_off():
    first = gains([BOTH, TRUE, TRUE, NONE])
    second = gains([BOTH, FALSE, WEAK, WEAK])
    rates = found(first, second)
    assert rates["value"].to_dict() == {
        "item_flip": (0 + 2 + 0 + 1) / 8,
        "pair_flip": 1 / 4,  # TRUE to WEAK: no statement flips, the pair does
        "pair_jaccard": 2 / 3,
        "flip_difference": 1 / 4 - 3 / 8,
    }
    assert rates["n"].to_dict() == {
        "item_flip": 4, "pair_flip": 4, "pair_jaccard": 3, "flip_difference": 4,
    }  # fmt: skip


def test_surface_with_itself_does_not_flip():
    same = gains([BOTH, NONE, WEAK])
    rates = found(same, same)["value"]
    assert rates.to_dict() == {
        "item_flip": 0, "pair_flip": 0, "pair_jaccard": 1, "flip_difference": 0,
    }  # fmt: skip
    nothing = found(gains([NONE]), gains([WEAK]))
    assert np.isnan(nothing.loc["pair_jaccard", "value"]) and nothing.loc["pair_jaccard", "n"] == 0


@random_margins
@given(st.lists(st.tuples(*[margin] * 6), min_size=1, max_size=10), st.tuples(*[margin] * 3))
def test_an_offset_on_both_statements_flips_items_and_never_a_pair(rows, offsets):
    values = np.array(rows).reshape(-1, 2, 3)
    rates = found(statements(values), statements(values + np.array(offsets)))["value"]
    assert rates["pair_flip"] == 0
    assert rates["pair_jaccard"] == 1 or np.isnan(rates["pair_jaccard"])


def test_an_offset_does_flip_items():
    values = [[[1, 0, 0], [-1, 0, 0]]]
    shifted = np.array(values) + np.array([0, 2, 2])  # the controls gain, for both statements
    rates = found(statements(values), statements(shifted))["value"]
    assert rates["item_flip"] == 1 / 2 and rates["pair_flip"] == 0


@random_margins
@given(st.lists(pair, min_size=1, max_size=10), st.randoms())
def test_pair_surface_agreement_matches_the_slow_definition(rows, random):
    values = np.array(rows).reshape(-1, 2, 2, 3)  # pair, surface, statement, context
    first, second = (statements(values[:, s]) for s in (0, 1))
    order = random.sample(range(len(second)), len(second))
    rates = found(first, second.iloc[order])
    flips, pair_flips, both, either = 0, 0, 0, 0
    for surfaces in values:
        credits, events = [], []
        for true, false in surfaces:
            gap = true - false
            credits.append(gap[0] > max(gap[1], gap[2]))
            signs = [1 if m[0] >= 0 else -1 for m in (true, false)]
            events.append([s * m[0] > max(s * m[1], s * m[2])
                           for s, m in zip(signs, (true, false), strict=True)])  # fmt: skip
        flips += sum(a != b for a, b in zip(*events, strict=True))
        pair_flips += credits[0] != credits[1]
        both += credits[0] and credits[1]
        either += credits[0] or credits[1]
    n = len(values)
    value = rates["value"]
    assert value["item_flip"] == pytest.approx(flips / (2 * n), rel=1e-12)
    assert value["pair_flip"] == pytest.approx(pair_flips / n, rel=1e-12)
    assert either == both + pair_flips == rates.loc["pair_jaccard", "n"]
    if either:  # Jaccard = b / (b + flips), with a whole b
        assert value["pair_jaccard"] == pytest.approx(both / (both + pair_flips), rel=1e-12)
    assert value["flip_difference"] == pytest.approx(
        value["pair_flip"] - value["item_flip"], abs=1e-12
    )
    # The flips of the statements are those of the statements' own agreement.
    own = surface_agreement(*(audit_support(f) for f in (first, second)), n_resamples=3,
                            rng=np.random.default_rng(1))  # fmt: skip
    items = own.set_index("metric").loc["item_flip"]
    assert items["value"] == pytest.approx(value["item_flip"]) and items["n"] == 2 * n


def surfaces_with(n, item_flips, pair_flips, both):
    """Two surfaces on `n` pairs with these counts of flipped statements and pairs."""
    second = np.array([TRUE] * both + [WEAK] * (n - both))
    first = np.array([TRUE] * (both + pair_flips) + [WEAK] * (n - both - pair_flips))
    free = np.r_[:both, both + pair_flips : n]  # pairs whose credit is the same under both
    twice, once = free[: item_flips // 2], free[item_flips // 2 :][: item_flips % 2]
    second[twice] = np.where((second[twice] == TRUE).all(axis=1)[:, None], FALSE, (-2, 1))
    second[once] = np.where((second[once] == TRUE).all(axis=1)[:, None], BOTH, NONE)
    return gains(first), gains(second)


@pytest.mark.parametrize("row", published_table("T35").to_dict("records"),
                         ids=lambda r: f"{r['model']}-{r['dataset']}")  # fmt: skip
def test_published_flips_and_jaccard_come_out_of_their_counts(row):
    n = row["n_pairs"]
    item_flips, pair_flips = (
        round(row["item_flip"] / 100 * 2 * n), round(row["pair_flip"] / 100 * n),
    )  # fmt: skip
    both = round(pair_flips * row["pair_jaccard"] / (100 - row["pair_jaccard"]))
    rates = found(*surfaces_with(n, item_flips, pair_flips, both))
    for metric in ("item_flip", "pair_flip", "pair_jaccard"):
        assert 100 * rates.loc[metric, "value"] == pytest.approx(row[metric], abs=0.005)
    assert rates.loc["flip_difference", "value"] < 0  # pairing has fewer flips, in all eight


def test_pairs_made_of_statements_and_their_inverses():
    frame = gains([BOTH, TRUE])
    true = frame[frame["polarity"] == "true"].assign(pair_id=None, polarity=None)
    inverses = frame[frame["polarity"] == "false"].assign(dataset="own_inverse")
    inverses["pair_id"] = true["sample_id"].to_numpy()
    alone = true[:1].assign(sample_id="lonely")
    joined = pair_inverses(pd.concat([true, alone]), inverses)
    changed = joined.assign(margin_blank=joined["margin_blank"] * -5.0)
    rates = found(joined, changed)
    assert rates.loc["pair_flip", "n"] == 2
    # A statement without a pair plays no part.
    with_alone = pd.concat([joined, alone], ignore_index=True)
    pd.testing.assert_frame_equal(found(with_alone, changed), rates)


def test_whole_pairs_are_resampled_and_items_follow_them():
    first, second = gains([BOTH] * 6), gains([BOTH] * 3 + [NONE] * 3)
    rates = found(first, second, n_resamples=200)
    assert (rates["n_clusters"].drop("pair_jaccard") == 6).all()
    # Both statements of a pair flip, or neither: items and pairs have one interval.
    columns = ["value", "low", "high"]
    assert rates.loc["item_flip", columns].tolist() == rates.loc["pair_flip", columns].tolist()
    assert rates.loc["item_flip", "low"] < 0.5 < rates.loc["item_flip", "high"]
    assert rates.loc["flip_difference", columns].tolist() == [0, 0, 0]


def test_several_false_statements_share_their_pair():
    frame = gains([BOTH])
    more = frame[1:].assign(sample_id="p0-2")
    first = pd.concat([frame, more], ignore_index=True)
    second = first.assign(margin_blank=[8, -8, -12.0])  # the last one is not dependent
    rates = found(first, second)["value"]
    assert rates["item_flip"] == pytest.approx(1 / 3) and rates["pair_flip"] == 0


def test_pair_surface_agreement_names_what_is_missing():
    frame = gains([BOTH, NONE])
    with pytest.raises(SchemaError, match="Column `polarity` is missing"):
        found(frame, frame.drop(columns="polarity"))
    with pytest.raises(SchemaError, match="Column `prediction` is missing.* Call `audit_support`"):
        pair_surface_agreement(frame, frame, rng=np.random.default_rng(0))
    with pytest.raises(SchemaError, match="0 in the first frame alone, 1 in the second.*'p0-0'"):
        found(frame[1:], frame)
    assert len(found(frame[:0], frame[:0])) == 0
    unpaired = frame.assign(pair_id=None)
    with pytest.raises(SchemaError, match="`pair_id` must name the relation pair of some"):
        found(unpaired, unpaired)
    with pytest.raises(SchemaError, match="one true and at least one false statement, got 1 false"):
        found(frame[1:], frame[1:])


def test_pair_agreement_table_counts_pairs():
    audits = [audit_support(gains(rows)) for rows in ([BOTH, TRUE, NONE], [BOTH, WEAK, NONE])]
    rates = pair_surface_agreement(*audits, n_resamples=3, rng=np.random.default_rng(0))
    table = tables.pair_agreement_table(rates)
    assert table["n"].tolist() == [3]
    assert table["Pair flip (%)"][0].startswith("33.33 [")
    assert table["Pair Jaccard (%)"][0].startswith("50.00") and "(n = 2)" in table.iloc[0, -1]
