"""Annotation sheets: what goes out is blind, what comes back is checked, agreement is right."""

import base64
import io
import json
import re
import shutil
import subprocess
import tomllib
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from vca_core.annotate import (
    CRITERIA,
    edits_from_samples,
    export_sheets,
    import_sheets,
)
from vca_core.annotate.files import DECISIONS_FORMAT
from vca_core.annotate.page import MAX_SIDE, picture_uris
from vca_core.records import Sample, SchemaError

ROOT = Path(__file__).resolve().parents[1]
ROLES = ("source_queried", "source_inverse", "edited_queried", "edited_inverse")
NASTY = 'cup <script>alert("x")</script> & {{ $n }}'


def edit_samples(number, subject="red cup"):
    name, true, inverse = f"secret-{number:02d}", "to the left of", "to the right of"
    words = {
        "source_queried": ("first", true, "yes"),
        "source_inverse": ("first", inverse, "no"),
        "edited_queried": ("second", true, "no"),
        "edited_inverse": ("second", inverse, "yes"),
        "subject_present": ("second", None, "yes"),
        "object_present": ("second", None, "yes"),
    }
    return [
        Sample(
            sample_id=f"{name}-{role}",
            dataset="edits",
            image=f"{picture}-{number}.png",
            question="Is it so?",
            statement=f"The {subject} is {phrase or 'in front of'} the book.",
            label=label,
            relation="left",
            subject=subject,
            object="book",
            edit_id=name,
            probe_role=role,
        )
        for role, (picture, phrase, label) in words.items()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of eight edits; each file says in its comment what it is."""
    path = tmp_path_factory.mktemp("edits")
    generator = np.random.default_rng(3)
    for number in range(8):
        for name in ("first", "second"):
            pixels = generator.integers(0, 256, (24, 32, 3), dtype=np.uint8)
            picture = Image.fromarray(pixels)
            picture.save(path / f"{name}-{number}.png", format="JPEG", comment=b"secret")
    return path


@pytest.fixture(scope="module")
def edits():
    subjects = [NASTY] + ["red cup"] * 7
    return edits_from_samples(s for n, word in enumerate(subjects) for s in edit_samples(n, word))


@pytest.fixture(scope="module")
def audit(folder, edits, tmp_path_factory):
    """Key, and pages of three annotators."""
    out = tmp_path_factory.mktemp("audit")
    key = export_sheets(edits, folder, out, repeats=0.25, rng=np.random.default_rng(1))
    pages = [(out / "sheets" / f"sheet-{n}.html").read_text("utf-8") for n in (1, 2, 3)]
    return key, pages


@pytest.fixture
def save(audit, tmp_path):
    """Write an annotator's decisions file; `change` may alter its content."""
    key = json.loads(audit[0].read_text())

    def write(annotator, answer="yes", change=None, name=None):
        sheet = key["sheets"][annotator - 1]
        decisions = [{"item": i["item"]} | dict.fromkeys(CRITERIA, answer) for i in sheet["items"]]
        content = {
            "format": DECISIONS_FORMAT,
            "sheet": sheet["sheet"],
            "saved": "2026-07-19T12:00:00.000Z",
            "decisions": decisions,
        }
        if change:
            change(content)
        path = tmp_path / (name or f"decisions-{annotator}.json")
        path.write_text(json.dumps(content))
        return path

    return write


# Edits


def test_edits_from_samples_keeps_order_and_both_statements(edits):
    assert [e.edit_id for e in edits] == [f"secret-{n:02d}" for n in range(8)]
    edit = edits[1]
    assert (edit.source, edit.edited) == ("first-1.png", "second-1.png")
    assert (edit.subject, edit.object) == ("red cup", "book")
    assert edit.statement == "The red cup is to the left of the book."
    assert edit.inverse == "The red cup is to the right of the book."


@pytest.mark.parametrize(
    ("at", "changes", "message"),
    [
        (0, {"edit_id": None}, "needs an `edit_id`, got none in sample_id 'secret-00-source_q"),
        (0, {"probe_role": "other"}, "one sample a `probe_role`.*got other, .*'secret-00'"),
        (5, {"probe_role": "subject_present"}, "one sample a `probe_role`"),
        (2, {"label": "yes"}, "`label` of edited_queried must be 'no', got 'yes'"),
        (3, {"image": "first-0.png"}, "`image` must be one and the same"),
        (1, {"statement": "So."}, "`statement` must be one and the same.*'So.'"),
        (0, {"subject": None}, "`subject` must be named"),
    ],
)
def test_edits_from_samples_refuses_what_fits_no_edit(at, changes, message):
    samples = edit_samples(0)
    samples[at] = samples[at].model_copy(update=changes)
    with pytest.raises(SchemaError, match=message):
        edits_from_samples(samples)


def test_edits_from_samples_refuses_no_samples():
    with pytest.raises(SchemaError, match="at least one edit"):
        edits_from_samples([])


# Sheets


def test_export_sheets_says_nothing_of_edit_role_or_file(audit):
    for page in audit[1]:
        plain = re.sub(r"base64,[^\"]+", "", page)
        for uri in re.findall(r'src="([^"]+)"', page):  # what a picture file says of itself
            assert b"secret" not in base64.b64decode(uri.split(",")[1])
        for word in ("secret", *ROLES, "subject_present", "object_present", ".png", "showing"):
            assert word not in plain


def test_export_sheets_loads_nothing_from_outside(audit):
    for page in audit[1]:
        sources = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert sources and all(source.startswith("data:image/") for source in sources)
        assert "http:" not in page and "https:" not in page and "@import" not in page
        assert "default-src 'none'" in page


def test_export_sheets_escapes_text(audit):
    page = audit[1][0]
    assert "<script>alert" not in page
    assert "cup &lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; {{ $n }}" in page


def test_export_sheets_repeats_a_quarter_of_a_sheet_later(audit):
    key = json.loads(audit[0].read_text())
    orders, ids = [], []
    for sheet in key["sheets"]:
        edit_ids = [item["edit_id"] for item in sheet["items"]]
        again = [i for i, item in enumerate(sheet["items"]) if item["showing"] == 2]
        assert len(again) == 2 and len(edit_ids) == 10 and len(set(edit_ids)) == 8
        assert all(i - edit_ids.index(edit_ids[i]) >= 3 for i in again)
        orders.append(edit_ids)
        ids += [item["item"] for item in sheet["items"]]
    assert len(set(ids)) == 30 and all(re.fullmatch("[0-9a-f]{12}", item) for item in ids)
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_export_sheets_shows_the_items_of_the_key_in_order(audit):
    key = json.loads(audit[0].read_text())
    for sheet, page in zip(key["sheets"], audit[1], strict=True):
        assert re.findall(r'data-item="(\w+)"', page) == [i["item"] for i in sheet["items"]]
        assert f'data-sheet="{sheet["sheet"]}"' in page


def test_export_sheets_follows_the_seed(folder, edits, tmp_path):
    def export(name, seed):
        export_sheets(edits, folder, tmp_path / name, rng=np.random.default_rng(seed))
        files = sorted((tmp_path / name).rglob("*.*"))
        return [path.read_bytes() for path in files]

    assert export("a", 1) == export("b", 1)
    assert all(x != y for x, y in zip(export("c", 2), export("a2", 1), strict=True))


def test_export_sheets_shows_both_pictures_unswapped(folder, edits, tmp_path):
    export_sheets(edits[1:2], folder, tmp_path, repeats=0, rng=np.random.default_rng(1))
    page = (tmp_path / "sheets" / "sheet-1.html").read_text("utf-8")
    expected = picture_uris(*(Image.open(folder / f"{n}-1.png") for n in ("first", "second")))
    assert re.findall(r'<img src="([^"]+)" alt="([^"]+)"', page) == list(
        zip(expected, ("First picture", "Second picture"), strict=True)
    )


@pytest.mark.parametrize("repeats", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_export_sheets_works_for_few_edits(folder, edits, tmp_path, n, repeats):
    rng = np.random.default_rng(1)
    path = export_sheets(edits[:n], folder, tmp_path, annotators=1, repeats=repeats, rng=rng)
    (sheet,) = json.loads(path.read_text())["sheets"]
    expected = max(1, round(repeats * n)) if repeats else 0
    assert sum(i["showing"] == 2 for i in sheet["items"]) == expected
    seen = {}
    for place, item in enumerate(sheet["items"]):
        assert item["showing"] == 1 + (item["edit_id"] in seen)
        seen[item["edit_id"]] = place


def test_export_sheets_keeps_an_earlier_key(folder, edits, audit):
    before = audit[0].read_bytes()
    with pytest.raises(SchemaError, match="is there already"):
        export_sheets(edits, folder, audit[0].parent, rng=np.random.default_rng(9))
    assert audit[0].read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"annotators": 0}, "`annotators` must be at least 1, got 0"),
        ({"repeats": 0.6}, "`repeats` must be a share from 0 to 0.5, got 0.6"),
        ({"repeats": float("nan")}, "`repeats` must be a share"),
    ],
)
def test_export_sheets_refuses_numbers_out_of_range(folder, edits, tmp_path, options, message):
    with pytest.raises(SchemaError, match=message):
        export_sheets(edits, folder, tmp_path, rng=np.random.default_rng(1), **options)


def test_export_sheets_names_doubled_edit_and_missing_picture(folder, edits, tmp_path):
    rng = np.random.default_rng(1)
    with pytest.raises(SchemaError, match="'secret-01' twice"):
        export_sheets([*edits, edits[1]], folder, tmp_path, rng=rng)
    lost = edits[0]._replace(edited="gone.png")
    with pytest.raises(SchemaError, match="edit_id 'secret-00': image 'gone.png' is missing"):
        export_sheets([lost], folder, tmp_path, rng=rng)
    assert not list(tmp_path.iterdir())


def test_picture_uris_scale_down_alone_and_share_an_encoding():
    noise = np.random.default_rng(1).integers(0, 256, (300, 900, 3), dtype=np.uint8)
    large, small = Image.fromarray(noise), Image.new("RGB", (20, 10), "red")
    decoded = [_decode(uri) for uri in picture_uris(large, small)]
    assert [image.size for image in decoded] == [(MAX_SIDE, 128), (20, 10)]
    assert [image.format for image in decoded] == ["JPEG", "JPEG"]
    assert [_decode(uri).format for uri in picture_uris(small, small)] == ["PNG", "PNG"]


def _decode(uri):
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))


def test_page_files_are_in_the_package():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    globs = config["tool"]["setuptools"]["package-data"]["vca_core"]
    packed = {path for glob in globs for path in (ROOT / "vca_core").glob(glob)}
    folder = ROOT / "vca_core" / "annotate"
    assert {folder / f"page.{kind}" for kind in ("html", "css", "js")} <= packed


# Decisions


def test_import_sheets_reads_all_answers(audit, save, rng):
    report = import_sheets(audit[0], [save(n) for n in (1, 2, 3)], n_resamples=50, rng=rng)
    assert len(report.decisions) == 3 * 10 * 4
    assert (report.consensus["outcome"] == "accepted").all() and len(report.consensus) == 8
    values = report.agreement.set_index("metric")
    assert (values.loc["pairwise_agreement", "value"] == 1).all()
    assert (values.loc["repeat_agreement", "n"] == 2).all()
    # every answer the same: chance agreement is 1, and kappa 0/0
    kappa = values.loc["fleiss_kappa"]
    assert kappa["value"].isna().all() and (kappa["n"] == 8).all()
    assert (kappa["n_undefined"] == 50).all()


def _double(content):
    content["decisions"].append(content["decisions"][0])


def _drop(content):
    del content["decisions"][0]


def _blank(content):
    content["decisions"][3]["objects_visible"] = None


def _rename(content):
    content["decisions"][0]["item"] = "other"


def _set(**changes):
    return lambda content: content.update(changes)


def _misspell(content):
    content["decisions"][0]["original_valid"] = "Yes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_double, r"decision 1: item '\w+' stands twice"),
        (_drop, "got none to 4 of 40, first original_valid"),
        (_blank, r"got none to 1 of 40, first objects_visible of item '\w+'"),
        (_rename, r"has no item 'other' \(1 unknown\)"),
        (_set(sheet="0123-1"), r"`sheet` must be one of this key \(\w{16}\), got '0123-1'"),
        (_set(format="vca-annotation-decisions/2"), "`format`.*got 'vca-annotation-decisions/2'"),
        (_set(extra=1), "`extra`"),
        (_misspell, "`decisions.0.original_valid`.*got 'Yes'"),
    ],
)
def test_import_sheets_refuses_a_faulty_file_by_name(audit, save, rng, change, message):
    files = [save(1, change=change), save(2), save(3)]
    with pytest.raises(SchemaError, match=f"decisions-1.json.*{message}"):
        import_sheets(audit[0], files, rng=rng)


def test_import_sheets_refuses_an_annotator_twice_and_a_sheet_not_back(audit, save, rng):
    files = [save(1), save(2), save(3)]
    with pytest.raises(SchemaError, match="each annotator counts once.*decisions-1.json"):
        import_sheets(audit[0], [*files, save(1, name="again.json")], rng=rng)
    with pytest.raises(SchemaError, match="got none of sheets/sheet-3.html"):
        import_sheets(audit[0], files[:2], rng=rng)
    with pytest.raises(SchemaError, match="Every sheet"):
        import_sheets(audit[0], [], incomplete=True, rng=rng)


def test_import_sheets_refuses_a_sheet_of_other_pictures(audit, folder, edits, save, rng, tmp_path):
    other = [e._replace(edited="second-0.png") for e in edits]
    key = export_sheets(other, folder, tmp_path / "o", repeats=0.25, rng=np.random.default_rng(1))
    with pytest.raises(SchemaError, match="must be one of this key"):
        import_sheets(key, [save(1)], rng=rng)


def test_import_sheets_names_a_file_cut_short_or_not_there(audit, save, rng, tmp_path):
    path = save(1)
    path.write_text(path.read_text()[:50])
    with pytest.raises(SchemaError, match="decisions-1.json: not JSON"):
        import_sheets(audit[0], [path], rng=rng)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(SchemaError, match="decisions-1.json: not JSON"):
        import_sheets(audit[0], [path], rng=rng)
    with pytest.raises(FileNotFoundError, match="absent.json"):
        import_sheets(audit[0], [tmp_path / "absent.json"], rng=rng)


def test_import_sheets_incomplete_leaves_open_what_is_open(audit, save, rng):
    report = import_sheets(
        audit[0], [save(1), save(2, change=_drop)], incomplete=True, n_resamples=20, rng=rng
    )
    edits = report.consensus.set_index("edit_id")
    key = json.loads(audit[0].read_text())
    lost = key["sheets"][1]["items"][0]["edit_id"]
    assert edits.loc[lost, "outcome"] == "undecided" and pd.isna(edits.loc[lost, "accepted"])
    assert edits.loc[lost, "original_valid_n"] == 1
    # two of three yes decide, whatever the third will say
    assert (edits.drop(index=lost)["outcome"] == "accepted").all()
    pair = report.agreement[report.agreement["annotators"] == "1 and 2"]
    assert (pair["n"] == 7).all() and (pair["value"] == 1).all()


def test_import_sheets_one_sheet_has_no_agreement_with_others(audit, save, rng):
    report = import_sheets(audit[0], [save(1)], incomplete=True, n_resamples=20, rng=rng)
    assert (report.consensus["outcome"] == "undecided").all()
    others = report.agreement[report.agreement["annotators"] == "all"]
    assert len(others) == 8 and others["value"].isna().all() and others["low"].isna().all()


# The page at work

DRIVE = """<script>
const say2 = (name, value) => { const pre = document.createElement("pre"); pre.id = name;
  pre.textContent = value; document.body.append(pre); };
const press = (key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true }));
// Files are read at once: a browser that prints its page and ends waits for no disk.
const texts = [];
window.Blob = class extends Blob {
  constructor(parts, options) { super(parts, options); texts.push(parts.join("")); }
};
URL.createObjectURL = () => "#";
HTMLAnchorElement.prototype.click = () => {};
const choose = async (text) => {
  const given = new DataTransfer();
  given.items.add(new File([text], "mine.json"));
  File.prototype.text = () => Promise.resolve(text);
  const input = document.getElementById("load");
  input.files = given.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  for (let i = 0; i < 20; i++) await null;
};
const message = () => document.getElementById("message").textContent;
(async () => {
  say2("start", document.getElementById("count").textContent);
  for (let i = 0; i < document.querySelectorAll("article").length; i++) {
    "yyn".split("").forEach(press);
    document.activeElement.closest("fieldset").querySelector("[value=unsure]").click();
    press("Enter");
  }
  say2("end", document.getElementById("count").textContent);
  say2("shown", document.querySelectorAll("article:not([hidden])").length);
  say2("stored", Object.values(localStorage).join());
  document.getElementById("save").click();
  const saved = texts[0];
  say2("saved", saved);
  window.confirm = () => true;
  await choose(saved.replace(document.body.dataset.sheet, "another"));
  say2("other", message());
  await choose(saved.replace('"yes"', '"no"'));
  say2("loaded", message());
  document.getElementById("save").click();
  say2("again", texts[1]);
})();
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_page_answers_by_key_and_click_saves_loads_and_comes_back(audit, save, rng, tmp_path):
    page = tmp_path / "driven.html"
    page.write_text(audit[1][0].replace("</body>", DRIVE), encoding="utf-8")
    quiet = "--disable-background-networking --disable-component-update --disable-sync"
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        + quiet.split()
        + ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"]
        + ["--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = dict(re.findall(r'<pre id="(\w+)">(.*?)</pre>', done.stdout, re.DOTALL))
    said = {name: unescape(text) for name, text in said.items()}
    assert said["start"] == "0 of 10 answered" and said["end"] == "10 of 10 answered"
    assert said["shown"] == "1"
    answers = dict(zip(CRITERIA, ("yes", "yes", "no", "unsure"), strict=True))
    saved = json.loads(said["saved"])
    assert all({k: d[k] for k in CRITERIA} == answers for d in saved["decisions"])
    assert json.loads(said["stored"])["decisions"] == saved["decisions"]
    assert said["other"] == "mine.json was not loaded: it belongs to another sheet."
    assert said["loaded"] == "Loaded mine.json: 10 of 10 items answered."
    again = json.loads(said["again"])["decisions"]
    assert again[0]["original_valid"] == "no" and again[1:] == saved["decisions"][1:]
    path = tmp_path / "from_page.json"
    path.write_text(said["saved"])
    report = import_sheets(audit[0], [path, save(2), save(3)], n_resamples=20, rng=rng)
    first = report.decisions.query("annotator == 1").set_index("criterion")["answer"]
    assert {name: set(first[name]) for name in CRITERIA} == {k: {v} for k, v in answers.items()}
