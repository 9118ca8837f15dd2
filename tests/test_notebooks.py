"""Every notebook is committed twice, without outputs: .ipynb to run, .md to read."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest
import yaml
from jupytext.compare import compare_notebooks
from papermill import inspect_notebook

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ANALYSES = [
    "01_support_audit",
    "02_relation_axis",
    "03_factorial",
    "04_edit_check",
    "05_filtering",
    "06_robustness",
]
COST = "09_cost_of_an_audit"
MODELS = sorted(path.parent for path in (ROOT / "models").glob("*/config.json"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def code(path):
    return ["".join(c["source"]) for c in cells(path) if c["cell_type"] == "code"]


def papermill(notebook, out, *parameters, cwd=ROOT):
    arguments = ["-y", json.dumps(dict(parameters), default=str)]
    command = [sys.executable, "-m", "papermill", str(notebook), str(out), "--no-progress-bar"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


def test_there_are_notebooks():
    others = ["00_published_results", "07_world_and_models", "08_coverage_of_the_paper"]
    assert {*ANALYSES, *others, COST} <= {path.stem for path in NOTEBOOKS}


@every_notebook
def test_pair_is_in_step(path):
    text = jupytext.read(path.with_suffix(".md"))
    compare_notebooks(text, jupytext.read(path), fmt="md:myst")


@every_notebook
def test_notebook_holds_no_outputs_and_no_foreign_metadata(path):
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    assert set(metadata) == {"jupytext", "kernelspec"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert metadata["kernelspec"] == kernel
    for cell in cells(path):
        assert set(cell["metadata"]) <= {"tags", "mystnb"}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


@every_notebook
def test_parameters_stand_in_one_typed_and_commented_cell(path):
    tagged = [c for c in cells(path) if "parameters" in c["metadata"].get("tags", [])]
    assert len(tagged) == 1
    assigned = [n for n in ast.parse("".join(tagged[0]["source"])).body]
    parameters = inspect_notebook(str(path))
    assert len(parameters) == len(assigned) > 0
    for parameter in parameters.values():
        assert parameter["inferred_type_name"] in ("str", "int", "float", "bool", "list")
        assert parameter["help"], parameter["name"]


@every_notebook
def test_notebook_defines_no_function_or_class(path):
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    for source in code(path):
        assert not [n for n in ast.walk(ast.parse(source)) if isinstance(n, kinds)], source


@every_notebook
def test_every_figure_has_caption_name_and_alt_text(path):
    for cell in cells(path):
        if "plot_" in "".join(cell["source"]) and cell["cell_type"] == "code":
            figure = cell["metadata"]["mystnb"]
            assert figure["figure"]["caption"] and figure["image"]["alt"]
            assert re.fullmatch(r"fig-[a-z]+-[a-z-]+", figure["figure"]["name"])


def test_glue_keys_and_names_are_unique_in_the_book():
    source = "\n".join("\n".join(code(path)) for path in NOTEBOOKS)
    captions = [c["metadata"].get("mystnb", {}) for path in NOTEBOOKS for c in cells(path)]
    for found in (
        re.findall(r'glue\(\s*"([^"]+)"', source),
        re.findall(r'name="(tab-[^"]+)"', source),
        [caption["figure"]["name"] for caption in captions if caption],
    ):
        assert found and len(found) == len(set(found))


OTHERS = ["07_world_and_models", "08_coverage_of_the_paper", COST]
LONGER = {"06_robustness": 30, COST: 30}
"""Nine checks and six measurements, each with its own figure or table."""


@pytest.mark.parametrize("name", [*ANALYSES, *OTHERS])
def test_page_has_the_length_of_a_page(name):
    assert 12 <= len(cells(ROOT / "notebooks" / f"{name}.ipynb")) <= LONGER.get(name, 20)


def test_analyses_share_their_first_parameters():
    first, *others = (
        {
            name: (p["inferred_type_name"], p["default"])
            for name, p in inspect_notebook(str(ROOT / "notebooks" / f"{name}.ipynb")).items()
        }
        for name in ANALYSES
    )
    for other in others:
        assert set(first) <= set(other)
        kept = set(first) - {"seed"}  # the factorial has its own
        assert {name: other[name] for name in kept} == {name: first[name] for name in kept}


def test_table_of_contents_lists_each_notebook_once():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    notebooks = [name for name in listed if name.startswith("notebooks/")]
    assert sorted(notebooks) == [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    assert {p.stem for p in (ROOT / "notebooks").glob("*.md")} == {p.stem for p in NOTEBOOKS}


@pytest.mark.slow
@every_notebook
def test_notebook_runs_in_any_folder(path, tmp_path):
    names = inspect_notebook(str(path))
    quick = {"n_resamples": 20, "ridges": [1.0]}
    parameters = [(name, value) for name, value in quick.items() if name in names]
    done = papermill(path, tmp_path / "out.ipynb", *parameters, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    ran = cells(tmp_path / "out.ipynb")
    assert all(c["execution_count"] for c in ran if c["cell_type"] == "code")


@pytest.mark.slow
def test_unknown_source_stops_the_notebook(tmp_path):
    notebook = ROOT / "notebooks" / "01_support_audit.ipynb"
    done = papermill(notebook, tmp_path / "out.ipynb", ("source", "casched"))
    assert done.returncode != 0
    assert "'cached' or 'live'" in done.stderr


@pytest.fixture(scope="module")
def live_dir(tmp_path_factory):
    """Pictures are drawn once for all pages, as they are in a clone."""
    return tmp_path_factory.mktemp("live")


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("name", [*ANALYSES, COST])
def test_live_source_scores_then_shows_the_same_page(name, tmp_path, live_dir):
    pytest.importorskip("torch", reason="the live extra is not installed")
    assert MODELS, "no checkpoint under models/"
    parameters = [
        ("source", "live"),
        ("checkpoint", MODELS[0].relative_to(ROOT)),
        ("live_dir", live_dir),
        ("limit", 6),
        ("n_resamples", 20),
    ]
    done = papermill(ROOT / "notebooks" / f"{name}.ipynb", tmp_path / "out.ipynb", *parameters)
    assert done.returncode == 0, done.stderr[-3000:]
    text = (tmp_path / "out.ipynb").read_text(encoding="utf-8")
    assert "All identities hold" in text and MODELS[0].name in text
    assert list(live_dir.rglob(f"{MODELS[0].name}.parquet"))
