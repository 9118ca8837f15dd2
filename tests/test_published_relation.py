"""Published relation axis (T02, T18): records whose counts were solved from it must give it.

The records are invented and serve tests alone.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vca_core.metrics import audit_pairs, pair_decomposition, relation_rates
from vca_core.metrics.relation import GAPS, RATES
from vca_core.published import published, published_table

RECORDS = Path(__file__).parents[2] / "shared/conformance/reconstructed_qwen_llava.jsonl"
POINTS = 0.005 + 1e-9  # half of the last printed decimal, and the float's own rounding
NATS = 0.0005 + 1e-9

every_model = pytest.mark.parametrize("model", ["Qwen", "LLaVA"])


@pytest.fixture(scope="module")
def pairs():
    if not RECORDS.is_file():
        pytest.skip("the reconstructed records of ../shared/conformance are not here")
    records = pd.read_json(RECORDS, lines=True, dtype={"sample_id": str, "pair_id": str})
    records = records.rename(columns={"margin_text": "margin_text_only"})
    # VSR comes without pairs; a null `pair_id` is left out.
    records["pair_id"] = records["pair_id"].where(records["dataset"] == "GSR-COCO", None)
    return audit_pairs(records)


@pytest.fixture(scope="module")
def rates(pairs):
    frame = relation_rates(pairs, n_resamples=2, rng=np.random.default_rng(0))
    assert (frame["dataset"] == "GSR-COCO").all()
    return frame.set_index(["model", "metric"])["value"]


@every_model
@pytest.mark.parametrize("metric", ["relation_consistent", "pair_credit", "joint"])
def test_t02_relation_axis(rates, model, metric):
    printed = published("T02", model=model)[metric]
    assert 100 * rates[model, metric] == pytest.approx(printed, abs=POINTS)


@every_model
@pytest.mark.parametrize("metric", RATES)
def test_t18_relation_decomposition(rates, model, metric):
    printed = published("T18", model=model)[metric]
    assert 100 * rates[model, metric] == pytest.approx(printed, abs=POINTS)


@every_model
@pytest.mark.parametrize("metric", GAPS)
def test_t18_mean_gaps(rates, model, metric):
    printed = published("T18", model=model)[metric]
    assert rates[model, metric] == pytest.approx(printed, abs=NATS)


@every_model
def test_t18_counts_the_pairs(pairs, model):
    found = pairs[pairs["model"] == model]
    assert len(found) == published("T18", model=model)["n_pairs"] == 440
    assert (found["n_false"] == 1).all()


@every_model
def test_t18_parts_recombine_to_its_rates(pairs, model):
    parts = pair_decomposition(pairs, n_resamples=2, rng=np.random.default_rng(0))
    share = 100 * parts[parts["model"] == model].set_index("metric")["value"]
    consistent = share["joint"] + share["consistent_credit"] + share["consistent_only"]
    credit = share["joint"] + share["consistent_credit"] + share["credit_only"]
    printed = published("T18", model=model)
    assert consistent == pytest.approx(printed["relation_consistent"], abs=POINTS)
    assert credit == pytest.approx(printed["pair_credit"], abs=POINTS)


def test_the_range_of_pair_credit_is_that_of_its_extremes(rates):
    printed = published("relation_axis_ranges", quantity="pair_credit")
    assert 100 * rates["Qwen", "pair_credit"] == pytest.approx(printed["high"], abs=POINTS)
    assert published_table("T02")["pair_credit"].min() == printed["low"]
