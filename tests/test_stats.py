import numpy as np
import pytest
from scipy.stats import binom

from vca_core.resampling import cluster_codes, resample_counts
from vca_core.stats import (
    Interval,
    bootstrap_interval,
    bootstrap_means,
    paired_difference_interval,
    percentile_interval,
    wilson_interval,
)


def generator():
    return np.random.default_rng(7)


VALUES = np.array([1, 0, 1, 1, 0, 1, 0, 1, 1, 1], dtype=float)


def test_wilson_interval_of_eight_of_eight():
    low, high = wilson_interval(8, 8)
    assert low == pytest.approx(0.6756, abs=5e-5)
    assert high == 1.0


@pytest.mark.parametrize("k, n", [(0, 5), (305, 305), (270, 331), (1, 2), (621, 682)])
def test_wilson_interval_matches_closed_form(k, n):
    z, p = 1.959963984540054, k / n
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    expected = np.array([middle - half, middle + half]) / (1 + z * z / n)
    assert wilson_interval(k, n) == pytest.approx(tuple(np.clip(expected, 0, 1)), abs=1e-12)


def test_wilson_interval_matches_printed_bounds():
    # [liu2026visual]_: 305/305 -> 98.76; 270/331 -> 77.04, 85.38 (percent).
    assert wilson_interval(305, 305).low == pytest.approx(0.9876, abs=5e-5)
    assert wilson_interval(270, 331) == pytest.approx((0.7704, 0.8538), abs=5e-5)


def test_wilson_interval_of_nothing_is_nan():
    assert np.isnan(wilson_interval(0, 0)).all()


def test_wilson_interval_refuses_more_successes_than_records():
    with pytest.raises(ValueError):
        wilson_interval(3, 2)


def test_bootstrap_interval_of_single_clusters_is_the_plain_bootstrap():
    drawn = generator().integers(10, size=(400, 10))  # the slow definition: resample rows
    expected = np.quantile(VALUES[drawn].mean(axis=1), [0.025, 0.975])
    names = [f"c{i}" for i in range(10)]
    for clusters in (None, names, [None] * 10):
        got = bootstrap_interval(VALUES, clusters=clusters, n_resamples=400, rng=generator())
        assert got == pytest.approx(tuple(expected), rel=1e-12)


def test_bootstrap_interval_matches_a_loop_over_unequal_clusters():
    clusters = np.array(["a", "a", "a", "b", "c", "c", "d", None, None, "b"], dtype=object)
    codes = cluster_codes(clusters, 10)
    drawn = generator().integers(6, size=(300, 6))
    means = []
    for row in drawn:
        records = np.concatenate([np.flatnonzero(codes == c) for c in row])
        means.append(VALUES[records].mean())
    got = bootstrap_interval(VALUES, clusters=clusters, n_resamples=300, rng=generator())
    assert got == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), rel=1e-12)


def test_bootstrap_interval_repeats_with_its_seed():
    first, second = (bootstrap_interval(VALUES, n_resamples=200, rng=generator()) for _ in "ab")
    assert first == second
    assert isinstance(first, Interval)
    one, other = (
        bootstrap_means(VALUES[:, None], n_resamples=200, rng=rng)
        for rng in (generator(), np.random.default_rng(8))
    )
    assert (one != other).any()


def test_bootstrap_of_one_event_is_binomial():
    """Of n clusters, k with the event: a resample holds Binomial(n, k / n) of them."""
    n, k = 1000, 300
    values = np.repeat([1.0, 0.0], [k, n - k])[:, None]
    drawn = bootstrap_means(values, n_resamples=40_000, rng=generator())[:, 0] * n
    assert drawn.mean() == pytest.approx(k, abs=4 * np.sqrt(n * 0.3 * 0.7 / 40_000))
    for q in (0.025, 0.25, 0.5, 0.975):
        assert np.quantile(drawn, q) == pytest.approx(binom.ppf(q, n, k / n), abs=1)


def test_patterns_and_clusters_give_the_same_bootstrap():
    """Many equal clusters are drawn by pattern; a nudge that makes each its own, one by one."""
    rng = generator()
    clusters = np.repeat(np.arange(400), 2)
    values = np.column_stack([rng.random(800) < 0.4, rng.random(800) < 0.7]).astype(float)
    values[rng.random(800) < 0.3, 1] = np.nan
    nudged = values + 1e-9 * np.arange(800)[:, None]
    kinds = [
        bootstrap_means(v, clusters=clusters, n_resamples=20_000, rng=np.random.default_rng(3))
        for v in (values, nudged)
    ]
    for few, many in zip(*(kind.T for kind in kinds), strict=True):
        assert few.mean() == pytest.approx(many.mean(), abs=6e-4)
        assert few.std() == pytest.approx(many.std(), rel=0.03)
    first, second = (np.corrcoef(kind.T)[0, 1] for kind in kinds)
    assert first == pytest.approx(second, abs=0.03)  # columns stay paired


def test_resampled_patterns_do_not_depend_on_the_order_of_rows():
    values = np.repeat([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [50, 30, 20], axis=0)
    order = generator().permutation(100)
    first, second = (
        bootstrap_means(v, n_resamples=50, rng=generator()) for v in (values, values[order])
    )
    np.testing.assert_array_equal(first, second)
    both = first.sum(axis=1) - 1  # the share of clusters with both events
    assert ((both > 0) & (both < 1)).all()


def test_bootstrap_interval_is_unchanged_when_every_row_is_doubled():
    clusters = np.arange(10)
    once = bootstrap_interval(VALUES, clusters=clusters, n_resamples=500, rng=generator())
    twice = bootstrap_interval(
        np.tile(VALUES, 2), clusters=np.tile(clusters, 2), n_resamples=500, rng=generator()
    )
    assert once == twice


def test_bootstrap_interval_of_equal_pairs_is_wider_than_by_record():
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 2, 440).astype(float)
    values, clusters = np.repeat(pairs, 2), np.repeat(np.arange(440), 2)
    by_pair = bootstrap_interval(values, clusters=clusters, rng=generator())
    by_record = bootstrap_interval(values, rng=generator())
    ratio = (by_pair.high - by_pair.low) / (by_record.high - by_record.low)
    assert ratio == pytest.approx(np.sqrt(2), abs=0.1)  # 1.41 up to resampling noise


@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [1.0], [1.0, np.nan]])
def test_bootstrap_interval_needs_two_clusters(values):
    assert np.isnan(bootstrap_interval(values, n_resamples=50, rng=generator())).all()


def test_bootstrap_interval_of_one_cluster_is_nan():
    got = bootstrap_interval([0, 1, 1], clusters=["a", "a", "a"], n_resamples=50, rng=generator())
    assert np.isnan(got).all()


def test_bootstrap_interval_of_equal_clusters_has_no_width():
    got = bootstrap_interval([1.0, 1.0, 1.0], n_resamples=50, rng=generator())
    assert got == (1.0, 1.0)


def test_bootstrap_means_leave_undefined_resamples_nan():
    values = np.array([[1.0], [np.nan], [np.nan], [np.nan]])
    replicates = bootstrap_means(values, n_resamples=500, rng=generator())[:, 0]
    missing = np.isnan(replicates).mean()
    assert missing == pytest.approx(0.75**4, abs=0.06)  # the one record is drawn in no place
    assert (replicates[~np.isnan(replicates)] == 1).all()


def test_bootstrap_means_are_paired_across_columns():
    values = np.column_stack([VALUES, 1 - VALUES])
    replicates = bootstrap_means(values, n_resamples=100, rng=generator())
    np.testing.assert_allclose(replicates.sum(axis=1), 1, rtol=1e-12)


def test_bootstrap_means_do_not_depend_on_the_chunk(monkeypatch):
    whole = bootstrap_means(VALUES[:, None], n_resamples=100, rng=generator())
    monkeypatch.setattr("vca_core.resampling._CHUNK", 30)
    np.testing.assert_array_equal(
        whole, bootstrap_means(VALUES[:, None], n_resamples=100, rng=generator())
    )


def test_paired_difference_interval_of_equal_columns_is_zero():
    got = paired_difference_interval(VALUES, VALUES, n_resamples=50, rng=generator())
    assert got == (0.0, 0.0)


def test_paired_difference_interval_is_narrower_than_unpaired_bounds():
    x = np.r_[np.ones(60), np.zeros(60)]
    y = x.copy()
    y[:6] = 0  # six records change
    low, high = paired_difference_interval(x, y, n_resamples=2000, rng=generator())
    half = 1.96 * np.sqrt(0.05 * 0.95 / 120)
    assert (low, high) == pytest.approx((0.05 - half, 0.05 + half), abs=0.01)


def test_resample_counts_sum_to_the_clusters():
    chunks = list(resample_counts(7, n_resamples=20, rng=generator()))
    counts = np.vstack(chunks)
    assert counts.shape == (20, 7)
    assert (counts.sum(axis=1) == 7).all()


def test_cluster_codes_keep_nulls_apart():
    codes = cluster_codes(["b", None, "a", "b", float("nan")], 5)
    assert list(codes) == [1, 2, 0, 1, 3]


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: bootstrap_interval([1, 0], clusters=["a"], rng=generator()), "one cluster per"),
        (lambda: bootstrap_interval([[1, 0]], rng=generator()), r"shape \(n,\)"),
        (lambda: bootstrap_interval([1, np.inf], rng=generator()), "finite"),
        (lambda: bootstrap_interval([1, 0], n_resamples=0, rng=generator()), "n_resamples"),
        (lambda: percentile_interval([1, 0], 95), "between 0 and 1, got 95"),
        (lambda: paired_difference_interval([1], [1, 0], rng=generator()), "paired"),
    ],
)
def test_wrong_arguments_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
