"""What a page's parameters load: cached scores, or a checkpoint scored first."""

import shutil

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
def test_load_source_join_puts_cached_models_beside_the_live_one(tmp_path, miniatures):
    options = {"checkpoint": str(miniatures / "internvl"), "live_dir": tmp_path, "limit": 2}
    joined = load_source("live", datasets=["pairs"], join=True, **options)
    assert list(dict.fromkeys(joined["model"]))[0] == "internvl"
    assert joined["model"].nunique() == 5
    ids = joined.groupby("model")["sample_id"].agg(set)
    assert all(found == ids["internvl"] and len(found) == 4 for found in ids)
    two = load_source("live", datasets=["pairs"], join=True, models=["internvl", "mini-qwen"],
                      **options)  # fmt: skip
    assert list(dict.fromkeys(two["model"])) == ["internvl", "mini-qwen"]
    alone = load_source("live", datasets=["pairs"], join=True, models=["internvl"], **options)
    assert set(alone["model"]) == {"internvl"}


@pytest.mark.live
def test_live_one_takes_the_place_of_a_cached_model_of_its_name(tmp_path, miniatures):
    folder = tmp_path / "mini-qwen"
    shutil.copytree(miniatures / "internvl", folder)
    joined = load_source("live", checkpoint=str(folder), live_dir=tmp_path / "live", limit=1,
                         datasets=["pairs"], join=True)  # fmt: skip
    assert joined.groupby("model").size().to_dict() == dict.fromkeys(
        ["mini-internvl", "mini-llava", "mini-ministral", "mini-qwen"], 2
    )
    cached = load_source("cached", datasets=["pairs"], models=["mini-qwen"])
    both = joined.query("model == 'mini-qwen'").merge(cached, on="sample_id")
    assert (both["margin_original_x"] != both["margin_original_y"]).all()


@pytest.mark.live
def test_live_scores_derived_sets_on_the_pictures_of_queries(tmp_path, miniatures, monkeypatch):
    from vca_core import backends, live

    systems, load = [], backends.load_backend

    def noted(place, **options):
        systems.append(options.get("system"))
        return load(place, **options)

    monkeypatch.setattr(backends, "load_backend", noted)
    for name, rows in (("queries_inverse", 1), ("queries_wordings", 3), ("queries_system", 1)):
        found = load_source("live", checkpoint=str(miniatures / "internvl"), live_dir=tmp_path,
                            datasets=[name], limit=1)  # fmt: skip
        assert len(found) == rows and set(found["dataset"]) == {name}
    assert systems == [None, None, None, live.SYSTEM["queries_system"]]


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
