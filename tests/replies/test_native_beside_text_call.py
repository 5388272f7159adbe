"""Pieces of a native call between those of a call in text: the verdicts are the same however the stream is cut (law 2).

A whole frame with nothing but a piece of an argument takes a short way; a frame that is cut takes the long one. Whether
a call in text repeats a native one depends on what the reader knew of that when its pieces came.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chatclient import HEAD, chunk, event
from support.exchanges import of_kind
from support.sampling import examples
from toolcalls.request import Tool
from toolcalls.route import Route
from toolcalls.wires import all_wires

TOOLS = (Tool("Bash", {"properties": {"command": {"type": "string"}}}),)
OPENER = '<invoke name="Bash">\n<parameter name="command">'
CLOSERS = "</parameter>\n</invoke>\n"
START = {"index": 0, "id": "n0", "type": "function"}


def native(arguments, *, starts=False):
    """A frame with a piece of the native call."""
    function = {"arguments": arguments}
    entry = {**START, "function": {"name": "Bash", **function}} if starts else {"index": 0, "function": function}
    return event(chunk({"tool_calls": [entry]}))


def said(text):
    """A frame with a piece of text."""
    return event(chunk({"content": text}))


def stream(between):
    """A native call that begins, a call in text with `between` inside its argument, and a call in text of its own that
    says what the native one does.
    """
    return [
        event(chunk(HEAD)),
        said("a b "),
        said("c d\n"),
        native('{"command": "ls', starts=True),
        said(OPENER),
        said("pw"),
        *between,
        said(CLOSERS),
        said(f"{OPENER}ls{CLOSERS}"),
        event(chunk({}, "tool_calls")),
        b"data: [DONE]\n\n",
    ]


def read(pieces):
    """The bytes that leave, and the verdicts."""
    exchange = of_kind(all_wires()["openai_chat"], TOOLS, Route(client="native", upstream="text"), "lift", form="sse")
    out = b"".join([exchange.feed(piece) for piece in pieces]) + exchange.close()
    assert exchange.failure is None
    return out, exchange.verdicts


def assert_same_however_cut(frames):
    """Frame by frame, each in two, and all at once."""
    as_frames = read(frames)
    assert read([part for frame in frames for part in (frame[:20], frame[20:])]) == as_frames
    assert read([b"".join(frames)]) == as_frames


@pytest.mark.parametrize("behind", ["", "x", " ", '{"command": "ls"}'])
def test_a_native_call_that_closes_inside_a_call_in_text(behind):
    """What comes behind its object takes nothing back: the reader knew the call by then."""
    frames = stream([native('"}'), said("dd"), said("ee"), *([native(behind)] if behind else [])])
    assert_same_however_cut(frames)
    assert [verdict.status for _, verdict in read(frames)[1]][:2] == ["lifted", "declined"]


@examples(150)
@given(
    st.lists(
        st.sampled_from(('"}', "x", "{}", "a", '{"command": "ls"}', ", ")).map(native)
        | st.sampled_from(("dd", "e e", "<", "\n", CLOSERS, OPENER)).map(said),
        max_size=8,
    )
)
def test_any_pieces_of_both(between):
    """In any order."""
    assert_same_however_cut(stream(between))
