"""Statements to questions, and the words of the nine relation families."""

from __future__ import annotations

import re

FAMILIES: dict[str, tuple[str, ...]] = {
    "left": ("left of", "at the left side of"),
    "right": ("right of", "at the right side of"),
    "above": ("above", "over", "on top of"),
    "below": ("below", "under", "beneath"),
    "front": ("in front of",),
    "behind": ("behind",),
    "on": ("on",),
    "in": ("in", "inside", "within"),
    "contains": ("contains",),
}
"""Relation family to the phrases of the public VSR files that belong to it."""

_OPPOSITES = (
    ("left of", "right of"),
    ("to the left of", "to the right of"),
    ("at the left side of", "at the right side of"),
    ("above", "below"),
    ("over", "under"),
    ("on top of", "beneath"),
    ("in front of", "behind"),
)
OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
"""Relation phrase to the phrase of the inverse relation, in the same register."""
INVERSE_FAMILY = {
    a: b
    for pair in (("left", "right"), ("above", "below"), ("front", "behind"))
    for a, b in (pair, pair[::-1])
}
"""The six strict families, each with its inverse."""

DETERMINERS = (
    "the a an this that these those my your his her its our their some one two three".split()
)
_DETERMINED = re.compile(rf"({'|'.join(DETERMINERS)}) (.+)", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(not|no|none|never|neither|nor|nothing|nobody|cannot)\b|n['’]t\b", re.IGNORECASE
)
_VERB = re.compile(r"\b(is|are|was|were|contains?)\b", re.IGNORECASE)
# words that make a clause, not a noun phrase, of what stands before the verb
_CLAUSE = re.compile(
    r"\b(that|which|who|whom|whose|what|where|when|while|because|if|although|as|but|and|or|so"
    r"|it|he|she|they|we|you|i|there|to|can|could|may|might|will|would|shall|should|must"
    r"|do|does|did|has|have|had)\b|[,;:]",
    re.IGNORECASE,
)
_OWN_QUESTION = 'Is this statement true: "{}"?'


def squeeze(text: str) -> str:
    """Take off outer white space and make every inner run of it one space."""
    return " ".join(text.split())


def noun(phrase: str) -> str:
    """Noun phrase without its article.

    Examples
    --------
    >>> noun("The dining table")
    'dining table'
    """
    return re.sub(r"^(?:the|an?)(?: |$)", "", phrase, flags=re.IGNORECASE)


def definite(phrase: str) -> str:
    """Noun phrase as it stands inside a sentence, with "the" where it brings no determiner."""
    if found := _DETERMINED.fullmatch(phrase):
        return f"{found[1].lower()} {found[2]}"
    word = phrase.split(" ")[0]
    acronym = len(word) > 1 and word.isupper()
    return "the " + (phrase if acronym else phrase[:1].lower() + phrase[1:])


def question_and_statement(subject: str, verb: str, phrase: str, object: str) -> tuple[str, str]:
    """Both surfaces of a relation between two noun phrases.

    Parameters
    ----------
    subject, object : str
        Noun phrases with or without a determiner.
    verb : {"is", "are", "contains", "contain"}
        The finite verb; "contains" and "contain" take no relation phrase.
    phrase : str
        Relation phrase, as "to the left of"; empty for the verb "contains".

    Examples
    --------
    >>> question_and_statement("The bowl", "contains", "", "an apple")
    ('Does the bowl contain an apple?', 'The bowl contains an apple.')
    """
    subject, object = definite(subject), definite(object)
    rest = f"{phrase} {object}".strip()
    return _ask(subject, verb, rest), f"{subject[:1].upper()}{subject[1:]} {verb} {rest}."


def _ask(subject: str, verb: str, rest: str) -> str:
    if verb.startswith("contain"):
        return f"{'Does' if verb == 'contains' else 'Do'} {subject} contain {rest}?"
    return f"{verb.capitalize()} {subject} {rest}?"


def question_from_statement(statement: str) -> str:
    """Make a yes/no question of a statement.

    A plain sentence (a noun phrase, one of is, are, was, were, contains, and the rest) is turned
    round. Whatever could come out wrong (a clause before the verb, a second verb, a negation, a
    capital that may be a name's) is asked as it stands: ``Is this statement true: "…"?``.

    Examples
    --------
    >>> question_from_statement("The cup is left of the book.")
    'Is the cup left of the book?'
    >>> question_from_statement("Nothing is on the table.")
    'Is this statement true: "Nothing is on the table."?'
    """
    verbs = list(_VERB.finditer(statement))
    whole = squeeze(statement)
    body = whole.removesuffix(".").rstrip()
    if len(verbs) != 1 or re.search(r"[.!?]( |$)|\"", body) or _NEGATION.search(body):
        return _OWN_QUESTION.format(whole)
    verb = verbs[0][0]
    subject, _, rest = body.partition(f" {verb} ")
    subject = _inside_sentence(subject)
    if not rest or subject is None:
        return _OWN_QUESTION.format(whole)
    return _ask(subject, verb.lower(), rest)


def _inside_sentence(subject: str) -> str | None:
    """Subject with the capital of the sentence's first word taken back; None if that is a guess."""
    first, _, more = subject.partition(" ")
    if not more and first.lower() in ("it", "he", "she", "they", "there"):
        return first.lower()
    noun_phrase = more if first.lower() in DETERMINERS else subject
    if not noun_phrase or _CLAUSE.search(noun_phrase):
        return None
    if first.lower() in DETERMINERS:
        return f"{first.lower()} {more}"
    return subject if first == first.lower() or (len(first) > 1 and first.isupper()) else None
