"""Questions about one picture stand in one row: who stands where, and who sees whom."""

import pytest

torch = pytest.importorskip("torch", reason="live extra is not installed")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from vca_core.backends import prefix  # noqa: E402
from vca_core.backends.prefix import PACK, lay_out, pack_rows, rows_of  # noqa: E402
from vca_core.plan import shared_length, unextended  # noqa: E402

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(1, 9), min_size=1, max_size=6)),
    min_size=1,
    max_size=12,
)


@settings(deadline=None)
@given(ROWS)
def test_pack_rows_puts_each_row_into_one_pack_of_its_owner(rows):
    owners, lengths = [owner for owner, _ in rows], [40 * len(fed) for _, fed in rows]
    packs = pack_rows(owners, lengths)
    assert sorted(row for pack in packs for row in pack.rows) == list(range(len(rows)))
    for pack in packs:
        assert all(owners[row] == pack.owner for row in pack.rows)
        assert len(pack.rows) == 1 or sum(lengths[row] for row in pack.rows) <= PACK


def test_pack_rows_longer_than_a_pack_stand_alone():
    packs = pack_rows([0, 0, 0], [10, PACK + 1, 10])
    assert [pack.rows for pack in packs] == [[0], [1], [2]]


@settings(deadline=None)
@given(ROWS)
def test_lay_out_lets_a_token_see_its_own_row_up_to_itself(rows):
    fed = [tokens for _, tokens in rows]
    packs = pack_rows([owner for owner, _ in rows], [len(tokens) for tokens in fed])
    ids, places, sees, ends = lay_out(packs, fed, pad=0)
    owner_of = {}  # from pack and place to the row that stands there, and which of its tokens
    for row, tokens in enumerate(fed):
        pack, end = ends[row]
        assert row in packs[pack].rows
        for place, token in enumerate(tokens):
            at = end - len(tokens) + place
            assert ids[pack, at] == token and places[pack, at] == place
            owner_of[pack, at] = row, place
    for pack in range(len(packs)):
        for seer in range(ids.shape[1]):
            for seen in range(ids.shape[1]):
                a, b = owner_of.get((pack, seer)), owner_of.get((pack, seen))
                expected = bool(a and b and a[0] == b[0] and b[1] <= a[1])
                assert bool(sees[pack, seer, seen]) == expected
    assert len(owner_of) == sum(map(len, fed))


def test_rows_of_a_cache_leave_it_as_it_is():
    cache = prefix.DynamicCache()
    states = torch.arange(24.0).reshape(3, 1, 4, 2)
    cache.update(states, states + 100, 0)
    same, alone, picked = (rows_of(cache, owners) for owners in ([0, 1, 2], [1, 1], [2, 0]))
    assert same.layers[0].keys.data_ptr() == cache.layers[0].keys.data_ptr()
    assert alone.layers[0].keys.tolist() == states[[1, 1]].tolist()
    assert picked.layers[0].values.tolist() == (states[[2, 0]] + 100).tolist()
    picked.update(torch.zeros(2, 1, 1, 2), torch.zeros(2, 1, 1, 2), 0)
    same.update(torch.zeros(3, 1, 1, 2), torch.zeros(3, 1, 1, 2), 0)
    assert cache.layers[0].keys.tolist() == states.tolist()


def test_caches_that_forget_are_refused():
    from transformers.cache_utils import DynamicSlidingWindowLayer

    cache = prefix.DynamicCache()
    cache.layers = [DynamicSlidingWindowLayer(sliding_window=4)]
    with pytest.raises(prefix.BackendError, match="SlidingWindow.* cannot be shared"):
        prefix.check_growable(cache)


TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@given(st.lists(TOKENS, min_size=1, max_size=5))
def test_shared_length_leaves_a_token_of_each(prompts):
    n = shared_length(prompts)
    assert all(prompt[:n] == prompts[0][:n] for prompt in prompts)
    assert n < min(map(len, prompts))
    if n + 1 < min(map(len, prompts)):
        assert len({prompt[n] for prompt in prompts}) > 1


@given(st.lists(TOKENS, min_size=1, max_size=5))
def test_unextended_tails_answer_for_all(tails):
    kept = unextended(tails)
    assert len(set(kept)) == len(kept)
    for tail in tails:
        assert sum(own[: len(tail)] == tuple(tail) for own in kept) >= 1
    for own in kept:
        assert not any(other != own and other[: len(own)] == own for other in kept)
