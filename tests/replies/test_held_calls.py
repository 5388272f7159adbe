"""Calls in text that wait for processors: the short way of their pieces does what the long way does.

Strategy: texts that are nearly calls, and calls of all dialects among them, on every wire, cut anywhere, to native and
text clients, with processors that hold calls to their end, to an argument, or not at all. The same frames go through an
exchange in which each frame is decoded and each piece takes the long way; frame by frame the same bytes leave both.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chatclient import HEAD, chunk, ending, event, stream
from support.exchanges import of_kind, outcome
from support.sampling import examples
from support.spoken import SPOKEN
from support.strategies import DIALECTS, TOOLS, cut, decodable, replies
from toolcalls.processors import Chain, Drop, Edit, Keep, Processors, Say
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.evidence import Kind
from toolcalls.route import Access, AccessRule, Condition, Filter, Loops, Reactor, Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.wires.envelope import Envelope
from toolcalls.writing.writer import write

PATHS = Access((AccessRule("words", "block", arguments=(Condition("*", matches="word|ls"),)),))
REACTS = (Reactor("none.py", "react"),)
HOLDING: dict[str, dict[str, Any]] = {
    "a rule for arguments": {"access": PATHS},
    "a rule for one argument": {
        "access": Access((AccessRule("never", "block", arguments=(Condition("text", matches="never"),)),))
    },
    "a rule for a name": {"access": Access((AccessRule("save", "block", tools=("Save",)),))},
    "a rule for a name that permits": {"access": Access((AccessRule("bash", "allow", tools=("Bash",)),))},
    "loops": {"loops": Loops(same_call=2)},
    "loops that act": {"loops": Loops(action="replace", same_call=2)},
    "filters": {"filters": (Filter("word", literal="letters", replace="signs", calls=True),)},
    "reactors": {"reactors": REACTS},
    "rules, reactors": {"access": PATHS, "reactors": REACTS},
    "a small room": {"access": PATHS, "max_frame_bytes": 3_000},
}
WAITS = HOLDING.keys() - {"a rule for a name", "a rule for a name that permits", "loops"}
CLIENTS = ("native", "native", "invoke", "hermes", "tagged", "qwen3_xml", "fenced_json", "glm_xml")
ANSWERS = {"keep": Keep(), "drop": Drop("no"), "edit": Edit("Bash", {"command": "pwd"}), "say": Say("Not now.")}
LONG = Call("Save", json.dumps({"text": "a long line, and nothing in it but letters " * 3, "n": 12, "data": {"a": 1}}))


def exchange(name: str, settings: dict[str, Any], answer: str, client: str = "native") -> Exchange:
    spoken = SPOKEN[name]
    route = Route(upstream="text", **settings)
    processors = Processors(route, run=lambda *_: ANSWERS[answer])
    kind: Kind = "lift" if client == "native" else "roundtrip"
    wire = all_wires()[spoken.wire]
    return of_kind(wire, TOOLS, route, kind, form=spoken.form, dialect=client, processors=processors)


@contextmanager
def the_long_way(client: str) -> Iterator[None]:
    with ExitStack() as patches:
        patches.enter_context(patch.object(Envelope, "text_of", lambda *_: None))
        patches.enter_context(patch.object(Chain, "held", lambda *_: None))
        if client != "native":  # a native client's markup goes at once, where nothing else holds its frames
            patches.enter_context(patch.object(Chain, "_held_alone", lambda *_: False))
        yield


def of_dialect(dialect: str, value: str) -> str:
    for call in (Call("Bash", json.dumps({"command": value})), Call("Noop", "{}")):
        try:
            return write(dialect, [call], Toolbox(TOOLS))
        except Unwritable:
            continue
    return ""


written = st.builds(of_dialect, st.sampled_from(DIALECTS), st.sampled_from(["ls -l", "a word", "pwd\npwd", "a < b"]))
texts = st.lists(st.one_of(replies, written, st.sampled_from(["\n\n", "So.\n"])), max_size=5).map("".join)


@examples(300)
@given(
    st.data(),
    texts,
    st.sampled_from(sorted(SPOKEN)),
    st.sampled_from(sorted(HOLDING)),
    st.sampled_from(sorted(ANSWERS)),
    st.sampled_from(CLIENTS),
    st.booleans(),
)
def test_the_short_way_is_the_long_way(
    data: st.DataObject, text: str, name: str, holding: str, answer: str, client: str, ends: bool
) -> None:
    text = decodable(text)
    size = data.draw(st.sampled_from([1, 3, 8, 40]))
    body = SPOKEN[name].said([text[at : at + size] for at in range(0, len(text), size)])
    pieces = data.draw(cut(body))
    made = partial(exchange, name, HOLDING[holding], answer, client)
    with the_long_way(client):
        expected = outcome(made(), pieces, ends=ends)
    assert outcome(made(), pieces, ends=ends) == expected


@pytest.mark.parametrize("holding", HOLDING)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("dialect", ["invoke", "hermes", "tagged"])
@pytest.mark.parametrize("client", ["native", "invoke", "hermes"])
def test_calls_whose_pieces_take_it(holding: str, answer: str, dialect: str, client: str) -> None:
    size = 4 if client == "native" else 9
    call = write(dialect, [LONG], Toolbox(TOOLS))
    text = f"I save it.\n\n{call}\n{call}\nAnd then?"
    pieces = stream([text[at : at + size] for at in range(0, len(text), size)]).splitlines(keepends=True)
    made = partial(exchange, "openai_chat", HOLDING[holding], answer, client)
    held: list[object] = []
    whole = Chain.held

    def counted(chain: Chain, markup: Any, piece: Any) -> Any:
        left = whole(chain, markup, piece)
        held.append(left)
        return left

    with the_long_way(client):
        expected = outcome(made(), pieces, ends=True)
    with patch.object(Chain, "held", counted):
        assert outcome(made(), pieces, ends=True) == expected
    assert (len([left for left in held if left is not None]) > 10) == (holding in WAITS)


@pytest.mark.parametrize("holding", HOLDING)
@pytest.mark.parametrize("client", ["native", "invoke", "hermes"])
def test_a_call_in_text_behind_a_native_call_that_waits(holding: str, client: str) -> None:
    function = {"name": "Bash", "arguments": '{"command": "'}
    begun = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
    rest = {"tool_calls": [{"index": 0, "function": {"arguments": 'pwd"}'}}]}
    call = write("invoke", [LONG], Toolbox(TOOLS))
    said = [{"content": call[at : at + 5]} for at in range(0, len(call), 5)]
    pieces = [event(chunk(delta)) for delta in ({**HEAD, "content": ""}, begun, *said, rest)]
    pieces.append(ending("tool_calls"))
    made = partial(exchange, "openai_chat", HOLDING[holding], "keep", client)
    with the_long_way(client):
        expected = outcome(made(), pieces, ends=True)
    assert outcome(made(), pieces, ends=True) == expected
