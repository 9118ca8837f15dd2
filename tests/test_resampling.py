"""Counts of patterns: the same as counting columns, and the same bootstrap as of the clusters."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vca_core.resampling import Patterns, cluster_codes, cluster_sums, count_patterns
from vca_core.stats import bootstrap_means, bootstrap_patterns

quick = settings(max_examples=60, deadline=None, derandomize=True)
whole = st.integers(-3, 3).map(float) | st.sampled_from([0.0, -0.0, 2.0**20])
shape = st.tuples(st.sampled_from([2, 4, 60]), st.integers(1, 30))


def generator():
    return np.random.default_rng(5)


@quick
@given(shape.flatmap(lambda s: arrays(float, s, elements=whole | st.floats(-2, 2, width=16))))
def test_count_patterns_of_any_numbers_counts_and_sorts_columns(sums):
    check_count(sums)


@quick
@given(shape.flatmap(lambda s: arrays(float, s, elements=whole)))
def test_count_patterns_of_whole_numbers_counts_and_sorts_columns(sums):
    check_count(sums)


def check_count(sums):
    patterns, sizes = np.unique(sums, axis=1, return_counts=True)
    got = count_patterns(sums)
    np.testing.assert_array_equal(got.sums, patterns)
    np.testing.assert_array_equal(got.sizes, sizes)


def test_count_patterns_adds_up_weights():
    sums, weights = np.array([[1.0, 0, 1, 2], [1, 1, 1, 1]]), np.array([5, 7, 11, 0])
    got = count_patterns(sums, weights)
    np.testing.assert_array_equal(got.sums, [[0, 1, 2], [1, 1, 1]])
    np.testing.assert_array_equal(got.sizes, [7, 16, 0])
    repeated = count_patterns(np.repeat(sums, weights, axis=1))
    np.testing.assert_array_equal(repeated.sums, got.sums[:, :2])
    np.testing.assert_array_equal(repeated.sizes, got.sizes[:2])


def test_count_patterns_of_nothing_is_nothing():
    got = count_patterns(np.zeros((4, 0)))
    assert got.sums.shape == (4, 0) and got.sizes.shape == (0,)


def test_cluster_sums_are_those_of_a_loop():
    rng = generator()
    values = rng.integers(0, 3, (50, 2)).astype(float)
    values[rng.random((50, 2)) < 0.3] = np.nan
    codes = np.r_[np.arange(8), rng.integers(8, size=42)]
    got = cluster_sums(values, codes)
    for cluster in range(8):
        mine = values[codes == cluster]
        np.testing.assert_array_equal(got[:2, cluster], np.nansum(mine, axis=0))
        np.testing.assert_array_equal(got[2:, cluster], (~np.isnan(mine)).sum(axis=0))


@pytest.mark.parametrize("pairs", [False, True])
def test_bootstrap_of_patterns_equals_that_of_their_clusters(pairs):
    rng = generator()
    values = np.column_stack([rng.random(400) < 0.4, rng.random(400) < 0.7]).astype(float)
    values[rng.random(400) < 0.2, 1] = np.nan
    clusters = np.arange(400) // 2 if pairs else None
    patterns = count_patterns(cluster_sums(values, cluster_codes(clusters, 400)))
    got = bootstrap_patterns(patterns, n_resamples=70, rng=generator())
    expected = bootstrap_means(values, clusters=clusters, n_resamples=70, rng=generator())
    np.testing.assert_array_equal(got, expected)


def test_bootstrap_of_patterns_leaves_undefined_resamples_nan():
    patterns = Patterns(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([3, 1]))
    got = bootstrap_patterns(patterns, n_resamples=500, rng=generator())[:, 0]
    assert np.isnan(got).mean() == pytest.approx(0.75**4, abs=0.06)
    assert (got[~np.isnan(got)] == 1).all()


def test_bootstrap_of_no_clusters_is_nan():
    got = bootstrap_patterns(count_patterns(np.zeros((4, 0))), n_resamples=3, rng=generator())
    assert got.shape == (3, 2) and np.isnan(got).all()


def test_cluster_codes_do_not_depend_on_the_type_of_names():
    names = ["b", "10", "a", "9", "b", "ü", "a"]
    expected = [3, 0, 2, 1, 3, 4, 2]
    typed = [pd.Series(names, dtype=dtype) for dtype in (None, object, "category")]
    for clusters in (names, np.array(names), np.array(names, dtype=object), *typed):
        assert list(cluster_codes(clusters, 7)) == expected
    for numbers in ([4, 9, 4], np.array([4, 9, 4]), np.array([4, 9, 4], dtype=np.int8)):
        assert list(cluster_codes(numbers, 3)) == [0, 1, 0]
    missing = pd.Series(["b", None, "a", None])
    assert list(cluster_codes(missing, 4)) == list(cluster_codes(missing.astype(object), 4))
