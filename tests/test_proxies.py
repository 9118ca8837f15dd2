"""Signals beside the gap: read off, against slow definitions, and ranked as scikit-learn ranks."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from vca_core.metrics.proxies import SIGNALS, proxy_signals
from vca_core.metrics.proxy_comparison import proxy_comparison
from vca_core.metrics.ranking import ranking_rates
from vca_core.metrics.relation import audit_pairs
from vca_core.metrics.support import audit_support
from vca_core.metrics.visual_dependence import visual_dependence
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank", "mismatch", "relation_erased", "irrelevant_erased")
COLUMNS = [f"margin_{c}" for c in CONTEXTS]
margin = st.sampled_from([-2.0, -0.0, 0.0, 0.5]) | st.floats(-30, 30)
record = st.tuples(*[margin] * 6, st.sampled_from(["yes", "no", None]))


def options(n_resamples=4):
    return {"n_resamples": n_resamples, "rng": np.random.default_rng(20260719)}


@pytest.fixture
def statements(rng):
    """Two models on twelve pairs, with every context."""
    parts = []
    for model in ("a", "b"):
        frame = pd.DataFrame(rng.normal(size=(24, 6)), columns=COLUMNS).assign(model=model)
        frame["pair_id"] = [f"p{i // 2}" for i in range(24)]
        frame["polarity"] = ["true", "false"] * 12
        frame["sample_id"] = frame["pair_id"] + "-" + frame["polarity"]
        frame["label"] = ["yes", "no"] * 12
        frame["margin_original"] += [0.7, -0.7] * 12  # about half of the pairs are consistent
        parts.append(frame)
    return audit_support(pd.concat(parts, ignore_index=True).assign(dataset="d"))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(record, min_size=1, max_size=12))
def test_proxy_signals_are_the_written_out_formulas(rows):
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "label"]).assign(model="m", dataset="d")
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    found = proxy_signals(audit_support(frame))

    def sigma(x):
        return 1 / (1 + math.exp(-x))

    for row in found.to_dict("records"):
        o, t, b, m, rel, irr = (row[c] for c in COLUMNS)
        d = 1 if o >= 0 else -1
        labelled = isinstance(row["label"], str)
        gold = 1 if row["label"] == "yes" else -1
        want = {
            "confidence": abs(o),
            "visnec_style": math.log(sigma(gold * o)) - math.log(sigma(gold * t)),
            "perceptual_score": ((o >= 0) == (gold > 0)) - ((m >= 0) == (gold > 0)),
            "permutation_drop": sigma(d * o) - sigma(d * m),
            "fpvg_style": int((irr >= 0) == (o >= 0) and (rel >= 0) != (o >= 0)),
            "negative_sufficiency": -(sigma(d * o) - sigma(d * irr)),
            "comprehensiveness": sigma(d * o) - sigma(d * rel),
            "comprehensiveness_minus_sufficiency": sigma(d * irr) - sigma(d * rel),
            "image_gap": d * o - max(d * t, d * b),
        }
        if not labelled:
            want |= {"visnec_style": np.nan, "perceptual_score": np.nan}
        got = {name: row[name] for name in SIGNALS}
        assert got == pytest.approx(want, rel=1e-9, abs=1e-12, nan_ok=True)


def test_comprehensiveness_and_sufficiency_add_up(statements):
    found = proxy_signals(statements)
    total = found["comprehensiveness"] + found["negative_sufficiency"]
    np.testing.assert_allclose(total, found["comprehensiveness_minus_sufficiency"], atol=1e-12)
    assert found["fpvg_style"].isin([0, 1]).all()
    assert found["perceptual_score"].isin([-1, 0, 1]).all()


def test_images_that_change_nothing_give_no_drop(statements):
    same = statements.assign(**{c: statements["margin_original"] for c in COLUMNS[3:]})
    found = proxy_signals(same)
    for name in SIGNALS[2:8]:
        assert (found[name] == 0).all()


def test_signals_keep_rows_and_need_only_their_contexts(statements):
    shuffled = statements.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        proxy_signals(shuffled), proxy_signals(statements).loc[shuffled.index]
    )
    bare = statements.drop(columns=["margin_mismatch", "margin_relation_erased", "label"])
    found = proxy_signals(bare.assign(margin_irrelevant_erased=np.nan))
    there = found[list(SIGNALS)].notna()
    assert there.loc[:, ["confidence", "image_gap"]].all(axis=None)
    assert not there.drop(columns=["confidence", "image_gap"]).any(axis=None)
    empty = proxy_signals(statements.head(0))
    assert not len(empty) and set(SIGNALS) <= set(empty.columns)


def test_context_scored_in_part_is_refused(statements):
    statements.loc[5, "margin_relation_erased"] = np.nan
    with pytest.raises(SchemaError, match=r"`margin_relation_erased` must be finite.*'p2-false'"):
        proxy_signals(statements)
    with pytest.raises(SchemaError, match="`direction` is missing"):
        proxy_signals(statements.drop(columns="direction"))


def test_proxy_comparison_is_the_mean_of_the_models_rankings(statements):
    signals, pairs = proxy_signals(statements), audit_pairs(statements)
    found = proxy_comparison(signals, pairs, "relation_consistent", **options())
    macro = found.query("pooling == 'macro'").set_index(["score", "metric"])
    true = signals[signals["polarity"] == "true"].set_index(["model", "pair_id"])
    wanted = pairs.set_index(["model", "pair_id"])["relation_consistent"]
    for score in SIGNALS:
        for metric, slow in (
            ("roc_auc", roc_auc_score),
            ("average_precision", average_precision_score),
        ):
            each = [slow(wanted.loc[m], true.loc[m].loc[wanted.loc[m].index, score]) for m in "ab"]
            assert macro.loc[(score, metric), "value"] == pytest.approx(np.mean(each), rel=1e-12)
            assert macro.loc[(score, metric), "n"] == 24


def test_proxy_comparison_has_the_intervals_of_ranking_rates(statements):
    signals, pairs = proxy_signals(statements), audit_pairs(statements)
    found = proxy_comparison(signals, pairs, "relation_consistent", **options(60))
    records = pairs.merge(signals[["model", "sample_id", *SIGNALS]], on=["model", "sample_id"])
    slow = ranking_rates(records, ["relation_consistent"], SIGNALS, **options(60))
    key = ["model", "pooling", "score", "metric"]
    both = found.merge(slow, on=key, suffixes=("", "_slow"))
    assert len(both) == len(found) == 3 * len(SIGNALS) * 3
    for column in ("value", "low", "high", "n", "n_clusters", "n_undefined"):
        np.testing.assert_allclose(both[column], both[f"{column}_slow"], rtol=1e-12)


def test_proxy_comparison_of_edits_resamples_edits(statements):
    signals = proxy_signals(statements)
    edits = audit_pairs(statements).assign(dataset="edits")
    edits["edit_id"] = [f"e{i % 6}" for i in range(len(edits))]  # two pairs to an edit
    edits["edit_strict"] = np.arange(len(edits)) % 5 < 2
    found = proxy_comparison(
        signals, edits, "edit_strict", scores=["image_gap"], cluster="edit_id", **options()
    )
    assert found["dataset"].unique().tolist() == ["edits"]
    assert found.query("pooling == 'macro'")["n_clusters"].tolist() == [6] * 3
    assert found.query("pooling == 'run'")["n"].tolist() == [12] * 6


def test_signals_without_their_context_are_nan_with_n_zero(statements):
    bare = proxy_signals(statements.drop(columns="margin_mismatch"))
    found = proxy_comparison(bare, audit_pairs(bare), "relation_consistent", **options())
    empty = found[found["score"].isin(["perceptual_score", "permutation_drop"])]
    assert set(found["score"]) == set(SIGNALS) and len(empty) == 2 * 3 * 3
    assert empty[["value", "low", "high"]].isna().all(axis=None) and (empty["n"] == 0).all()
    assert found.drop(empty.index)["value"].notna().all()


def test_proxy_comparison_of_nothing_is_empty(statements):
    signals, pairs = proxy_signals(statements), audit_pairs(statements)
    found = proxy_comparison(signals, pairs.head(0), "relation_consistent", **options())
    assert not len(found) and "score" in found


def test_proxy_comparison_names_what_it_lacks(statements):
    signals, pairs = proxy_signals(statements), audit_pairs(statements)
    with pytest.raises(SchemaError, match="`confidence` is missing"):
        proxy_comparison(statements, pairs, "relation_consistent", **options())
    with pytest.raises(SchemaError, match="`edit_strict` is missing"):
        proxy_comparison(signals, pairs, "edit_strict", **options())
    with pytest.raises(SchemaError, match=r"p3-true.*model 'b'"):
        lost = signals.query("not (model == 'b' and sample_id == 'p3-true')")
        proxy_comparison(lost, pairs, "relation_consistent", **options())
    with pytest.raises(SchemaError, match="must stand once"):
        twice = pd.concat([signals, signals.assign(dataset="e")])
        proxy_comparison(twice, pairs, "relation_consistent", **options())
    signals.loc[0, "visnec_style"] = np.nan
    with pytest.raises(SchemaError, match=r"`visnec_style` must be finite.*'p0-true'.*1 of 24"):
        proxy_comparison(signals, pairs, "relation_consistent", **options())
    match = ("model", "dataset", "sample_id")
    assert len(proxy_comparison(twice, pairs, "relation_consistent", match=match, **options()))


def test_visual_dependence_read_off():
    rows = [
        # label, original, text_only, blank
        ("yes", 1.0, 1.0, -1.0),  # right without an image, wrong with a blank one
        ("yes", 1.0, -1.0, -1.0),
        ("no", -1.0, 1.0, 0.0),  # a blank at zero answers yes
        ("no", 2.0, -1.0, -1.0),  # wrong, right under both controls
        (None, 2.0, -1.0, -1.0),  # not counted
    ]
    frame = pd.DataFrame(rows, columns=["label", *COLUMNS[:3]]).assign(model="m", dataset="d")
    frame["sample_id"] = list("12345")
    rates = visual_dependence(audit_support(frame), **options(100)).set_index("metric")
    assert (rates["n"] == 4).all()
    assert rates["value"].to_dict() == pytest.approx(
        {
            "accuracy": 3 / 4,
            "accuracy_text_only": 2 / 4,
            "accuracy_blank": 1 / 4,
            "visual_dependence": (3 / 4 - 3 / 8) / (3 / 4),
        }
    )


def test_visual_dependence_takes_the_ratio_in_each_resample(statements):
    one = statements[statements["model"] == "a"]
    rates = visual_dependence(one, **options(300)).set_index("metric")
    rng = np.random.default_rng(int(np.random.default_rng(20260719).integers(2**63)))
    names = sorted(one["pair_id"].unique())
    gold = (one["label"] == "yes").to_numpy()
    right = [(one[c] >= 0).to_numpy() == gold for c in COLUMNS[:3]]
    ratios = []
    for drawn in rng.integers(len(names), size=(300, len(names))):
        rows = np.concatenate([np.flatnonzero(one["pair_id"] == names[i]) for i in drawn])
        o, t, b = (r[rows].mean() for r in right)
        ratios.append((o - (t + b) / 2) / o)
    want = np.quantile(ratios, [0.025, 0.975])
    np.testing.assert_allclose(rates.loc["visual_dependence", ["low", "high"]].astype(float), want)


def test_visual_dependence_limits(statements):
    same = statements.assign(**{c: statements["margin_original"] for c in COLUMNS[1:3]})
    rates = visual_dependence(same, **options()).query("metric == 'visual_dependence'")
    assert (rates["value"] == 0).all()
    wrong = audit_support(
        statements.assign(label=np.where(statements["direction"] > 0, "no", "yes"))
    )
    never = visual_dependence(wrong, **options()).query("metric == 'visual_dependence'")
    assert never["value"].isna().all() and (never["n_undefined"] == 4).all()
    bare = visual_dependence(audit_support(statements.drop(columns="label")), **options())
    assert bare["value"].isna().all() and (bare["n"] == 0).all()
