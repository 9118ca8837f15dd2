"""Imports follow the data flow; the two halves share nothing but a score file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "vca_core"
FILES = sorted(PACKAGE.rglob("*.py"))
SIDES = {
    "base": ("records", "resampling", "stats"),
    "scoring": (
        "manifests",
        "interventions",
        "contexts",
        "scenes",
        "annotate",
        "probes",
        "backends",
        "plan",
        "reader",
        "ahead",
        "identity",
        "jobs",
        "budget",
        "losses",
        "rows",
        "intake",
        "scorer",
    ),
    "bridge": ("cache", "cards", "measurements"),
    "analysis": (
        "metrics",
        "published",
        "coverage",
        "tables",
        "figures",
        "scene_tables",
        "scene_figures",
    ),
    "front": (
        "checkpoints",
        "drift",
        "run_record",
        "actor",
        "engine_ray",
        "target",
        "run",
        "live",
        "cli",
        "__init__",
    ),
}
MAY_USE = {
    "base": {"base"},
    "scoring": {"base", "scoring"},
    "bridge": {"base", "bridge"},
    "analysis": {"base", "analysis"},
    "front": {"base", "scoring", "bridge", "analysis", "front"},
}
RUNS_TORCH = ("backends", "ahead", "budget", "losses", "scorer")
HEAVY = {
    "torch",
    "torchvision",
    "transformers",
    "accelerate",
    "safetensors",
    "mistral_common",
    "ray",
}


def unit(path):
    """First part of a file's place in the package: `metrics` for metrics/support.py."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def side(name):
    found = [key for key, units in SIDES.items() if name in units]
    assert found, f"vca_core/{name} stands in no row of the layering table; give it a side"
    return found[0]


def imports(path):
    """Each imported module with whether it is imported inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            yield node.module, id(node) in inside
            if node.module == "vca_core":
                for alias in node.names:
                    yield f"vca_core.{alias.name}", id(node) in inside


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_imports_only_its_own_side_and_the_base(path):
    own = side(unit(path))
    for module, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "vca_core" and len(parts) > 1 and (PACKAGE / parts[1]).exists():
            assert side(parts[1]) in MAY_USE[own], f"{name_of(path)} imports {module}"
        elif parts[0] == "vca_core" and len(parts) > 1 and (PACKAGE / f"{parts[1]}.py").exists():
            assert side(parts[1]) in MAY_USE[own], f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_scoring_side_flows_one_way(path):
    order = SIDES["scoring"]
    if unit(path) not in order:
        return
    for module, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "vca_core" and len(parts) > 1 and parts[1] in order:
            assert order.index(parts[1]) <= order.index(unit(path)), f"{name_of(path)}: {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_torch_is_imported_where_the_model_runs_alone(path):
    for module, inside_function in imports(path):
        if module.split(".")[0] in HEAVY and unit(path) not in RUNS_TORCH:
            front = unit(path) in ("live", "cli", "actor", "engine_ray")
            assert front and inside_function, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", [p for p in FILES if unit(p) == "metrics"], ids=name_of)
def test_metrics_open_no_file_and_see_no_image(path):
    used = {module.split(".")[0] for module, _ in imports(path)}
    assert not used & {"PIL", "pyarrow", "pathlib", "io", "cv2"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_stays_short(path):
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= 275, "a file does one thing in about 250 lines; split it"


@pytest.mark.parametrize("module", ["vca_core", "vca_core.cli", "vca_core.cache", "vca_core.live"])
def test_import_leaves_torch_unimported(module):
    code = f"import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
