"""The laws of the design as properties, over texts made of the dialects' own markup.

Strategy: `replies` strings together whole calls, half tags, quotes, line ends, entities, CDATA, fences, words and lone
surrogates, so that most texts are nearly calls. Each law is stated once, over the reader, and once more over bytes
where the exchange adds something that could break it. TESTS=deep looks at many more texts, anew each time; otherwise
the same few are looked at.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from toolcalls.dialects import all_dialects
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Text, Verdict
from toolcalls.insight.vocabulary.reasons import REASONS
from toolcalls.reading.openers import REASONING_CLOSERS
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request, Tool
from toolcalls.route import Route, Taken
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires
from toolcalls.writing.writer import calls_in, write

settings.register_profile("dev", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=3000, deadline=None)
law = settings.get_profile(os.environ.get("TESTS", "dev"))

WIRE = all_wires()["openai_chat"]
DIALECTS = tuple(all_dialects())
NS = "antml" + ":"


def tool(name: str, **types: Any) -> Tool:
    return Tool(name, {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}})


TOOLS = (
    tool("Bash", command="string"),
    tool("Save", text="string", n="integer", data="object"),
    tool("Noop"),
    Tool("Loose"),
)

# ------------------------------------------------------------------------------------------------------------- texts

TAGS = [
    "<function_calls>", "</function_calls>", '<invoke name="Bash">', "<invoke name='Save'>", '<invoke name="No">',
    "</invoke>", '<parameter name="command">', '<parameter name="text">', '<parameter name="n">', "</parameter>",
    f"<{NS}function_calls>", f'<{NS}invoke name="Bash">', f"</{NS}invoke>", f"</{NS}parameter>",
    '<invoke name="Noop"/>', "<Save>", "</Save>", "<text>", "</text>", "<n>", "</n>", "<Bash>", "<command>",
    "</command>", "</Bash>", "<Noop>", "<read_file>", "<path>", "</path>", "</read_file>",
]  # fmt: skip
PARTS = [
    "<", "</", "<inv", "oke ", 'name="', '"', "'", ">", "/>", "=", "<func", "tion_calls>", "</par", "ameter>", "<Sa",
]  # fmt: skip
NOISE = [
    "\n", "\n", "\r\n", "\r", " ", "    ", "\n\n", "\t", "word", "call", "court\n", "count ", "&lt;", "&amp;", "&am",
    "&", "<![CDATA[", "]]>", "]]", "]]]]><![CDATA[>", "```", "```xml\n", "`", "> ", "- ", "<!--", "-->", "<think>",
    "</think>", "42", "true", '{"a":1}', "é", "🙂", "\ud83d", "\ude42", "\u2028", "\x00", "<b>", "a < b && c",
]  # fmt: skip

_values = st.lists(st.sampled_from([*NOISE, *PARTS]), max_size=4).map("".join)


def invoke_of(name: str, values: dict[str, str]) -> str:
    inside = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in values.items())
    return f'<invoke name="{name}">\n{inside}</invoke>'


def tagged_of(name: str, values: dict[str, str]) -> str:
    inside = "".join(f"<{key}>{value}</{key}>\n" for key, value in values.items())
    return f"<{name}>\n{inside}</{name}>"


_arguments = st.one_of(
    st.tuples(st.just("Bash"), st.fixed_dictionaries({"command": _values})),
    st.tuples(st.just("Save"), st.fixed_dictionaries({"text": _values}, optional={"n": st.sampled_from(["7", "x"])})),
    st.tuples(st.sampled_from(["Noop", "Unknown"]), st.just({})),
)
_blocks = st.one_of(
    _arguments.map(lambda call: invoke_of(*call)),
    _arguments.map(lambda call: tagged_of(*call)),
    st.lists(_arguments, min_size=1, max_size=3).map(
        lambda calls: "\n".join(["<function_calls>", *(invoke_of(*call) for call in calls), "</function_calls>"])
    ),
)


def written_by(dialect: str, call: tuple[str, dict[str, str]]) -> str:
    """The call as the dialect's own writer writes it, read back or not; nothing where it refuses."""
    try:
        return all_dialects()[dialect].write([Call(call[0], json.dumps(call[1]))], Toolbox(TOOLS))
    except ValueError:
        return ""


# Every dialect's own form, whole and with a stretch of it lost or said twice; and every opener there is.
_any_dialect = st.builds(written_by, st.sampled_from(DIALECTS), _arguments)
_damaged = st.builds(
    lambda text, start, end: text[:start] + text[end:], _any_dialect, st.integers(0, 80), st.integers(0, 80)
)
OPENERS = sorted(
    {opener for dialect in all_dialects().values() for opener in dialect.openers(tuple(tool.name for tool in TOOLS))}
)
_pieces = st.one_of(
    st.sampled_from(OPENERS),
    _any_dialect,
    _any_dialect.map(lambda text: f"\n{text}\n"),
    _damaged,
    st.sampled_from(TAGS),
    st.sampled_from(PARTS),
    st.sampled_from(NOISE),
    _blocks,
    _blocks.map(lambda text: f"\n{text}\n"),
)
replies = st.lists(_pieces, max_size=9).map("".join)
routes = st.builds(
    Route,
    client=st.just("native"),
    upstream=st.just("text"),
    policy=st.sampled_from(["standard", "standard", "strict", "lenient"]),
    allowed_tools=st.sampled_from([None, None, ("Bash",), ()]),
    multiple_calls=st.sampled_from([True, True, False]),
    infer_types=st.booleans(),
    max_buffer_bytes=st.sampled_from([64 * 1024, 64 * 1024, 80]),
    take=st.sampled_from([None, None, None, (), get_args(Taken), ("inline",), ("fenced", "reasoning")]),
    require=st.sampled_from([None, None, None, (), ("complete",), ("terminal",), ("arguments",)]),
    max_calls=st.sampled_from([1000, 1000, 2]),
    max_candidates=st.sampled_from([2000, 2000, 3]),
)
STANDARD = Route(client="native", upstream="text")


@st.composite
def cut[T: (str, bytes)](draw: st.DrawFn, whole: T) -> list[T]:
    """`whole` in pieces, none of them empty."""
    places = draw(st.lists(st.integers(0, len(whole)), max_size=8))
    ends = sorted({0, *places, len(whole)})
    return [whole[start:end] for start, end in pairwise(ends)]


def terms_for(route: Route, quotable: tuple[str, ...] = ()) -> CallPolicy:
    return CallPolicy(route, Request(tools=TOOLS, quotable=quotable))


def read(
    route: Route, pieces: Iterable[str], *, ends: bool = True, quotable: tuple[str, ...] = (), frames: bool = True
) -> list[Event]:
    reader = Reader(replace(terms_for(route, quotable), remove_frames=frames))
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.finish(cut=not ends)]


def shown(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def verdicts(events: Iterable[Event]) -> list[Verdict]:
    return [event for event in events if isinstance(event, Verdict)]


def arguments(events: Iterable[Event]) -> dict[int, str]:
    """The argument text of every call that began, also of one that stayed open."""
    found = {event.index: "" for event in events if isinstance(event, CallStart)}
    for event in events:
        if isinstance(event, CallPiece):
            found[event.index] += event.json
    return found


# ------------------------------------------------------------------------------------------------------- the reader


@law
@given(st.data(), replies, routes, st.booleans())
def test_the_reply_is_the_same_however_it_is_cut(data: st.DataObject, text: str, route: Route, ends: bool) -> None:
    once = read(route, [text], ends=ends)
    again = read(route, data.draw(cut(text)), ends=ends)
    assert shown(again) == shown(once)
    assert calls_in(again) == calls_in(once)
    assert arguments(again) == arguments(once)
    assert verdicts(again) == verdicts(once)


@law
@given(st.data(), replies, routes, st.booleans())
def test_an_echo_is_found_however_it_is_cut(data: st.DataObject, text: str, route: Route, ends: bool) -> None:
    quoted = (f"before\n{data.draw(st.sampled_from([text, text[: len(text) // 2], text[1:]]))}\nbehind",)
    once = read(route, [text], ends=ends, quotable=quoted)
    again = read(route, data.draw(cut(text)), ends=ends, quotable=quoted)
    assert (shown(again), calls_in(again), verdicts(again)) == (shown(once), calls_in(once), verdicts(once))


@pytest.mark.parametrize(
    "filling", [' x="' + 3000 * "a" + '"', 3000 * " ", 600 * ' a="b"'], ids=["value", "space", "many"]
)
def test_a_tag_past_its_limit_is_read_the_same_however_it_is_cut(filling: str) -> None:
    text = f'<invoke name="Bash"{filling}><parameter name="command">ls</parameter></invoke>'
    once = read(STANDARD, [text])
    assert [verdict.reason for verdict in verdicts(once)] == ["not_a_call"]
    for size in (1, 7, 1000, 1100):
        assert verdicts(read(STANDARD, [text[at : at + size] for at in range(0, len(text), size)])) == verdicts(once)


def without_layout(text: str) -> str:
    """Without white space, and without closers of reasoning, which go with a call behind them."""
    for closer in REASONING_CLOSERS:
        text = text.replace(closer, "")
    return "".join(text.split())


@law
@given(replies, routes, st.booleans())
def test_nothing_is_lost(text: str, route: Route, ends: bool) -> None:
    events = read(route, [text], ends=ends)
    assert "".join(event.text for event in events if isinstance(event, Text | Markup)) == text
    # What a dialect's frame takes away of a message that is no call is no text: so without frames.
    events = read(route, [text], ends=ends, frames=False)
    left, at = [], 0
    for verdict in verdicts(events):
        if verdict.index is not None:
            left.append(text[at : verdict.start])
            at = verdict.end
    left.append(text[at:])
    assert without_layout("".join(left)) == without_layout(shown(events))


@law
@given(replies, routes, st.booleans())
def test_every_candidate_has_one_verdict(text: str, route: Route, ends: bool) -> None:
    events = read(route, [text], ends=ends)
    found = verdicts(events)
    started = [event.index for event in events if isinstance(event, CallStart)]
    ended = {event.index for event in events if isinstance(event, CallEnd)}
    assert started == list(range(len(started)))
    assert sorted(verdict.index for verdict in found if verdict.index is not None) == started
    for verdict in found:
        assert 0 <= verdict.start <= verdict.end <= len(text)
        assert verdict.status in {"lifted", "declined", "truncated", "malformed"}
        assert (verdict.reason is None) == (verdict.status == "lifted")
        assert verdict.reason is None or verdict.reason in REASONS
        assert (verdict.status == "lifted") == (verdict.index in ended)
    for before, behind in pairwise(found):
        assert before.end <= behind.start or route.policy == "lenient"  # which looks again behind what never closed


@law
@given(replies, routes, st.booleans())
def test_a_complete_call_has_one_object_for_arguments(text: str, route: Route, ends: bool) -> None:
    for call in calls_in(read(route, [text], ends=ends)):
        assert isinstance(json.loads(call.arguments), dict)


@law
@given(replies, st.data())
def test_a_reply_that_is_cut_off_completes_nothing(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    whole = calls_in(read(STANDARD, [text]))
    part = calls_in(read(STANDARD, [text[:place]], ends=False))
    assert part == whole[: len(part)]


@law
@given(
    st.lists(st.one_of(_blocks, st.sampled_from(["\n", "words\n", "```\n", "<b>x</b>\n"])), max_size=4), st.booleans()
)
def test_the_payload_of_a_refused_call_is_never_searched(payload: list[str], tagged: bool) -> None:
    inside = "".join(payload)
    assume("</text>" not in inside and "</parameter>\n</invoke>\n</invoke>" not in inside)
    outer = tagged_of("Save", {"text": inside}) if tagged else invoke_of("Save", {"text": inside})
    route = Route(allowed_tools=("Bash", "Noop"))
    events = read(route, [outer])
    assert shown(events) == outer
    assert [(verdict.status, verdict.name) for verdict in verdicts(events)] == [("declined", "Save")]


# ------------------------------------------------------------------------------------------------------- the writer

_texts = st.one_of(
    st.text(max_size=12),
    st.lists(st.sampled_from([*TAGS, *NOISE, *PARTS]), max_size=5).map("".join),
    st.sampled_from(["", "\n", "\r\n", "007", "true", "null", "1e400", '"quoted"', " padded ", "[]", "{}"]),
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_keys = st.sampled_from(["command", "text", "n", "data", "path"]) | _texts
calls = st.builds(
    lambda name, values: Call(name, json.dumps(values)),
    st.sampled_from(["Bash", "Save", "Noop", "Loose", "Other", "read_file"]) | _texts,
    st.dictionaries(_keys, _json, max_size=3),
)


def meaning(found: Sequence[Call]) -> list[tuple[str, str]]:
    return [(call.name, json.dumps(json.loads(call.arguments))) for call in found]


@law
@given(st.sampled_from(DIALECTS), st.lists(calls, max_size=2), st.booleans())
@example("invoke", [Call("Save", '{"text":"a && b < c ]]> </parameter> \'q\' \\"d\\""}')], True)
@example("tagged", [Call("Save", '{"text":"</text>\\n<n>"}')], True)
def test_what_is_written_is_read_back_as_itself(dialect: str, written: list[Call], declared: bool) -> None:
    known = TOOLS if declared else ()
    try:
        text = write(dialect, written, Toolbox(known))
    except Unwritable:
        return
    reader = Reader(CallPolicy(Route(policy="lenient", dialects=(dialect,)), Request(tools=known)))
    events = [*reader.feed(text), *reader.finish(cut=False)]
    assert meaning(calls_in(events)) == meaning(written)
    assert shown(events).strip() == ""


@pytest.mark.parametrize("dialect", DIALECTS)
@law
@given(value=st.lists(st.sampled_from([*NOISE, "<b>", "</b>", "<p>", "if (a<b)"]), max_size=6).map("".join))
@example(value="  if a < b:\n\treturn\n")
def test_code_can_be_written_where_the_schema_says_string(dialect: str, value: str) -> None:
    assume(not value.endswith("\r"))  # a line end is written behind it, and would make a CRLF of it
    written = [Call("Save", json.dumps({"text": value}))]
    text = write(dialect, written, Toolbox(TOOLS))
    reader = Reader(terms_for(STANDARD))
    assert meaning(calls_in([*reader.feed(text), *reader.finish(cut=False)])) == meaning(written)
