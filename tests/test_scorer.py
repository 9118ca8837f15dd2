"""Continuation losses and batching, on a model whose logits are known."""

import math

import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from vca_core.backends import ToyBackend  # noqa: E402
from vca_core.losses import continuation_loss  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402

CONTEXTS = ["original", "text_only", "blank", "mean_color", "mismatch"]


def scores(probes, backend, picture_dir, **options):
    batches = score_probes(probes, backend, model="m", image_dir=picture_dir, **options)
    return {(s.sample_id, s.context): s for batch in batches for s in batch}


def by_hand(backend, probe, picture_dir, word):
    """Mean loss of a continuation from one forward per token, in float64."""
    from vca_core.contexts import apply_context, open_image

    image = None
    if probe.image is not None:
        image = apply_context(open_image(picture_dir, probe.image), probe.context)
    encoded = backend.encode(probe.text, image)
    total, seen = 0.0, []
    for token in word.encode():
        logits = backend.forward([encoded], [seen])[0][-1].double()
        exps = [math.exp(v) for v in logits.tolist()]
        total -= math.log(exps[token] / sum(exps))
        seen.append(token)
    return total / len(word), total


def test_continuation_loss_matches_closed_forms():
    uniform = torch.zeros(3, 8)
    assert continuation_loss(uniform, [1, 5, 7]) == pytest.approx(math.log(8), abs=1e-6)
    sure = torch.full((1, 8), -50.0)
    sure[0, 2] = 50.0
    assert continuation_loss(sure, [2]) == pytest.approx(0.0, abs=1e-6)
    assert continuation_loss(sure, [3]) == pytest.approx(100.0, abs=1e-4)


@given(st.lists(st.floats(-20, 20), min_size=4, max_size=4), st.floats(-1e3, 1e3))
def test_continuation_loss_does_not_see_a_shift_of_the_logits(values, shift):
    logits = torch.tensor([values], dtype=torch.float64)
    assert continuation_loss(logits + shift, [1]) == pytest.approx(
        continuation_loss(logits, [1]), abs=2e-3
    )


def test_continuation_loss_upcasts_before_the_softmax():
    logits = torch.tensor([[10.0, 9.0, 2.0]]).bfloat16()
    exact = -math.log(math.exp(9) / (math.exp(10) + math.exp(9) + math.exp(2)))
    assert continuation_loss(logits, [1]) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_continuation_loss_refuses_non_finite_logits(bad):
    logits = torch.zeros(1, 4)
    logits[0, 3] = bad
    with pytest.raises(ValueError, match="non-finite"):
        continuation_loss(logits, [0])
    forbidden = torch.zeros(1, 4)
    forbidden[0, 3] = -math.inf
    assert continuation_loss(forbidden, [0]) == pytest.approx(math.log(3), abs=1e-6)
    with pytest.raises(ValueError, match="non-finite"):
        continuation_loss(forbidden, [3])


def test_continuation_loss_refuses_no_tokens_and_other_lengths():
    with pytest.raises(ValueError, match="0 continuation tokens"):
        continuation_loss(torch.zeros(0, 4), [])
    with pytest.raises(ValueError, match="2 rows of logits for 1"):
        continuation_loss(torch.zeros(2, 4), [1])


@pytest.mark.parametrize("interface", ["yes_no", "true_false"])
def test_score_probes_matches_a_token_by_token_reference(toy, picture_dir, make_samples, interface):
    probes = build_probes(make_samples(3), CONTEXTS, interface)
    got = scores(probes, toy, picture_dir)
    yes, no = {"yes_no": (" yes", " no"), "true_false": (" true", " false")}[interface]
    for probe in probes:
        score = got[probe.sample.sample_id, probe.context]
        loss_yes, sum_yes = by_hand(toy, probe, picture_dir, yes)
        loss_no, sum_no = by_hand(toy, probe, picture_dir, no)
        assert score.loss_yes == pytest.approx(loss_yes, abs=1e-5)
        assert score.loss_no == pytest.approx(loss_no, abs=1e-5)
        assert score.margin == score.loss_no - score.loss_yes
        assert score.answer_mass == pytest.approx(math.exp(-sum_yes) + math.exp(-sum_no), rel=1e-4)
        assert (score.n_tokens_yes, score.n_tokens_no) == (len(yes), len(no))


def test_score_probes_margin_is_positive_for_yes(toy, picture_dir, make_samples):
    """A loss is no log-likelihood: the smaller one wins."""

    class SaysYes(ToyBackend):
        def forward(self, batch, tails):
            rows = []
            for tail in tails:
                logits = torch.zeros(len(tail) + 1, 257)
                for position in range(min(len(tail) + 1, 4)):
                    logits[position, b" yes"[position]] = 5.0
                rows.append(logits)
            return rows

    got = scores(build_probes(make_samples(1), ["original"], "yes_no"), SaysYes(), picture_dir)
    assert all(s.margin > 0 and s.loss_yes < s.loss_no for s in got.values())


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_score_probes_does_not_depend_on_batches_or_order(
    toy, picture_dir, make_samples, rng, batch_size
):
    probes = build_probes(make_samples(6), CONTEXTS, "yes_no")
    reference = scores(probes, toy, picture_dir, batch_size=1)
    shuffled = [probes[i] for i in rng.permutation(len(probes))]
    assert scores(shuffled, toy, picture_dir, batch_size=batch_size) == reference


def test_score_probes_shares_forwards_of_equal_probes(toy, picture_dir, make_samples):
    samples = make_samples(1)
    twins = [
        s.model_copy(update={"sample_id": f"{s.sample_id}-{i}"}) for s in samples for i in range(4)
    ]
    got = scores(build_probes(twins, ["original", "blank"], "yes_no"), toy, picture_dir)
    assert len(got) == 16 and len({s.probe_id for s in got.values()}) == 4
    assert toy.n_forwards == 2  # the prefixes, then what follows them
    seen = {}
    for s in got.values():
        assert seen.setdefault(s.probe_id, s.margin) == s.margin


class Broken(ToyBackend):
    """NaN for one text, an exception for another, only when it is in the batch."""

    def forward(self, batch, tails):
        texts = [bytes(i for i in e.ids if i < 256).decode() for e in batch]
        if any("old old" in t.replace("very ", "") for t in texts):
            raise RuntimeError("Image features and image tokens do not match")
        rows = super().forward(batch, tails)
        for row, text in zip(rows, texts, strict=True):
            if "very old book" in text:
                row[0, 7] = math.nan
        return rows


def test_score_probes_turns_bad_rows_into_error_rows_and_goes_on(picture_dir, make_samples):
    probes = build_probes(make_samples(3), ["original", "text_only"], "yes_no")
    got = scores(probes, Broken(), picture_dir, batch_size=6)
    good = scores(probes, ToyBackend(), picture_dir)
    for key, score in got.items():
        if key[0].startswith("s0"):
            assert score == good[key]
        else:
            assert score.status == "error" and score.margin is None and score.loss_yes is None
            assert ("non-finite" if key[0].startswith("s1") else "do not match") in score.error


def test_score_probes_records_unreadable_images_and_overlong_prompts(
    tmp_path, picture_dir, make_samples
):
    for name in ("p0.png", "p1.png"):
        (tmp_path / name).write_bytes((picture_dir / name).read_bytes())
    (tmp_path / "p1.png").write_bytes((tmp_path / "p1.png").read_bytes()[:200])
    probes = build_probes(make_samples(3), ["original", "text_only"], "yes_no")
    longest = max(len(p.text) for p in probes)
    got = scores(probes, ToyBackend(max_length=longest), tmp_path)
    assert len(got) == len(probes)
    assert got["s0-true", "original"].status == "ok"
    assert "cannot be read" in got["s1-true", "original"].error
    assert "missing" in got["s2-true", "original"].error
    assert got["s1-true", "text_only"].status == "ok"
    assert "over the model's" in got["s2-false", "text_only"].error


def test_score_probes_keeps_what_the_sample_says(toy, picture_dir, make_samples):
    sample = make_samples(1)[0]
    (score,) = scores(build_probes([sample], ["text_only"], "yes_no"), toy, None).values()
    for name in ("sample_id", "dataset", "split", "label", "pair_id", "polarity", "relation"):
        assert getattr(score, name) == getattr(sample, name)
    assert score.question == sample.question + " Answer yes or no."
    assert (score.verbalizer_yes, score.verbalizer_no) == (" yes", " no")
    assert score.image_sha256 is None and score.image_width is None
