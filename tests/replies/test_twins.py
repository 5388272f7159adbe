"""The same call as text and natively: the client has it once, whichever came first, on every wire that carries calls.

Strategy: replies of texts and native calls are said on each wire and cut anywhere; a strict client counts the calls
that it hears, and the verdicts say which of the two is which. Then what must not be kept back: other arguments, a
second one that was meant, a call that broke off, and one that grows; the same after rules, and for a text client.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.chatclient import chunk, event
from support.exchanges import of_request
from support.growth import grows_with_its_input
from support.sampling import examples
from support.spoken import SPOKEN, exchange, through
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Verdict, Withdrawn
from toolcalls.processors import Processors
from toolcalls.replies.calls import Calls
from toolcalls.replies.exchange import Exchange
from toolcalls.replies.stages import Item, Native
from toolcalls.replies.stages.twins import Twins
from toolcalls.request import Request, Tool
from toolcalls.requests.evidence import Decision, call_policy_of
from toolcalls.route import Access, AccessRule, Route
from toolcalls.values.call_index import CallIndex
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires

TOOLS = (Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),)
TEXT = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'


def no_reactors(*_: object) -> None:
    raise LookupError("this test has no reactors")


# A reply's parts: a text, or the arguments of a native call of Bash.
type Parts = Sequence[str | dict[str, Any]]
LS: dict[str, Any] = {"command": "ls"}
PWD: dict[str, Any] = {"command": "pwd"}


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def _spaced(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, indent=1)


def _chat(parts: Parts, finish: str | None = "tool_calls") -> bytes:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    calls = 0
    for part in parts:
        if isinstance(part, str):
            deltas += [{"content": piece} for piece in _pieces(part)]
            continue
        head = {"index": calls, "id": f"n{calls}", "type": "function", "function": {"name": "Bash", "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        for piece in _pieces(_spaced(part)):
            deltas.append({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
        calls += 1
    said = b"".join(event(chunk(delta)) for delta in deltas)
    return said if finish is None else said + chatclient.ending(finish)


def _responses(parts: Parts) -> bytes:
    items: list[Any] = []
    for number, part in enumerate(parts):
        made = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "Bash"}
        items.append(
            _pieces(part)
            if isinstance(part, str)
            else {**made, "arguments": _spaced(part), "pieces": _pieces(_spaced(part))}
        )
    return responsesclient.written(responsesclient.stream(items))


def _anthropic(parts: Parts) -> bytes:
    blocks = [
        anthropicclient.text(*_pieces(part))
        if isinstance(part, str)
        else anthropicclient.call(f"toolu_{number}", "Bash", *_pieces(_spaced(part)))
        for number, part in enumerate(parts)
    ]
    return anthropicclient.written(anthropicclient.stream(blocks, "tool_use"))


def _gemini(form: geminiclient.Body) -> Callable[[Parts], bytes]:
    def said(parts: Parts) -> bytes:
        told = [part if isinstance(part, str) else {"functionCall": {"name": "Bash", "args": part}} for part in parts]
        return geminiclient.body_of(
            [*(geminiclient.reply([one]) for one in told), geminiclient.reply([""], "STOP")], form
        )

    return said


def _ollama(parts: Parts) -> bytes:
    lines = [
        ollamaclient.line(
            part if isinstance(part, str) else {"content": "", "tool_calls": [ollamaclient.call("Bash", part)]}
        )
        for part in parts
    ]
    return ollamaclient.body_of([*lines, ollamaclient.line("", "stop")])


SAID: dict[str, Callable[[Parts], bytes]] = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini, events": _gemini("sse"),
    "gemini, array": _gemini("json_array"),
    "ollama": _ollama,
}
LIFTED, NATIVE = ("lifted", None), ("native", None)
REPEATED, DUPLICATE = ("blocked", "repeated"), ("declined", "duplicate")
# parts; the arguments of the calls that the client has; verdicts, sorted
REPLIES: dict[str, tuple[Parts, list[dict[str, Any]], list[Any]]] = {
    "first as text": ([f"I look.\n\n{TEXT}", LS], [LS], [REPEATED, LIFTED]),
    "first natively": ([LS, TEXT], [LS], [DUPLICATE, NATIVE]),
    "with other arguments": ([TEXT, PWD], [LS, PWD], [LIFTED, NATIVE]),
    "another one behind it": ([TEXT, LS, PWD], [LS, PWD], [REPEATED, LIFTED, NATIVE]),
    "another one before it": ([TEXT, PWD, LS], [LS, PWD], [REPEATED, LIFTED, NATIVE]),
    "text behind it": ([TEXT, LS, "\n\nDone."], [LS], [REPEATED, LIFTED]),
    "natively twice": ([TEXT, LS, LS], [LS, LS], [REPEATED, LIFTED, NATIVE]),
    "twice as text": ([f"{TEXT}\n{TEXT}", LS], [LS, LS], [REPEATED, LIFTED, LIFTED]),
}


@pytest.mark.parametrize("size", [0, 1, 11])
@pytest.mark.parametrize("parts", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("wire", SAID)
def test_a_client_has_it_once(wire: str, parts: tuple[Parts, list[dict[str, Any]], list[Any]], size: int) -> None:
    said, wanted, verdicts = parts
    one = exchange(SPOKEN[wire], TOOLS)
    out = through(one, SAID[wire](said), size)
    assert one.failure is None
    assert SPOKEN[wire].heard(out)[1] == [("Bash", arguments) for arguments in wanted]
    found = [(verdict.status, verdict.reason) for _, verdict in one.verdicts]
    assert sorted(found, key=str) == sorted(verdicts, key=str)


def _whole_chat(parts: Parts) -> bytes:
    functions = [{"name": "Bash", "arguments": _spaced(part)} for part in parts if isinstance(part, dict)]
    calls = [{"id": f"n{at}", "type": "function", "function": one} for at, one in enumerate(functions)]
    message = {"role": "assistant", "content": "".join(filter(_is_text, parts)), "tool_calls": calls}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()


def _is_text(part: str | dict[str, Any]) -> bool:
    return isinstance(part, str)


def _whole_responses(parts: Parts) -> bytes:
    made = [{"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": "Bash"} for at in range(9)]
    items = [
        part if isinstance(part, str) else made[at] | {"arguments": _spaced(part)} for at, part in enumerate(parts)
    ]
    return responsesclient.whole(responsesclient.stream(items))


def _whole_anthropic(parts: Parts) -> bytes:
    blocks = [
        anthropicclient.text(part)
        if isinstance(part, str)
        else anthropicclient.call(f"toolu_{number}", "Bash", _spaced(part))
        for number, part in enumerate(parts)
    ]
    return anthropicclient.whole(anthropicclient.stream(blocks, "tool_use"))


def _whole_gemini(parts: Parts) -> bytes:
    told = [part if isinstance(part, str) else {"functionCall": {"name": "Bash", "args": part}} for part in parts]
    return geminiclient.body_of([geminiclient.reply(told, "STOP")], "whole")


def _whole_ollama(parts: Parts) -> bytes:
    calls = [ollamaclient.call("Bash", part) for part in parts if isinstance(part, dict)]
    text = "".join(filter(_is_text, parts))
    return ollamaclient.body_of([ollamaclient.line({"content": text, "tool_calls": calls}, "stop")], b"")


WHOLE: dict[str, Callable[[Parts], bytes]] = {
    "openai_chat": _whole_chat,
    "openai_responses": _whole_responses,
    "anthropic": _whole_anthropic,
    "gemini": _whole_gemini,
    "ollama": _whole_ollama,
}
STEP = {"type": "object", "properties": {"why": {"type": "string", "default": "no reason"}, "at": {"type": "integer"}}}
FILLED = (
    Tool(
        "Bash",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {"type": ["integer", "null"], "default": 120000},
                "background": {"$ref": "#/$defs/flag"},
                "limit": {"type": "integer"},
                "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
                "steps": {"type": "array", "items": STEP},
                "env": {"type": "object", "default": {"A": 1}},
            },
            "required": ["command"],
            "$defs": {"flag": {"type": "boolean", "default": False}},
        },
    ),
)
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "timeout": st.integers(1, 9),
    "background": st.just(True),
    "limit": st.integers(1, 9),
    "ratio": st.sampled_from([0.5, 1.5]),
    "steps": st.lists(
        st.fixed_dictionaries({}, optional={"at": st.integers(0, 3), "why": st.sampled_from(["x", "y z"])}), max_size=2
    ),
    "env": st.just({"B": 2}),
}
# What a call or a step means where these members are left out.
BY_DEFAULT = {**dict.fromkeys(MEMBERS), "timeout": 120000, "background": False, "env": {"A": 1}}
IN_A_STEP = {"at": None, "why": "no reason "}
SPACES = st.sampled_from(["", "\n", "  ", " \t\r\n"])


@st.composite
def respelt(draw: st.DrawFn, arguments: dict[str, Any], by_default: dict[str, Any]) -> dict[str, Any]:
    """Other arguments that mean the same. Only what is declared there has a default: an undeclared false is a value."""
    spelt: dict[str, Any] = {}
    for key, value in arguments.items():
        if isinstance(value, str):
            spelt[key] = draw(SPACES) + value + draw(SPACES)
        elif isinstance(value, list):
            spelt[key] = [draw(respelt(one, IN_A_STEP)) for one in value]
        else:
            spelt[key] = value
    missing = sorted(by_default.keys() - arguments.keys())
    for key in draw(st.lists(st.sampled_from(missing), unique=True, max_size=3)) if missing else ():
        spelt[key] = draw(st.sampled_from([None, by_default[key]]))
    return dict(draw(st.permutations(list(spelt.items()))))


ARGUMENTS = st.fixed_dictionaries(
    {"command": st.sampled_from(["git push", "a  b", "ls -l\npwd"])}, optional={key: MEMBERS[key] for key in MEMBERS}
).filter(lambda arguments: len(arguments) <= len(MEMBERS))


@st.composite
def said_twice(draw: st.DrawFn) -> tuple[Parts, bool]:
    """A reply with a call as text and natively, and whether the two are one call."""
    arguments = draw(ARGUMENTS)
    native, same = draw(respelt(arguments, BY_DEFAULT)), draw(st.booleans())
    if not same:
        native[draw(st.sampled_from(["command", "limit"]))] = draw(st.sampled_from(["git pull", 17]))
    call = json.dumps({"name": "Bash", "arguments": draw(respelt(arguments, BY_DEFAULT))})
    text = f"\n\n<tool_call>\n{call}\n</tool_call>"
    between = draw(st.sampled_from([[], ["\n\nThen I go on.\n\n"]]))
    return draw(st.sampled_from([[text, *between, native], [native, *between, text]])), same


@examples(60)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("wire", SAID)
@given(said_twice(), st.sampled_from(["standard", "strict", "lenient"]), st.integers(0, 40))
def test_exactly_once(wire: str, whole: bool, said: tuple[Parts, bool], policy: Any, size: int) -> None:
    """Law 15: a call in two spellings of the same values runs once, and two calls stay two."""
    parts, same = said
    terminal = policy == "strict" and isinstance(parts[0], str) and (len(parts) == 3 or whole)
    route = Route(client="native", upstream="text", policy=policy)
    if whole:
        of = SPOKEN[wire].wire
        one = of_request(all_wires()[of], Request(tools=FILLED), route, form="whole")
        one.feed(WHOLE[of](parts))
        one.close()
    else:
        one = exchange(SPOKEN[wire], FILLED, route)
        heard = SPOKEN[wire].heard(through(one, SAID[wire](parts), size))[1]
        assert len(heard) == len(one.client_calls)
    assert one.failure is None
    statuses = [verdict.status for _, verdict in one.verdicts]
    if same:
        assert len(one.client_calls) == 1, statuses
    elif not terminal:
        assert len(one.client_calls) == 2, statuses


@pytest.mark.parametrize("wire", SAID)
def test_the_route_may_take_both(wire: str) -> None:
    one = exchange(SPOKEN[wire], TOOLS, Route(client="native", upstream="text", take=("duplicate",)))
    assert SPOKEN[wire].heard(through(one, SAID[wire]([TEXT, LS])))[1] == [("Bash", LS)] * 2


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("wire", SAID)
def test_it_is_kept_back_behind_access_rules_too(wire: str, size: int) -> None:
    route = Route(client="native", upstream="text", access=Access((AccessRule("no", "block", ("Write",)),)))
    one = exchange(SPOKEN[wire], TOOLS, route, processors=Processors(route, run=no_reactors))
    out = through(one, SAID[wire]([TEXT, LS, PWD]), size)
    assert SPOKEN[wire].heard(out)[1] == [("Bash", LS), ("Bash", PWD)]


@pytest.mark.parametrize("size", [0, 5])
def test_a_text_client_has_it_once_too(size: int) -> None:
    wire = all_wires()["openai_chat"]
    route = Route(client="text", upstream="text")
    call_policy, box = call_policy_of(
        route, Request(tools=TOOLS), decision := Decision("roundtrip", "text", "text", "hermes", ())
    )
    one = Exchange(wire, call_policy, decision, box, form="sse", seed=b"test")
    text, calls = SPOKEN["openai_chat"].heard(through(one, _chat(["I look.\n\n" + TEXT, LS, PWD]), size))
    assert calls == []
    assert text.count("<tool_call>") == 2
    assert text.count('"ls"') == text.count('"pwd"') == 1


def test_what_is_held_is_bounded() -> None:
    """After a call that may be a repetition other choices go on, more than may wait: then it passes."""
    route = Route(client="native", upstream="text", max_frame_bytes=4096)
    one = exchange(SPOKEN["openai_chat"], TOOLS, route)
    head = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Bash", "arguments": "{"}}
    one.feed(b"".join(event(chunk({"content": piece})) for piece in _pieces(TEXT)))
    assert b"n0" not in one.feed(event(chunk({"tool_calls": [head]})))
    out = b"".join(one.feed(event(chunk({"content": "word "}, index=1))) for _ in range(50))
    assert b'"n0"' in out
    assert out.count(b"word ") > 20
    assert one.failure is None


def test_what_broke_off_is_none() -> None:
    """The text call stands; the native one may have become anything, and is open as it came."""
    body = _chat([TEXT, LS], finish=None)
    cut = body[: body.rindex(b"data: ")]  # without the last piece of its arguments
    one = exchange(SPOKEN["openai_chat"], TOOLS)
    out = through(one, cut)
    assert [(verdict.status, verdict.reason) for _, verdict in one.verdicts] == [LIFTED, ("truncated", "cut_off")]
    assert b'"id":"n0"' in out.replace(b" ", b"")


def test_a_call_of_another_name_leaves_while_it_comes() -> None:
    tools = (*TOOLS, Tool("Read"))
    head = {"index": 0, "id": "n0", "type": "function", "function": {"name": "Read", "arguments": ""}}
    one = exchange(SPOKEN["openai_chat"], tools)
    through_text = one.feed(b"".join(event(chunk({"content": piece})) for piece in _pieces(TEXT)))
    assert b"tool_calls" in through_text
    assert b"Read" in one.feed(event(chunk({"tool_calls": [head]})))


def _twins(arguments: str) -> Twins:
    """Twins of a lane in whose text one call of Bash was."""
    calls = Calls()
    calls.repeatable.add("Bash", arguments)
    return Twins(calls)


def _leaving(twins: Twins, event: Event) -> list[Item]:
    return list(twins.feed((Native((event,)),)))


def test_a_call_that_grows_past_what_could_mean_the_same_leaves() -> None:
    twins = _twins('{"command":"ls"}')
    start = CallStart(3, "Bash", None, "n", "", "")
    assert _leaving(twins, start) == []
    pieces = [CallPiece(3, " " * 1000) for _ in range(6)]
    left = [item for piece in pieces for item in _leaving(twins, piece)]
    assert left == [Native((start,)), *(Native((piece,)) for piece in pieces)][: len(left)]
    assert len(left) > 4
    assert _leaving(twins, CallEnd(3)) == [Native((CallEnd(3),))]


def test_events_leave_in_their_order() -> None:
    """Two calls side by side: what came after a call that is held waits, though it is known sooner."""
    twins = _twins("{}")
    first, second = CallStart(1, "Bash", None, "a", "", ""), CallStart(2, "Read", None, "b", "", "")
    for held in (first, second, CallPiece(1, "{ "), CallPiece(2, "{}"), CallEnd(2), CallPiece(1, "}")):
        assert _leaving(twins, held) == []
    rows: list[tuple[Event, ...]]
    rows = [(Withdrawn(1),), (second,), (Withdrawn(1),), (CallPiece(2, "{}"),), (CallEnd(2),), (Withdrawn(1),), ()]
    assert _leaving(twins, CallEnd(1)) == [*map(Native, rows), Verdict("blocked", "repeated", None, "Bash", 0, 0)]


# --- many of them -----------------------------------------------------------------------------------------------------


def _natively(number: int, arguments: str) -> bytes:
    entry = {"index": number, "id": f"n{number}", "function": {"name": "Bash", "arguments": arguments}}
    return event(chunk({"tool_calls": [entry]}))


def _reads(frames: Sequence[bytes], verdicts: int) -> Callable[[], object]:
    def run() -> None:
        one = exchange(SPOKEN["openai_chat"], TOOLS, Route(client="native", upstream="text", max_calls=1 << 20))
        for frame in (*frames, chatclient.ending("tool_calls")):
            one.feed(frame)
        one.close()
        assert one.failure is None
        assert len(one.verdicts) == verdicts

    return run


@pytest.mark.parametrize("first", ["as text", "natively"])
def test_many_calls_are_compared_in_linear_time(first: str) -> None:
    """Each native call with each one of the text, all of the same name and other arguments, would be the product."""

    def work(count: int) -> Callable[[], object]:
        wanted = [f"{number} {'x' * 40}" for number in range(count)]
        text = [event(chunk({"content": f"{TEXT.replace('>ls<', f'>{one}<')}\n"})) for one in wanted]
        calls = [_natively(number, json.dumps({"command": one.upper()})) for number, one in enumerate(wanted)]
        return _reads([*text, *calls] if first == "as text" else [*calls, *text], 2 * count)

    grows_with_its_input(work, 150)


@pytest.mark.parametrize("turns", [3, 30])
def test_one_that_comes_in_turns_with_text_is_known_when_its_object_closes(turns: int) -> None:
    """Chat Completions ends no call before the reply. This one is whole before that, whatever text came meanwhile."""
    arguments = json.dumps({"command": "ls", "description": "x" * turns})
    size = -(-len(arguments) // turns)
    body = []
    for at in range(0, len(arguments), size):
        body += [_natively(0, arguments[at : at + size]), event(chunk({"content": "\n<b>"}))]
    text = TEXT.replace("</invoke>", f'<parameter name="description">{"x" * turns}</parameter>\n</invoke>')
    one = exchange(SPOKEN["openai_chat"], (Tool("Bash", {"type": "object"}),))
    through(one, b"".join(body) + event(chunk({"content": f"\n{text}"})) + chatclient.ending("tool_calls"))
    assert sorted((verdict.status, verdict.reason) for _, verdict in one.verdicts) == [
        DUPLICATE,
        ("native", "repeated_name"),
    ]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ('{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }', True),
        ('{"a":"\\u00e9"}', '{"a":"\u00e9"}', True),
        ('{"a":1.50}', '{"a":1.5}', True),
        ('{"a":1e400}', '{"a":1E400}', True),
        ("{broken", "{broken", True),
        ("{broken", "{broken ", False),
        ('{"a":[1,2]}', '{"a":[2,1]}', False),
        ('{"a":true}', '{"a":1.0}', False),
        ('{"a":null}', "{}", True),
        ('{"a":[null]}', '{"a":[]}', False),
        ('{"a":{"b":null}}', "{}", False),
        ('{"a":"x\\n"}', '{"a":" x"}', True),
        ('{"a":"x y"}', '{"a":"xy"}', False),
        ('{"a":1}', '{"a":"1"}', True),
        ('{"by_default":" so "}', "{}", True),
        ('{"by_default":"not so"}', "{}", False),
        ('{"a":"\\ud800"}', '{"a":"\\udfff"}', False),
    ],
)
def test_what_means_the_same(left: str, right: str, same: bool) -> None:
    schema = {"properties": {"by_default": {"default": "so"}}}
    held = CallIndex(Toolbox((Tool("Bash", schema),)))
    held.add("Bash", left)
    assert not held.has("Read", right)
    assert held.has("Bash", right) == same
    assert held.take("Bash", right) == same
    assert ("Bash" in held) != same
    assert not held.take("Bash", left) or not same
