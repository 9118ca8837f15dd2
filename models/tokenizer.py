"""The byte-level BPE of the mini models: a few hundred tokens, each word of the world one."""

from __future__ import annotations

import itertools

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from vca_core.probes import question_text, statement_text
from vca_core.scenes.world import (
    COLORS,
    INVERSE,
    RELATIONS,
    SHAPES,
    evidence_note,
    presence_question,
    question_of,
    statement_of,
)

COLUMNS = tuple("abcd")
ROWS = tuple("1234")
"""A place is a column letter and a row digit of a 4 × 4 grid."""


def corpus() -> list[str]:
    """Sentences that hold every word the world uses, often enough to be merged whole."""
    words = [*COLORS, *SHAPES, *COLUMNS, *ROWS, *INVERSE]
    words += ["yes", "no", "true", "false", "unknown"]
    lines = [f" {word}" for word in words]
    names = [f"{color} {shape}" for color in COLORS for shape in SHAPES]
    for relation, wording in itertools.product(RELATIONS, range(3)):
        for name in names:
            lines += [
                question_text(question_of(name, relation, name, wording)),
                statement_text(statement_of(name, relation, name, wording)),
            ]
    for name in names * 5:
        lines += [
            evidence_note(name, name, None) + " Hint: the answer is yes.",
            question_text(presence_question(name)).replace("yes or no", "yes, no or unknown"),
            f"Where is the {name} from the {name}? What is in the picture?",
            "You are a helpful assistant. user assistant system\n",
        ]
    return lines * 2


def build_tokenizer(
    special: list[str],
    *,
    pad: str,
    eos: str,
    bos: str | None = None,
    vocab_size: int = 560,
    **named,
) -> PreTrainedTokenizerFast:
    """Train the tokenizer with a family's own special tokens.

    Parameters
    ----------
    special : list of str
        Special tokens; they get the first ids, in order.
    pad, eos, bos : str
        Which of them pad, end and begin.
    vocab_size : int
    **named
        Special tokens that the family's processor looks up by attribute.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        eos_token=eos,
        bos_token=bos,
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=named or None,
    )
