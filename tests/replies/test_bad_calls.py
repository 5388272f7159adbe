"""A call that turns out broken poisons nothing: the calls after it are lifted, and the finish reason is true.

Strategy: in every dialect whose arguments are written as JSON, the first of two calls is broken before its first value,
or after it. Each is read at every split, on every wire, streamed and whole. Before the first value nothing of a call
has left, so it is text; after it the client has its beginning, and the verdict and the finish reason say so.
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
CONTENT = re.compile(rb'"content":"((?:[^"\\]|\\.)*)"')
BEFORE, BEHIND = "{ls -la}", '{"command": "ls", oops}'


def _calls(dialect: str, form: str) -> str | None:
    """Two calls, one after the other, where the dialect writes the arguments as one JSON object; else None.

    form   "apart": each is written by itself; "together": in one array, section or tag where the dialect has such
    """
    try:
        if form == "together":
            text = write(dialect, [FIRST, GOOD], Toolbox(TOOLS))
        else:
            text = "\n".join(write(dialect, [call], Toolbox(TOOLS)) for call in (FIRST, GOOD))
    except Unwritable:
        return None
    return text if OBJECT.search(text) else None


# Two arrays are no message of these, with whatever calls.
ONE_ARRAY = {"json_array", "xlam"}
WRITTEN = {
    f"{dialect} {form}": text
    for dialect in sorted(all_dialects())
    for form in ("apart", "together")
    if (form == "together" or dialect not in ONE_ARRAY) and (text := _calls(dialect, form)) is not None
}


def made(written: str, spoken: Spoken = SPOKEN["openai_chat"], **more: Any) -> Any:
    route = Route(client="native", upstream="text", dialects=(written.split(maxsplit=1)[0],), **more)
    return exchange(spoken, TOOLS, route)


def broken(written: str, arguments: str) -> str:
    return OBJECT.sub(lambda _: arguments, WRITTEN[written], count=1)


def statuses(one: Any) -> list[str]:
    return [word.split(" (")[0] for word in words(one)]


def test_dialects_were_found() -> None:
    assert {"hermes apart", "mistral apart", "kimi_k2 together", "granite3 together", "json_array together"} <= set(
        WRITTEN
    )
    assert len(WRITTEN) >= 100


# An object that only the closer behind it makes a call is data until then.
BY_CLOSER = {"json_before_closer apart", "json_before_closer together"}
# What is no argument of the tool's makes its tag any tag, and code that nothing marks any code.
BY_ARGUMENTS = {
    f"{dialect} {form}" for dialect in ("tool_element", "module_calls", "bare_calls") for form in ("apart", "together")
}
# Where the whole message must be calls, one that is broken leaves none.
WHOLE_MESSAGES = {"bare_calls apart", "bare_calls together"}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("written", sorted(WRITTEN.keys() - BY_ARGUMENTS - BY_CLOSER))
def test_one_that_breaks_before_its_first_value_is_text(written: str) -> None:
    text = broken(written, BEFORE)
    for size in (1, 2, 3, 7, len(text)):
        one = made(written)
        body = stream([text[at : at + size] for at in range(0, len(text), size)])
        shown, calls = SPOKEN["openai_chat"].heard(
            through(one, body)
        )  # a strict client: `tool_calls`, and no open call
        assert calls == [("Read", {"command": "ls"})]
        assert BEFORE in shown
        assert "Read" not in shown
        assert statuses(one) == ["malformed bad_arguments Bash", "lifted Read"]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("written", sorted(WRITTEN.keys() - WHOLE_MESSAGES - BY_CLOSER))
def test_of_one_that_breaks_behind_its_first_value_the_client_has_the_beginning(written: str) -> None:
    text = broken(written, BEHIND)
    for size in (1, 5, len(text)):
        one = made(written)
        out = through(one, stream([text[at : at + size] for at in range(0, len(text), size)]))
        calls = [(call.name, call.complete) for _, call in one.client_calls]
        assert calls[-1] == ("Read", True)
        open_ = [name for name, complete in calls if not complete]
        assert (b'"finish_reason":"length"' in out) == bool(open_)
        found = [verdict for _, verdict in one.verdicts if verdict.status == "malformed"]
        assert [verdict.index is not None for verdict in found] == [bool(open_)]
        assert (b"oops" in b"".join(CONTENT.findall(out))) == (not open_)


@pytest.mark.parametrize("dialect", ["granite3", "mistral", "jamba", "hermes"])
def test_an_element_that_names_no_tool_has_a_verdict_too(dialect: str) -> None:
    opening = {"granite3": "<|tool_call|>", "mistral": "[TOOL_CALLS]", "jamba": "<tool_calls>", "hermes": "<tool_call>"}
    good = '{"name": "Read", "arguments": {"command": "ls"}}'
    text = f"{opening[dialect]}[{good}, {{oops}}, {good}]"
    for size in (1, 5, len(text)):
        one = made(f"{dialect} together", multiple_calls=True)
        shown, calls = SPOKEN["openai_chat"].heard(
            through(one, stream([text[at : at + size] for at in range(0, len(text), size)]))
        )
        assert (shown.strip(" ,"), calls) == ("{oops}", [("Read", {"command": "ls"})] * 2)
        assert statuses(one) == ["lifted Read", "malformed bad_arguments -", "lifted Read"]


# What is left of the first call, and what would be a call in it if it were searched.
INSIDE = '{"command": "ls", oops, {INNER} "x"}'
NEVER_CLOSED = ('{"command": "ls", oops "}', '{"command": "ls", oops [}', '{"command": "ls", oops {}')
# Marks that end a broken call wherever they stand: of such a call nothing else is reliable.
ENDS = re.compile(r"</|<[|｜]|<\[|\[/|\[unused|\[TOOL|TOOL_CALL|```|<function|commentary")
INNER = {
    written: inner
    for written in sorted(WRITTEN)
    if not ENDS.search(inner := write(written.split()[0], [Call("Read", '{"command":"INNER"}')], Toolbox(TOOLS)))
}


@pytest.mark.parametrize("written", INNER)
def test_the_payload_of_a_broken_call_is_not_searched(written: str) -> None:
    """What is between the brackets that are open is the broken call's, whatever it looks like (law 9)."""
    text = broken(written, INSIDE.replace("{INNER}", f"\n{INNER[written]}\n"))
    for size in (1, 7, len(text)):
        one = made(written)
        through(one, stream([text[at : at + size] for at in range(0, len(text), size)]))
        assert "INNER" not in "".join(call.arguments for _, call in one.client_calls)
        assert statuses(one)[0] == "malformed bad_arguments Bash"


@pytest.mark.parametrize("arguments", NEVER_CLOSED)
@pytest.mark.parametrize("written", ["glaive apart", "granite3 together", "llama3_json together", "phi4_mini together"])
def test_where_its_end_is_not_certain_what_follows_is_its_own(written: str, arguments: str) -> None:
    text = broken(written, arguments)
    for size in (1, 5, len(text)):
        one = made(written)
        out = through(one, stream([text[at : at + size] for at in range(0, len(text), size)]))
        assert [(call.name, call.complete) for _, call in one.client_calls] == [("Bash", False)]
        assert statuses(one) == ["malformed bad_arguments Bash"]
        assert b'"finish_reason":"length"' in out


CUTS = (0, 2, 6)  # characters of the first value and its closing quote
# After other text its recipients are words (`>>>` is Python's prompt, too), and an announcement is prose.
NEEDS_MESSAGE = {"functionary_v32 together", "announced_calls together"}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("before", ["", "Let me look.\n"])
@pytest.mark.parametrize(
    "written", [written for written in sorted(WRITTEN.keys() - BY_CLOSER) if written.endswith("together")]
)
def test_a_call_in_which_the_reply_ends_has_a_verdict(written: str, before: str) -> None:
    """Also where no policy takes it. Where the client has its beginning, the finish reason says so."""
    if before and written in NEEDS_MESSAGE:
        return
    begun = WRITTEN[written].index("FIRST")
    for size in CUTS:
        text = before + WRITTEN[written][: begun + size]
        for finish in ("stop", "length", None):
            one = made(written)
            out = through(one, stream([text[at : at + 7] for at in range(0, len(text), 7)], finish))
            (verdict,) = [verdict for _, verdict in one.verdicts]
            open_ = [call for _, call in one.client_calls if not call.complete]
            assert verdict.status == "truncated"
            assert len(open_) == len(one.client_calls)
            assert (b'"finish_reason":"length"' in out) == (finish == "length" or (finish == "stop" and bool(open_)))


@pytest.mark.parametrize("arguments", ['"command": "ls', '"command": "ls", oops}'])
@pytest.mark.parametrize("before", ["", "Let me look.\n"])
def test_so_has_one_whose_arguments_stand_beside_its_name(arguments: str, before: str) -> None:
    text = before + '{"name": "Bash", ' + arguments
    one = made("bare_json apart")
    assert SPOKEN["openai_chat"].heard(through(one, stream([text]))) == (text, [])
    assert statuses(one) == [("malformed bad_arguments Bash" if "oops" in arguments else "truncated unclosed Bash")]


@pytest.mark.parametrize("size", [0, 1, 11])
@pytest.mark.parametrize("name", SPOKEN)
def test_it_is_text_on_every_wire(name: str, size: int) -> None:
    spoken = SPOKEN[name]
    text = broken("hermes apart", BEFORE)
    one = made("hermes apart", spoken)
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
    case = {"reply": [broken("hermes apart", arguments)]}
    wire = all_wires()[WHOLE[name].wire]
    one = of_request(wire, Request(tools=TOOLS), Route(client="native", upstream="text"), form="whole")
    out = (one.feed(WHOLE[name].body(case)) + one.close()).decode()
    assert words(one) == ["malformed bad_arguments Bash (hermes)", "lifted Read (hermes)"]
    shows_open = wire.shows_open_calls and arguments == BEHIND
    assert (re.search(r'"(length|max_tokens|MAX_TOKENS|incomplete)"', out) is not None) == shows_open
    assert (json.dumps(arguments)[1:-1] in json.dumps(json.loads(out), ensure_ascii=False)) == (not shows_open)
    assert (one.verdicts[0][1].index is not None) == shows_open
