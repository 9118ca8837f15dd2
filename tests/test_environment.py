"""The files that describe the environment agree, and the lock can be installed anywhere."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
# PyPI name to conda-forge name; conda-forge's OpenCV brings the headless package's metadata.
CONDA_NAME = {"matplotlib": "matplotlib-base", "opencv-python-headless": "py-opencv"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCKED_EXTRAS = ("book", "lab", "test")
PYTHONS = ("3.11.0", "3.12.0", "3.13.0")


def requirements(*extras):
    lines = PROJECT["dependencies"] + [line for extra in extras for line in EXTRAS[extra]]
    return [Requirement(line) for line in lines]


def locked():
    """Read each entry of the lock: its requirement, and how many hashes it has."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = text.replace("\\\n", " ").splitlines()
    return [(Requirement(e.split(" --hash")[0]), e.count("--hash=sha256:")) for e in entries if e]


def test_environment_yml_equals_pyproject():
    conda = {}
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    for line in (line for line in listed if isinstance(line, str)):
        name, limits = re.fullmatch(r"([A-Za-z0-9_.-]+?)\s*((?:[=<>!~].*)?)", line).groups()
        conda[canonicalize_name(name)] = SpecifierSet(limits)
    wanted = {"python": SpecifierSet(PROJECT["requires-python"]), "pip": SpecifierSet()}
    for requirement in requirements(*LOCKED_EXTRAS):
        name = canonicalize_name(requirement.name)
        wanted[CONDA_NAME.get(name, name)] = requirement.specifier
    assert conda == wanted


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_satisfies_pyproject(python):
    environment = {"python_full_version": python, "python_version": python[:4]}
    versions = {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry, _ in locked()
        if entry.marker is None or entry.marker.evaluate(environment)
    }
    for requirement in requirements(*LOCKED_EXTRAS):
        version = versions.get(canonicalize_name(requirement.name))
        assert version and requirement.specifier.contains(version, prereleases=True), requirement
    # The files of torch, and so their hashes, differ between CPU and CUDA builds.
    live = {canonicalize_name(r.name) for r in map(Requirement, EXTRAS["live"])}
    assert not (live - {"psutil"}) & set(versions)  # Jupyter's kernel needs psutil too


def test_lock_is_hashed_and_names_no_host():
    assert all(n_hashes for _, n_hashes in locked())
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--index|--find-links|--extra-index|@ ", text)


def test_constraints_pin_the_whole_live_and_ray_extras():
    lines = (ROOT / "constraints-live.txt").read_text(encoding="utf-8").splitlines()
    pins = {r.name: r for r in map(Requirement, (x for x in lines if not x.startswith("#")))}
    live = {r.name: r for r in map(Requirement, EXTRAS["live"] + EXTRAS["ray"])}
    assert pins.keys() >= live.keys()
    for name, requirement in live.items():
        assert requirement.specifier.contains(str(pins[name].specifier).removeprefix("==")), name


def test_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert "arXiv:2607.27069" in str(citation["references"])


@pytest.fixture
def setup_env():
    spec = importlib.util.spec_from_file_location("setup_env", ROOT / "tools" / "setup_env.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 14, 0)])
def test_setup_refuses_another_python_with_advice(setup_env, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SystemExit, match="PYTHON="):
        setup_env.check_python()


def test_setup_pins_every_locked_version(setup_env):
    pins = list(map(Requirement, setup_env.locked_versions().splitlines()))
    assert sorted(map(str, pins)) == sorted(str(entry) for entry, _ in locked())


def test_setup_takes_no_unfinished_environment(setup_env, tmp_path):
    assert not setup_env.usable(tmp_path, tmp_path / "bin" / "python")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_alone_lists_the_targets():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    for target in ("book", "test", "check", "lab", "models", "env-live", "sync", "clean"):
        assert f"make {target} " in done.stdout
