"""Cards of the mini models are read whatever models there are."""

import json

import pytest

from vca_core.cards import REQUIRED, read_cards
from vca_core.records import SchemaError


def write(folder, name, **changes):
    card = dict.fromkeys(REQUIRED, 1) | {"model": name} | changes
    (folder / name).mkdir()
    path = folder / name / "training.json"
    path.write_text(json.dumps({k: v for k, v in card.items() if v is not None}), encoding="utf-8")
    return path


def test_read_cards_sorts_by_folder_and_passes_over_other_folders(tmp_path):
    write(tmp_path, "mini-z")
    write(tmp_path, "mini-a", kind="says yes")
    (tmp_path / "code").mkdir()
    cards = read_cards(tmp_path)
    assert [card["model"] for card in cards] == ["mini-a", "mini-z"]
    assert cards[0]["kind"] == "says yes" and "kind" not in cards[1]


def test_read_cards_refuses_a_card_without_its_keys(tmp_path):
    write(tmp_path, "mini-a")
    write(tmp_path, "mini-b", steps=None)
    with pytest.raises(SchemaError, match=r"mini-b/training.json .*lacks \['steps'\]"):
        read_cards(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_read_cards_refuses_what_is_no_object(tmp_path, text):
    write(tmp_path, "mini-a").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"mini-a/training.json must be"):
        read_cards(tmp_path)


def test_read_cards_says_what_to_do_where_there_are_none(tmp_path):
    with pytest.raises(SchemaError, match="make models"):
        read_cards(tmp_path)
