"""The book builds strictly, loads nothing from outside, and follows the scores it is given."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vca_core.records import SCORE_SCHEMA, Score

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".*", "_build", "*.egg-info", "__pycache__", "*.safetensors", "live_scores")
QUICK = {"n_resamples": 20, "ridges": [1.0]}
LOADS = re.compile(
    r'<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["\']((?:https?:)?//[^"\']+)', re.I
)
PAGE = "notebooks/01_support_audit.html"
PAGES = [f"notebooks/{path.stem}.html" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
NO_FIGURES = ["notebooks/08_coverage_of_the_paper.html"]

pytestmark = pytest.mark.slow


def build(source, params=QUICK):
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    return subprocess.run(
        [*command, str(source), "-n", "-W", "--keep-going"],
        env={**os.environ, "VCA_PARAMS": json.dumps(params)},
        capture_output=True,
        text=True,
    )


def vca_book(source, scores, out):
    code = "import typer; from vca_core.cli.book import book; typer.run(book)"
    environment = {"PYTHONPATH": str(source), "VCA_PARAMS": json.dumps(QUICK)}
    return subprocess.run(
        [sys.executable, "-c", code, "--scores", str(scores), "--out", str(out)],
        cwd=source,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def article(html, page):
    """Text of a page's article, without tags."""
    body = (html / page).read_text(encoding="utf-8")
    found = re.search(r"<article.*?</article>", body, flags=re.S)
    return re.sub(r"<[^>]+>", " ", found[0])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    source = tmp_path_factory.mktemp("book") / "a clone"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    done = build(source)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return source


@pytest.fixture
def clone(built, tmp_path):
    """Copy of the built clone, for a test to change."""
    return Path(shutil.copytree(built, tmp_path / "clone"))


def scores_file(root):
    return sorted((root / "cached_scores").glob("*/yes_no/*.parquet"))[0]


def invented_scores(root, model, sign):
    """Eight statements whose image decides for `sign`: margins for a test alone."""
    rows = []
    for i in range(8):
        for context, margin in (
            ("original", sign * (i - 2.5)),
            ("text_only", 0.5),
            ("blank", -0.5),
        ):
            fields = {"dataset": "mine", "sample_id": f"s{i}", "interface": "yes_no"}
            fields |= {"label": "yes" if i % 2 else "no", "margin": margin, "model": model}
            rows.append(Score(context=context, **fields).model_dump())
    path = root / "mine" / "yes_no" / "model.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCORE_SCHEMA), path)


def test_pages_load_nothing_from_outside(built):
    pages = list((built / "_build" / "html").rglob("*.html"))
    loaded = {
        (page.name, match[1])
        for page in pages
        for match in LOADS.finditer(page.read_text(encoding="utf-8"))
        if 'rel="canonical"' not in match[0]
    }
    assert len(pages) > 5 and not loaded


def test_pages_hold_numbers_and_no_traceback(built):
    html = built / "_build" / "html"
    for page in html.rglob("*.html"):
        assert "Traceback (most recent call last)" not in page.read_text(encoding="utf-8"), page
    for page in PAGES[1:7]:
        assert "All identities hold" in article(html, page), page
        assert "Not in these scores" not in article(html, page), page
    assert re.search(
        r"Table \d+\s+holds\s+8\s+runs", article(html, "notebooks/00_published_results.html")
    )


def test_every_figure_is_captioned_and_numbered(built):
    for page in (page for page in PAGES if page not in NO_FIGURES):
        body = (built / "_build" / "html" / page).read_text(encoding="utf-8")
        figures = re.findall(r"<figure.*?</figure>", body, flags=re.S)
        assert len(figures) == len(re.findall(r"_images/[0-9a-f]{64}", body)) > 0
        assert all("caption-number" in figure and 'alt="' in figure for figure in figures)


def test_second_build_runs_nothing(clone):
    done = build(clone)
    assert done.returncode == 0
    assert "papermill: running" not in done.stdout + done.stderr


def test_changed_score_changes_the_page(clone):
    html = clone / "_build" / "html"
    before = article(html, PAGE)
    path = scores_file(clone)
    rows = pq.read_table(path).to_pylist()
    for row in rows:  # turn each sample's decision round
        if row["context"] == "original" and row["status"] == "ok":
            row["loss_yes"], row["loss_no"] = row["loss_no"], row["loss_yes"]
            row["margin"] = -row["margin"]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCORE_SCHEMA), path)
    done = build(clone)
    assert done.returncode == 0, done.stderr[-3000:]
    assert article(html, PAGE) != before


def test_failing_notebook_fails_the_build_every_time(clone):
    path = clone / "notebooks" / "01_support_audit.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("raise RuntimeError('no such luck')"))
    nbformat.write(notebook, path)
    for _ in range(2):
        done = build(clone)
        assert done.returncode != 0
        assert "01_support_audit failed" in done.stderr and "no such luck" in done.stderr


def test_early_exit_of_a_notebook_fails_the_build(clone):
    path = clone / "notebooks" / "01_support_audit.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(-2, nbformat.v4.new_code_cell("import sys\nsys.exit(0)"))
    nbformat.write(notebook, path)
    assert build(clone).returncode != 0


def test_broken_reference_fails_the_build_every_time(clone):
    with (clone / "book" / "intro.md").open("a", encoding="utf-8") as page:
        page.write("\nSee {numref}`fig-nowhere`.\n")
    assert [build(clone).returncode != 0 for _ in range(2)] == [True, True]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_boot": 20}, "n_boot"),
        ({"n_resamples": "20"}, "must be int"),
        ({"models": "mini"}, "must be list"),
        ({"limit": True}, "must be int"),
    ],
)
def test_parameter_that_no_notebook_takes_fails_the_build(clone, params, said):
    done = build(clone, params)
    assert done.returncode != 0
    assert said in done.stderr + done.stdout


def test_book_for_own_scores_says_whose_they_are(clone, tmp_path):
    own = clone / "_build" / "html" / PAGE
    before = own.read_bytes()
    scores, out = tmp_path / "R&D <scores>", clone / "my_book"
    invented_scores(scores, "theirs|<i>7B</i>", sign=1)
    done = vca_book(clone, scores, out)
    assert done.returncode == 0, done.stderr[-3000:]
    html = out / "_build" / "html"
    assert str(html / "book" / "intro.html") in done.stdout
    for page in ("book/intro.html", "book/glossary.html", PAGE):
        body = (html / page).read_text(encoding="utf-8")
        assert "R&amp;D &lt;scores&gt;" in body and "theirs|&lt;i&gt;7B&lt;/i&gt;" in body
        assert str(tmp_path) not in body and "<i>7B" not in body
    assert "theirs|" in article(html, PAGE).replace("&lt;", "<")
    # One model on single statements: no pairs, no factorial, no edits, nobody to filter for. Page
    # 06 says section by section what it lacks, and goes on.
    assert "All identities hold" in article(html, PAGES[6])
    for page in PAGES[2:6]:
        text = article(html, page)
        assert "Not in these scores" in text and "xception" not in text, page
    assert "factorial" in article(html, "notebooks/03_factorial.html")
    assert own.read_bytes() == before

    shutil.rmtree(scores)
    invented_scores(scores, "others", sign=-1)
    first = article(html, PAGE)
    assert vca_book(clone, scores, out).returncode == 0
    assert "others" in article(html, PAGE) and article(html, PAGE) != first
    assert "theirs" not in (html / "book/intro.html").read_text(encoding="utf-8")


def test_book_for_own_scores_fails_with_a_reason(clone, tmp_path):
    missing = vca_book(clone, tmp_path / "nowhere", tmp_path / "out")
    assert missing.returncode == 1 and "No scores folder" in missing.stderr
    (tmp_path / "empty").mkdir()
    empty = vca_book(clone, tmp_path / "empty", tmp_path / "out")
    assert empty.returncode == 1 and "parquet" in empty.stderr
    broken = tmp_path / "broken" / "mine" / "yes_no"
    broken.mkdir(parents=True)
    (broken / "model.parquet").write_bytes(b"not parquet")
    torn = vca_book(clone, tmp_path / "broken", tmp_path / "out")
    assert torn.returncode == 1 and "model.parquet" in torn.stderr
