"""One measurement in a process of its own: seconds, memory, and what was done.

Example, from the project's root:

    python -m benchmarks.cost_run audit models/mini-llava scenes/pairs/manifest.jsonl --items 32

``accuracy`` scores the original pictures, one whole prompt a row (`--batch` of them together);
``audit`` scores the three contexts as `vca score` does; ``bound`` runs the bare model over just
the distinct tokens of the audit. The model is loaded and warm before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from benchmarks.peer_io import peak_bytes
from vca_core.backends import load_backend
from vca_core.budget import FAST
from vca_core.intake import Intake
from vca_core.jobs import Unit
from vca_core.plan import plan_files
from vca_core.probes import build_probes
from vca_core.reader import FileReader
from vca_core.records import Probe, read_manifest
from vca_core.run import PRIMARY
from vca_core.scorer import score_probes

KINDS = ("accuracy", "audit", "bound")
WARM_UP = 4
"""Items that are scored before the clock starts."""


class Work(NamedTuple):
    """What is measured."""

    kind: str
    probes: list[Probe]
    images: Path
    batch: int | None
    workers: int

    def run(self, backend) -> float:
        """Do the work; seconds of it."""
        if self.kind == "bound":
            units = distinct(self.probes, backend, self.images)
            return bare(units, backend)
        start = time.perf_counter()
        rows = score_probes(
            self.probes,
            backend,
            model="benchmark",
            image_dir=self.images,
            batch_size=self.batch,
            exact=self.kind == "accuracy",
            workers=self.workers,
        )
        failed = [row.error for batch in rows for row in batch if row.status != "ok"]
        seconds = time.perf_counter() - start
        if failed:
            raise RuntimeError(failed[0])
        return seconds


def distinct(probes: Sequence[Probe], backend, images: Path) -> list[Unit]:
    """List what the probes ask, each picture and each prompt once."""
    chunk = plan_files(probes)
    reader = FileReader(chunk.files, images, backend.encode)
    reads = (reader[place] for place in range(len(reader)))
    found = Intake(backend, "", lambda pixels: None).units(chunk, reads)
    return [unit for unit in found if isinstance(unit, Unit)]


@torch.inference_mode()
def bare(units: Sequence[Unit], backend) -> float:
    """Seconds of forwards over each unit's shared start, and over what follows it as plain text.

    Nothing is read, cached, padded or looked up, and text rows do not see their pictures: no
    scorer that runs these tokens can be faster by much.
    """
    model, most = backend.model.model, FAST["cpu"]
    heads = [unit.encoded_as(unit.jobs[0].ids[: unit.head]) for unit in units]
    tails = [i for unit in units for job in unit.jobs for i in job.ids[unit.head :]]
    shown = sorted((e for e in heads if e.images), key=lambda e: len(e.ids))
    tails += [i for e in heads if not e.images for i in e.ids]
    batches = []
    while shown:
        alike = [e for e in shown if len(e.ids) == len(shown[0].ids)]
        batch = list(islice(alike, max(1, most // len(shown[0].ids))))
        shown = [e for e in shown if all(e is not own for own in batch)]
        given = backend.collate(batch, len(batch[0].ids))
        batches.append({"input_ids": torch.tensor([e.ids for e in batch]), **given})
    texts = [torch.tensor([tails[i : i + 256]]) for i in range(0, len(tails), 256)]
    start = time.perf_counter()
    for given in batches:
        model(**given, use_cache=False)
    for ids in texts:
        model.language_model(input_ids=ids, use_cache=False)
    return time.perf_counter() - start


def measure(kind: str, checkpoint: str, manifest: Path, items: int, batch: int | None,
            workers: int, repeats: int) -> list[dict]:  # fmt: skip
    """Load, warm up, and do the same work ``repeats`` times."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    backend = load_backend(checkpoint)
    backend.prepare()
    samples = read_manifest(manifest)
    contexts = PRIMARY[:1] if kind == "accuracy" else PRIMARY

    def work(n: int) -> Work:
        probes = build_probes(samples[:n], contexts, "yes_no")
        return Work(kind, probes, manifest.parent, batch, workers)

    loaded = psutil.Process().memory_info().rss
    work(min(WARM_UP, items)).run(backend)
    own = work(items)
    return [
        {
            "n_item_contexts": len(own.probes),
            "seconds": own.run(backend),
            "peak_bytes": peak_bytes(),
            "loaded_bytes": loaded,
        }
        for _ in range(repeats)
    ]


def main() -> None:
    """Command line; prints one JSON line for each repeat."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("checkpoint")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--items", type=int, default=32, help="statements, the first of the set")
    parser.add_argument("--batch", type=int, help="most rows of a forward; default: what fits")
    parser.add_argument("--workers", type=int, default=0, help="processes that read pictures ahead")
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    for row in measure(**vars(given)):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
