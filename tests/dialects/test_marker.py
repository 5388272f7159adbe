"""The `marker` dialect against all that is known of the parser that it is written for: selectools' ToolCallParser.

Strategy: S1 to S19 is what that parser's documentation promises, P1 to P20 are inputs that it gets wrong; each has its
test here, by its number. Texts whose outcome is all there is to say about them are in `cases/dialects/marker.yaml`;
here is also what needs a route's settings, a native call or long input. Every text is read whole and in pieces.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.growth import grows_with_its_input
from support.repository import shared_path
from toolcalls.dialects.marker import DIALECT, Marker
from toolcalls.events import Text, Verdict
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in, write

NAMES = ("search", "write", "now", "any", "a", "inner_tool", "bob", "prod", "left-pad", "rm_rf", "say", "me", "x")
TOOLS = tuple(Tool(name) for name in NAMES)

type Found = tuple[list[Any], str, list[Verdict]]


def read(text: str, *, structured: bool = False, **settings: Any) -> Found:
    """Calls, shown text and verdicts, the same for the text whole and in pieces of 1, 5 and 999 characters."""
    found: list[Found] = []
    for size in (len(text) or 1, 1, 5, 999):
        route = Route(**{"dialects": ("marker",), **settings})
        reader = Reader(CallPolicy(route, Request(tools=TOOLS, response_format=structured)))
        events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
        events += reader.finish(cut=False)
        shown = "".join(event.text for event in events if isinstance(event, Text))
        calls = [[call.name, json.loads(call.arguments)] for call in calls_in(events)]
        found.append((calls, shown, [event for event in events if isinstance(event, Verdict)]))
    assert all(one == found[0] for one in found)
    return found[0]


def of_size(size: int, content: str = "x") -> str:
    """A call of `write` whose JSON has `size` characters, with `content` again and again in it."""
    frame = '{"tool_name": "write", "parameters": {"c": ""}}'
    room = size - len(frame)
    return frame.replace('""', f'"{(content * room)[:room]}"')


GET = '{"tool_name": "search", "parameters": {"q": 1}}'
SEARCHED = [["search", {"q": 1}]]

CASES: dict[str, tuple[str, list[Any]]] = {
    "S2 the word and an object": (f"TOOL_CALL\n{GET}", SEARCHED),
    "S3 a fence": (f"TOOL_CALL\n```json\n{GET}\n```", SEARCHED),
    "S3 a fence without info": (f"TOOL_CALL\n```\n{GET}\n```", SEARCHED),
    "S4 prose around it": (f"I will.\n\nTOOL_CALL {GET}\n\nThere.", SEARCHED),
    "S5 a colon": (f"TOOL_CALL: {GET}", SEARCHED),
    "S6 tool_name before tool": ('TOOL_CALL {"tool": "a", "tool_name": "search"}', [["search", {}]]),
    "S6 tool before name": ('TOOL_CALL {"name": "a", "tool": "search"}', [["search", {}]]),
    "S7 params": ('TOOL_CALL {"tool": "search", "params": {"q": 1}}', SEARCHED),
    "S7 parameters with name": ('TOOL_CALL {"name": "search", "parameters": {"q": 1}}', SEARCHED),
    "S8 missing": ('TOOL_CALL {"tool_name": "now"}', [["now", {}]]),
    "S8 null": ('TOOL_CALL {"tool_name": "now", "parameters": null}', [["now", {}]]),
    "S8 empty": ('TOOL_CALL {"tool_name": "now", "parameters": {}}', [["now", {}]]),
    "S9 empty name": ('TOOL_CALL {"tool_name": "", "parameters": {}}', []),
    "S9 missing name": ('TOOL_CALL {"parameters": {"q": 1}}', []),
    "S10 an object right behind the word only": ('TOOL_CALL stands here.\n{"tool_name": "now"}', []),
    "S11 nested objects": (
        'TOOL_CALL {"tool_name": "a", "parameters": {"1": {"2": {"3": {"4": "deep"}}}}}',
        [["a", {"1": {"2": {"3": {"4": "deep"}}}}]],
    ),
    "S12 single quotes": ("TOOL_CALL\n{'tool_name': 'search', 'parameters': {'q': 1}}", SEARCHED),
    "S12 nothing but objects": ('TOOL_CALL "search"', []),
    "S13 line ends in strings": ('TOOL_CALL {"tool_name": "a", "parameters": {"t": "1\n2"}}', [["a", {"t": "1\n2"}]]),
    "S13 several objects behind one word": ('TOOL_CALL {"tool_name": "now"} {"tool_name": "a"}', [["now", {}]]),
    "S16 a fence without the word": (f"```json\n{GET}\n```", []),
    "S19 several calls": (f"TOOL_CALL {GET}\nTOOL_CALL {GET}", [*SEARCHED, *SEARCHED]),
    "P1 line ends between members and in a string": (
        'TOOL_CALL\n{\n  "tool_name": "write",\n  "parameters": {\n    "content": "Line 1\nLine 2"\n  }\n}',
        [["write", {"content": "Line 1\nLine 2"}]],
    ),
    "P1 CRLF and a tab": (
        'TOOL_CALL\r\n{\r\n"tool_name": "a",\r\n"parameters": {"t": "1\r\n\t2"}\r\n}',
        [["a", {"t": "1\r\n\t2"}]],
    ),
    "P2": ("TOOL_CALL {'tool_name': 'say', 'parameters': {'t': \"it's ok\"}}", [["say", {"t": "it's ok"}]]),
    "P3": ("TOOL_CALL {'tool_name': 'say', 'parameters': {'t': 'it\\'s'}}", [["say", {"t": "it's"}]]),
    "P4": (
        "TOOL_CALL {'tool_name': 'say', 'parameters': {'c':\"a', 'd': 'b\"}}",
        [["say", {"c": "a', 'd': 'b"}]],
    ),
    "P5": (
        'TOOL_CALL {"tool_name":"write","parameters":{"c":"if (x) {"}}',
        [["write", {"c": "if (x) {"}]],
    ),
    "P6": (
        'TOOL_CALL {"tool_name": "any", "parameters": {"user": {"name":"bob","params":{"x":1}}, }}',
        [["any", {"user": {"name": "bob", "params": {"x": 1}}}]],
    ),
    "P6 where the outer one breaks": ('TOOL_CALL {"tool_name": "any", "parameters": {"u": {"name":"bob"} nope', []),
    "P8": (
        'TOOL_CALL {"tool_name": "write", "parameters": {"c": "say TOOL_CALL {\\"tool_name\\": \\"a\\"}"}}',
        [["write", {"c": 'say TOOL_CALL {"tool_name": "a"}'}]],
    ),
    "P9": ('Package manifest: {"name": "left-pad", "version": "1.0.0"}', []),
    "P9 below the word": ('TOOL_CALL\n{"name": "left-pad", "version": "1.0.0"}', []),
    "P10": ('Do NOT run this:\n```\nTOOL_CALL {"tool_name": "rm_rf"}\n```', []),
    "P11": ('Calls begin with TOOL_CALL, see the docs.\n\n{"name": "prod", "params": {"replicas": 3}}', []),
    "P11 in the middle of a line": ('The word is TOOL_CALL {"name": "prod", "params": {}}', []),
    "P12 arguments": ('TOOL_CALL {"name":"a","arguments":{"x":1}}', [["a", {"x": 1}]]),
    "P12 function": ('TOOL_CALL {"function":{"name":"a","arguments":{"x":1}}}', [["a", {"x": 1}]]),
    "P13 a string": ('TOOL_CALL {"tool_name":"a","parameters":"{\\"x\\":1}"}', [["a", {"x": 1}]]),
    "P13 a list": ('TOOL_CALL {"tool_name":"a","parameters":[1]}', []),
    "P13 a string in a string": ('TOOL_CALL {"tool_name":"a","parameters":"\\"{}\\""}', [["a", {}]]),
    "P14 a number": ('TOOL_CALL {"tool_name":5}', []),
    "P14 an object": ('TOOL_CALL {"name":{"first":"bob"}}', []),
    "P15 a trailing comma": ('TOOL_CALL {"tool_name":"a","parameters":{"x":1,},}', [["a", {"x": 1}]]),
    "P15 Python": (
        'TOOL_CALL {"tool_name":"a","parameters":{"x":True,"y":None}}',
        [["a", {"x": True, "y": None}]],
    ),
    "P15 comments": (
        'TOOL_CALL {/* c */"tool_name":"a", // n\n"parameters": # p\n{"x":1 /* one */}}',
        [["a", {"x": 1}]],
    ),
    "P15 cut off": ('TOOL_CALL {"tool_name":"a","parameters":{"x":1', []),
    "P16 an array": ('TOOL_CALL [{"tool_name":"a"},{"tool_name":"now"}]', [["a", {}], ["now", {}]]),
    "P20 NaN": ('TOOL_CALL {"tool_name":"a","parameters":{"x":NaN}}', []),
    "P20 a key that comes twice": ('TOOL_CALL {"tool_name":"a","parameters":{"x":1,"x":2}}', [["a", {"x": 2}]]),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_row(text: str, expected: list[Any]) -> None:
    for limit in (8000, 0):  # with a limit a call is held until it is whole, without one it streams
        calls, shown, verdicts = read(text, max_payload_chars=limit)
        whole = [verdict for verdict in verdicts if verdict.status == "lifted"]
        assert calls == expected
        assert [verdict.name for verdict in whole] == [name for name, _ in expected]
        assert all(verdict.reason is not None for verdict in verdicts if verdict not in whole)
        if not verdicts:
            assert shown == text


def test_s1_the_defaults_are_the_parsers_and_the_text_is_kept() -> None:
    assert Marker() == DIALECT == Marker(markers=("TOOL_CALL",), max_payload_chars=8000)
    assert (Route().marker, Route().max_payload_chars) == (("TOOL_CALL",), 8000)
    text = "Just a regular response."
    assert read(text) == ([], text, [])


@pytest.mark.parametrize(("size", "limit", "taken"), [(8000, 8000, 1), (8001, 8000, 0), (8001, 0, 1), (100_000, 0, 1)])
def test_s14_a_call_past_the_limit_is_none(size: int, limit: int, taken: int) -> None:
    text = f"TOOL_CALL\n{of_size(size)}"
    calls, shown, verdicts = read(text, max_payload_chars=limit)
    assert len(calls) == taken
    assert [verdict.reason for verdict in verdicts] == [None if taken else "max_payload_chars"]
    assert shown == ("" if taken else text)


@pytest.mark.parametrize(
    "marker", ["FUNCTION_CALL", "CALL(x)", "CALL(", "[call]", "\\d+", ">>>", "呼び出し", "call me."]
)
def test_s15_p17_a_marker_is_any_word(marker: str) -> None:
    assert read(f"{marker} {GET}", marker=(marker,))[0] == SEARCHED
    assert read(f"{marker}\n{GET}", marker=("OTHER", marker))[0] == SEARCHED
    assert read(f"TOOL_CALL {GET}", marker=(marker,)) == ([], f"TOOL_CALL {GET}", [])


def test_s15_of_two_markers_the_longer_one_counts() -> None:
    assert read(f"CALL_NOW {GET}", marker=("CALL", "CALL_NOW"))[0] == SEARCHED
    assert read(f"CALL_NOW {GET}", marker=("CALL",))[0] == []


def test_s17_it_is_inactive_where_the_reply_shall_be_json() -> None:
    text = f"TOOL_CALL\n{GET}"
    assert read(text, structured=True) == ([], text, [])
    text = '{"name": "search", "arguments": {}}'
    assert read(text, structured=True, dialects=None, policy="lenient") == ([], text, [])


def test_s17_it_is_inactive_where_the_reply_carries_native_calls() -> None:
    reader = Reader(CallPolicy(Route(dialects=("marker",)), Request(tools=TOOLS)))
    assert len(calls_in([*reader.feed(f"TOOL_CALL {GET}\n"), *reader.feed("So.\n")])) == 1
    reader.add_native("now", "{}")
    reader.stands_behind_native()
    events = [*reader.feed(f"TOOL_CALL {GET}"), *reader.finish(cut=False)]
    verdicts = [(event.status, event.reason, event.name) for event in events if isinstance(event, Verdict)]
    assert (calls_in(events), verdicts) == ([], [("declined", "beside_native", "search")])


@pytest.mark.parametrize(
    ("value", "structured"),
    [
        ({"type": "json_schema", "json_schema": {}}, True),
        ({"type": "json_object"}, True),
        ({"type": "text"}, False),
        (None, False),
        ("json", False),
    ],
)
def test_s17_a_chat_request_says_so(value: object, structured: bool) -> None:
    body = json.dumps({"messages": [], "response_format": value}).encode()
    assert request_of(all_wires()["openai_chat"], body).response_format is structured
    assert request_of(all_wires()["openai_chat"], b'{"messages": []}').response_format is False


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ('TOOL_CALL {"tool_name": 5}', "malformed", "not_a_call"),
        ('TOOL_CALL {"tool_name": "now", "parameters": [1]}', "malformed", "bad_arguments"),
        ('TOOL_CALL {"tool_name": "now", "parameters": {1}} x', "malformed", "bad_arguments"),
        ('TOOL_CALL {"tool_name": "unknown"}', "declined", "undeclared"),
        ('TOOL_CALL {"tool_name": "now"', "truncated", "unclosed"),
        ('So TOOL_CALL {"tool_name": "now"}', "declined", "inline"),
    ],
)
def test_s18_what_fails_says_why(text: str, status: str, reason: str) -> None:
    calls, shown, verdicts = read(text)
    assert (calls, shown) == ([], text)
    assert [(verdict.status, verdict.reason) for verdict in verdicts] == [(status, reason)]


def test_s19_without_a_limit_arguments_stream() -> None:
    reader = Reader(CallPolicy(Route(dialects=("marker",), max_payload_chars=0), Request(tools=TOOLS)))
    reader.feed('TOOL_CALL {"tool_name": "write", "parameters": {"c": "')
    assert len(reader.feed("some text")) == 2  # what was taken, and its piece of the arguments


def test_p7_nothing_in_a_call_past_the_limit_becomes_one() -> None:
    inner = '{\\"name\\": \\"inner_tool\\"} '
    assert read(f"TOOL_CALL {of_size(9000, inner)}")[0] == []
    begins = "\n".join(["TOOL_CALL", of_size(9000, "\nTOOL_CALL {'name': 'inner_tool'} ")])
    calls, shown, verdicts = read(begins)
    assert (calls, shown, len(verdicts)) == ([], begins, 1)
    nested = '{"tool_name": "write", "parameters": {"n": {"name": "inner_tool"}, "c": "' + 9000 * "x" + '"}}'
    assert read(f"TOOL_CALL {nested}")[0] == []


def test_p16_the_first_only() -> None:
    calls, _, verdicts = read(f"TOOL_CALL {GET}\nTOOL_CALL {GET}", multiple_calls=False)
    assert calls == SEARCHED
    assert [verdict.reason for verdict in verdicts] == [None, "multiple_calls"]


@pytest.mark.parametrize(
    "unit", ["{", "TOOL_CALL {", 'TOOL_CALL {"a":', "TOOL_CALL {/*", 'TOOL_CALL\n{"tool_name":"x",']
)
def test_p18_work_grows_with_the_input(unit: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = "TOOL_CALL " + unit * (size // len(unit))

        def run() -> None:
            reader = Reader(CallPolicy(Route(dialects=("marker",)), Request(tools=TOOLS)))
            reader.feed(text)
            reader.finish(cut=False)

        return run

    grows_with_its_input(work, 20_000)


def test_p19_depth_is_bounded() -> None:
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    assert read(f'TOOL_CALL {{"tool_name": "a", "parameters": {deep}}}', max_payload_chars=0)[0] == []
    assert read('TOOL_CALL {"function": ' * 3 + '{"function": ' * 3000, max_payload_chars=0)[0] == []


def test_a_call_past_the_limit_is_not_written_either() -> None:
    long = json.dumps({"c": 9000 * "x"})
    with pytest.raises(Unwritable):
        write("marker", [Call("write", long)], Toolbox(TOOLS))


VECTORS = [f"sel-{number:02}" for number in range(1, 26)]


@pytest.mark.parametrize("key", VECTORS)
def test_a_vector_of_the_seed(key: str) -> None:
    vectors = json.loads(shared_path("cases/seed-vectors.json").read_text(encoding="utf-8"))
    assert [vector["id"] for vector in vectors if vector["dialect"] == "marker"] == VECTORS
    vector = next(vector for vector in vectors if vector["id"] == key)
    options = vector.get("options", {})
    names = [name for name, _ in vector["expect_calls"]]
    settings = {"marker": (options["marker"],)} if "marker" in options else {}
    route = Route(dialects=("marker",), policy="standard", **settings)
    tools = tuple(Tool(name) for name in names) or TOOLS
    reader = Reader(CallPolicy(route, Request(tools=tools, response_format="response_format" in options)))
    events = [*reader.feed(vector["input"]), *reader.finish(cut=False)]
    assert [[call.name, json.loads(call.arguments)] for call in calls_in(events)] == vector["expect_calls"]
