"""Ensembles of answer surfaces, and rank correlations between surfaces."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core import tables
from vca_core.metrics import (
    audit_support,
    ensemble_margins,
    stack_surfaces,
    support_rates,
    surface_rank_correlation,
)
from vca_core.published import published, published_runs, published_table
from vca_core.records import SchemaError

random_margins = settings(max_examples=40, deadline=None, derandomize=True)
CONTEXTS = ("original", "text_only", "blank")
margin = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0]) | st.floats(-50, 50)


def surface(margins, interface="yes_no", labels=None, **columns):
    frame = pd.DataFrame(margins, columns=[f"margin_{c}" for c in CONTEXTS], dtype=float)
    names = [f"s{i}" for i in range(len(frame))]
    frame = frame.assign(model="toy", dataset="own", interface=interface, sample_id=names)
    return frame.assign(label=labels or "yes", **columns)


@pytest.fixture
def yes_no():
    #         original, text, blank: yes and dependent; yes, not dependent; no and dependent
    return surface([(2, 1, 0), (1, 2, 0), (-3, -1, -2)])


@pytest.fixture
def true_false():
    return surface([(4, 2, 2), (-3, 0, 2), (1, 0, 0)], "true_false")


def test_ensemble_margins_are_means_with_decisions_of_their_own(yes_no, true_false):
    found = ensemble_margins(yes_no, true_false)
    assert found.filter(like="margin_").to_numpy().tolist() == [
        [3, 1.5, 1],
        [-1, 1, 1],
        [-1, -0.5, -1],
    ]
    assert (found["interface"] == "ensemble").all()
    assert list(found.columns) == list(yes_no.columns)
    audit = audit_support(found)
    # The second decision is no, though Yes/No says yes; the third ties its blank control.
    assert audit["prediction"].tolist() == ["yes", "no", "no"]
    assert audit["dependent"].tolist() == [True, True, False]


def test_ensemble_of_a_surface_with_itself_is_the_same_audit(yes_no):
    once = audit_support(yes_no)
    both = audit_support(ensemble_margins(yes_no, yes_no.assign(interface="true_false")))
    pd.testing.assert_frame_equal(both.assign(interface="yes_no"), once)


@random_margins
@given(st.lists(st.tuples(*[margin] * 6), min_size=1, max_size=8), st.randoms())
def test_ensemble_lies_between_its_surfaces_in_any_order_of_rows(rows, random):
    rows = np.array(rows)
    one, other = surface(rows[:, :3]), surface(rows[:, 3:], "true_false")
    order = random.sample(range(len(rows)), len(rows))
    found = ensemble_margins(one, other.iloc[order]).filter(like="margin_").to_numpy()
    low, high = np.minimum(rows[:, :3], rows[:, 3:]), np.maximum(rows[:, :3], rows[:, 3:])
    assert ((low <= found) & (found <= high)).all()
    swapped = ensemble_margins(other, one).filter(like="margin_").to_numpy()
    assert (swapped == found).all()
    # Where both surfaces give one decision, so does their mean: it agrees with either at least as
    # often as they agree.
    agreed = (rows[:, 0] >= 0) == (rows[:, 3] >= 0)
    assert ((found[:, 0] >= 0) == (rows[:, 0] >= 0))[agreed].all()


def test_ensemble_margins_take_the_contexts_that_both_have(yes_no, true_false):
    more = yes_no.assign(margin_mismatch=1.0, margin_mean_color=[1.0, np.nan, 2.0])
    other = true_false.assign(margin_mean_color=[3.0, np.nan, 4.0], margin_relation_erased=0.0)
    found = ensemble_margins(more, other)
    assert "margin_mismatch" not in found and "margin_relation_erased" not in found
    # A context that a data set lacks stays unknown.
    np.testing.assert_array_equal(found["margin_mean_color"], [2.0, np.nan, 3.0])


def test_ensemble_margins_need_no_label_and_keep_wordings_apart(yes_no, true_false):
    bare = [f.drop(columns=["label", "interface"]) for f in (yes_no, true_false)]
    assert len(ensemble_margins(*bare)) == 3
    one, other = (
        pd.concat([f.assign(wording=w) for w in words])
        for f, words in ((yes_no, "ab"), (true_false, "ba"))
    )
    found = ensemble_margins(one, other)
    assert found["wording"].tolist() == list("aaabbb")
    assert found["margin_original"].tolist() == [3, -1, -1] * 2


def test_ensemble_margins_name_a_sample_of_one_surface_alone(yes_no, true_false, capsys):
    with pytest.raises(
        SchemaError,
        match=r"Both frames must hold the same records, got .*0 in the first frame alone, 1 in "
        r"the second frame alone; sample_id 's0' \(model 'toy', dataset 'own'\)",
    ):
        ensemble_margins(yes_no[1:], true_false)
    with pytest.raises(SchemaError, match="1 in the first frame alone, 0 in the second"):
        ensemble_margins(yes_no, true_false[:2])
    with pytest.raises(SchemaError, match="'refuse' or 'drop', got 'skip'"):
        ensemble_margins(yes_no, true_false, incomplete="skip")
    found = ensemble_margins(yes_no[1:], true_false[:2], incomplete="drop")
    assert found["sample_id"].tolist() == ["s1"]
    said = capsys.readouterr().err
    assert "Left out" in said and "'s0'" in said and "'s2'" in said
    other = true_false.assign(dataset="elsewhere")
    with pytest.raises(SchemaError, match="must share a record, got none"):
        ensemble_margins(yes_no, other, incomplete="drop")


def test_ensemble_margins_refuse_what_is_not_two_surfaces(yes_no, true_false):
    with pytest.raises(SchemaError, match="`label` of a sample must be the same on both sides, "
                       r"got 'yes' and 'no' for sample_id 's1'"):  # fmt: skip
        ensemble_margins(yes_no, true_false.assign(label=["yes", "no", None]))
    with pytest.raises(SchemaError, match=r"must stand once per .* in the second frame, got "
                       "sample_id 's0'"):  # fmt: skip
        ensemble_margins(yes_no, pd.concat([true_false, true_false[:1]]))
    with pytest.raises(SchemaError, match="in the first frame"):
        ensemble_margins(pd.concat([yes_no, yes_no.assign(interface="x")]), true_false)
    with pytest.raises(SchemaError, match="before the audit, got a frame with `image_gap`"):
        ensemble_margins(audit_support(yes_no), true_false)
    with pytest.raises(SchemaError, match="Column `model` is missing"):
        ensemble_margins(yes_no, true_false.drop(columns="model"))
    with pytest.raises(SchemaError, match="`margin_<context>` in common, got none"):
        ensemble_margins(yes_no, true_false[["model", "dataset", "sample_id"]])
    words = true_false.assign(margin_blank="1,5")
    with pytest.raises(SchemaError, match="`margin_blank` must hold numbers in nats"):
        ensemble_margins(yes_no, words)


def test_stack_surfaces_gives_three_paired_runs(yes_no, true_false, rng):
    stacked = stack_surfaces(yes_no.assign(margin_mismatch=0.0), true_false)
    assert stacked["interface"].tolist() == [
        name for name in ("yes_no", "true_false", "ensemble") for _ in range(3)
    ]
    assert "margin_mismatch" not in stacked and stacked.index.is_unique
    audit = audit_support(stacked)
    rates = support_rates(audit, by=("model", "interface"), n_resamples=20, rng=rng)
    found = rates.set_index(["interface", "metric"])["value"]
    assert found["yes_no"].to_dict() == {
        "accuracy": 2 / 3, "dependent": 2 / 3, "dcc": 1 / 3, "cu": 1 / 3,
    }  # fmt: skip
    assert found["ensemble", "dependent"] == 2 / 3
    with pytest.raises(SchemaError, match="Column `interface` is missing"):
        stack_surfaces(yes_no, true_false.drop(columns="interface"))
    table = tables.surface_table(rates)
    assert table["Surface"].tolist() == ["Yes/No", "True/False", "Ensemble"]
    assert table["Dep (%)"][0].startswith("66.67 [")


def published_surfaces():
    """Give the printed rates under Yes/No and under the ensemble, in the metrics' long form."""
    runs, t34 = published_runs(), published_table("T34")
    parts = []
    for metric, count in (("accuracy", "correct"), ("dcc", "dcc")):
        keys = ["model", "dataset"]
        own = runs[keys].assign(interface="yes_no", value=runs[count] / runs["n"])
        ensemble = t34[keys].assign(interface="ensemble", value=t34[f"ensemble_{metric}"] / 100)
        parts += [frame.assign(metric=metric) for frame in (own, ensemble)]
    return pd.concat(parts, ignore_index=True)


def test_surface_rank_correlation_of_the_published_rates():
    found = surface_rank_correlation(published_surfaces())
    assert found[["first", "second", "n"]].drop_duplicates().values.tolist() == [
        ["yes_no", "ensemble", 4]
    ]
    for dataset, tail in (("vsr", "vsr"), ("gsr_coco", "gsr")):
        for metric in ("accuracy", "dcc"):
            printed = published("surface_text", quantity=f"{metric}_rank_rho_{tail}")["value"]
            row = (found["dataset"] == dataset) & (found["metric"] == metric)
            assert found.loc[row, "value"].item() == pytest.approx(printed, abs=0.005)
    table = tables.surface_rank_table(found)
    assert table.iloc[0].tolist() == ["VSR", "Yes/No and Ensemble", 4, "1.00", "0.80"]


def rates_of(values, interfaces=("yes_no", "ensemble")):
    rows = [
        (f"m{i}", name, value)
        for i, pair in enumerate(values)
        for name, value in zip(interfaces, pair, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["model", "interface", "value"])
    return frame.assign(dataset="own", metric="dcc")


def rho(values):
    found = surface_rank_correlation(rates_of(values), metrics=["dcc"])
    return found["value"].item(), found["n"].item()


def test_surface_rank_correlation_limits():
    assert rho([(0.1, 0.5), (0.2, 0.6), (0.3, 0.7)]) == (pytest.approx(1), 3)
    assert rho([(0.1, 0.7), (0.2, 0.6), (0.3, 0.5)]) == (pytest.approx(-1), 3)
    # 1 - 6 sum d^2 / n (n^2 - 1) for four models, two neighbours swapped.
    assert rho([(1, 2), (2, 1), (3, 3), (4, 4)]) == (pytest.approx(1 - 6 * 2 / 60), 4)
    for few in ([(0.1, 0.5), (0.2, 0.6)], [(0.1, 0.2)], [(0.1, 0.5), (0.2, 0.6), (0.3, np.nan)]):
        value, n = rho(few)
        assert np.isnan(value) and n == min(len(few), 2)
    value, n = rho([(0.1, 0.5), (0.1, 0.6), (0.1, 0.7)])  # one rate for all: no ranks
    assert np.isnan(value) and n == 3
    table = tables.surface_rank_table(
        surface_rank_correlation(rates_of([(0.1, 0.2)]), metrics=["dcc"])
    )
    assert table["rho of D-CC"].tolist() == ["–"]


@random_margins
@given(st.permutations(range(6)))
def test_surface_rank_correlation_matches_its_closed_form_without_ties(order):
    values = list(enumerate(order))
    found, n = rho(values)
    assert n == 6
    d2 = sum((a - b) ** 2 for a, b in values)
    assert found == pytest.approx(1 - 6 * d2 / (6 * 35), rel=1e-12)


def test_surface_rank_correlation_names_what_is_missing():
    rates = rates_of([(0.1, 0.2)])
    with pytest.raises(SchemaError, match="must hold the interface 'true_false', got"):
        surface_rank_correlation(rates, second="true_false", metrics=["dcc"])
    with pytest.raises(SchemaError, match="must hold the metric 'accuracy'"):
        surface_rank_correlation(rates)
    with pytest.raises(SchemaError, match="Column `interface` is missing"):
        surface_rank_correlation(rates.drop(columns="interface"))
    with pytest.raises(SchemaError, match="'dcc' of model 'm0' more than once"):
        surface_rank_correlation(pd.concat([rates, rates]), metrics=["dcc"])
