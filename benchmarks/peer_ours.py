"""Score tasks with this project's scorer, as the compared tools' drivers do theirs.

Example, from the project's root: python -m benchmarks.peer_ours tasks.json answers.jsonl

The option ``exact`` of the tasks scores one whole prompt for each row, which is the reference.
Pictures are read in this process, as the other tools do.
"""

from __future__ import annotations

from benchmarks.peer_io import Answer, Scorer, drive


def load(tasks: dict) -> Scorer:
    """Load the checkpoint; rows become probes with their text as it is."""
    from vca_core.backends import load_backend
    from vca_core.records import Probe, Sample
    from vca_core.scorer import score_probes

    backend = load_backend(tasks["checkpoint"])
    backend.prepare()

    def probe(row: dict) -> Probe:
        sample = Sample(
            sample_id=row["id"],
            dataset="pairs",
            image=row["image"],
            question=row["text"],
            label="yes",  # asked for by the record, read by nobody here
        )
        image = None if row["context"] == "text_only" else row["image"]
        return Probe(
            sample=sample,
            context=row["context"],
            interface=row["interface"],
            text=row["text"],
            image=image,
        )

    def score(rows: list[dict]) -> list[Answer]:
        found = {}
        for batch in score_probes(
            [probe(row) for row in rows],
            backend,
            model="benchmark",
            image_dir=tasks["images"],
            exact=tasks.get("exact", False),
        ):
            for one in batch:
                if one.status != "ok":
                    raise RuntimeError(f"{one.sample_id}, {one.context}: {one.error}")
                found[one.sample_id, one.context, one.interface] = one.loss_yes, one.loss_no
        return [found[row["id"], row["context"], row["interface"]] for row in rows]

    return score


if __name__ == "__main__":
    drive(__doc__, "vca-core", load, sign=-1)
