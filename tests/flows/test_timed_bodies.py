"""Both bodies of a reply are kept, and what left as it came is kept once."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sampling import examples
from toolcalls.flows import timed_bodies
from toolcalls.flows.timed_bodies import ReplyBodies

PIECES = st.sampled_from((b"", b"data: 1\n\n", b"data: 22\n\n", b": ping\n\n"))
STEPS = st.lists(st.tuples(PIECES, PIECES) | PIECES.map(lambda piece: (piece, piece)), max_size=30)


def fed(steps):
    """The bodies after these steps, each of what came and what left."""
    bodies = ReplyBodies()
    for came, left in steps:
        bodies.add(came, left)
    return bodies


@examples(500)
@given(STEPS)
def test_both_bodies_are_those_that_came_and_left(steps):
    """Bytes, sizes of pieces and the order of times, against two plain lists."""
    bodies = fed(steps)
    left = bodies.client()
    for body, pieces in ((bodies.upstream, [came for came, _ in steps]), (left, [out for _, out in steps])):
        assert body.content() == b"".join(pieces)
        assert body.sizes == [len(piece) for piece in pieces if piece]
        assert len(body.microseconds) == len(body.sizes)
        assert all(0 <= before <= after for before, after in pairwise(body.microseconds))
    assert bodies.differ or left is bodies.upstream


@examples(200)
@given(STEPS)
def test_a_piece_that_left_as_it_came_has_one_time(steps):
    """Where every piece came and left at once, both bodies have the same times, from whichever of them they are."""
    steps = [step for step in steps if all(step)]
    bodies = fed(steps)
    assert bodies.client().microseconds == bodies.upstream.microseconds


def test_what_left_as_it_came_is_kept_once():
    """A reply whose first event waits for the second one, as Chat Completions' does."""
    first, second, piece = b"data: {}\n\n", b"data: {1}\n\n", b"data: " + b"x" * 200 + b"\n\n"
    bodies = fed([(first, b""), (second, first + second), *[(piece, piece)] * 1000])
    assert bodies.client().content() == bodies.upstream.content()
    assert bodies._own.size == len(first + second)
    assert len(bodies._ends) == 8


@pytest.mark.parametrize("limit", ["MAX_KEPT", "MAX_PIECES"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_body_that_grows_too_large_is_not_kept(monkeypatch, limit, is_shared):
    """Neither its bytes nor its times; of the other side's body all that belongs to it."""
    monkeypatch.setattr(timed_bodies, limit, 20)
    bodies = fed([(b"a", b"b")])
    for number in range(30):
        piece = b"%d" % (number % 10)
        bodies.add(piece if is_shared else b"", piece)
    left = bodies.client()
    assert left.content() is None
    assert not left.sizes
    assert not left.microseconds
    assert bodies.upstream.content() == (None if is_shared else b"a")
    assert not is_shared or bodies.upstream.size == 0


def test_a_client_that_is_given_little_of_a_large_body_has_it():
    """Nothing left as it came, so the client's body does without the upstream's."""
    bodies = fed([(b"x" * timed_bodies.MAX_KEPT, b"short"), (b"x", b"")])
    bodies.add(b"", b"")
    assert bodies.upstream.content() is None
    assert bodies.client().content() == b"short"


@pytest.mark.parametrize("begins_shared", [True, False])
def test_what_left_stays_as_it_is(begins_shared):
    """For a page that is drawn in a thread while the reply goes on."""
    bodies = fed([(b"0", b"0" if begins_shared else b"x"), (b"one", b"two")])
    left = bodies.client()
    content, sizes = left.content(), left.sizes
    bodies.add(b"one", b"three")
    bodies.add(b"four", b"four")
    assert (left.content(), left.sizes) == (content, sizes)


@given(STEPS)
def test_a_reply_of_many_runs_has_its_bodies_apart(steps):
    """So that what left need not be put together from hundreds of thousands of runs. Nothing else is different."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timed_bodies, "_MOST_NUMBERS", 8)
        apart = fed(steps)
    plain = fed(steps)
    for one, other in ((apart.upstream, plain.upstream), (apart.client(), plain.client())):
        assert (one.content(), one.sizes) == (other.content(), other.sizes)
    assert len(apart._ends) <= 8


def test_a_copy_stays_as_it_is():
    """Of the upstream's body, for a page that is drawn while the reply goes on."""
    bodies = fed([(b"one", b"one")])
    copy = bodies.upstream.copy()
    bodies.add(b"two", b"two")
    assert (copy.content(), copy.sizes) == (b"one", [3])
    assert bodies.upstream.content() == b"onetwo"
