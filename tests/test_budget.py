"""What a forward may hold: measured, kept to, and halved where memory runs out."""

import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from vca_core.backends import ToyBackend  # noqa: E402
from vca_core.budget import FAST, Budget, is_out_of_memory  # noqa: E402
from vca_core.probes import build_probes  # noqa: E402
from vca_core.scorer import score_probes  # noqa: E402


def test_tokens_are_what_is_fast_until_memory_is_short():
    budget = Budget("cpu", memory=1_000_000)
    assert budget.tokens("whole") == FAST["cpu"]
    budget.per_token["whole"] = 1000.0
    assert budget.tokens("whole") == 1000
    assert budget.tokens("prefix") == FAST["cpu"]


def test_forward_measures_what_a_token_takes():
    budget = Budget("cpu")
    with budget.forward("whole", 1000):
        taken = np.ones(25_000_000)  # 200 MB
        taken += 1
    assert 150_000 < budget.per_token["whole"] < 400_000
    with budget.forward("whole", 500):  # smaller ones tell less
        pass
    assert budget.per_token["whole"] > 150_000
    del taken


def test_running_out_of_memory_halves_what_may_be_held():
    budget = Budget("cpu")
    for tokens, left in ((1000, 500), (500, 250), (1, 1)):
        with pytest.raises(MemoryError, match="out of memory"):
            with budget.forward("whole", tokens):
                raise torch.OutOfMemoryError("CUDA out of memory")
        assert budget.tokens("whole") == left
    assert budget.tokens("suffix") == FAST["cpu"]


def test_other_errors_pass_as_they_are():
    budget = Budget("cpu")
    with pytest.raises(RuntimeError, match="shapes"):
        with budget.forward("whole", 10):
            raise RuntimeError("shapes do not fit")
    assert budget.tokens("whole") == FAST["cpu"]


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried"), True),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
            True,
        ),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"), True),
        (MemoryError(), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_is_out_of_memory_knows_the_words(error, is_it):
    assert is_out_of_memory(error) is is_it


def test_one_byte_of_memory_gives_the_same_scores(picture_dir, make_samples):
    probes = build_probes(make_samples(6), ["original", "text_only", "blank"], "yes_no")
    found = []
    for memory in (None, 1):
        batches = score_probes(probes, ToyBackend(), model="m", image_dir=picture_dir,
                               memory=memory)  # fmt: skip
        found.append({(s.sample_id, s.context): s.margin for rows in batches for s in rows})
    assert found[0] == found[1] and len(found[0]) == 36


def test_memory_that_never_suffices_is_an_error_row_and_the_run_goes_on(picture_dir, make_samples):
    class Small(ToyBackend):
        def forward(self, batch, tails):
            if batch[0].images:
                raise MemoryError("not enough memory")
            return super().forward(batch, tails)

        def prefix(self, batch):
            if batch[0].images:
                raise MemoryError("not enough memory")
            return super().prefix(batch)

    probes = build_probes(make_samples(3), ["original", "text_only"], "yes_no")
    rows = [s for b in score_probes(probes, Small(), model="m", image_dir=picture_dir) for s in b]
    assert len(rows) == 12
    for row in rows:
        assert (row.status == "ok") == (row.context == "text_only")
        assert row.status == "ok" or "not enough memory" in row.error


def test_halving_holds_nothing_of_the_forward_that_failed(picture_dir, make_samples):
    held = []

    class Cache:
        pass

    class Short(ToyBackend):
        def prefix(self, batch):
            assert all(ref() is None for ref in held)
            cache = Cache()
            held.append(weakref.ref(cache))
            raise torch.OutOfMemoryError("CUDA out of memory")

        def forward(self, batch, tails):
            assert all(ref() is None for ref in held)
            cache = Cache()
            held.append(weakref.ref(cache))
            if len(batch) > 2:  # the rows of one prompt: its two words
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().forward(batch, tails)

    probes = build_probes(make_samples(4), ["original"], "yes_no")
    for exact in (False, True):
        batches = score_probes(probes, Short(), model="m", image_dir=picture_dir, exact=exact)
        assert {s.error for rows in batches for s in rows} == {None}
    assert len(held) > 8


def test_a_device_that_is_lost_ends_the_run(picture_dir, make_samples):
    class Lost(ToyBackend):
        def prefix(self, batch):
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

    probes = build_probes(make_samples(2), ["original"], "yes_no")
    with pytest.raises(torch.AcceleratorError):
        list(score_probes(probes, Lost(), model="m", image_dir=picture_dir))
