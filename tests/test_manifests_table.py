import csv
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vca_core.manifests import table_manifest
from vca_core.records import SchemaError

HEADER = "id,image,statement,label\n"


@pytest.fixture
def table(tmp_path):
    def write(content, name="mine.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def jsonl(*rows):
    return "".join(row + "\n" if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)


ROW = {"image": "a.jpg", "question": "Is it red?", "label": "yes"}


def refusals(path, **options):
    refused = []
    samples = table_manifest(path, refused=refused, **options)
    return samples, [(r.line, r.row, r.reason) for r in refused]


def test_table_manifest_reads_every_column(table):
    path = table(
        "id,image,question,statement,label,pair_id,polarity,relation,subject,object,"
        "subject_box,object_box\n"
        '007,a/b.jpg,"Is it, the cup, left?",The cup is left.,YES,p1,True,left,cup,book,'
        '"1,2,3.5,4","[5, 6, 7, 8]"\n'
        "8,a/b.jpg,Is it right?,The cup is right.,0,p1,,right,cup,book,,\n"
    )
    first, second = table_manifest(path, dataset="own")
    assert first.model_dump(exclude_none=True) == {
        "sample_id": "007",
        "dataset": "own",
        "split": "test",
        "image": "a/b.jpg",
        "question": "Is it, the cup, left?",
        "statement": "The cup is left.",
        "label": "yes",
        "wording": "canonical",
        "pair_id": "p1",
        "polarity": "true",
        "relation": "left",
        "subject": "cup",
        "object": "book",
        "subject_box": (1.0, 2.0, 3.5, 4.0),
        "object_box": (5.0, 6.0, 7.0, 8.0),
    }
    assert (second.label, second.polarity, second.subject_box) == ("no", "false", None)


def test_table_manifest_makes_ids_and_names_from_the_file(table):
    path = table(
        "image,statement,label\na.jpg,The cup is red,1\n\nb.jpg,The cup is red,0\n", "my t.csv"
    )
    first, second = table_manifest(path)
    assert (first.sample_id, second.sample_id) == ("my_t-0001", "my_t-0002")
    assert first.dataset == "my_t"
    assert first.question == "Is the cup red?"
    assert first.statement == "The cup is red."


def test_table_manifest_keeps_a_question_and_leaves_the_statement_out(table):
    (sample,) = table_manifest(table("image,question,label\na.jpg,Red? Answer Yes or No.,no\n"))
    assert (sample.question, sample.statement) == ("Red?", None)


@pytest.mark.parametrize(
    ("text", "label"),
    [(t, "yes") for t in ("yes", "YES", "True", "1", " yes ")]
    + [(t, "no") for t in ("No", "false", "FALSE", "0")],
)
def test_table_manifest_label_words(table, text, label):
    (sample,) = table_manifest(table(f"image,question,label\na.jpg,Red?,{text}\n"))
    assert sample.label == label


@pytest.mark.parametrize(
    ("value", "label"), [(True, "yes"), (False, "no"), (1, "yes"), (0, "no"), ("Yes", "yes")]
)
def test_table_manifest_label_values_in_json(table, value, label):
    (sample,) = table_manifest(table(jsonl(ROW | {"label": value}), "m.jsonl"))
    assert sample.label == label


@pytest.mark.parametrize("value", [None, 2, 1.0, float("nan"), "", "maybe", "nan", [], {}, "y"])
def test_table_manifest_refuses_other_labels(table, value):
    path = table(jsonl(ROW, ROW | {"label": value}), "m.jsonl")
    with pytest.raises(SchemaError, match=r"m\.jsonl, line 2 \(row 2\): `label`"):
        table_manifest(path)


def test_table_manifest_reads_what_spreadsheets_write(table):
    path = table(
        b'\xef\xbb\xbfid, image , question,label\r\n007,a.jpg, "Is it\r\nred, now?",Yes\r\n'
    )
    (sample,) = table_manifest(path)
    assert (sample.sample_id, sample.image) == ("007", "a.jpg")
    assert sample.question == "Is it\nred, now?"


def test_table_manifest_names_the_line_a_row_begins_on(table):
    path = table(
        "id,image,question,label\n"  # line 1
        '1,a.jpg,"one\ntwo\nthree?",yes\n'  # lines 2 to 4
        "\n"
        '2,a.jpg,"one\ntwo?",perhaps\n'  # lines 6 and 7
        "3,a.jpg,Red?,yes,extra\n"
        "4,a.jpg,Red?\n"
        "5,,Red?,yes\n"
        "6,a.jpg,,yes\n"
        "1,a.jpg,Red?,yes\n"
        ",a.jpg,Red?,yes\n"
        ",,,\n"
        "7,../a.jpg,Red?,no\n"
        "8,a.jpg,Red?,NaN\n"
    )
    samples, refused = refusals(path)
    assert [s.sample_id for s in samples] == ["1"]
    assert [(line, row) for line, row, _ in refused] == [
        (6, 2), (8, 3), (9, 4), (10, 5), (11, 6), (12, 7), (13, 8), (14, 9), (15, 10), (16, 11)
    ]  # fmt: skip
    reasons = [reason for *_, reason in refused]
    assert "got 'perhaps'" in reasons[0]
    assert "4 cells like the header, got 5" in reasons[1]
    assert "got 3" in reasons[2]
    assert reasons[3] == "`image` is missing"
    assert "`question` and `statement` are missing" in reasons[4]
    assert reasons[5] == "`id` must be unique, got '1' also on line 2"
    assert reasons[6] == "`id` is missing"
    assert reasons[7] == "`image` is missing"
    assert "'..'" in reasons[8]
    assert reasons[9] == "`label` is missing"
    with pytest.raises(SchemaError, match="10 rows refused") as caught:
        table_manifest(path)
    assert len(str(caught.value).splitlines()) == 11


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{torn", "not JSON"),
        ("3", "JSON object, got int"),
        ('{"image": "a.jpg", "label": "no", "label": "yes", "question": "Red?"}', "stands twice"),
        (ROW | {"question": 7}, "`question`: Input should be a valid string, got 7"),
        (ROW | {"image": 7}, "`image`: "),
        (ROW | {"relation": 7}, "`relation`: "),
        (ROW | {"pair_id": 1.5}, "`pair_id`: "),
        (ROW | {"statement": "Is it red?"}, "`statement` must state"),
        (ROW | {"question": "Answer yes or no."}, "`question`: "),
        (ROW | {"polarity": "maybe"}, "`polarity` must be true or false"),
        (ROW | {"polarity": "false"}, "contradicts `label` yes"),
        (ROW | {"subject_box": "1,2,3"}, "`subject_box"),
        (ROW | {"subject_box": "1,2,0,4"}, "both sizes above 0"),
        (ROW | {"subject_box": "a,b,c,d"}, "`subject_box` must be x,y,width,height"),
        (ROW | {"subject_box": [1, 2, 3, 4, True]}, "`subject_box` must be x,y,width,height"),
        (ROW | {"object_box": [1, 2, float("nan"), 4]}, "`object_box`: "),
        (ROW | {"object_box": 5}, "`object_box` must be"),
        (ROW | {"pair_id": "p"}, "got 1 true for pair_id 'p'"),
    ],
)
def test_table_manifest_gives_the_reason_of_a_refused_row(table, row, reason):
    samples, refused = refusals(table(jsonl(ROW, row), "m.jsonl"))
    assert len(samples) == 1
    ((line, number, got),) = refused
    assert (line, number) == (2, 2)
    assert reason in got


def test_table_manifest_takes_whole_numbers_as_ids(table):
    (sample,) = table_manifest(table(jsonl(ROW | {"id": 12}), "m.jsonl"))
    assert sample.sample_id == "12"


def test_table_manifest_refuses_the_partner_of_a_refused_row(table):
    path = table(
        "id,image,question,label,pair_id\n"
        "a,i.jpg,A?,yes,p\nb,i.jpg,B?,perhaps,p\nc,i.jpg,C?,yes,q\nd,i.jpg,D?,no,q\n"
    )
    samples, refused = refusals(path)
    assert [s.sample_id for s in samples] == ["c", "d"]
    assert [row for _, row, _ in refused] == [1, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file"),
        ("\n\n", "empty file"),
        (HEADER, "at least one good row, got none"),
        ("image,label\na.jpg,yes\n", "line 1: missing column `question` or `statement`"),
        ("question\nRed?\n", "missing column `image`, `label`"),
        ("image,question,lable\n", "unknown column 'lable'. Did you mean `label`?"),
        ("image,question,Label\n", "Did you mean `label`?"),
        ("image,question,label,source\n", "unknown column 'source'"),
        ("image,question,label,label\n", "column 'label' stands twice"),
        (",image,question,label\n", "no.* for column 1 .*index=False"),
        ("image;question;label\n", "separated by commas"),
        (
            HEADER + '1,a.jpg,"The cup is red,yes\n2,a.jpg,x,no\n',
            "line 2: the row that begins here",
        ),
        (HEADER.encode() + b"1,a.jpg,caf\xe9,yes\n", "line 2: text must be UTF-8, got byte 0xe9"),
        ("image,question,label\n".encode("utf-16"), "line 1: text must be UTF-8"),
    ],
)
def test_table_manifest_refuses_a_file_it_cannot_read(table, content, message):
    refused = []
    with pytest.raises(SchemaError, match=message.replace("?", r"\?")):
        table_manifest(table(content), refused=refused)


def test_table_manifest_refuses_an_unknown_key(table):
    path = table(jsonl(ROW, ROW | {"sentence": "x"}), "m.jsonl")
    with pytest.raises(SchemaError, match=r"m\.jsonl, line 2: unknown column 'sentence'"):
        table_manifest(path, refused=[])


def test_table_manifest_refuses_other_file_names_and_data_set_names(table):
    with pytest.raises(SchemaError, match="must be named .csv or .jsonl"):
        table_manifest(table("", "m.xlsx"))
    path = table("image,question,label\na.jpg,Red?,1\n")
    for name in ("", "../up", "a/b", ".hidden"):
        with pytest.raises(SchemaError, match="`dataset` must be"):
            table_manifest(path, dataset=name)
    with pytest.raises(FileNotFoundError):
        table_manifest("absent.csv")


def test_table_manifest_checks_the_image_folder(table, tmp_path):
    path = table(
        HEADER + "1,in.jpg,The cup is red.,1\n2,absent.jpg,The cup is red.,1\n"
        "3,out.jpg,The cup is red.,1\n"
    )
    assert len(table_manifest(path)) == 3
    root = tmp_path / "images"
    root.mkdir()
    (root / "in.jpg").touch()
    (root / "out.jpg").symlink_to(path)
    samples, refused = refusals(path, images=root)
    assert [s.sample_id for s in samples] == ["1"]
    assert [row for _, row, _ in refused] == [2, 3]
    with pytest.raises(SchemaError, match="line 4 .*a link out of it"):
        table_manifest(path, images=root)
    (root / "out.jpg").unlink()
    with pytest.raises(SchemaError, match="got 2 missing of 3:\n  absent.jpg"):
        table_manifest(path, images=root)


words = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n"), min_size=1
).map(str.strip)
cells = words.filter(lambda text: text and text.lower() != "nan")


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(cells, cells, cells, st.booleans()), min_size=1, unique_by=lambda r: r[0]
    )
)
def test_table_manifest_round_trip_of_any_text(rows):
    with tempfile.TemporaryDirectory() as folder:
        as_csv, as_jsonl = Path(folder, "t.csv"), Path(folder, "t.jsonl")
        with as_csv.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "image", "question", "relation", "label"])
            writer.writerows([i, "a.jpg", q, r, "yes" if y else "no"] for i, q, r, y in rows)
        keys = ("id", "question", "relation", "label")
        records = (dict(zip(keys, row, strict=True)) | {"image": "a.jpg"} for row in rows)
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        as_jsonl.write_text("\n".join(lines), encoding="utf-8")
        samples = table_manifest(as_csv)
        assert samples == table_manifest(as_jsonl)
    got = [(s.sample_id, s.question, s.relation, s.label == "yes") for s in samples]
    assert got == rows
