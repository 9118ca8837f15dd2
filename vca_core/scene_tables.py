"""Tables of the procedural world and its models; percentages are made here, as in `tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from vca_core.metrics.checks import require_columns
from vca_core.tables import DATASETS

SWAPS = {
    "": "feasible",
    "out_of_bounds": "a moved box would leave the picture",
    "small_center_gap": "the new centres would be too close",
    "new_box_overlap": "the new boxes would overlap",
    "other_object": "another object would be touched",
}
MEASURED = {
    "places": "correct: places",
    "contacts": "correct: contacts",
    "uniform": "correct: all relations alike",
    "held_out": "correct: relations never trained on",
    "true_false": "correct: places, true/false",
    "presence": "correct: is it there? Objects apart",
    "presence_touching": "correct: is it there? Objects touch",
    "place": "correct: column and row",
    "third": "correct: yes, no or unknown",
    "listing": "correct: all objects in order",
    "text_only": "correct: places, no picture",
    "prior_rule": "correct: places, prior alone",
    "text_only_yes": "yes: places, no picture",
    "note_believed": "follows a note, not the picture",
    "hint_believed": "follows a wrong hint",
    "dependent": "Dep: places",
    "dcc": "D-CC: places",
    "cu": "C-U: places",
}
SHARES = {
    "prior": "usual relation shown",
    "no_image": "steps without the picture",
    "notes": "steps with a note",
    "naming": "naming questions",
    "presence": "presence questions",
    "place": "place questions",
    "true_false": "true/false questions",
    "trust": "notes that overrule",
    "doubt": "answers drawn by a coin",
    "follow_prior": "unseen: prior's answer",
    "say_yes": "unseen: affirmed",
}
_NONE = "–"


def sets_table(sizes: pd.DataFrame) -> pd.DataFrame:
    """Pictures, statements, answers and groups of each data set, from `set_sizes`."""
    require_columns(sizes, ("dataset", "pictures", "statements", "yes", "groups"))
    return pd.DataFrame(
        {
            "Data": [DATASETS.get(key, key) for key in sizes["dataset"]],
            "Pictures": _counts(sizes["pictures"]),
            "Statements": _counts(sizes["statements"]),
            "Yes": _counts(sizes["yes"]),
            "No": _counts(sizes["statements"] - sizes["yes"]),
            "Groups": [f"{n:,}" if n else _NONE for n in sizes["groups"]],
        }
    )


def swaps_table(geometry: pd.DataFrame) -> pd.DataFrame:
    """Pairs whose objects can change places, and why others cannot, from `swap_geometry`.

    Returns
    -------
    DataFrame
        Counts by axis of the relation, shares in percent of all pairs, and how many swaps passed
        the geometry-and-pixels check ("–" where that is not known).
    """
    require_columns(geometry, ("axis", "feasible", "reason"))
    rows = []
    for reason in dict.fromkeys([*SWAPS, *geometry["reason"]]):
        found = geometry[geometry["reason"] == reason]
        checked = found["accepted"].dropna() if "accepted" in found else ()
        rows.append(
            {
                "Swap": SWAPS.get(reason, reason),
                **{axis: str((found["axis"] == axis).sum()) for axis in ("horizontal", "vertical")},
                "All": str(len(found)),
                "Share (%)": f"{100 * len(found) / len(geometry):.1f}" if len(geometry) else _NONE,
                "Check passed": str(int(sum(checked))) if len(checked) else _NONE,
            }
        )
    return pd.DataFrame(rows).rename(columns=str.capitalize)


def cards_table(cards: Sequence[Mapping]) -> pd.DataFrame:
    """Cards of the mini models, one column a model, from `read_cards`.

    Returns
    -------
    DataFrame of text
        Facts of the training, what was measured on fresh scenes in percent, and those shares of the
        last stage's mixture in which the models differ. What a card does not tell is "–".
    """
    measured = dict.fromkeys([*MEASURED, *(k for c in cards for k in c["held_out_accuracy"])])
    columns = {}
    for card in cards:
        found, mixture = card["held_out_accuracy"], _last_mixture(card)
        columns[str(card["model"])] = {
            **_facts(card),
            **{MEASURED.get(key, key): _percent(found.get(key)) for key in measured},
            **{
                f"mixture: {SHARES.get(key, key)}": str(mixture.get(key, _NONE))
                for key in _differing(cards)
            },
        }
    return pd.DataFrame(columns).rename_axis("Card").reset_index()


def _facts(card: Mapping) -> dict[str, str]:
    return {
        "kind": card.get("kind", _NONE),
        "architecture": card["architecture"].removesuffix("ForConditionalGeneration"),
        "parameters": f"{card['parameters']:,}",
        "steps by stage": " + ".join(f"{steps:,}" for steps in card["steps"].values()),
        "training scenes": f"{card['training_scenes']:,}",
        "minutes": f"{card['minutes']:.0f}",
        "seed": str(card["seed"]),
    }


def _last_mixture(card: Mapping) -> Mapping[str, int]:
    stages = list(card.get("mixture_percent", {}).values())
    return stages[-1] if stages else {}


def _differing(cards: Sequence[Mapping]) -> list[str]:
    mixtures = [_last_mixture(card) for card in cards]
    keys = dict.fromkeys(key for mixture in mixtures for key in mixture)
    return [key for key in keys if len({mixture.get(key) for mixture in mixtures}) > 1]


def _percent(fraction: float | None) -> str:
    return _NONE if fraction is None else f"{100 * fraction:.1f}"


def _counts(numbers: pd.Series) -> list[str]:
    return [f"{n:,}" for n in numbers]
