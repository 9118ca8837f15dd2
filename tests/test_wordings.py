"""Rates over wordings of the same samples, and agreement with the canonical one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core import tables
from vca_core.metrics import audit_support, support_rates, surface_agreement, wording_rates
from vca_core.published import published_table
from vca_core.records import SchemaError

WORDINGS = ("canonical", "synonym_1", "synonym_2")
CONTEXTS = ("original", "text_only", "blank")
random_margins = settings(max_examples=30, deadline=None, derandomize=True)
margin = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])


def audit_of(values, wordings=WORDINGS, **columns):
    """Audit an array (samples, wordings, contexts) of margins, wording by wording."""
    values = np.asarray(values, dtype=float)
    parts = []
    for w, wording in enumerate(wordings):
        part = pd.DataFrame(values[:, w], columns=[f"margin_{c}" for c in CONTEXTS])
        names = [f"s{i}" for i in range(len(values))]
        parts.append(part.assign(sample_id=names, wording=wording))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.assign(model="toy", dataset="own", interface="yes_no", label="yes")
    return audit_support(frame.assign(**columns))


def found(*frames, n_resamples=3, **options):
    rng = np.random.default_rng(1)
    return wording_rates(*frames, n_resamples=n_resamples, rng=rng, **options).set_index("metric")


@pytest.fixture
def values():
    yes, weak, no = (2, 1, 0), (1, 2, 0), (-2, -1, 0)  # dependent; not; dependent, and no
    return [[yes, yes, yes], [yes, weak, no]]


def test_wording_rates_read_off(values):
    rates = found(audit_of(values))
    assert rates["value"].to_dict() == {
        "accuracy": 5 / 6,
        "dependent": 5 / 6,
        "dcc": 4 / 6,
        "prediction_agreement": 3 / 4,
        "dependent_agreement": 3 / 4,
    }
    assert rates["n"].tolist() == [6, 6, 6, 4, 4]
    assert (rates["n_clusters"] == 2).all()


def test_one_wording_has_rates_and_nothing_to_agree_with(values):
    audit = audit_of(values)
    alone = audit[audit["wording"] == "canonical"]
    rates = found(alone)
    own = support_rates(alone, n_resamples=3, rng=np.random.default_rng(1)).set_index("metric")
    metrics = ["accuracy", "dependent", "dcc"]
    pd.testing.assert_frame_equal(rates.loc[metrics], own.loc[metrics])
    assert rates.loc["prediction_agreement", "n"] == 0
    assert np.isnan(rates.loc["prediction_agreement", "value"])


@random_margins
@given(st.lists(st.tuples(*[margin] * 9), min_size=1, max_size=10), st.randoms())
def test_agreement_averages_over_the_synonyms(rows, random):
    audit = audit_of(np.array(rows).reshape(-1, 3, 3))
    order = random.sample(range(len(audit)), len(audit))
    pooled = found(audit.iloc[order])["value"]
    by_wording = {w: audit[audit["wording"] == w] for w in WORDINGS}
    parts = [
        surface_agreement(
            by_wording[w], by_wording["canonical"], on=("model", "dataset", "sample_id"),
            n_resamples=3, rng=np.random.default_rng(0),
        ).set_index("metric")["value"]
        for w in WORDINGS[1:]
    ]  # fmt: skip
    for metric in ("prediction_agreement", "dependent_agreement"):
        mean = (parts[0][metric] + parts[1][metric]) / 2
        assert pooled[metric] == pytest.approx(mean, rel=1e-12)
    assert pooled["dcc"] == pytest.approx(audit["dcc"].astype(float).mean(), rel=1e-12)


def test_wordings_of_a_sample_are_drawn_together(values):
    audit = audit_of(values * 10)
    tripled = audit_of([[sample[0]] * 3 for sample in values * 10])
    single = audit_of([[sample[0]] for sample in values * 10], ["canonical"])
    # Three equal wordings say no more than one.
    columns, metrics = ["value", "low", "high"], ["accuracy", "dependent", "dcc"]
    three, one = (found(a, n_resamples=100).loc[metrics, columns] for a in (tripled, single))
    pd.testing.assert_frame_equal(three, one)
    assert (found(audit)["n_clusters"] == 20).all()
    # A sample that belongs to a pair is drawn with it, and cluster names another unit.
    paired = audit.assign(pair_id=[f"p{i // 2}" for i in range(20)] * 3)
    assert (found(paired)["n_clusters"] == 10).all()
    assert (found(paired, cluster="sample_id")["n_clusters"] == 20).all()


def test_system_message_against_another_data_set(values):
    audit = audit_of(values)
    reference = audit[audit["wording"] == "canonical"]
    more = pd.concat([reference, reference.assign(sample_id=["a", "b"])])
    message = audit_of([[values[0][0]], [values[1][2]]], ["canonical"], dataset="own_system")
    rates = found(message, more)
    assert rates["value"].to_dict() == {
        "accuracy": 1 / 2,
        "dependent": 1,
        "dcc": 1 / 2,
        "prediction_agreement": 1 / 2,
        "dependent_agreement": 1,
    }
    assert (rates["n"] == 2).all() and (rates["dataset"] == "own_system").all()
    on = ("model", "sample_id")
    same = surface_agreement(message, reference, on=on, n_resamples=3,
                             rng=np.random.default_rng(1)).set_index("metric")  # fmt: skip
    for metric in ("prediction_agreement", "dependent_agreement"):
        assert rates.loc[metric, "value"] == same.loc[metric, "value"]
    stacked = pd.concat([found(audit).assign(form="Wordings"), rates.assign(form="Message")])
    table = tables.wording_table(stacked.reset_index())
    assert table["Form"].tolist() == ["Wordings", "Message"]
    assert table["n"].tolist() == [6, 2] and table["n compared"].tolist() == [4, 2]
    assert not table.map(lambda cell: "n =" in str(cell)).any(axis=None)


def test_wording_rates_name_what_does_not_fit(values):
    audit = audit_of(values)
    with pytest.raises(SchemaError, match="`wording` must be 'canonical' in some rows, got 'syn"):
        found(audit[audit["wording"] != "canonical"])
    with pytest.raises(SchemaError, match=r"1 in the first frame alone; sample_id 's0' \(model"):
        found(audit[audit["wording"] != "canonical"][:1], audit.iloc[1:2])
    with pytest.raises(SchemaError, match="Column `wording` is missing.* Pass `reference`"):
        found(audit.drop(columns="wording"))
    with pytest.raises(SchemaError, match="in the second frame, got sample_id 's0'"):
        found(audit, audit)
    with pytest.raises(SchemaError, match="Column `dependent` is missing"):
        found(audit.drop(columns="dependent"))
    other = audit[:2].assign(label="no")
    with pytest.raises(SchemaError, match="`label` of a sample must be the same on both sides"):
        found(audit, other)
    assert len(found(audit[:0])) == 0


def test_a_sample_without_a_label_counts_in_agreement_alone(values):
    audit = audit_of(values, label=["yes", None] * 3)
    rates = found(audit)
    assert rates["n"].to_dict() == {
        "accuracy": 3, "dependent": 6, "dcc": 3,
        "prediction_agreement": 4, "dependent_agreement": 4,
    }  # fmt: skip


def test_published_rates_are_whole_numbers_of_the_denominators(rng):
    design = audit_of(rng.normal(size=(200, 3, 3)))
    message = audit_of(rng.normal(size=(200, 1, 3)), ["canonical"], dataset="own_system")
    n = {
        "paraphrase": found(design)["n"],
        "system": found(message, design[design["wording"] == "canonical"])["n"],
    }
    for row in published_table("T36").to_dict("records"):
        for metric in ("accuracy", "dcc", "prediction_agreement", "dependent_agreement"):
            count = row[metric] / 100 * n[row["form"]][metric]
            assert count == pytest.approx(round(count), abs=0.005 / 100 * 600)
    assert n["paraphrase"].tolist() == [600, 600, 600, 400, 400] and (n["system"] == 200).all()
