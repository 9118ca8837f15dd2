"""Counts of events from parts of an audit add up to the rates of the whole."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vca_core.cli.audit as cli
from vca_core import metrics
from vca_core.records import SchemaError

CONTEXTS = ("original", "text_only", "blank")
TABLES = [(events, cli.TABLES[table][0]) for table, events in cli.COUNTED.items()]


def generator():
    return np.random.default_rng(11)


record = st.tuples(
    *[st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])] * 3,
    st.sampled_from(["yes", "no", None]),
    st.integers(0, 6),
    st.integers(0, 3),
)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(record, min_size=1, max_size=40))
def test_counts_add_up_however_clusters_are_dealt_out(records):
    names = [*(f"margin_{c}" for c in CONTEXTS), "label", "pair", "part"]
    frame = pd.DataFrame(records, columns=names)
    frame["label"] = frame["label"].astype(object).where(frame["label"].notna(), None)
    frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
    # Sizes differ; a pair lies in one part, single samples anywhere.
    frame["pair_id"] = [None if p < 3 else f"p{p}" for p in frame["pair"]]
    frame["part"] = np.where(frame["pair"] < 3, frame["part"], frame["pair"] % 4)
    audit = metrics.audit_support(frame.assign(model="m", dataset="d"))
    dealt = [part for _, part in audit.groupby("part")]
    for events, rates in TABLES:
        found = [
            metrics.rates_of_events(
                metrics.count_events(audits, events), n_resamples=8, rng=generator()
            )
            for audits in ([audit], dealt, dealt[::-1])
        ]
        for other in found[1:]:
            pd.testing.assert_frame_equal(found[0], other, check_exact=True)
        whole = rates(audit, n_resamples=8, rng=generator())
        exact = ["metric", "value", "n", "n_clusters"]
        pd.testing.assert_frame_equal(found[0][exact], whole[exact], check_exact=True)


def test_count_events_refuses_what_is_no_event():
    margins = {f"margin_{c}": [0.5 - 0.3 * i, -1.0] for i, c in enumerate(CONTEXTS)}
    frame = pd.DataFrame({"sample_id": ["a", "b"], "label": ["yes", "yes"]} | margins)
    audit = metrics.audit_support(frame.assign(model="m", dataset="d"))
    with pytest.raises(ValueError, match="events: 0, 1, or NaN"):
        metrics.count_events([audit], lambda run: {("gap",): run["image_gap"].to_numpy()})
    with pytest.raises(SchemaError, match="`correct` is missing"):
        metrics.count_events([audit.drop(columns="correct")], metrics.headline_events)


def test_rates_of_no_part_are_an_empty_frame():
    rates = metrics.rates_of_events({}, rng=generator())
    assert rates.empty and list(rates.columns[:3]) == ["model", "dataset", "metric"]
