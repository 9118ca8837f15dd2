import pandas as pd

from vca_core import interventions, scene_tables
from vca_core.scene_tables import cards_table, sets_table, swaps_table
from vca_core.scenes.datasets import DATASETS, DERIVED
from vca_core.tables import DATASETS as NAMES

CARD = {
    "model": "mini-a",
    "kind": "says yes",
    "architecture": "InternVLForConditionalGeneration",
    "parameters": 988896,
    "steps": {"ground": 1200, "lean": 800},
    "mixture_percent": {"read": {"notes": 1, "prior": 2}, "lean": {"notes": 40, "prior": 60}},
    "seed": 7,
    "training_scenes": 6000,
    "minutes": 35.2,
    "held_out_accuracy": {"places": 0.976, "text_only": 0.5, "prior_rule": 0.875},
}


def column(table, model):
    return dict(zip(table["Card"], table[model], strict=True))


def test_cards_table_shows_facts_and_percents():
    shown = column(cards_table([CARD]), "mini-a")
    assert shown["kind"] == "says yes" and shown["architecture"] == "InternVL"
    assert shown["parameters"] == "988,896" and shown["steps by stage"] == "1,200 + 800"
    assert shown[scene_tables.MEASURED["places"]] == "97.6"
    assert shown[scene_tables.MEASURED["prior_rule"]] == "87.5"
    assert shown[scene_tables.MEASURED["presence"]] == "–"
    assert not [label for label in shown if label.startswith("mixture")]


def test_cards_table_shows_the_shares_of_the_last_stage_that_differ():
    other = CARD | {"model": "mini-b", "mixture_percent": {"lean": {"notes": 18, "prior": 60}}}
    bare = {k: v for k, v in CARD.items() if k not in ("kind", "mixture_percent")}
    bare |= {"model": "mini-c", "held_out_accuracy": {"new_measure": 1.0}}
    two = cards_table([CARD, other])
    shares = [label for label in two["Card"] if label.startswith("mixture")]
    assert shares == [f"mixture: {scene_tables.SHARES['notes']}"]
    assert (column(two, "mini-a")[shares[0]], column(two, "mini-b")[shares[0]]) == ("40", "18")
    three = cards_table([CARD, other, bare])
    assert column(three, "mini-c")["kind"] == "–"
    assert column(three, "mini-c")["new_measure"] == "100.0"  # nothing on a card is left out
    assert column(three, "mini-a")["new_measure"] == "–"
    assert not three.isna().any(axis=None)


def swaps(**more):
    return pd.DataFrame(
        {
            "axis": ["horizontal", "vertical", "vertical", "horizontal"],
            "feasible": [True, True, False, False],
            "reason": ["", "", "out_of_bounds", "a new rule"],
        }
        | more
    )


def test_swaps_table_counts_every_pair_once():
    table = swaps_table(swaps()).set_index("Swap")
    assert list(table.loc["feasible", ["Horizontal", "Vertical", "All"]]) == ["1", "1", "2"]
    assert table.loc["feasible", "Share (%)"] == "50.0"
    assert table.loc["a new rule", "All"] == "1"
    assert table["All"].astype(int).sum() == 4
    assert set(table["Check passed"]) == {"–"}


def test_swaps_table_counts_passed_checks_where_there_are_edits():
    table = swaps_table(swaps(accepted=[True, False, None, None])).set_index("Swap")
    assert table.loc["feasible", "Check passed"] == "1"
    assert set(table["Check passed"].drop("feasible")) == {"–"}


def test_every_reason_and_data_set_has_words():
    assert set(scene_tables.SWAPS) == {"", *interventions.SWAP_REASONS}
    assert {*DATASETS, *DERIVED} <= set(NAMES)


def test_sets_table_shows_counts():
    sizes = pd.DataFrame(
        [
            {"dataset": "pairs", "pictures": 440, "statements": 1880, "yes": 440, "groups": 440},
            {"dataset": "mine", "pictures": 1, "statements": 1, "yes": 0, "groups": 0},
        ]
    )
    assert sets_table(sizes).to_numpy().tolist() == [
        ["Scene pairs", "440", "1,880", "440", "1,440", "440"],
        ["mine", "1", "1", "0", "1", "–"],
    ]
