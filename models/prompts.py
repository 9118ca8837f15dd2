"""The whole prompt of a question, as scoring serializes it."""

from __future__ import annotations

from vca_core.backends.qwen3_vl import Qwen3VL

SYSTEM = {"qwen3_vl": Qwen3VL.SYSTEM}
"""System message that a family's scoring sends unless told otherwise; the others send none."""


def chat_prompt(processor, family: str, text: str, image: bool) -> str:
    """Text of a prompt through the processor's template, with one image token or none."""
    content = [{"type": "image"}] * image + [{"type": "text", "text": text}]
    messages = [{"role": "user", "content": content}]
    if system := SYSTEM.get(family):
        messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
    return processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
