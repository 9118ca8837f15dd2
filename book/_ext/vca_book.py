"""Sphinx extension: run the book's notebooks with papermill and show the executed copies.

Listed in _config.yml, so that `jupyter-book build .` needs no step before it. A notebook runs
again when its code, its parameters, the package, the lock or the scores it reads changed, and only
then. Parameters come from `vca_params` in _config.yml and from the environment variable
VCA_PARAMS, which holds a JSON object such as '{"n_resamples": 200}'.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from vca_banner import banner_for
from vca_cut import cut, is_cut
from vca_parameters import read_override, resolve, scores_root

log = logging.getLogger(__name__)
UNKNOWN = ["myst.xref_missing", "ref.ref", "ref.numref", "mystnb.glue"]
"""Warnings of names that nothing defines."""


class Run(NamedTuple):
    """One notebook of the book, with the parameters it is given."""

    doc: str
    path: Path
    out: Path
    params: dict
    key: str

    @property
    def stamp(self) -> Path:
        """File that holds the key of the last good run."""
        return self.out.with_suffix(".key")

    @property
    def current(self) -> bool:
        """Whether the executed copy is what this run would make."""
        if self.params.get("source") == "live":  # the cache decides what is scored again
            return False
        return self.out.exists() and self.stamp.exists() and self.stamp.read_text() == self.key


def digest_files(root: Path, patterns: list[str]) -> str:
    """Digest of names and contents of the files under `root` that match."""
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def plan(app: Sphinx) -> list[Run]:
    """Find what there is to run, and with what."""
    root, executed = Path(app.srcdir), Path(app.outdir).parent / "executed"
    paths = {
        p.relative_to(root).with_suffix("").as_posix(): p
        for p in sorted(root.glob("notebooks/*.ipynb"))
    }
    resolved = resolve(paths, app.config.vca_params, read_override())
    inputs = digest_files(root, app.config.vca_inputs)
    runs = []
    for doc, path in paths.items():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = [[cell["cell_type"], cell["metadata"], cell["source"]] for cell in cells]
        scores = scores_root(root, path, resolved[doc])
        parts = [sources, resolved[doc], inputs, digest_files(scores, ["**/*"]) if scores else ""]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        runs.append(Run(doc, path, executed / f"{doc}.ipynb", resolved[doc], key))
    return runs


def fault(notebook: dict) -> str | None:
    """Say why an executed notebook isn't complete. papermill lets an early `sys.exit(0)` pass."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                trace = "\n".join(output["traceback"]).splitlines()[-40:]
                return "\n".join([*trace, f"in the cell\n{''.join(cell['source'])}"])
    for cell in code:
        if "".join(cell["source"]).strip() and cell["execution_count"] is None:
            return f"this cell did not run:\n{''.join(cell['source'])}"
    return None


def execute(app: Sphinx, run: Run) -> None:
    """Run one notebook; stamp it only when every cell ran."""
    run.out.parent.mkdir(parents=True, exist_ok=True)
    run.stamp.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "papermill",
        str(run.path),
        str(run.out),
        "--cwd",
        str(run.path.parent),
    ]
    command += [
        "--kernel",
        "python3",
        "--no-progress-bar",
        "--execution-timeout",
        str(app.config.vca_timeout),
    ]
    command += ["-y", json.dumps(run.params)]
    environment = {
        **os.environ,
        # This checkout's package, even when another one is installed with pip -e.
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(app.srcdir), os.environ.get("PYTHONPATH")])
        ),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not one in the home folder
        # Not whatever is exported: under Agg a page would have no figure.
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # Notebooks run side by side; each with all threads would stand in the others' way.
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // app.config.vca_jobs)),
    }
    run.out.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    ran = json.loads(run.out.read_text(encoding="utf-8")) if run.out.exists() else {"cells": []}
    if "scores_dir" in run.params and cut(ran):
        run.out.write_text(json.dumps(ran), encoding="utf-8")
        run.stamp.write_text(run.key)
        log.info("papermill: %s done, as far as there are scores for it", run.doc)
        return
    reason = fault(ran) or (done.stderr[-4000:] if done.returncode else None)
    if reason:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", reason)
        raise ExtensionError(f"{run.doc} failed; what ran of it is in {run.out}\n{plain}")
    run.stamp.write_text(run.key)
    log.info("papermill: %s done", run.doc)


def run_all(app: Sphinx) -> None:
    """Run every notebook that isn't current."""
    app.vca_runs = {run.doc: run for run in plan(app)}
    todo = [run for run in app.vca_runs.values() if not run.current]
    if todo:
        log.info("papermill: running %d of %d notebooks", len(todo), len(app.vca_runs))
        # Long pages first, so that none is left to run alone at the end.
        todo.sort(key=lambda run: run.path.stat().st_size, reverse=True)
        with ThreadPoolExecutor(max_workers=app.config.vca_jobs) as pool:
            list(pool.map(lambda run: execute(app, run), todo))
    if any(is_cut(run.out) for run in app.vca_runs.values()):
        # What other pages and the text before the cut say of what is no longer there.
        app.config.suppress_warnings += UNKNOWN


def outdated(app: Sphinx, env, added, changed, removed) -> list[str]:
    """Name the pages to read again, with every page that glues a value from another one."""
    old = getattr(env, "vca_keys", {})
    env.vca_keys = {doc: run.key for doc, run in app.vca_runs.items()}
    moved = {
        doc
        for doc, run in app.vca_runs.items()
        if old.get(doc) != run.key or run.params.get("source") == "live"
    }
    if moved and old:
        moved |= {
            d for d in env.all_docs if "glue" in Path(env.doc2path(d)).read_text(encoding="utf-8")
        }
    return sorted(moved & set(env.found_docs))


def swap(app: Sphinx, docname: str, source: list[str]) -> None:
    """Hand Sphinx the executed notebook instead of its source."""
    if docname not in app.vca_runs:
        return
    run = app.vca_runs[docname]
    notebook = json.loads(run.out.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if "injected-parameters" in cell["metadata"].get("tags", []):
            # A page names the folder it was made from, and not where it lies on someone's disk.
            shown = {
                k: Path(v).name if isinstance(v, str) and Path(v).is_absolute() else v
                for k, v in run.params.items()
            }
            cell["source"] = "# given for this book\n" + "\n".join(
                f"{k} = {v!r}" for k, v in shown.items()
            )
    source[0] = json.dumps(notebook)


def set_banner(app: Sphinx, config) -> None:
    """Say whose scores these are before Sphinx decides which pages are out of date."""
    root = Path(app.srcdir)
    config.vca_banner = banner_for(root, config.vca_params.get("*", {}) | read_override())


def show_banner(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Put the banner at the top of every page."""
    if app.config.vca_banner and "body" in context:
        context["body"] = app.config.vca_banner + context["body"]


def forget_failed(app: Sphinx, exception: Exception | None) -> None:
    """Let a page that warned be read again: else the next build, reading nothing, would pass."""
    strict = app.warningiserror or app.keep_going  # Sphinx clears the first for the second
    if strict and app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    package = ["vca_core/**/*.py", "vca_core/**/*.json", "requirements.lock"]
    shown = ["models/*/training.json", "cached_scores/edits/geometry.csv"]  # by page 07
    measured = ["benchmarks/results/*"]  # by page 09
    app.add_config_value("vca_inputs", package + shown + measured, "")
    app.add_config_value("vca_params", {}, "")
    app.add_config_value("vca_jobs", 2, "")
    app.add_config_value("vca_timeout", 600, "")
    app.add_config_value("vca_banner", "", "html")
    app.connect("config-inited", set_banner)
    app.connect("builder-inited", run_all)
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", swap)
    app.connect("html-page-context", show_banner)
    app.connect("build-finished", forget_failed)
    return {
        "version": "1",
        "parallel_read_safe": False,
        "parallel_write_safe": True,
        "env_version": 1,
    }
