"""`vca doctor`'s drift between shared and whole prompts, and what a shared prefix saves."""

import math
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="live extra is not installed")

from conftest import FAMILIES  # noqa: E402

from vca_core import budget, drift  # noqa: E402
from vca_core.backends import ToyBackend  # noqa: E402
from vca_core.cli import app  # noqa: E402
from vca_core.contexts import open_image  # noqa: E402
from vca_core.drift import compare_scores, example_probes, measure_drift  # noqa: E402
from vca_core.records import Score  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402


def rows(*margins):
    """Scores with these margins; None is an error row."""
    common = {"model": "m", "dataset": "d", "context": "original", "interface": "yes_no"}
    return {
        (str(n),): Score(sample_id=str(n), margin=m, **common)
        if m is not None
        else Score(sample_id=str(n), status="error", error="torn", **common)
        for n, m in enumerate(margins)
    }


def test_compare_scores_counts_flips_and_takes_a_margin_of_zero_for_yes():
    found = compare_scores(rows(1.0, -0.5, 0.0, -2.0), rows(1.25, 0.5, -0.25, -2.0), "a", "b")
    assert found[:2] == ("a", "b")
    assert (found.n, found.n_failed, found.n_flips) == (4, 0, 2)
    assert (found.largest, found.median, found.flipped_margin) == (1.0, 0.25, 0.5)
    same = compare_scores(rows(0.0, -1.0), rows(0.0, -1.0), "a", "b")
    assert (same.largest, same.n_flips) == (0.0, 0) and math.isnan(same.flipped_margin)


def test_compare_scores_leaves_failed_rows_out_and_counts_them():
    found = compare_scores(rows(1.0, None, 3.0), rows(1.5, 2.0, None), "a", "b")
    assert (found.n, found.n_failed, found.largest, found.n_flips) == (1, 2, 0.5, 0)
    none = compare_scores(rows(None), rows(1.0), "a", "b")
    assert (none.n, none.n_failed) == (0, 1)
    assert math.isnan(none.largest) and math.isnan(none.median)


def test_compare_scores_refuses_other_probes():
    with pytest.raises(ValueError, match="same probes"):
        compare_scores(rows(1.0, 2.0), rows(1.0), "a", "b")


def test_example_probes_are_the_same_at_every_call(tmp_path):
    (tmp_path / "again").mkdir()
    probes, again = example_probes(25, tmp_path), example_probes(36, tmp_path / "again")
    assert probes == again and len(probes) == 36 == len(set(map(str, probes)))
    names = sorted({probe.image for probe in probes} - {None})
    assert len(names) == 3
    pictures = [open_image(tmp_path, name) for name in names]
    assert [p.tobytes() for p in pictures] == [
        open_image(tmp_path / "again", name).tobytes() for name in names
    ]
    assert len({p.size for p in pictures}) == 3
    assert {(p.interface, p.context) for p in probes} == {
        (interface, context)
        for interface in ("yes_no", "true_false")
        for context in ("original", "text_only", "blank")
    }


@pytest.mark.parametrize("n", [0, -1, drift.MOST + 1])
def test_example_probes_refuses_a_number_it_cannot_draw(tmp_path, n):
    with pytest.raises(ValueError, match="must be 1 to 5280"):
        example_probes(n, tmp_path)


def test_measure_drift_is_zero_where_sharing_changes_nothing(toy):
    (found,) = measure_drift(toy, 24)
    assert (found.n, found.n_failed, found.largest, found.n_flips) == (24, 0, 0.0, 0)
    assert (found.scores, found.reference) == ("float32 shared", "float32 exact")


class Short(ToyBackend):
    """Answers in words of one byte."""

    def verbalizer_ids(self, interface):
        return [121], [110]


class Shifted(Short):
    """Sharing makes the negative word likelier: every margin falls by 2 nats."""

    def fingerprint(self):
        return super().fingerprint() | {"dtype": "bfloat16"}

    def extend(self, *given):
        shifted = super().extend(*given)
        for out in shifted:
            out[:, 110] += 2.0
        return shifted


def test_measure_drift_finds_the_shift_of_a_backend_that_shares_wrongly(tmp_path):
    backend, told = Shifted(), []
    shared, wide, exact = measure_drift(backend, 24, Short, told.append)
    assert shared.largest == pytest.approx(2.0, abs=1e-5) == shared.median
    assert [(one.scores, one.reference) for one in (shared, wide, exact)] == [
        ("bfloat16 shared", "bfloat16 exact"),
        ("bfloat16 shared", "float32 exact"),
        ("bfloat16 exact", "float32 exact"),
    ]
    assert exact.largest == 0.0 and wide[2:] == shared[2:]
    probes = example_probes(24, tmp_path)
    whole = score_all(probes, Short(), tmp_path, exact=True)
    flipped = [abs(m) for m in whole if (m >= 0) != (m - 2.0 >= 0)]
    assert 0 < len(flipped) < 24 and shared.n_flips == len(flipped)
    assert shared.flipped_margin == max(flipped)
    assert [re.sub(r"\d+", "N", text) for text in told] == [
        f"scoring N decisions, {name}"
        for name in ("bfloatN shared", "bfloatN exact", "floatN exact")
    ]


def score_all(probes, backend, folder, **options):
    batches = score_probes(probes, backend, model="m", image_dir=folder, **options)
    scored = [score for batch in batches for score in batch]
    assert {score.status for score in scored} == {"ok"}
    return [score.margin for score in scored]


# What `vca doctor` prints


def doctor(*words):
    return CliRunner().invoke(app, ["doctor", *map(str, words)])


@pytest.mark.live
def test_doctor_reports_float32_within_its_bound(miniatures):
    done = doctor(miniatures / "internvl", "--decisions", 12)
    assert re.search(r"float32 shared against float32 exact: .*flip: 0 of 12", done.output)
    assert "within the 1e-04 nats of float32" in done.output
    assert "drift" not in doctor(miniatures / "internvl", "--decisions", 0).output


@pytest.mark.live
def test_doctor_suspects_float32_that_drifts(miniatures, monkeypatch):
    far = drift.Drift("float32 shared", "float32 exact", 24, 0, 2e-4, 1e-6, 0, math.nan)
    monkeypatch.setattr(drift, "measure_drift", lambda *given, **options: [far])
    done = doctor(miniatures / "internvl")
    assert done.exit_code == 1
    assert "over the 1e-04 nats of float32" in done.output
    assert "! Sharing prefixes moves margins by 0.0002 nats" in done.output


@pytest.mark.live
def test_doctor_reports_bfloat16_as_facts(miniatures):
    done = doctor(miniatures / "qwen3_vl", "--dtype", "bfloat16", "--decisions", 12)
    lines = re.findall(
        r"  (\w+ \w+) against (\w+ \w+): .* at most (\S+), median (\S+)", done.output
    )
    assert [line[:2] for line in lines] == [
        ("bfloat16 shared", "bfloat16 exact"),
        ("bfloat16 shared", "float32 exact"),
        ("bfloat16 exact", "float32 exact"),
    ]
    assert all(float(most) >= float(middle) >= 0 for *_, most, middle in lines)
    assert float(lines[2][2]) > 1e-5  # bfloat16 was really run
    assert "Sharing prefixes moves" not in done.output and "nats of float32" not in done.output


@pytest.mark.live
@pytest.mark.parametrize("exact_flips", [0, 3])
def test_doctor_says_what_to_do_where_decisions_flip(miniatures, monkeypatch, exact_flips):
    def found(backend, n, load_float32, say):
        flips = {"flipped_margin": 0.04}
        one = drift.Drift("a", "b", 24, 0, 0.1, 0.02, n_flips=2, **flips)
        return [one, one, one._replace(n_flips=exact_flips)]

    monkeypatch.setattr(drift, "measure_drift", found)
    told = doctor(miniatures / "internvl", "--dtype", "bfloat16").output
    assert "decisions that flip: 2 of 24" in told
    assert "Flipped decisions have margins of at most 0.04 nats." in told
    assert ("--exact does not help: --dtype float32 does" in told) == bool(exact_flips)
    assert ("--exact with another --out" in told) == (not exact_flips)
    assert "! " not in told or "Sharing" not in told


@pytest.mark.live
def test_doctor_leaves_float32_out_where_it_does_not_fit(miniatures, monkeypatch):
    size = 4 * load_numbers(miniatures / "internvl")
    for free, fits in ((size, True), (size - 1, False)):
        own = SimpleNamespace(memory=free)
        monkeypatch.setattr(budget, "Budget", lambda device, own=own: own)
        told = doctor(miniatures / "internvl", "--dtype", "bfloat16", "--decisions", 12).output
        assert ("against float32 exact" in told) is fits
        assert ("float32 is left out" in told) is not fits


def load_numbers(folder):
    from vca_core.backends import load_backend

    return sum(weight.numel() for weight in load_backend(str(folder)).model.parameters())


# What sharing saves: rows fed to the model


@pytest.fixture
def fed(monkeypatch):
    """Count the rows that a backend is fed: prefixes, what continues them, whole prompts."""

    def watch(backend):
        count, running = Counter(), []

        def counting(kind, run):
            def call(first, *others):
                # The toy continues a prefix by running whole prompts.
                if not running:
                    count[kind] += len(others[0] if kind == "extend" else first)
                running.append(kind)
                try:
                    return run(first, *others)
                finally:
                    running.pop()

            return call

        for kind in ("prefix", "extend", "forward"):
            monkeypatch.setattr(backend, kind, counting(kind, getattr(backend, kind)))
        return count

    return watch


WORDS = {
    "one token": ([20], [21]),
    "one begins the other": ([20], [20, 21]),
    "several tokens": ([20, 21, 22], [20, 23]),
    "several tokens, other starts": ([20, 21, 22], [23, 24]),
}


def starts(words):
    """Slow definition: what precedes each word's last token, where no other start continues it."""
    before = {tuple(word[:-1]) for word in words}
    return [a for a in before if not any(a != b and b[: len(a)] == a for b in before)]


@pytest.mark.live
@pytest.mark.parametrize("name", ["toy", "qwen3_vl"])
@pytest.mark.parametrize("kind", WORDS)
def test_words_of_one_token_cost_no_row_and_longer_ones_share_the_prefix_too(
    tmp_path, toy, load_miniature, monkeypatch, fed, name, kind
):
    backend = toy if name == "toy" else load_miniature(name)
    monkeypatch.setattr(backend, "verbalizer_ids", lambda interface: WORDS[kind])
    probes = example_probes(24, tmp_path)
    each = len(starts(WORDS[kind]))
    assert each == (2 if "other starts" in kind else 1)
    count = fed(backend)
    score_all(probes, backend, tmp_path)
    # Two pictures, a blank for each of their sizes, and text only; 24 distinct prompts.
    assert count == {"prefix": 2 + 2 + 1, "extend": 24 * each}
    count.clear()
    score_all(probes, backend, tmp_path, exact=True)
    assert count == {"forward": 24 * each}


@pytest.mark.live
@pytest.mark.parametrize("name", FAMILIES)
def test_the_mini_tokenizers_have_answer_words_of_one_token(load_miniature, name):
    backend = load_miniature(name)
    words = [ids for i in ("yes_no", "true_false") for ids in backend.verbalizer_ids(i)]
    assert list(map(len, words)) == [1] * 4
