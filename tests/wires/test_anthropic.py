"""The wire `anthropic` beyond its cases, which `test_cases` runs, and its laws.

Strategy: what leaves when, and how, with a client of its own (`anthropicclient`); then any text through the
wire against what the reader makes of it; then the recorded streams, which must leave as they came on every kind of
route but for native calls that become text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from support import anthropicclient as client
from support.anthropicclient import received, stream, understood, whole, written
from support.casefiles import load
from support.dialectcases import as_read
from support.exchanges import as_received, in_blocks, in_pieces, of_kind, of_request, only_whole_knows, run, words
from support.readings import assert_total, read, shown, verdicts
from support.repository import shared_path
from support.sampling import SAMPLED, some
from support.strategies import DIALECTS, KINDS, STANDARD, TOOLS, cut, damaged, decodable, law, replies, routes
from support.wirecases import anthropic_events, check_anthropic
from support.wirecases import exchange_for as case_exchange
from toolcalls.events import CallStart, Finish, Verdict
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import SSE, Form
from toolcalls.writing.writer import calls_in

WIRE = all_wires()["anthropic"]
FILE = load("wires", "anthropic")
WHOLE = [pytest.param(case, id=case["title"]) for case in FILE["cases"] if case.get("whole", True)]


def exchange_for(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    return case_exchange("anthropic", case, form)


def law_exchange(route: Route, kind: Kind = "lift", *, form: Form = "sse", dialect: str = "invoke") -> Exchange:
    return of_kind(WIRE, TOOLS, route, kind, form=form, dialect=dialect)


LEAK = '<invoke name="Noop"></invoke>'


@pytest.mark.parametrize("case", WHOLE)
def test_blocks_that_the_message_begins_with(case: dict[str, Any]) -> None:
    body = written(client.at_once(anthropic_events(case)))
    exchange = exchange_for(case)
    out = run(exchange, [body])
    assert (out == body) == case.get("same", False)
    if not case.get("same", False):
        got = received(out)
        assert re.sub("t+", "t", got.order) == re.sub("t+", "t", case["order"])
        check_anthropic({**case, "order": got.order}, got, exchange)  # calls that became text join the text before them
    else:
        assert sorted(words(exchange)) == sorted(case.get("verdicts", []))
    assert run(exchange_for(case), (body[at : at + 1] for at in range(len(body)))) == out


def test_what_the_message_begins_with_stays_whole_and_in_its_place() -> None:
    opened = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s=="}
    said = {"type": "text", "text": "Look.", "citations": [CITATION["citation"]]}
    call = {**opened, "caller": {"type": "code_execution", "tool_id": "srvtoolu_1"}}
    events = stream([client.text('So.\n<invoke name="Noop"></invoke>')], "tool_use")
    events[0]["message"]["content"] = [thought, said, search, call]
    events[1:-2] = [{**event, "index": 4} if "index" in event else event for event in events[1:-2]]
    out = client.events_of(run(exchange_for({}), [written(events)]))
    assert out[0] == events[0], "nothing in them changes, so they stay where they are"
    assert [event["index"] for event in out if "index" in event] == [4, 4, 4, 5, 5, 5]
    events[0]["message"]["content"] = [thought, said, search, call, {"type": "text", "text": LEAK}]
    reply = received(run(exchange_for({}), [written(events)]))
    assert reply.order == "rtxcctc"
    assert reply.blocks[:4] == [thought, said, search, call]
    assert reply.stop == "tool_use"


def test_a_long_frame_that_becomes_many_is_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """New frames are spelt like the one that they stand for; its lines are not read again for each."""
    looked: list[int] = []
    spelt = SSE.build

    def build(self: SSE, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:
        looked.append(len(like))
        return spelt(self, data, like, keep=keep, name=name)

    monkeypatch.setattr(SSE, "build", build)
    body = written(client.at_once(stream([client.text("a\n"), client.thinking("hm")] * 50 + [client.text(LEAK)])))
    assert received(run(exchange_for({}), [body])).order == "tr" * 50 + "c"
    assert len(looked) > 200
    assert sum(looked) < 4 * len(body)


# --- what leaves when, and how ----------------------------------------------------------------------------------------


def test_text_that_can_be_no_call_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    events = stream([client.text("Hello", " wor", "ld < 3 and <b>", "\n", "`x`", " > y\n", "<invo")])
    frames = [written([event]) for event in events]
    out = [exchange.feed(frame) for frame in frames]
    assert out[0] == frames[0]
    assert out[1:3] == [b"", b""], "what opens a text, and the ping behind it, leave with its first text"
    assert out[3] == b"".join(frames[1:4])
    assert out[4:9] == frames[4:9]
    assert out[9] == b""


def test_a_call_is_closed_when_it_ends() -> None:
    """An agent that acts on `content_block_stop` need not wait for the end of the reply."""
    exchange = exchange_for({})
    events = stream([client.text('<invoke name="Noop"></invoke>', "\n", "So.")])
    out = b"".join([exchange.feed(written([event])) for event in events[:5]])
    assert out.count(b"event: content_block_stop") == 1


def test_a_ping_before_the_first_text_of_a_call_passes() -> None:
    exchange = exchange_for({})
    out = run(exchange, [written(stream([client.text('<invoke name="Noop"></invoke>')]))])
    assert [event["type"] for event in client.events_of(out)] == [
        "message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    ]  # fmt: skip


def test_ids_are_of_the_providers_shape_and_stand_in_the_report() -> None:
    exchange = exchange_for({})
    reply = received(run(exchange, [written(stream([client.text('<invoke name="Noop"></invoke>')]))]))
    (call,), ((_, record),) = reply.calls, exchange.client_calls
    assert call["id"] == record.id
    assert len(call["id"]) == len("toolu_") + 24


def test_a_call_of_which_nothing_came_is_not_taken_for_one_without_arguments() -> None:
    codec = WIRE.codec(streamed=True)
    frames = [json.dumps(event).encode() for event in stream([client.text("x")], "max_tokens")]
    for frame in frames:
        codec.decode(frame)
    assert codec.encode(frames[1], [], can_omit=False) == []
    out = codec.encode(frames[3], [(0, CallStart(0, "Bash", "invoke", "toolu_1"))], can_omit=False)
    assert codec.encode(frames[4], [], can_omit=False) == []
    told = [json.loads(one) for one in [*out, *codec.encode(frames[5], [(0, Finish("length"))], can_omit=False)]]
    assert [event["type"] for event in told] == [
        "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    ]  # fmt: skip
    assert told[1]["delta"] == {"type": "input_json_delta", "partial_json": "{"}


def test_every_wire_says_what_its_ids_begin_with() -> None:
    assert {wire.call_id_prefix for wire in all_wires().values()} >= {"toolu_", "call_"}


def test_what_else_the_end_says_stays() -> None:
    events = stream([client.text('<invoke name="Noop"></invoke>')], "stop_sequence")
    end = events[-2] = {**events[-2], "context_management": {"applied_edits": []}, "usage": {"output_tokens": 9.0}}
    out = client.events_of(run(exchange_for({}), [written(events)]))
    assert out[-2] == {**end, "delta": {"stop_reason": "tool_use", "stop_sequence": None}}


def test_an_error_lets_go_what_is_held() -> None:
    exchange = exchange_for({})
    head = written(stream([client.text("a <inv")])[:4])
    error = written([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}])
    assert exchange.feed(head + error) == head + error


@pytest.mark.parametrize("end", ["error", "break"])
def test_a_call_is_not_closed_where_the_reply_breaks_off(end: str) -> None:
    exchange = exchange_for({})
    body = written(stream([client.text('<invoke name="Bash"><parameter name="command">rm')])[:4])
    if end == "error":
        body += written([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}])
    out = run(exchange, [body], ends=False)
    assert b"content_block_stop" not in out
    assert (b"overloaded_error" in out) == (end == "error")
    assert words(exchange) == ["truncated cut_off Bash (invoke)"]


CITATION = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x", "document_index": 0}}


def test_citations_stay_with_their_text() -> None:
    deltas = [{"type": "text_delta", "text": "a\n"}, CITATION]
    call = [{"type": "text_delta", "text": '<invoke name="Noop"></invoke>'}, CITATION]
    opened = {"type": "text", "text": "", "citations": []}
    events = stream([client.block(opened, *call), client.block(opened, *deltas)])
    reply = received(run(exchange_for({}), [written(events)]))
    assert reply.order == "ct", "what is cited of a call is not shown"
    assert reply.blocks[1]["citations"] == [CITATION["citation"]]
    assert received(run(exchange_for({}), [written(stream([client.block(opened, *deltas)]))])).text == "a\n"


def test_text_that_stands_where_its_block_opens() -> None:
    blocks = [client.text(text='a\n<invoke name="Noop"></invoke>\nb'), client.text(text="c")]
    reply = received(run(exchange_for({}), [written(stream(blocks))]))
    assert (reply.text, reply.order) == ("a\n\nbc", "tctt")
    plain = written(stream([client.text(text="plain")]))
    assert run(exchange_for({}), [plain]) == plain


def test_a_native_call_whose_input_stands_where_its_block_opens() -> None:
    call = client.block({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}})
    lowering = {"route": {"client": "text", "upstream": "native"}, "tools": {}}
    reply = received(run(exchange_for(lowering), [written(stream([call], "tool_use"))]))
    assert '<parameter name="command">ls</parameter>' in reply.text


def test_a_native_call_that_stays_one_keeps_its_other_fields() -> None:
    opened = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}, "caller": {"type": "direct"}}
    given = {"content": "x</content></write>y"}
    pieces = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    lowering = {"route": {"client": "text", "client_dialect": "tagged", "upstream": "native"}, "tools": {}}
    for form in ("sse", "whole"):
        exchange = exchange_for(lowering, form)
        events = stream([client.block(opened, pieces)], "tool_use")
        out = run(exchange, [written(events) if form == "sse" else whole(events)])
        reply = received(out) if form == "sse" else understood(json.loads(out))
        assert reply.blocks == [{**opened, "input": given}]
        assert reply.stop == "tool_use"


def test_text_that_nobody_has_opened() -> None:
    """Some servers leave out where blocks begin and end."""
    text = 'a\n<invoke name="Noop"></invoke>'
    events = stream([client.text(text)])
    events = [event for event in events if event["type"] not in {"content_block_start", "content_block_stop"}]
    exchange = exchange_for({})
    run(exchange, [written(events)])
    assert words(exchange) == ["lifted Noop (invoke)"]


def test_a_whole_reply_keeps_what_else_it_holds() -> None:
    cited = {"type": "text", "text": 'a\n<invoke name="Noop"></invoke>\nb', "citations": [CITATION["citation"]]}
    image = {"type": "container_upload", "file_id": "f"}
    body = {**client.HEAD, "content": [cited, image], "stop_reason": "end_turn", "usage": client.USAGE, "container": 1}
    out = json.loads(run(exchange_for({}, "whole"), [json.dumps(body).encode()]))
    assert out["container"] == 1
    assert [block["type"] for block in out["content"]] == ["text", "tool_use", "text", "container_upload"]
    assert out["content"][0] == {**cited, "text": "a\n"}
    assert out["content"][2] == {"type": "text", "text": "\nb"}


# --- what a request says ----------------------------------------------------------------------------------------------


def test_a_request() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a document"}}
    found = {"type": "search_result", "source": "x", "title": "y", "content": [{"type": "text", "text": "found"}]}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "gone"}, found]}
    body = {
        "model": "m",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "system", "content": "Mind the gap."},
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I go."}],
            },
            {"role": "user", "content": [{**result}, {"type": "text", "text": "and?"}, document, None]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "plain"}]},
            None,
        ],
        "tools": [
            {"name": "f", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True},
            {"type": "custom", "name": "g", "input_schema": {}},
            {"type": "web_search_20250305", "name": "web_search"},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "mcp_toolset", "mcp_server_name": "s"},
            None,
        ],
        "output_config": {"format": {"type": "json_schema", "schema": {}}},
    }
    request = request_of(WIRE, json.dumps(body).encode())
    assert [(tool.name, tool.description) for tool in request.tools[:2]] == [("f", "d"), ("g", "")]
    (bash,) = request.tools[2:]
    assert (bash.name, set(bash.schema["properties"])) == ("bash", {"command", "restart"})
    assert (request.model, request.system, request.assistant) == ("m", "Be brief.\nMind the gap.", ("I go.",))
    assert request.quotable == ("go", "and?", "gone", "found", "a document", "plain")
    assert request.response_format
    assert not request_of(WIRE, b'{"messages":[],"output_config":{"effort":"low"}}').response_format
    assert request_of(WIRE, b'{"messages":[],"system":"x"}').system == "x"


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        (None, "auto"),
        ({"type": "auto", "disable_parallel_tool_use": True}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, "f"),
        ({"type": "tool"}, "required"),
        ("none", "auto"),
    ],
)
def test_the_choice(choice: object, meant: str) -> None:
    assert request_of(WIRE, json.dumps({"messages": [], "tool_choice": choice}).encode()).tool_choice == meant


def test_a_block_keeps_members_of_any_name() -> None:
    """A native call that cannot become text is told anew after one that has; its block may have any members."""
    bash = client.call("toolu_0", "Bash", '{"command":"ls"}')
    opened, *rest = client.call("toolu_1", "Bash", '{"command":')
    odd = {"self": 1, "kind": "x", "call": "y", "event": None, "index": 9}
    opened = {**opened, "content_block": {**opened["content_block"], **odd}}
    exchange = exchange_for({"route": {"client": "text", "upstream": "native"}})
    out = run(exchange, [written(stream([client.text("hi"), bash, [opened, *rest]], "tool_use"))])
    assert words(exchange) == ["lowered Bash (invoke)", "malformed bad_arguments Bash"]
    events = [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data: ")]
    (block,) = (one["content_block"] for one in events if one.get("content_block", {}).get("type") == "tool_use")
    assert odd.items() <= block.items()


_words = ["type", "name", "role", "content", "source", "data", "text", "format", "input_schema"]
_odd = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_words), inner, max_size=4),
    max_leaves=20,
)


@law
@given(_odd, st.sampled_from(["messages", "tools", "tool_choice", "system", "model", "output_config"]))
def test_no_request_raises_anything_but_a_value_error(value: object, key: str) -> None:
    messages = [{"role": role, "content": value} for role in ("user", "assistant")]
    body = {"messages": messages, **({} if key == "messages" else {key: value})}
    request = request_of(WIRE, json.dumps(body).encode())
    assert isinstance(request.tools, tuple)


# --- laws -------------------------------------------------------------------------------------------------------------


texts = replies.filter(bool).map(decodable)


@law
@given(st.data(), texts, routes)
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route) -> None:
    body = written(stream([client.text(*data.draw(cut(text)))]))
    exchange = law_exchange(route)
    out = run(exchange, data.draw(cut(body)))
    reply = received(out)
    events = read(route, [text])
    assert reply.text == in_blocks(events)
    ended = {record.id for _, record in exchange.client_calls if record.complete}
    # The JSON of a call that broke off may look whole; then the stop reason says that the reply is not.
    assert reply.stop == "max_tokens" or all(call["id"] in ended for call in reply.calls)
    got = [(call["name"], call["arguments"]) for call in reply.calls if call["id"] in ended]
    assert got == [(call.name, call.arguments) for call in calls_in(events)]
    assert [as_read(verdict) for _, verdict in exchange.verdicts] == [as_read(verdict) for verdict in verdicts(events)]
    if shown(events) == text:
        assert out == body
    else:
        assert all(block["text"].strip() for block in reply.blocks if block["type"] == "text")


def without_broken(verdicts: Sequence[tuple[int, Verdict]]) -> list[tuple[int, Verdict]]:
    """Verdicts as though a client had nothing of a call that broke off, as it is in a whole reply."""
    broken = {"truncated", "malformed"}
    return [(lane, structs.replace(one, index=None) if one.status in broken else one) for lane, one in verdicts]


@law
@given(st.data(), st.lists(texts, min_size=1, max_size=3), routes, st.sampled_from(KINDS), st.sampled_from(DIALECTS))
def test_live_and_whole_are_the_same_however_the_bytes_are_cut(
    data: st.DataObject, blocks: list[str], route: Route, kind: Kind, dialect: str
) -> None:
    """But for a call that broke off, which a whole reply shows as text."""
    events = stream([client.text(*data.draw(cut(text))) for text in blocks])
    body = written(events)
    once, again, one = (law_exchange(route, kind, form=form, dialect=dialect) for form in ("sse", "sse", "whole"))
    out = run(once, [body])
    assert run(again, data.draw(cut(body))) == out
    assert once.verdicts == again.verdicts
    if kind == "observe":
        assert out == body
    if only_whole_knows(one, blocks):
        return
    live = received(out)
    at_once = understood(json.loads(run(one, [whole(events)])))
    assert [(call["id"], call["name"], json.loads(call["arguments"])) for call in live.calls] == [
        (call["id"], call["name"], json.loads(call["arguments"])) for call in at_once.calls
    ]
    assert live.stop == at_once.stop
    if not live.open:
        assert (live.text, live.order) == (at_once.text, at_once.order)
    assert without_broken(once.verdicts) == without_broken(one.verdicts)


natives = st.builds(
    lambda name, pieces: (name, pieces),
    st.sampled_from(["Bash", "Write", "other", 'a"b']),
    st.sampled_from([(), ('{"command":', ' "ls"}'), ("", '{"content":"</content></Write>', '"}'), ('{"a": 1.0}',)]),
)


@law
@given(st.data(), st.lists(texts | natives | st.none(), min_size=1, max_size=5), routes, st.sampled_from(KINDS))
def test_any_row_of_blocks_is_told_block_by_block(
    data: st.DataObject, row: list[Any], route: Route, kind: Kind
) -> None:
    """Texts, native calls and thinking in any order: the strict client takes them, and no call is lost or doubled."""
    blocks = []
    for number, one in enumerate(row):
        if one is None:
            blocks.append(client.thinking("hm"))
        elif isinstance(one, str):
            blocks.append(client.text(*data.draw(cut(one))))
        else:
            blocks.append(client.call(f"toolu_{number}", one[0], *one[1]))
    called = [one for one in row if isinstance(one, tuple)]
    events = stream(blocks, "tool_use" if called else "end_turn")
    body = written(events)
    once, again, one_body = (law_exchange(route, kind, form=form) for form in ("sse", "sse", "whole"))
    out = run(once, [body])
    assert run(again, data.draw(cut(body))) == out
    live, at_once = received(out), understood(json.loads(run(one_body, [whole(events)])))
    assert live.reasoning == at_once.reasoning
    assert live.reasoning.count("hm") >= row.count(None)
    for exchange, reply in ((once, live), (one_body, at_once)):
        found = [verdict.status for _, verdict in exchange.verdicts]
        stays = found.count("native") + (found.count("lifted") if kind in {"lift", "process"} else 0)
        ended = {record.id for _, record in exchange.client_calls if record.complete}
        assert len([call for call in reply.calls if call["id"] in ended]) == stays
        assert len(called) == sum(
            verdict.start == verdict.end == 0 and verdict.status in {"native", "lowered"}
            for _, verdict in exchange.verdicts
        )
    if kind == "observe":
        assert out == body


@law
@given(st.data(), texts, routes)
def test_nothing_of_a_whole_reply_is_lost(data: st.DataObject, text: str, route: Route) -> None:
    """A call that broke off is text, as it is in the reply, and every other is a call."""
    stop = data.draw(st.sampled_from(["end_turn", "max_tokens"]))
    exchange = law_exchange(route, form="whole")
    reply = understood(json.loads(run(exchange, [whole(stream([client.text(text)], stop))])))
    records = [record for _, record in exchange.client_calls]
    assert [call["name"] for call in reply.calls] == [record.name for record in records if record.complete]
    for _, verdict in exchange.verdicts:
        if verdict.status in {"truncated", "malformed"}:
            assert text[verdict.start : verdict.end].strip() in reply.text


@law
@given(st.data(), texts)
def test_a_stream_that_breaks_completes_nothing_more(data: st.DataObject, text: str) -> None:
    body = written(stream([client.text(text)]))
    part = law_exchange(STANDARD)
    out = run(part, [body[: data.draw(st.integers(0, len(body)))]], ends=False)
    frames, end, _ = out.rpartition(b"\n\n")
    reply = received(frames + end, ends=False)
    complete = [record.arguments for _, record in part.client_calls if record.complete]
    assert [call["arguments"] for call in reply.calls] == complete


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS), st.sampled_from(["sse", "whole"]), st.booleans())
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind, form: Form, ends: bool) -> None:
    native = client.call("toolu_1", "Bash", '{"command":', ' "ls"}')
    events = stream([client.thinking("hm"), client.text(text or "x"), native, client.text("b")], "tool_use")
    body = data.draw(damaged(written(events) if form == "sse" else whole(events)))
    exchange = law_exchange(route, kind, form=form)
    assert_total(exchange, data.draw(cut(body)), ends=ends)


# --- recorded streams -------------------------------------------------------------------------------------------------


@cache
def recorded() -> Sequence[dict[str, Any]]:
    lines = shared_path("suites/streams/anthropic.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


SIDES: dict[Kind, dict[str, Any]] = {
    "lift": {"client": "native", "upstream": "text"},
    "lower": {"client": "text", "upstream": "native"},
    "roundtrip": {"client": "text", "upstream": "text"},
    "observe": {"client": "native", "upstream": "native"},
}


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("way", ["as received", 331])
def test_a_recorded_stream_leaves_as_it_came(kind: Kind, way: str | int) -> None:
    """On every kind of route, but for native calls that become text; then the rest is what it was."""
    route = Route(**SIDES[kind])
    lowered = 0
    for row in some(recorded(), 30, f"{kind} {way}"):
        body = str(row["body"]).encode("utf-8", "surrogatepass")
        request = request_of(WIRE, json.dumps(row.get("request") or {"messages": []}).encode())
        exchange = of_request(WIRE, request, route, form="sse")
        assert exchange.decision.kind == kind
        pieces = in_pieces(body, way) if isinstance(way, int) else as_received(body, row["chunks"] or ())
        out = run(exchange, pieces)
        native = [one for _, one in exchange.verdicts if one.dialect is None or one.status == "lowered"]
        assert len(native) == row["native_calls"], row["id"]
        if not native or kind not in {"lower", "roundtrip"}:
            assert out == body, row["id"]
            continue
        now = received(out.strip() + b"\n\n", ends=False)
        if not any(one.status == "lowered" for one in native):  # it broke off
            assert [call["name"] for call in now.open] == [one.name for one in native], row["id"]
            continue
        lowered += 1
        was = received(body.strip() + b"\n\n", ends=False)
        assert now.text.startswith(was.text), row["id"]
        assert (now.reasoning, now.usage) == (was.reasoning, was.usage), row["id"]
        assert len(now.calls) == len(was.calls) - sum(one.status == "lowered" for one in native), row["id"]
    assert SAMPLED or (lowered > 20) == (kind in {"lower", "roundtrip"})
