"""Score tasks with glance's generic backend: one forward a question, both answers read from it.

Example, with the Python of its own environment, from the project's root:

    _build/peers/glance/bin/python -m benchmarks.peer_glance tasks.json answers.jsonl

All questions about one picture are one call, the largest unit that the backend takes.
`score_statements` reads yes against no; other words are read by `score_labels`.
"""

from __future__ import annotations

import os
import tempfile

from benchmarks.peer_io import Answer, Scorer, drive, shown


def load(tasks: dict) -> Scorer:
    """Load the checkpoint on the CPU in float32, which is what "auto" takes there."""
    os.environ.setdefault("GLANCE_ROOT", tempfile.gettempdir())
    from glance.backends.base import Statement
    from glance.backends.generic_hf import GenericVlmBackend
    from glance.config import load_config
    from glance.images import LoadedImage

    backend = GenericVlmBackend(load_config(), tasks["checkpoint"], device="cpu")

    def pictures(row: dict) -> list[LoadedImage]:
        image = shown(tasks["images"], row)
        if image is None:
            return []
        name = row["image"]
        return [LoadedImage("img0", image, name, image.width, image.height, "PNG", name)]

    def ask(rows: list[dict]) -> list[Answer]:
        texts = [row["text"] for row in rows]
        words = [rows[0][word].strip() for word in ("yes", "no")]
        seen = pictures(rows[0])
        if words == ["yes", "no"]:
            scores = backend.score_statements(seen, None, [Statement(t, t) for t in texts])
            return list(zip(scores.z_yes.tolist(), scores.z_no.tolist(), strict=True))
        logits = backend.score_labels(seen, None, texts, words).logits
        return [(yes, no) for yes, no in logits.tolist()]

    def score(rows: list[dict]) -> list[Answer]:
        groups: dict[tuple, list[int]] = {}
        for number, row in enumerate(rows):
            key = (row["context"], row["image"], row["interface"])
            groups.setdefault(key, []).append(number)
        found: dict[int, Answer] = {}
        for numbers in groups.values():
            found |= zip(numbers, ask([rows[n] for n in numbers]), strict=True)
        return [found[number] for number in range(len(rows))]

    return score


if __name__ == "__main__":
    drive(__doc__, "glance-vlm", load, sign=1)
