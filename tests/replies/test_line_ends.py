"""Event streams with CRLF and CR as line ends: the same bytes leave wherever they are cut (law 2), on every wire.

Strategy: replies of text, of calls in text and of native calls, spelt with each kind of line end and with two kinds in
turns, through exchanges that drop frames and write others anew. Each is cut everywhere, and byte by byte.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import chatclient
from support.exchanges import in_pieces, of_kind, run
from support.reasonings import reasoning_routes, reasonings
from support.sampling import share, some
from support.spoken import SPOKEN
from support.strategies import cut, decodable, law, tool
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires

TOOLS = (tool("Bash", command="string"),)
INVOKE = '<invoke name="Bash">\n<parameter name="command">ls -l</parameter>\n</invoke>'
HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls -l"}}\n</tool_call>'
TEXTS = {"text": "I look, < says\nno more.", "a call": f"I look.\n\n{INVOKE}", "two": f"{INVOKE}\n{HERMES}\n\nSo."}
ENDS = {
    "CRLF": (b"\r\n",),
    "CR": (b"\r",),
    "LF, CR": (b"\n", b"\r"),
    "CRLF, CR": (b"\r\n", b"\r"),
    "LF, CRLF": (b"\n", b"\r\n"),
}
EVENTS = [name for name, spoken in SPOKEN.items() if spoken.form == "sse"]
KINDS: tuple[Kind, ...] = ("lift", "roundtrip", "lower")


def spelt(body: bytes, ends: Sequence[bytes]) -> bytes:
    """A stream with these line ends in turns."""
    given = cycle(ends)
    *lines, last = plain(body).split(b"\n")
    return b"".join(line + next(given) for line in lines) + last


def plain(body: bytes) -> bytes:
    """A stream with LF as line ends."""
    return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def same_everywhere(made: Callable[[], Exchange], body: bytes) -> bytes:
    """What leaves, which is the same cut around line ends, and byte by byte.

    Each place before and behind one is a cut in one of three runs, and the only one at every fourth.
    """
    whole = run(made(), [body])
    near = sorted({place for at, byte in enumerate(body) if byte in b"\r\n" for place in (at, at + 1)} - {0})
    alone = [[at] for at in share(near, len(body), 8)]
    for cuts in [*(near[first::3] for first in range(3)), *some(alone, 4, body)]:
        pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
        assert run(made(), pieces) == whole, f"cut at {cuts}"
    for size in (1, 7, 64):
        assert run(made(), in_pieces(body, size)) == whole, f"pieces of {size}"
    return whole


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", EVENTS)
def test_a_reply_is_the_same_bytes_wherever_its_line_ends_are_cut(name: str, text: str, ends: Sequence[bytes]) -> None:
    spoken = SPOKEN[name]
    body = spelt(spoken.said([text[at : at + 9] for at in range(0, len(text), 9)]), ends)
    for kind in some(KINDS, 1, f"{name} {text} {ends}"):
        out = same_everywhere(
            lambda kind=kind: of_kind(all_wires()[spoken.wire], TOOLS, Route(), kind, form="sse", dialect="hermes"),
            body,
        )
        if kind == "lift" and len(ends) == 1 and text != TEXTS["text"]:
            assert spoken.heard(plain(out).replace(b"\n", b"\r\n" if spoken.wire == "gemini" else b"\n"))[1][0] == (
                "Bash",
                {"command": "ls -l"},
            )
            assert len(out.split(ends[0] * 3)) == 1, "no blank line is left of a dropped event"


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_native_calls_that_become_text(ends: Sequence[bytes]) -> None:
    call = Call("Bash", '{"command": "ls -l"}')
    native = chatclient.native(call, 0, ['{"command"', ': "ls -l"}'])
    body = chatclient.event(chatclient.chunk(chatclient.HEAD)) + chatclient.event(chatclient.chunk({"content": "a"}))
    body = spelt(body + native + b": a comment\n\n" + chatclient.ending("tool_calls"), ends)
    made = partial(of_kind, all_wires()["openai_chat"], TOOLS, Route(), "lower", form="sse", dialect="hermes")
    out = same_everywhere(made, body)
    assert HERMES in chatclient.received(plain(out).replace(b": a comment\n\n", b"")).choices[0].text


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_a_damaged_call_that_is_mended(ends: Sequence[bytes]) -> None:
    call = Call("Bash", '{"command": "ls -l"}')
    named = {"index": 0, "id": "", "type": "function", "function": {"name": "Bash", "arguments": call.arguments}}
    body = chatclient.event(chatclient.chunk({**chatclient.HEAD, "tool_calls": [named]}))
    body += chatclient.event(
        chatclient.chunk({"tool_calls": [{"index": 0, "function": {"arguments": call.arguments}}]})
    )
    body = spelt(body + chatclient.ending("stop"), ends)
    same_everywhere(partial(of_kind, all_wires()["openai_chat"], TOOLS, Route(), "observe", form="sse"), body)


@law
@given(st.data(), reasonings, reasoning_routes, st.sampled_from(sorted(SPOKEN)), st.booleans(), st.booleans())
def test_reasoning_on_every_wire_is_the_same_however_it_is_cut(
    data: st.DataObject, text: str, route: Route, name: str, crlf: bool, ends: bool
) -> None:
    spoken = SPOKEN[name]
    body = spoken.said(data.draw(cut(decodable(text))))
    body = spelt(body, (b"\r\n",)) if crlf and spoken.form == "sse" else body
    once, again = (of_kind(all_wires()[spoken.wire], TOOLS, route, "lift", form=spoken.form) for _ in "12")
    assert run(once, [body], ends=ends) == run(again, data.draw(cut(body)), ends=ends)
    assert once.verdicts == again.verdicts
