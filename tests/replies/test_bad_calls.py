"""A call that turns out broken poisons nothing: the calls behind it are lifted, and the finish reason is true.

Strategy: in every dialect whose arguments are written as JSON, the first of two calls is broken before its first value,
or behind it. Each is read at every split, on every wire, streamed and whole. Before the first value nothing of a call
has left, so it is text; behind it the client has its beginning, and the verdict and the finish reason say so.
"""

import json
import re
from typing import Any

import pytest

from support.chatclient import stream
from support.exchanges import of_request, words
from support.spoken import SPOKEN, Spoken, exchange, through
from support.wirecases import WHOLE
from toolcalls.dialects import all_dialects
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import Unwritable, write

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (Tool("Bash", PARAMETERS), Tool("Read", PARAMETERS))
FIRST = Call("Bash", '{"command":"FIRST"}')
GOOD = Call("Read", '{"command":"ls"}')
OBJECT = re.compile(r'\{\s*"command"\s*:\s*"FIRST"\s*\}')
BEFORE, BEHIND = "{ls -la}", '{"command": "ls", oops}'


def _calls(dialect: str) -> str | None:
    """Two calls, one behind the other, where the dialect writes the arguments as one JSON object; else None."""
    try:
        first, good = (write(dialect, [call], Toolbox(TOOLS)) for call in (FIRST, GOOD))
    except Unwritable:
        return None
    return f"{first}\n{good}" if OBJECT.search(first) else None


WRITTEN = {dialect: text for dialect in sorted(all_dialects()) if (text := _calls(dialect)) is not None}
# A message is one call there, or a call that breaks has no end: what follows belongs to it (law 9). Where calls
# stand in fences, what is left of a broken one quotes what follows.
ALONE = {
    "bare_json", "fenced_json", "functionary_v32", "gigachat3", "glaive", "granite3", "granite_20b_fc",
    "harmony_stripped", "json_array", "kimi_k2_stripped", "llama3_json", "minimax_text01", "xlam", "zeroclaw",
}  # fmt: skip
WITH_ANOTHER = sorted(WRITTEN.keys() - ALONE)


def made(dialect: str, spoken: Spoken = SPOKEN["openai_chat"], **more: Any) -> Any:
    return exchange(spoken, TOOLS, Route(client="native", upstream="text", dialects=(dialect,), **more))


def broken(dialect: str, arguments: str) -> str:
    return OBJECT.sub(lambda _: arguments, WRITTEN[dialect], count=1)


def test_dialects_were_found() -> None:
    assert {"hermes", "mistral", "kimi_k2", "deepseek_v3"} <= set(WITH_ANOTHER)


@pytest.mark.parametrize("dialect", WITH_ANOTHER)
def test_one_that_breaks_before_its_first_value_is_text(dialect: str) -> None:
    text = broken(dialect, BEFORE)
    for size in (1, 2, 3, 7, len(text)):
        one = made(dialect)
        body = stream([text[at : at + size] for at in range(0, len(text), size)])
        shown, calls = SPOKEN["openai_chat"].heard(
            through(one, body)
        )  # a strict client: `tool_calls`, and no open call
        assert calls == [("Read", {"command": "ls"})]
        assert BEFORE in shown
        assert [word.split(" (")[0] for word in words(one)][-1] == "lifted Read"
        assert any(word.startswith("malformed") for word in words(one))


@pytest.mark.parametrize("dialect", WITH_ANOTHER)
def test_of_one_that_breaks_behind_its_first_value_the_client_has_the_beginning(dialect: str) -> None:
    text = broken(dialect, BEHIND)
    for size in (1, 5, len(text)):
        one = made(dialect)
        out = through(one, stream([text[at : at + size] for at in range(0, len(text), size)]))
        calls = [(call.name, call.complete) for _, call in one.client_calls]
        assert calls[-1] == ("Read", True)
        open_ = [name for name, complete in calls if not complete]
        assert (b'"finish_reason":"length"' in out) == bool(open_)
        found = [verdict for _, verdict in one.verdicts if verdict.status == "malformed"]
        assert [verdict.index is not None for verdict in found] == [bool(open_)]


@pytest.mark.parametrize("size", [0, 1, 11])
@pytest.mark.parametrize("name", SPOKEN)
def test_it_is_text_on_every_wire(name: str, size: int) -> None:
    spoken = SPOKEN[name]
    text = broken("hermes", BEFORE)
    one = made("hermes", spoken)
    out = through(one, spoken.said([text[at : at + 5] for at in range(0, len(text), 5)]), size)
    assert spoken.heard(out) == (
        text.partition('\n<tool_call>\n{"name": "Read')[0] + "\n",
        [("Read", {"command": "ls"})],
    )
    assert words(one) == ["malformed bad_arguments Bash (hermes)", "lifted Read (hermes)"]


@pytest.mark.parametrize("arguments", [BEFORE, BEHIND])
@pytest.mark.parametrize("name", WHOLE)
def test_in_a_whole_reply_it_is_text(name: str, arguments: str) -> None:
    """Where a reply can hold a call that broke off, the reply is not complete; else all of it is shown as text."""
    case = {"reply": [broken("hermes", arguments)]}
    wire = all_wires()[WHOLE[name].wire]
    one = of_request(wire, Request(tools=TOOLS), Route(client="native", upstream="text"), form="whole")
    out = (one.feed(WHOLE[name].body(case)) + one.close()).decode()
    assert words(one) == ["malformed bad_arguments Bash (hermes)", "lifted Read (hermes)"]
    shows_open = wire.shows_open_calls and arguments == BEHIND
    assert (re.search(r'"(length|max_tokens|MAX_TOKENS|incomplete)"', out) is not None) == shows_open
    assert (json.dumps(arguments)[1:-1] in json.dumps(json.loads(out), ensure_ascii=False)) == (not shows_open)
    assert (one.verdicts[0][1].index is not None) == shows_open
