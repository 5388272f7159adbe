"""The wire `gemini`, case by case (`tests/cases/wires/gemini.yaml`), in each of its forms, and its laws.

Strategy: a case's reply is sent as events, as a JSON array and (joined) as one reply, each also in the envelope of Code
Assist, and read by `geminiclient`. The same bytes are cut in two at every place and sent one by one. Laws over
generated texts compare with the reader; recorded streams must leave byte for byte.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.casefiles import load
from support.exchanges import in_pieces, of_kind, of_request, run, words
from support.geminiclient import Body, body_of, part, received, reply
from support.readings import assert_as_read, meaning, read, read_back
from support.repository import shared_path
from support.strategies import DIALECTS, KINDS, STANDARD, TOOLS, calls, cut, damaged, decodable, law, replies, routes
from support.wirecases import exchange_for as case_exchange
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form, JSONArray

WIRE = all_wires()["gemini"]
FILE = load("wires", "gemini")
STREAMS: list[Body] = ["sse", "json_array"]


def exchange_for(case: Mapping[str, Any], form: Form = "sse") -> Exchange:
    return case_exchange("gemini", case, form)


def law_exchange(route: Route, kind: Kind = "lift", form: Form = "sse", dialect: str = "invoke") -> Exchange:
    return of_kind(WIRE, TOOLS, route, kind, form=form, dialect=dialect)


def test_a_reply_that_nothing_changes_leaves_in_the_callback_that_brought_it() -> None:
    for form in STREAMS:
        exchange = exchange_for({}, form)
        frames = [b"[", b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n', b",\r\n"]
        if form == "sse":
            frames = [body_of([reply([text])], "sse") for text in ("Hello", " wor", "ld <b>", "\n")]
        for frame in frames:
            assert exchange.feed(frame) == frame


def test_candidates_are_told_apart() -> None:
    call = '<invoke name="Noop"></invoke>'
    texts = [(0, call[:9]), (1, "Hello <"), (0, call[9:]), (1, "b>")]
    candidates = [{"content": {"parts": [{"text": text}], "role": "model"}, "index": lane} for lane, text in texts]
    ends = [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP", "index": lane} for lane in (0, 1)]
    body = body_of([{"candidates": [one]} for one in candidates] + [{"candidates": ends}])
    exchange = exchange_for({})
    got = received(run(exchange, [body])).candidates
    assert (got[0].calls, got[0].text, got[1].calls, got[1].text) == ([("Noop", {})], "", [], "Hello <b>")


@pytest.mark.parametrize(
    "kind",
    [("native", "text", "native cook"), ("text", "native", "lowered cook (invoke)")],
    ids=["lift", "lower"],
)
def test_arguments_that_are_streamed(kind: tuple[Any, Any, str]) -> None:
    client, upstream, verdict = kind
    case: dict[str, Any] = {"route": {"client": client, "upstream": upstream}}
    case["tools"] = {"cook": {}} if client == "native" else {}
    body = body_of([reply([one]) for one in FILE["streamed_arguments"]] + [reply([""], "STOP")])
    exchange = exchange_for(case)
    out = run(exchange, [body])
    assert words(exchange) == [verdict]
    ((_, record),) = exchange.client_calls
    assert json.loads(record.arguments) == {
        "recipe": {"items": [{"name": "Eggs", "count": 2}, {"name": "Salt"}], "fresh": True},
        "note": None,
    }
    if client == "native":
        assert out == body
    else:
        assert '<invoke name="cook">' in received(out).candidates[0].text


@pytest.mark.parametrize(
    ("path", "kind", "form"),
    [
        ("/m:streamGenerateContent?alt=sse", "text/event-stream", "sse"),
        ("/m:streamGenerateContent", "application/json; charset=UTF-8", "json_array"),
        ("/m:generateContent", "application/json", "whole"),
        ("/m:generateContent", "text/html", None),
    ],
)
def test_the_forms_of_the_wire(path: str, kind: str, form: Form | None) -> None:
    assert WIRE.form(path, kind) == form


@pytest.mark.parametrize("envelope", [False, True], ids=["bare", "envelope"])
def test_a_request_is_read(envelope: bool) -> None:
    upper = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}}
    body: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Go."}, {"inlineData": {}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "I "}, {"text": "go."}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"output": "done"}}}]},
        ],
        "tools": [
            {"googleSearch": {}},
            {"functionDeclarations": [{"name": "a", "parameters": upper}]},
            {"functionDeclarations": [{"name": "b", "parametersJsonSchema": {"x": 1}}]},
            {"function_declarations": [{"name": "c", "parameters_json_schema": {"y": 1}, "description": "C."}, {}]},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["b"]}},
        "generationConfig": {"responseMimeType": "application/json"},
    }  # fmt: skip
    request = request_of(WIRE, json.dumps({"model": "m", "request": body} if envelope else body).encode())
    assert [(tool.name, tool.schema, tool.description) for tool in request.tools] == [
        ("a", {"type": "object", "properties": {"n": {"type": ["integer", "null"], "nullable": True}}}, ""),
        ("b", {"x": 1}, ""),
        ("c", {"y": 1}, "C."),
    ]
    assert (request.tool_choice, request.system, request.model) == ("b", "Be brief.", "m" if envelope else "")
    assert (request.assistant, request.quotable) == (("I go.",), ("Go.", "done"))
    assert request.response_format


@pytest.mark.parametrize("mode", ["ANY", "VALIDATED"])
def test_tools_that_the_choice_leaves_out_are_not_declared(mode: str) -> None:
    tools = [{"functionDeclarations": [{"name": name} for name in "abc"]}]
    config = {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": ["a", "c"]}}
    body = {"contents": [], "tools": tools, "toolConfig": config}
    assert [tool.name for tool in request_of(WIRE, json.dumps(body).encode()).tools] == ["a", "c"]


# --- laws -------------------------------------------------------------------------------------------------------------


def replies_of(pieces: Iterable[str], form: Body, finish: str | None = "STOP") -> bytes:
    return body_of([*(reply([piece]) for piece in pieces), *([reply([""], finish)] if finish else [])], form)


@law
@given(st.data(), replies, routes, st.sampled_from(STREAMS))
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route, form: Body) -> None:
    text = decodable(text)
    body = replies_of(data.draw(cut(text)), form)
    exchange = law_exchange(route, form=form)
    out = run(exchange, data.draw(cut(body)))
    got = received(out, form).candidates[0]
    names = [name for name, _ in got.calls]
    assert_as_read(read(route, [text]), exchange, got.text, names, same=out == body, calls_come_whole=True)


@law
@given(st.data(), st.lists(calls.filter(lambda call: call.name.strip() != ""), min_size=1, max_size=3))
def test_native_calls_reach_a_text_client_as_calls_that_read_back(data: st.DataObject, natives: list[Call]) -> None:
    parts = [{"functionCall": {"name": call.name, "args": json.loads(call.arguments)}} for call in natives]
    body = body_of([reply(["Well.\n"]), reply(parts), reply([""], "STOP")])
    dialect = data.draw(st.sampled_from(DIALECTS))
    exchange = law_exchange(Route(client="text", upstream="native"), "lower", dialect=dialect)
    got = received(run(exchange, [body])).candidates[0]
    stayed = [Call(name, json.dumps(arguments)) for name, arguments in got.calls]
    assert sorted(meaning([*read_back(got.text, dialect, natives), *stayed])) == sorted(meaning(natives))
    assert run(law_exchange(STANDARD), [body]) == body


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS))
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind) -> None:
    form: Body = data.draw(st.sampled_from(["sse", "json_array", "whole"]))
    parts: list[Any] = [text, {"functionCall": {"name": "Bash", "args": {"command": "ls"}}}]
    body = body_of([reply(parts), *([] if form == "whole" else [reply([""], "STOP")])], form)
    body = data.draw(damaged(body))
    out = run(law_exchange(route, kind, form), data.draw(cut(body)))
    if kind == "observe":
        assert out == body


# --- recorded streams -------------------------------------------------------------------------------------------------


def recorded(name: str) -> list[dict[str, Any]]:
    lines = shared_path(f"suites/streams/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", ["gemini", "gemini-jsonarray"])
@pytest.mark.parametrize("size", [0, 7, 997])
def test_a_recorded_stream_leaves_as_it_came(name: str, size: int) -> None:
    for row in recorded(name):
        body = row["body"].encode("utf-8", "surrogatepass")
        request = request_of(WIRE, json.dumps(row["request"] or {"contents": []}).encode())
        exchange = of_request(WIRE, request, form="json_array" if name == "gemini-jsonarray" else "sse")
        assert run(exchange, in_pieces(body, size)) == body, row["id"]
        natives = [verdict for _, verdict in exchange.verdicts if verdict.dialect is None]
        # Parts of streamed arguments are counted one by one there.
        assert len(natives) == row["native_calls"] or "willContinue" in row["body"], row["id"]


def test_nothing_of_a_recorded_stream_is_lost_to_a_text_client() -> None:
    for row in recorded("gemini"):
        body = row["body"].encode("utf-8", "surrogatepass")
        if not body.startswith(b"data:"):
            continue
        exchange = law_exchange(Route(client="text", upstream="native"), "lower")
        out = run(exchange, [body])
        before, after = (_told(stream) for stream in (body, out))
        assert (after["thoughts"], after["others"]) == (before["thoughts"], before["others"]), row["id"]
        assert after["text"].startswith(before["text"].rstrip()), row["id"]
        complete = [record for _, record in exchange.client_calls if record.complete]
        assert all(record.name in after["text"] or record.name in str(after["calls"]) for record in complete), row["id"]


def _told(stream: bytes) -> dict[str, Any]:
    """All that a stream says, without rules."""
    told: dict[str, Any] = {"text": "", "thoughts": "", "others": [], "calls": []}
    for line in stream.decode().splitlines():
        payload = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
        for candidate in payload.get("candidates", ()):
            for one in candidate.get("content", {}).get("parts", ()):
                if "functionCall" in one:
                    told["calls"].append(one["functionCall"])
                elif "text" in one:
                    told["thoughts" if one.get("thought") else "text"] += one["text"]
                told["others"].extend({key: one[key]} for key in one if key not in {"text", "thought", "functionCall"})
    return told


# --- the array form ---------------------------------------------------------------------------------------------------

ARRAY = rb"""[{"a": "x\"}{\\", "b": {"c": "]"}}
,
{"d":"}\\\\"},"a string {",{} ]
"""


@given(st.data())
def test_an_array_is_cut_into_its_objects_wherever_the_bytes_are_cut(data: st.DataObject) -> None:
    frames = JSONArray()
    cuts = [frame for piece in data.draw(cut(ARRAY)) for frame in frames.feed(piece)] + frames.flush()
    assert b"".join(frame.raw for frame in cuts) == ARRAY
    told = [frame.data for frame in cuts if frame.data is not None]
    assert told == [rb'{"a": "x\"}{\\", "b": {"c": "]"}}', rb'{"d":"}\\\\"}', b"{}"]


@given(st.binary(max_size=60), st.data())
def test_no_byte_of_an_array_is_lost(body: bytes, data: st.DataObject) -> None:
    frames = JSONArray(max_bytes=20)
    cuts = [frame for piece in data.draw(cut(body)) for frame in frames.feed(piece)] + frames.flush()
    assert b"".join(frame.raw for frame in cuts) == body


def test_an_element_that_grows_too_large_passes_unread() -> None:
    frames = JSONArray(max_bytes=20)
    assert frames.feed(b'[{"a":1}')[-1].data == b'{"a":1}'
    (large,) = frames.feed(b'{"a":"' + b"x" * 30)
    assert (large.data, frames.overflowed) == (None, True)
    assert frames.feed(b'"}]')[0].data is None


CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
NOOP = '<invoke name="Noop"></invoke>'
MADE = {"functionCall": {"name": "Noop", "args": {}}}
NATIVE = {"functionCall": {"name": "Bash", "args": {"command": "ls"}}}
THOUGHT = {"text": "hm", "thought": True}


@pytest.mark.parametrize("form", ["sse", "json_array", "whole"])
@pytest.mark.parametrize(
    ("parts", "want"),
    [
        (["I compute.\n", CODE, RAN, f"So:\n{NOOP}"], ["I compute.\n", CODE, RAN, "So:\n", MADE]),
        ([f"A\n{NOOP}", CODE, "B"], ["A\n", MADE, CODE, "B"]),
        ([f"{NOOP}\n", CODE, f"\n{NOOP}"], [MADE, CODE, MADE]),
        (["A\n", THOUGHT, NOOP, CODE, "B"], ["A\n", THOUGHT, MADE, CODE, "B"]),
        (["A\n", NATIVE, f"B\n{NOOP}"], ["A\n", NATIVE, "B\n", MADE]),
        (["", CODE, NOOP], [CODE, MADE]),
        (["A\n", CODE, '<invoke name="No', RAN, 'op"></invoke>'], ["A\n", CODE, RAN, MADE]),
    ],
)
def test_text_stays_in_its_place_among_what_is_none(parts: list[Any], want: list[Any], form: Body) -> None:
    body = body_of([reply(parts, "STOP")], form)
    out = run(exchange_for({}, form), [body])
    received(out, form)  # by the strict client
    loaded = json.loads(out.removeprefix(b"data: "))
    got = loaded[0] if isinstance(loaded, list) else loaded
    assert got["candidates"][0]["content"]["parts"] == [part(item) for item in want]
