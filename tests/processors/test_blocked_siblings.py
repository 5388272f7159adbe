"""What a blocked first call leaves behind: the second one whole, with the opener and the closer of their block.

Strategy: two calls in one block, in every dialect that writes blocks, streamed and at once; a rule blocks the first.
The text client must get what the writer would write for the second alone, and no opener or closer besides.
"""

import pytest

from support.chatclient import HEAD, chunk, ending, event, received, stream
from support.exchanges import of_kind
from support.processorcases import frames, native, no_reactors, route_of, words
from toolcalls.dialects import all_dialects
from toolcalls.processors import Processors
from toolcalls.request import Tool
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import write

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (Tool("Bash", PARAMETERS), Tool("Read", PARAMETERS))
FIRST, SECOND = Call("Bash", '{"command":"ls"}'), Call("Read", '{"command":"pwd"}')
ROUTE = route_of({"access": {"message": "", "rules": [{"name": "r", "action": "block", "tools": "Bash"}]}})
OTHERWISE = {"kimi_k2_stripped"}  # the second call keeps its number


def _block(dialect: str) -> str | None:
    try:
        return write(dialect, [FIRST, SECOND], Toolbox(TOOLS))
    except Unwritable:
        return None


BLOCKS = {name: text for name in sorted(all_dialects()) if name not in OTHERWISE and (text := _block(name)) is not None}


@pytest.mark.parametrize("dialect", BLOCKS)
def test_the_second_call_is_whole_markup(dialect: str) -> None:
    text = BLOCKS[dialect]
    for size in (1, 7, len(text)):
        one = of_kind(
            all_wires()["openai_chat"],
            TOOLS,
            ROUTE,
            "roundtrip",
            form="sse",
            upstream="text",
            dialect=dialect,
            processors=Processors(ROUTE, model="m", run=no_reactors),
        )
        out = one.feed(stream([text[at : at + size] for at in range(0, len(text), size)])) + one.close()
        assert received(out).choices[0].text.strip() == write(dialect, [SECOND], Toolbox(TOOLS)).strip()
        # The verdict on a call that only its closer makes one comes when the next one is known.
        assert sorted(words(one)) == ["blocked Bash r", "passed Read"]
        assert dialect == "json_before_closer" or words(one) == sorted(words(one))


@pytest.mark.parametrize(
    ("calls", "text", "notes"),
    [
        (['{"command":"ls"}', '{"command":"pwd"}'], "{wrote}", ["steering"]),
        (['{"command":"ls"}'], "Not this one.", []),
    ],
    ids=["beside another call", "alone"],
)
def test_what_is_said_of_a_blocked_call_leaves_a_whole_message_alone(
    calls: list[str], text: str, notes: list[str]
) -> None:
    """In `bare_json` a call is the whole message, so no text of ours can be beside it."""
    route = route_of(
        {"access": {"message": "Not this one.", "rules": [{"name": "r", "action": "block", "tools": "Bash"}]}}
    )
    one = of_kind(
        all_wires()["openai_chat"],
        TOOLS,
        route,
        "lower",
        form="sse",
        upstream="native",
        dialect="bare_json",
        processors=Processors(route, model="m", run=no_reactors),
    )
    names = ["Bash", "Read"]
    entries = [entry for place, made in enumerate(calls) for entry in native(place, names[place], made)]
    out = one.feed(b"".join([event(chunk(HEAD)), *frames(*entries), ending("tool_calls")])) + one.close()
    wrote = write("bare_json", [SECOND], Toolbox(TOOLS))
    assert received(out).choices[0].text == text.format(wrote=wrote)
    assert [note.rule for _, note in one.notes] == notes
