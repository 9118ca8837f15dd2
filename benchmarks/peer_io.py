"""What the drivers of the compared tools share: tasks in, one timed pass, answers out.

A tasks file is JSON: ``checkpoint``, ``images`` (folder), ``threads``, ``rows``, and options of a
driver. A row is one item in one context: ``id``, ``context`` (original, blank, text_only),
``interface``, ``image`` (file name), ``text``, ``yes``, ``no`` (continuations). This file imports
nothing of the project, so that a tool's own environment can run it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from PIL import Image

GRAY = (128, 128, 128)
"""Of the blank picture, which is as large as the original."""
WARM_UP = 2
"""Items that are scored before the clock starts."""

Answer = tuple[float, float]
"""What a tool says of the affirmative and of the negative continuation, in its own units."""
Scorer = Callable[[list[dict]], list[Answer]]
Load = Callable[[dict], Scorer]


def shown(images: str | Path, row: dict) -> Image.Image | None:
    """Read the picture of a row from its file, as a task's loader does; None for text only."""
    if row["context"] == "text_only":
        return None
    with Image.open(Path(images) / row["image"]) as image:
        if row["context"] == "blank":
            return Image.new("RGB", image.size, GRAY)
        return image.convert("RGB")


def drive(doc: str, package: str, load: Load, sign: int) -> None:
    """Run a driver from the command line: load, warm up, score all rows against the clock.

    Parameters
    ----------
    doc : str
        Help text.
    package : str
        Installed distribution whose version is written down.
    load : callable
        From the tasks to a function that scores rows.
    sign : {+1, -1}
        +1 if more is likelier (log-likelihoods), -1 if less is (losses).
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", type=Path, help="JSON file of tasks")
    parser.add_argument("answers", type=Path, help="JSON lines to write; the first is the run's")
    given = parser.parse_args()
    tasks = json.loads(given.tasks.read_text("utf-8"))
    import torch

    torch.set_num_threads(tasks["threads"])
    score = load(tasks)
    rows = tasks["rows"]
    first = list(dict.fromkeys(row["id"] for row in rows))[:WARM_UP]
    score([row for row in rows if row["id"] in first])
    start = time.perf_counter()
    answers = score(rows)
    seconds = time.perf_counter() - start
    run = {
        "version": version(package),
        "python": sys.version.split()[0],
        "torch": version("torch"),
        "transformers": version("transformers"),
        "n_item_contexts": len(rows),
        "seconds": seconds,
        "peak_bytes": peak_bytes(),
    }
    with given.answers.open("w", encoding="utf-8") as file:
        print(json.dumps(run), file=file)
        for row, (yes, no) in zip(rows, answers, strict=True):
            own = {name: row[name] for name in ("id", "context", "interface")}
            own |= {"yes": yes, "no": no, "margin": sign * (yes - no)}
            print(json.dumps(own), file=file)


def peak_bytes() -> int:
    """Most memory that this process held at once, its libraries included."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells of a child on Linux starts at its parent's size
        lines = status.read_text("ascii").splitlines()
        return 1024 * next(int(ln.split()[1]) for ln in lines if ln.startswith("VmHWM:"))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
