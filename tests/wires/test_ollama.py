"""The wire `ollama`, case by case (`tests/cases/wires/ollama.yaml`), streamed and whole, and its laws.

Strategy: as for the other wires. A reply is sent as lines of JSON and as one object, and read by `ollamaclient`; the
same bytes are cut in two at every place and sent one by one. Laws over generated texts compare with the reader;
recorded streams must leave byte for byte.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.casefiles import load, openai_tools
from support.exchanges import in_pieces, of_kind, of_request, run
from support.ollamaclient import body_of, call, line, received
from support.readings import assert_as_read, meaning, read, read_back
from support.repository import shared_path
from support.strategies import DIALECTS, KINDS, TOOLS, calls, cut, damaged, decodable, law, replies, routes
from support.wirecases import exchange_for as case_exchange
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import Kind
from toolcalls.route import Route
from toolcalls.shapes import Call
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

WIRE = all_wires()["ollama"]
FILE = load("wires", "ollama")


def exchange_for(case: Mapping[str, Any], form: Form = "ndjson") -> Exchange:
    return case_exchange("ollama", case, form)


def law_exchange(route: Route, kind: Kind = "lift", form: Form = "ndjson", dialect: str = "invoke") -> Exchange:
    return of_kind(WIRE, TOOLS, route, kind, form=form, dialect=dialect)


def test_a_line_that_nothing_changes_leaves_in_the_callback_that_brought_it() -> None:
    exchange = exchange_for({})
    for text in ("Hello", " wor", "ld < 3 and <b>", "\n", "`x`"):
        frame = body_of([line(text)])
        assert exchange.feed(frame) == frame
    assert exchange.feed(body_of([line("\n<invo")])) == b""


def test_arguments_that_are_written_as_a_string_are_read() -> None:
    body = body_of(
        [line({"tool_calls": [{"function": {"name": "Bash", "arguments": '{"command":"ls"}'}}]}), line("", "stop")]
    )
    exchange = exchange_for({"route": {"mend": []}})
    assert run(exchange, [body]) == body
    assert [record.arguments for _, record in exchange.client_calls] == ['{"command":"ls"}']


@pytest.mark.parametrize(
    ("kind", "form"), [("application/x-ndjson", "ndjson"), ("application/json; charset=utf-8", "whole")]
)
def test_the_forms_of_the_wire(kind: str, form: Form) -> None:
    assert {WIRE.form(path, kind) for path in ("/api/chat", "/ollama/api/chat/")} == {form}


def test_a_request_is_read() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go.", "images": ["aGk="]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": "I go."},
        {"role": "tool", "content": "done", "tool_name": "Bash"},
        None,
    ]
    body = {"model": "m", "messages": messages, "tools": openai_tools(FILE["tools"]), "format": "json"}
    request = request_of(WIRE, json.dumps(body).encode())
    assert [tool.name for tool in request.tools] == ["Bash", "Noop"]
    assert (request.model, request.system, request.assistant) == ("m", "Be brief.", ("I go.",))
    assert request.quotable == ("Go.", "done")
    assert request.response_format


# --- laws -------------------------------------------------------------------------------------------------------------


def in_lines(pieces: Iterable[str]) -> bytes:
    return body_of([*map(line, pieces), line("", "stop")])


@law
@given(st.data(), replies, routes)
def test_a_client_receives_what_the_reader_reads(data: st.DataObject, text: str, route: Route) -> None:
    text = decodable(text)
    body = in_lines(data.draw(cut(text)))
    exchange = law_exchange(route)
    out = run(exchange, data.draw(cut(body)))
    got = received(out)
    names = [name for name, _ in got.calls]
    assert_as_read(read(route, [text]), exchange, got.text, names, same=out == body, calls_come_whole=True)


@law
@given(st.data(), st.lists(calls.filter(lambda one: one.name.strip() != ""), min_size=1, max_size=3))
def test_native_calls_reach_a_text_client_as_calls_that_read_back(data: st.DataObject, natives: list[Call]) -> None:
    made = [call(one.name, json.loads(one.arguments)) for one in natives]
    body = body_of([line("Well.\n"), line({"tool_calls": made}), line("", "stop")])
    dialect = data.draw(st.sampled_from(DIALECTS))
    exchange = law_exchange(Route(client="text", upstream="native"), "lower", dialect=dialect)
    got = received(run(exchange, [body]))
    stayed = [Call(name, json.dumps(arguments)) for name, arguments in got.calls]
    assert sorted(meaning([*read_back(got.text, dialect, natives), *stayed])) == sorted(meaning(natives))


@law
@given(st.data(), replies, routes, st.sampled_from(KINDS))
def test_no_bytes_raise(data: st.DataObject, text: str, route: Route, kind: Kind) -> None:
    form: Form = data.draw(st.sampled_from(["ndjson", "whole"]))
    body = body_of([line({"content": text, "tool_calls": [call("Bash", {"command": "ls"})]}), line("", "stop")])
    body = data.draw(damaged(body))
    out = run(law_exchange(route, kind, form), data.draw(cut(body)))
    if kind == "observe":
        assert out == body


# --- recorded streams -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 7, 997])
def test_a_recorded_stream_leaves_as_it_came(size: int) -> None:
    rows = shared_path("suites/streams/ollama.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows):
        body = row["body"].encode("utf-8", "surrogatepass")
        request = request_of(WIRE, json.dumps(row["request"] or {"messages": []}).encode())
        exchange = of_request(WIRE, request, form="ndjson")
        assert run(exchange, in_pieces(body, size)) == body, row["id"]
        natives = [verdict for _, verdict in exchange.verdicts if verdict.dialect is None]
        assert len(natives) == row["native_calls"], row["id"]
