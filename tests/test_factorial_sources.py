"""Effects of the factorial's sources and its source-only cells, from their definitions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from test_factorial import STATES, rates, stem

from vca_core.metrics import audit_sources, cell_rates, source_effects, source_rates
from vca_core.records import SchemaError


@pytest.fixture
def margins(rng):
    frame = pd.concat(
        [
            stem(f"s{i:02d}", rng.normal(size=(3, 3)) + [[1], [-1], [0]], rng.normal(size=3), model)
            for model in ("b", "a")
            for i in range(12)
        ],
        ignore_index=True,
    )
    return frame


def test_source_effects_are_differences_of_cell_means(margins):
    cells = rates(cell_rates, margins).query("metric == 'mean_margin' and model == 'a'")
    mean = cells.set_index(["visual_state", "text_state"])["value"]
    effects = rates(source_effects, margins).query("model == 'a'")
    for row in effects.to_dict("records"):
        if row["effect"] == "interaction":
            continue
        s = row["given"]
        up, down = [("supports", s), ("opposes", s)] if row["effect"] == "visual" else [
            (s, "supports"), (s, "opposes")]  # fmt: skip
        assert row["value"] == pytest.approx(mean[up] - mean[down])
        assert row["low"] < row["value"] < row["high"] and row["n"] == 12
    assert len(effects) == 7
    yes = rates(cell_rates, margins).query("metric == 'says_yes' and model == 'b'")
    own = margins[margins["model"] == "b"].groupby(["visual_state", "text_state"])
    for row in yes.to_dict("records"):
        group = own.get_group((row["visual_state"], row["text_state"]))
        assert row["value"] == pytest.approx((group["margin_original"] >= 0).mean())


def test_a_design_without_silent_states_has_the_effects_it_can_have(margins):
    square = margins[(margins[["visual_state", "text_state"]] != "absent").all(axis=1)]
    effects = rates(source_effects, square)
    assert len(effects) == 2 * 5 and set(effects["given"].dropna()) == set(STATES[:2])
    assert len(rates(cell_rates, square)) == 2 * 2 * 4
    with pytest.raises(SchemaError, match=r"stem 's00' without .*\('absent', 'supports'\)"):
        audit_sources(square)


def test_source_rates_are_shares_and_the_area_of_correct_decisions(margins):
    audit = audit_sources(margins)
    assert len(audit) == 2 * 12 * 4
    found = rates(source_rates, audit)
    found = found.set_index(["pooling", "model", "metric"]).sort_index()["value"]
    for model in ("a", "b"):
        own = audit[audit["model"] == model]
        sees = own["visual_state"] != "absent"
        assert (own["image_source"] == sees).all()
        state = own["visual_state"].where(sees, own["text_state"])
        right = (own["margin_original"] >= 0) == (state == "supports")
        run = found.loc[("run", model)]
        assert run["true_positive_rate"] == pytest.approx(own.loc[sees, "dependent"].mean())
        assert run["false_positive_rate"] == pytest.approx(own.loc[~sees, "dependent"].mean())
        for score, values in (("image_gap", own["image_gap"]),
                              ("confidence", own["margin_original"].abs())):  # fmt: skip
            area = roc_auc_score(sees[right], values[right])
            assert run[f"roc_auc_{score}"] == pytest.approx(area)
    macro = found.loc["macro"].droplevel(0)
    for metric in macro.index:
        assert macro[metric] == pytest.approx(found.loc["run"].xs(metric, level=1).mean())
    assert "roc_auc_image_gap" not in found.loc["micro"].index.get_level_values("metric")


def test_source_rates_of_a_perfect_reader_are_one_and_zero(margins):
    say = {"supports": 3.0, "opposes": -3.0, "absent": 0.0}
    picture, note = margins["visual_state"].map(say), margins["text_state"].map(say)
    margins["margin_original"] = picture + note
    margins["margin_text_only"] = margins["margin_blank"] = note
    found = rates(source_rates, audit_sources(margins)).query("pooling == 'run'")
    value = found.query("model == 'a'").set_index("metric")["value"]
    assert value["true_positive_rate"] == value["roc_auc_image_gap"] == 1
    assert value["false_positive_rate"] == 0 and value["roc_auc_confidence"] == 0.5
    # Where no note is followed, one source is left and there is no area.
    margins["margin_original"] = picture - note
    found = rates(source_rates, audit_sources(margins))
    found = found.set_index(["pooling", "metric"]).sort_index()
    assert found.loc[("run", "roc_auc_image_gap"), "value"].isna().all()
    assert np.isnan(found.loc[("macro", "roc_auc_image_gap"), "value"].item())
