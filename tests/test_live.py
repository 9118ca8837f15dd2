"""What a page's parameters load: cached scores, or a checkpoint scored first."""

import pytest

from vca_core.cache.files import ROOT
from vca_core.live import load_source
from vca_core.records import SchemaError


def test_load_source_refuses_other_sources():
    with pytest.raises(SchemaError, match="`source` must be 'cached' or 'live', got 'cloud'"):
        load_source("cloud")


@pytest.mark.live
def test_load_source_live_scores_whole_pairs_once(tmp_path, miniatures, monkeypatch):
    options = {"checkpoint": str(miniatures / "internvl"), "live_dir": tmp_path, "limit": 3}
    margins = load_source("live", datasets=["pairs"], **options)
    assert len(margins) == 6 and set(margins["model"]) == {"internvl"}
    assert margins.filter(like="margin_").notna().all(axis=None)
    assert list(margins.filter(like="margin_")) == [
        "margin_original",
        "margin_text_only",
        "margin_blank",
    ]

    def never(*args, **kwargs):
        raise AssertionError("scored again")

    monkeypatch.setattr("vca_core.backends.internvl.InternVL.forward", never)
    again = load_source("live", datasets=["pairs"], **options)
    assert again.equals(margins)


@pytest.mark.live
def test_load_source_live_names_what_is_missing(tmp_path, miniatures):
    with pytest.raises(SchemaError, match="needs `checkpoint`"):
        load_source("live")
    with pytest.raises(SchemaError, match=r"scene data sets .*'pairs'.*, got \['vsr'\]"):
        load_source("live", checkpoint=str(miniatures / "internvl"), datasets=["vsr"])


@pytest.mark.live
def test_live_draws_scenes_again_that_are_not_the_shipped_ones(tmp_path, miniatures, monkeypatch):
    def draw(name, out_dir, expected):
        raise SchemaError(f"drawn anew: {name}")

    monkeypatch.setattr("vca_core.live.build_scenes", draw)
    shipped = ROOT / "cached_scores" / "pairs" / "manifest.jsonl"
    manifest = tmp_path / "scenes" / "pairs" / "manifest.jsonl"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(shipped.read_bytes()[:-1])
    with pytest.raises(SchemaError, match="drawn anew: pairs"):
        load_source(
            "live",
            checkpoint=str(miniatures / "internvl"),
            live_dir=tmp_path,
            datasets=["pairs"],
            limit=1,
        )
