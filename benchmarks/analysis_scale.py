"""Audit a synthetic cache of ten million records in parts: seconds, peak memory and growth.

A record is one model's decision about one statement, with its three contexts: ten million records
are thirty million rows of scores (for ten million rows, give --records 3333333). Margins are
random; half of the statements are paired; the rows of a file come context by context, so that
those of a record, and the two statements of a pair, lie as far apart as they can. Each size is
audited in a process of its own.

Run from the project's root, for example:

    python -m benchmarks.analysis_scale --out analysis_scale.csv
    python -m benchmarks.analysis_scale --records 1000000 --folder scratch
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.peer_io import peak_bytes
from vca_core import metrics
from vca_core.cache import scores_path, stream_margins
from vca_core.records import SCORE_SCHEMA

CONTEXTS = ("original", "text_only", "blank")
MODELS = ("model-a", "model-b", "model-c", "model-d")
GROUP = 500_000
"""Rows of a row group."""
GROWTH = (1 / 16, 1 / 4, 1)
N_RESAMPLES = 5000
COLUMNS = ("part", "n_records", "seconds", "resample_seconds", "peak_bytes")


def names(prefix: str, numbers: np.ndarray) -> pa.Array:
    """Ids of equal length."""
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, "0")
    return pc.binary_join_element_wise(prefix, digits, "")


def score_rows(model: str, context: str, numbers: np.ndarray, n: int, rng) -> pa.Table:
    """Rows of some statements of `n` in one context; the second half are pairs (i, n - 1 - i)."""
    size = len(numbers)
    constant = {
        "model": model,
        "dataset": "synthetic",
        "split": "test",
        "context": context,
        "interface": "yes_no",
        "wording": "canonical",
        "status": "ok",
    }
    half = n // 2
    paired = pa.array(numbers >= half)
    pair = np.minimum(numbers, n - 1 - (numbers - half))
    hashed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    columns = {
        "sample_id": names("s", numbers),
        "pair_id": pc.if_else(paired, names("p", pair), pa.scalar(None, pa.string())),
        "label": pa.array(["no", "yes"]).take(pa.array((hashed >> np.uint64(63)).astype(np.int8))),
        "margin": pa.array(rng.normal(size=size)),
    }
    arrays = [
        columns[field.name]
        if field.name in columns
        else pa.repeat(pa.scalar(constant.get(field.name), field.type), size)
        for field in SCORE_SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCORE_SCHEMA)


def write_cache(root: Path, n_records: int) -> None:
    """Write one scores file a model, a row group at a time."""
    rng = np.random.default_rng(0)
    n = n_records // len(MODELS)
    for model in MODELS:
        path = scores_path(root, "synthetic", "yes_no", model)
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(path, SCORE_SCHEMA, compression="zstd") as writer:
            for context in CONTEXTS:
                for start in range(0, n, GROUP):
                    numbers = np.arange(start, min(start + GROUP, n))
                    writer.write_table(score_rows(model, context, numbers, n, rng))


def measure(root: Path) -> dict:
    """Audit a cache: count the patterns of events in one pass, then resample the counts."""
    start = time.perf_counter()
    parts = stream_margins(root, contexts=CONTEXTS)
    counts = metrics.count_events(map(metrics.audit_support, parts), metrics.headline_events)
    counted = time.perf_counter()
    rates = metrics.rates_of_events(
        counts, n_resamples=N_RESAMPLES, rng=np.random.default_rng(20260719)
    )
    end = time.perf_counter()
    n_records = int(rates.loc[rates["metric"] == "dependent", "n"].sum())
    return {
        "n_records": n_records,
        "seconds": end - start,
        "resample_seconds": end - counted,
        "peak_bytes": peak_bytes(),
        "cpu_seconds": time.process_time(),
        "rates": rates.to_string(index=False),
    }


def run(n_records: int, folder: Path) -> dict:
    """Write a cache of one size, audit it in a fresh process, and delete it."""
    with tempfile.TemporaryDirectory(prefix="scale-", dir=folder) as scratch:
        start = time.perf_counter()
        write_cache(Path(scratch), n_records)
        print(f"{n_records:,} records written in {time.perf_counter() - start:.0f} s", flush=True)
        command = [sys.executable, "-m", "benchmarks.analysis_scale", "--measure", scratch]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Run every size, print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000, help="of the largest size")
    parser.add_argument("--folder", type=Path, help="scratch folder, 0.5 GB; default: temporary")
    parser.add_argument("--out", type=Path, help="CSV file of the figures")
    parser.add_argument("--measure", type=Path, help="only audit this cache, and print JSON")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for share in GROWTH:
        found = run(int(args.records * share), args.folder)
        rows.append({"part": f"analysis {share * 16:g}x"} | {c: found[c] for c in COLUMNS[1:]})
        print(
            f"{found['n_records']:,} records: {found['seconds']:.1f} s "
            f"({found['seconds'] / found['n_records'] * 1e6:.2f} s a million; processor time "
            f"{found['cpu_seconds']:.1f} s), of which {N_RESAMPLES} clustered resamples "
            f"{found['resample_seconds']:.3f} s; peak memory {found['peak_bytes'] / 1e9:.2f} GB",
            flush=True,
        )
    print(found["rates"])
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
