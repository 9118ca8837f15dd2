"""Score tasks with lmms-eval's `llava_hf`: `LlavaHf.loglikelihood`, as its evaluator calls it.

Example, with the Python of its own environment, from the project's root:

    _build/peers/lmms-eval/bin/python -m benchmarks.peer_lmms_eval tasks.json answers.jsonl

A decision is two requests. The loop runs them one at a time whatever the batch size.

The tool passes a message's content as a string, which the checkpoint's own template, made for
lists of parts, renders as nothing: no picture, no question. Its argument ``chat_template`` is for
that, and gets a template that writes the same prompt from a string.

The tool tokenizes a prompt that names a picture without giving the picture; transformers after
5.22 refuses that, so its environment has 5.22.2.
"""

from __future__ import annotations

from benchmarks.peer_io import Answer, Scorer, drive, shown

TASK, SPLIT = "decisions", "test"
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] }}"
    "{{ '\n' if message['role'] == 'assistant' else ' ' }}"
    "{{ message['content'] + '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def load(tasks: dict) -> Scorer:
    """Load the checkpoint, and hand the rows over as the documents of a task."""
    from lmms_eval.api.instance import Instance
    from lmms_eval.models.simple.llava_hf import LlavaHf

    model = LlavaHf(
        pretrained=tasks["checkpoint"],
        device="cpu",
        device_map="cpu",  # the default, an empty name, is refused by transformers 5
        chat_template=TEMPLATE,
    )
    model.model.eval()

    def visuals(row: dict) -> list:
        image = shown(tasks["images"], row)
        return [] if image is None else [image]

    def score(rows: list[dict]) -> list[Answer]:
        model.task_dict = {TASK: {SPLIT: rows}}
        requests = [
            Instance(
                request_type="loglikelihood",
                arguments=(row["text"], row[word], visuals, number, TASK, SPLIT),
                idx=idx,
                metadata={"task": TASK, "doc_id": number, "repeats": 1},
            )
            for number, row in enumerate(rows)
            for idx, word in enumerate(("yes", "no"))
        ]
        losses = [loss for loss, _ in model.loglikelihood(requests)]
        return list(zip(losses[::2], losses[1::2], strict=True))

    return score


if __name__ == "__main__":
    # What it returns as log-likelihood is the loss: less is likelier.
    drive(__doc__, "lmms_eval", load, sign=-1)
