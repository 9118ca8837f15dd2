"""Time the clustered bootstrap against SciPy's and against a plain loop.

The target: the bootstrap of the four event rates of 1,249 unclustered records, intervals included,
in at most 1/200 of the time of four calls of `scipy.stats.bootstrap` on the same data. Both sides
take turns in one run. Ours is timed twice: the bootstrap alone (`bootstrap_means` and
`percentile_intervals` of an array of events), and `support_rates`, which also splits a data frame
into runs, finds the clusters and writes a frame of rates. SciPy is timed with its defaults (BCa),
with the percentile method, which is ours, and with the batch that was the fastest of those tried.

Also eight runs of the published sizes, half of them of pairs, against a loop that resamples
clusters and averages their rows, as one would write it down; it does the same work for fewer
resamples, and its time is scaled up. SciPy's bootstrap knows no clusters.

Run from the project's root, for example:

    python -m benchmarks.bench_bootstrap
    python -m benchmarks.bench_bootstrap --turns 5 --out bootstrap.csv
"""

import argparse
import csv
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from vca_core.metrics import audit_support, support_rates
from vca_core.stats import bootstrap_means, percentile_intervals

N_RESAMPLES = 5000
LOOP_RESAMPLES = 50
TARGET = 200
EVENTS = ["correct", "dependent", "dcc", "cu"]
SCIPY = {
    "defaults (BCa)": {},
    "percentile": {"method": "percentile"},
    "percentile, batch 50": {"method": "percentile", "batch": 50},
}


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


def whole_rates(audit: pd.DataFrame) -> pd.DataFrame:
    """Rates and intervals from a frame of events."""
    return support_rates(audit, n_resamples=N_RESAMPLES, rng=np.random.default_rng(1))


def bare_bootstrap(events: np.ndarray) -> list:
    """Intervals of the four rates from an array of events."""
    replicates = bootstrap_means(events, n_resamples=N_RESAMPLES, rng=np.random.default_rng(1))
    return percentile_intervals(replicates)


def scipy_bootstrap(events: np.ndarray, options: dict) -> list:
    """Intervals of the four rates with SciPy, a call each."""
    return [
        bootstrap(
            (column,), np.mean, n_resamples=N_RESAMPLES, rng=np.random.default_rng(1), **options
        ).confidence_interval
        for column in events.T
    ]


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


def take_turns(calls: dict, turns: int) -> dict[str, float]:
    """Median seconds a call; each turn calls a side for about a tenth of a second."""
    times = {name: [] for name in calls}
    for turn in range(turns + 1):  # the first does not count
        for name, (function, *args) in calls.items():
            start, n_calls = time.perf_counter(), 0
            while n_calls == 0 or time.perf_counter() - start < 0.1:
                function(*args)
                n_calls += 1
            if turn:
                times[name].append((time.perf_counter() - start) / n_calls)
    return {name: float(np.median(found)) for name, found in times.items()}


def main() -> None:
    """Print times, ratios and peak memory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=15, help="times that each side is run")
    parser.add_argument("--out", type=Path, help="CSV file of the ratios")
    args = parser.parse_args()

    audit = example_audit()
    one = audit[(audit["model"] == "a") & (audit["dataset"] == "vsr")]
    events = one[EVENTS].astype(float).to_numpy()
    calls = {f"scipy, {name}": (scipy_bootstrap, events, o) for name, o in SCIPY.items()}
    ours = {"bootstrap alone": (bare_bootstrap, events), "support_rates": (whole_rates, one)}
    times = take_turns(ours | calls, args.turns)
    rows = []
    print(f"four rates of {len(one)} records, {N_RESAMPLES} resamples (target 1/{TARGET}):")
    for mine in ours:
        print(f"  {mine}: {times[mine] * 1e3:.2f} ms")
        for other in calls:
            ratio = times[mine] / times[other]
            print(f"    {other}: four calls {times[other] * 1e3:.0f} ms, ratio 1/{1 / ratio:.0f}")
            rows.append((mine, other, times[mine], times[other], ratio))
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("ours", "other", "seconds", "other_seconds", "ratio"))
            writer.writerows(rows)

    eight = {"ours": (whole_rates, audit), "loop": (plain_loop, audit)}
    times = take_turns(eight, 2)
    slow = times["loop"] * N_RESAMPLES / LOOP_RESAMPLES
    tracemalloc.start()
    whole_rates(audit)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    print(f"eight runs: {times['ours']:.3f} s, peak {peak:.0f} MB")
    print(f"  plain loop, scaled from {LOOP_RESAMPLES} resamples: {slow:.1f} s,", end=" ")
    print(f"{slow / times['ours']:.0f} times ours")


if __name__ == "__main__":
    main()
