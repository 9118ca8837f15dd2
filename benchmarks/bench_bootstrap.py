"""Time the clustered bootstrap of eight runs against a plain loop and against SciPy.

Run from the project's root: python benchmarks/bench_bootstrap.py

The loop resamples clusters and takes the rows' mean, as one would write it down; it does the same
work for fewer resamples, and its time is scaled up. SciPy's bootstrap knows no clusters: it gets
the one unclustered data set of one model, and our time is taken on the same.
"""

import time
import tracemalloc

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from vca_core.metrics import audit_support, support_rates

N_RESAMPLES = 5000
LOOP_RESAMPLES = 50
EVENTS = ["correct", "dependent", "dcc", "cu"]


def example_audit() -> pd.DataFrame:
    """Make random margins of the size of the eight published runs."""
    rng = np.random.default_rng(0)
    parts = []
    for model in "abcd":
        for dataset, n, paired in (("vsr", 1249, False), ("gsr_coco", 880, True)):
            columns = ("margin_original", "margin_text_only", "margin_blank")
            frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=columns)
            frame["sample_id"] = [f"{i:04d}" for i in range(n)]
            frame["pair_id"] = [f"{i // 2:04d}" if paired else None for i in range(n)]
            frame["label"] = rng.choice(["yes", "no"], n)
            parts.append(frame.assign(model=model, dataset=dataset))
    return audit_support(pd.concat(parts, ignore_index=True))


def ours(audit: pd.DataFrame) -> pd.DataFrame:
    """Bootstrap with cluster sums and counts."""
    return support_rates(audit, n_resamples=N_RESAMPLES, rng=np.random.default_rng(1))


def plain_loop(audit: pd.DataFrame) -> None:
    """Resample clusters one draw at a time and average the rows drawn."""
    rng = np.random.default_rng(1)
    for _, run in audit.groupby(["model", "dataset"]):
        events = run[EVENTS].astype(float).to_numpy()
        names = run["pair_id"].fillna(run["sample_id"]).to_numpy()
        members = [np.flatnonzero(names == name) for name in np.unique(names)]
        means = [
            events[np.concatenate([members[c] for c in drawn])].mean(axis=0)
            for drawn in rng.integers(len(members), size=(LOOP_RESAMPLES, len(members)))
        ]
        np.quantile(means, [0.025, 0.975], axis=0)


def scipy_bootstrap(run: pd.DataFrame) -> None:
    """Bootstrap the four rates of one unclustered run with SciPy, a column at a time."""
    for event in EVENTS:
        bootstrap(
            (run[event].astype(float).to_numpy(),),
            np.mean,
            n_resamples=N_RESAMPLES,
            method="percentile",
            batch=500,
            rng=np.random.default_rng(1),
        )


def seconds(function, *args) -> float:
    """Take the better of two runs."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print times, ratios and peak memory."""
    audit = example_audit()
    fast = seconds(ours, audit)
    slow = seconds(plain_loop, audit) * N_RESAMPLES / LOOP_RESAMPLES
    one = audit[(audit["model"] == "a") & (audit["dataset"] == "vsr")]
    fast_one, scipy_one = seconds(ours, one), seconds(scipy_bootstrap, one)
    tracemalloc.start()
    ours(audit)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    print(f"eight runs, {N_RESAMPLES} resamples: {fast:.2f} s, peak {peak:.0f} MB")
    print(f"plain loop, scaled from {LOOP_RESAMPLES}: {slow:.1f} s, {slow / fast:.0f} times ours")
    print(f"one unclustered run: {fast_one:.3f} s; SciPy {scipy_one:.3f} s,", end=" ")
    print(f"{scipy_one / fast_one:.1f} times ours")


if __name__ == "__main__":
    main()
