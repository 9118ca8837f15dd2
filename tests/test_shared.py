"""Prompts that share a prefix score as whole prompts do, in every family, and run it once."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from conftest import FAMILIES  # noqa: E402

from vca_core.backends import ToyBackend  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402

CONTEXTS = ["original", "text_only", "blank", "mean_color", "mismatch"]


def scores(probes, backend, picture_dir, **options):
    batches = score_probes(probes, backend, model="m", image_dir=picture_dir, **options)
    return {(s.sample_id, s.context, s.interface): s for batch in batches for s in batch}


def both_interfaces(samples):
    return [p for i in ("yes_no", "true_false") for p in build_probes(samples, CONTEXTS, i)]


@pytest.mark.live
@pytest.mark.parametrize("family", FAMILIES)
def test_shared_margins_equal_exact_ones(load_miniature, picture_dir, make_samples, family):
    backend, probes = load_miniature(family), both_interfaces(make_samples(5))
    shared = scores(probes, backend, picture_dir)
    exact = scores(probes, backend, picture_dir, exact=True)
    assert set(shared) == set(exact) and len(shared) == len(probes)
    for key, row in shared.items():
        assert row.status == exact[key].status == "ok"
        assert row.margin == pytest.approx(exact[key].margin, abs=1e-5)
        assert row.answer_mass == pytest.approx(exact[key].answer_mass, rel=1e-4)
        assert (row.margin >= 0) == (exact[key].margin >= 0) or abs(row.margin) < 1e-5
        assert row.probe_id != exact[key].probe_id  # the path can move a score


@pytest.mark.live
@pytest.mark.parametrize("family", FAMILIES)
def test_continuations_of_several_tokens_share_the_prefix_too(
    load_miniature, picture_dir, make_samples, monkeypatch, family
):
    backend, probes = load_miniature(family), both_interfaces(make_samples(2))
    words = ([20, 21, 22], [20, 23])  # plain characters; both begin alike, and differ in length
    monkeypatch.setattr(backend, "verbalizer_ids", lambda interface: words)
    shared = scores(probes, backend, picture_dir)
    exact = scores(probes, backend, picture_dir, exact=True)
    for key, row in shared.items():
        assert row.loss_yes == pytest.approx(exact[key].loss_yes, abs=1e-5)
        assert row.loss_no == pytest.approx(exact[key].loss_no, abs=1e-5)


class Counted(ToyBackend):
    """Counts what is encoded and what is run."""

    def __init__(self):
        super().__init__()
        self.encoded, self.prefixes = Counter(), 0

    def encode(self, text, image):
        self.encoded[None if image is None else (image.size, image.tobytes()[:30])] += 1
        return super().encode(text, image)

    def prefix(self, batch):
        self.prefixes += len(batch)
        return super().prefix(batch)


def test_each_picture_is_encoded_once_and_its_prefix_runs_once(picture_dir, make_samples):
    backend = Counted()
    probes = both_interfaces(make_samples(5))
    found = scores(probes, backend, picture_dir)
    assert len(found) == len(probes) == 100
    # Five originals, which are the mismatches too, five mean colours, and a blank for each size.
    sizes = 5
    images = {key: n for key, n in backend.encoded.items() if key is not None}
    assert set(images.values()) == {1} and len(images) == 5 + 5 + sizes
    assert backend.prefixes == len(images) + 1  # and one for text only


def test_memory_that_runs_out_halves_the_rows_and_loses_nothing(picture_dir, make_samples):
    class Small(ToyBackend):
        most = 0

        def extend(self, prefix, owners, rows, asked):
            if len(rows) > 2:
                raise torch.OutOfMemoryError("CUDA out of memory")
            self.most = max(self.most, len(rows))
            return super().extend(prefix, owners, rows, asked)

    small, probes = Small(), both_interfaces(make_samples(4))
    found = scores(probes, small, picture_dir)
    exact = scores(probes, ToyBackend(), picture_dir, exact=True)
    assert {k: s.margin for k, s in found.items()} == {k: s.margin for k, s in exact.items()}
    assert 1 <= small.most <= 2


def test_a_row_that_is_no_number_is_scored_again_alone(picture_dir, make_samples):
    class Torn(ToyBackend):
        def extend(self, prefix, owners, rows, asked):
            out = super().extend(prefix, owners, rows, asked)
            if len(out) > 1:
                out[0][:] = torch.nan
            return out

    probes = both_interfaces(make_samples(3))
    found = scores(probes, Torn(), picture_dir)
    exact = scores(probes, ToyBackend(), picture_dir, exact=True)
    assert {k: s.margin for k, s in found.items()} == {k: s.margin for k, s in exact.items()}


@pytest.mark.parametrize("workers", [1, 2])
def test_worker_processes_give_the_same_rows(toy, picture_dir, make_samples, workers):
    probes = both_interfaces(make_samples(5))
    alone = scores(probes, toy, picture_dir)
    ahead = scores(probes, toy, picture_dir, workers=workers)
    assert {k: s.model_dump() for k, s in alone.items()} == {
        k: s.model_dump() for k, s in ahead.items()
    }


@pytest.mark.live
@pytest.mark.parametrize("family", FAMILIES)
def test_a_question_that_names_a_picture_is_an_error_row(
    load_miniature, picture_dir, make_samples, family
):
    backend = load_miniature(family)
    samples = make_samples(2)
    marked = f"Is {backend.image_mark} red?"
    samples[1] = samples[1].model_copy(update={"question": marked})
    probes = build_probes(samples, ["original", "text_only"], "yes_no")
    for exact in (False, True):
        found = scores(probes, backend, picture_dir, exact=exact)
        assert len(found) == len(probes) == 8
        for row in found.values():
            assert (row.status == "error") == row.question.startswith(marked)
            assert row.status == "ok" or "stands for a picture" in row.error
