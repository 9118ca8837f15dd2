"""Sizes of the data sets and geometry of the swaps, without drawing a picture."""

import csv
from collections import Counter

import pytest

from vca_core.records import Sample
from vca_core.scenes import summary
from vca_core.scenes.datasets import DATASETS, DERIVED
from vca_core.scenes.edits import edit_candidates


@pytest.fixture(scope="module")
def samples():
    return summary.all_samples()


def sample(image, note, question="Is it?"):
    fields = {"dataset": "mine", "label": "yes", "sample_id": f"{image}-{note}"}
    return Sample(image=image, note=note, question=question, **fields)


def test_all_samples_holds_every_data_set(samples):
    assert list(samples) == [*DATASETS, *DERIVED]
    assert {s.dataset for found in samples.values() for s in found} == set(samples)


def test_set_sizes_counts_pictures_statements_and_groups(samples):
    rows = summary.set_sizes(samples).set_index("dataset")
    assert list(rows.loc["pairs"]) == [440, 880, 440, 440]
    assert list(rows.loc["queries"]) == [1249, 1249, 667, 0]
    assert list(rows.loc["factorial"]) == [600, 1800, 600, 200]
    assert list(rows.loc["neutral"]) == [200, 400, 0, 200]
    n_edits = rows.loc["edits", "groups"]
    assert list(rows.loc["edits"]) == [2 * n_edits, 6 * n_edits, 4 * n_edits, n_edits]


def test_probe_count_shares_what_the_text_alone_decides():
    two_by_two = [sample(image, note) for image in "ab" for note in ("x", "y")]
    assert summary.probe_count(two_by_two) == 4 + 2 + 2
    assert summary.probe_count([*two_by_two, two_by_two[0]]) == 8
    assert summary.probe_count([sample("a", None), sample("a", None, "Is that?")]) == 2 + 2 + 2


def test_probe_count_of_the_factorial_is_the_published_one(samples):
    assert summary.probe_count(samples["factorial"]) == 3000


def test_swap_geometry_is_that_of_the_candidates():
    frame = summary.swap_geometry()
    candidates = list(edit_candidates())
    assert frame["reason"].tolist() == [c.swap.reason for c in candidates]
    assert (frame["feasible"] == (frame["reason"] == "")).all()
    assert Counter(frame["axis"]) == {"horizontal": 279, "vertical": 161}
    assert frame["accepted"].isna().all()


def test_swap_geometry_takes_the_check_from_the_shipped_table(tmp_path):
    path = tmp_path / "geometry.csv"
    bare = summary.swap_geometry(path)
    assert bare["accepted"].isna().all()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pair_id", "accepted"])
        writer.writerows((row.pair_id, row.feasible or "") for row in bare.itertuples())
    frame = summary.swap_geometry(path)
    assert frame.drop(columns="accepted").equals(bare.drop(columns="accepted"))
    assert (frame["accepted"].notna() == frame["feasible"]).all()
    assert frame["accepted"].dropna().all()
