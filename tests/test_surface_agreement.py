"""Agreement and consensus of two audits of the same samples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core import tables
from vca_core.metrics import (
    audit_support,
    support_rates,
    surface_agreement,
    surface_consensus,
)
from vca_core.metrics.agreement import CONSENSUS
from vca_core.published import published, published_runs, published_table
from vca_core.records import SchemaError
from vca_core.resampling import resample_counts

random_margins = settings(max_examples=30, deadline=None, derandomize=True)
CONTEXTS = ("original", "text_only", "blank")
RATES = ("accuracy", "dependent", "dcc", "cu")
margin = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
record = st.tuples(st.sampled_from(["yes", "no"]), st.integers(0, 3), *[margin] * 6)


def audits(rows):
    """Two audits, from rows of label, pair (0 for none) and three margins under each surface."""
    frame = pd.DataFrame(list(rows))
    base = pd.DataFrame(
        {
            "model": "toy",
            "dataset": "own",
            "sample_id": [f"s{i}" for i in range(len(frame))],
            "label": frame[0].astype(object),
            "pair_id": [None if p == 0 else f"p{p}" for p in frame[1]],
        }
    )
    columns = [f"margin_{c}" for c in CONTEXTS]
    for name, start in (("yes_no", 2), ("true_false", 5)):
        margins = frame.iloc[:, start : start + 3].astype(float).set_axis(columns, axis=1)
        yield audit_support(pd.concat([base.assign(interface=name), margins], axis=1))


def found(function, *frames, n_resamples=3, rng=None, **options):
    rng = rng or np.random.default_rng(1)
    return function(*frames, n_resamples=n_resamples, rng=rng, **options).set_index("metric")


@pytest.fixture
def both():
    rows = [
        # label, pair, Yes/No: o t b, True/False: o t b
        ("yes", 0, 2, 1, 0, 3, 1, 1),  # yes and dependent under both
        ("yes", 0, 2, 3, 0, 2, 1, 1),  # yes under both, dependent under True/False alone
        ("no", 0, 2, 1, 0, -2, -1, 0),  # dependent under both, correct under True/False alone
        ("no", 0, -2, -3, 0, -1, -2, 0),  # no under both, dependent under neither
        (None, 0, -2, -1, 0, 1, 2, 0),  # unlabelled; dependent under Yes/No alone
    ]
    return tuple(audits(rows))


def test_surface_agreement_read_off(both):
    rates = found(surface_agreement, *both)
    assert rates["value"].to_dict() == {
        "prediction_agreement": 3 / 5,
        "dependent_agreement": 3 / 5,
        "dcc_agreement": 2 / 4,  # the last has no label
        "item_flip": 2 / 5,
        "dependent_jaccard": 2 / 4,
    }
    assert rates["n"].to_dict() == dict.fromkeys(rates.index, 5) | {
        "dcc_agreement": 4, "dependent_jaccard": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("consensus", "covered", "accuracy", "dependent", "dcc"),
    [
        ("both", {0, 3}, 2 / 2, 1 / 2, 1 / 2),
        ("prediction", {0, 1, 3}, 3 / 3, 1 / 3, 1 / 3),
        ("dependent", {0, 2, 3}, 2 / 3, 2 / 3, 1 / 3),
    ],
)
def test_surface_consensus_read_off(both, consensus, covered, accuracy, dependent, dcc):
    first, second = both
    rates = found(surface_consensus, first, second, consensus=consensus)
    expected = [len(covered) / 5, 1 - len(covered) / 5, accuracy, dependent, dcc, accuracy - dcc]
    assert rates["value"].tolist() == pytest.approx(expected)
    assert rates["n"].tolist() == [5, 5] + [len(covered)] * 4
    # The rates of the covered records are the audit's own.
    own = found(support_rates, first.iloc[sorted(covered)])
    pd.testing.assert_series_equal(rates.loc[list(RATES), "value"], own["value"])


def test_consensus_of_nothing_is_nan_with_n_zero():
    first, second = audits([("yes", 0, 2, 1, 0, -2, -1, 0)] * 2)
    rates = found(surface_consensus, first, second)
    assert rates.loc["coverage", "value"] == 0 and rates.loc["abstention", "value"] == 1
    assert rates.loc[list(RATES), "value"].isna().all() and (rates.loc[list(RATES), "n"] == 0).all()
    rates = surface_consensus(first, second, n_resamples=3, rng=np.random.default_rng(0))
    table = tables.surface_consensus_table(rates)
    assert table[["n", "n covered", "Acc (%)"]].values.tolist() == [[2, 0, "–"]]
    with pytest.raises(SchemaError, match="`consensus` must be one of .* got 'label'"):
        found(surface_consensus, first, second, consensus="label")


@random_margins
@given(st.lists(record, min_size=1, max_size=15))
def test_agreement_identities(rows):
    first, second = audits(rows)
    rates = found(surface_agreement, first, second)["value"]
    assert rates["item_flip"] == pytest.approx(1 - rates["dependent_agreement"], rel=1e-12)
    # Symmetric, and whole with itself.
    pd.testing.assert_series_equal(found(surface_agreement, second, first)["value"], rates)
    alone = found(surface_agreement, first, first)["value"]
    assert (alone.drop(["item_flip", "dependent_jaccard"]) == 1).all() and alone["item_flip"] == 0
    jaccard = alone["dependent_jaccard"]
    assert jaccard == 1 if first["dependent"].any() else np.isnan(jaccard)
    # Net change is at most the share that changes.
    for event, metric in (("dependent", "dependent_agreement"), ("dcc", "dcc_agreement")):
        change = abs(first[event].astype(float).mean() - second[event].astype(float).mean())
        assert change <= 1 - rates[metric] + 1e-12
    # Correctness differs exactly where the decision does, so D-CC can differ only by either event.
    assert rates["dcc_agreement"] >= (
        rates["prediction_agreement"] + rates["dependent_agreement"] - 1 - 1e-12
    )


@random_margins
@given(st.lists(record, min_size=1, max_size=15))
def test_consensus_identities(rows):
    first, second = audits(rows)
    agreement = found(surface_agreement, first, second)["value"]
    rates = {c: found(surface_consensus, first, second, consensus=c)["value"] for c in CONSENSUS}
    for name in CONSENSUS:
        parts = rates[name]
        assert parts["coverage"] + parts["abstention"] == pytest.approx(1)
        if parts["coverage"] > 0:
            assert parts["dcc"] + parts["cu"] == pytest.approx(parts["accuracy"])
    for event in ("prediction", "dependent"):
        assert rates[event]["coverage"] == agreement[f"{event}_agreement"]
        assert rates["both"]["coverage"] <= rates[event]["coverage"]
    assert rates["both"]["coverage"] <= agreement["dcc_agreement"]
    # Inside the consensus on both, it makes no difference whose rates these are.
    pd.testing.assert_series_equal(found(surface_consensus, second, first)["value"], rates["both"])


@random_margins
@given(st.lists(record, min_size=2, max_size=12), st.randoms())
def test_agreement_matches_records_whatever_their_order(rows, random):
    first, second = audits(rows)
    order = random.sample(range(len(rows)), len(rows))
    once, again = (found(surface_agreement, first, other) for other in (second, second.iloc[order]))
    pd.testing.assert_frame_equal(once, again)
    # Slow: look every sample up.
    other = {r["sample_id"]: r for r in second.to_dict("records")}
    same = [
        r["prediction"] == other[r["sample_id"]]["prediction"] for r in first.to_dict("records")
    ]
    assert once.loc["prediction_agreement", "value"] == pytest.approx(np.mean(same), rel=1e-12)


def test_intervals_resample_pairs_and_jaccard_is_a_ratio_of_sums(rng):
    rows = [
        ("yes", 1 + i // 2, *rng.choice([-2.0, -1.0, 1.0, 2.0], 6)) for i in range(12)
    ]  # six pairs
    first, second = audits(rows)
    rates = found(surface_agreement, first, second, n_resamples=200, rng=np.random.default_rng(4))
    assert (rates["n_clusters"].drop("dependent_jaccard") == 6).all()
    seed = int(np.random.default_rng(4).integers(2**63))
    draws = np.vstack(
        list(resample_counts(6, n_resamples=200, rng=np.random.default_rng(seed)))
    ).astype(int)
    one, other = first["dependent"].to_numpy(), second["dependent"].to_numpy()
    flips, jaccards = [], []
    for counts in draws:
        index = np.concatenate([np.repeat([2 * g, 2 * g + 1], n) for g, n in enumerate(counts)])
        flips.append(np.mean(one[index] != other[index]))
        either = np.sum(one[index] | other[index])
        jaccards.append(np.sum(one[index] & other[index]) / either if either else np.nan)
    for metric, slow in (("item_flip", flips), ("dependent_jaccard", jaccards)):
        bounds = rates.loc[metric, ["low", "high"]].to_numpy(float)
        assert bounds == pytest.approx(np.nanquantile(slow, [0.025, 0.975]), rel=1e-12)


def test_agreement_between_data_sets_of_other_names_and_other_clusters(both):
    first, second = both
    other = second.assign(dataset="own_system")
    with pytest.raises(SchemaError, match="5 in the first frame alone, 5 in the second"):
        found(surface_agreement, first, other)
    on = ("model", "sample_id")
    rates = surface_agreement(first, other, on=on, n_resamples=3, rng=np.random.default_rng(1))
    assert (rates["dataset"] == "own").all()
    assert rates["value"].tolist() == found(surface_agreement, first, second)["value"].tolist()
    some = found(surface_agreement, first, other[:4], on=on, incomplete="drop")
    assert some.loc["prediction_agreement", "value"] == 3 / 4
    grouped = found(surface_agreement, first.assign(stem_id=list("aabbc")), second,
                    cluster="stem_id")  # fmt: skip
    assert grouped.loc["item_flip", "n_clusters"] == 3


def test_agreement_names_missing_events_and_doubled_samples(both):
    first, second = both
    with pytest.raises(SchemaError, match="Column `dependent` is missing.* Call `audit_support`"):
        found(surface_agreement, first, second.drop(columns="dependent"))
    doubled = pd.concat([second, second.assign(interface="ensemble")])
    with pytest.raises(SchemaError, match="select one `interface`"):
        found(surface_agreement, first, doubled)
    with pytest.raises(SchemaError, match="`pair_id` of a sample must be the same"):
        found(surface_agreement, first.assign(pair_id="a"), second.assign(pair_id="b"))


def test_agreement_of_models_apart_and_of_no_records(both):
    first, second = both
    two = [pd.concat([f, f.assign(model="other")], ignore_index=True) for f in (first, second)]
    rates = surface_agreement(*two, n_resamples=3, rng=np.random.default_rng(0))
    assert rates["model"].unique().tolist() == ["toy", "other"]
    assert rates["value"].tolist()[:5] == rates["value"].tolist()[5:]
    assert len(found(surface_agreement, first[:0], second[:0])) == 0
    stacked = pd.concat([rates.assign(comparison="a"), rates.assign(comparison="b")])
    table = tables.surface_agreement_table(stacked)
    assert table["Compared"].tolist() == ["a", "a", "b", "b"]
    assert table["Jaccard of D (%)"][0].startswith("50.00") and "(n = 4)" in table.iloc[0, -1]


def test_published_ensemble_rates_change_no_more_than_its_agreement_allows():
    runs, t34 = published_runs(), published_table("T34")
    pairs = runs.merge(t34, on=["model", "dataset"], validate="one_to_one")
    counts = {"accuracy": "correct", "dependent": "dependent", "dcc": "dcc"}
    names = {"accuracy": "prediction", "dependent": "dependent", "dcc": "dcc"}
    for rate, count in counts.items():
        printed = published(
            "surface_text", quantity=f"ensemble_vs_canonical_{names[rate]}_agreement"
        )
        change = (pairs[f"ensemble_{rate}"] - 100 * pairs[count] / pairs["n"]).abs()
        assert change.max() <= 100 - printed["low"] + 0.01
