"""A dialect of the package, loaded from its own file under another name, is the same dialect but for the name.

Strategy: `dialect_text` writes each that is data of an engine, `form_of` reads it. Every case of its file is read by
both, whole and cut, through a reader and through the bytes of an exchange; what leaves must be the same. So is what is
written, taught and told. Three engines at least are among them: tags, pairs and JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from support.casefiles import Case, dialect_cases, written_cases
from support.chatclient import stream
from support.dialectcases import WIRE, asked, chunks
from support.exchanges import run
from support.ownforms import in_a_file, own_name, sayable
from support.sampling import some
from toolcalls.dialects import all_dialects, declared
from toolcalls.events import Event, Verdict
from toolcalls.own_dialects.engines import said
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.requests.conversation import request_of
from toolcalls.requests.evidence import call_policy_of, decide
from toolcalls.shapes import Call, Unwritable
from toolcalls.values.toolbox import Toolbox
from toolcalls.writing import prompting
from toolcalls.writing.writer import write


def plain(events: Sequence[Event], name: str) -> list[Event]:
    """Events in which a dialect has the package's name."""
    own = own_name(name)
    return [
        msgspec.structs.replace(one, dialect=name) if getattr(one, "dialect", None) == own else one for one in events
    ]


def read(case: Case, dialect: str, pieces: Sequence[str]) -> list[Event]:
    route = replace(case.route, dialects=(dialect,))
    request = asked(case)
    call_policy, tools = call_policy_of(route, request, decide(route, request, {}, ()))
    reader = Reader(call_policy, tools=tools)
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.finish(cut=case.finish != "stop")]


def exchanged(case: Case, dialect: str, pieces: Sequence[str], **route: Any) -> tuple[bytes, list[Event]]:
    """What leaves, and the verdicts."""
    on = replace(case.route, dialects=(dialect,), **route)
    request = asked(case)
    decision = decide(on, request, {}, ())
    exchange = Exchange(WIRE, *_policy(on, request, decision), form="sse", seed=b"s")
    body = stream(pieces, None if case.finish == "broken" else case.finish)
    out = run(exchange, [body], ends=case.finish != "broken")
    return out, [verdict for _, verdict in exchange.verdicts]


def _policy(route: Any, request: Any, decision: Any) -> tuple[Any, Any, Any]:
    call_policy, tools = call_policy_of(route, request, decision)
    return call_policy, decision, tools


def test_the_forms_of_several_engines_are_among_them() -> None:
    engines = {said(all_dialects()[name])[0] for name in sayable()}
    assert engines >= {"tags", "function_tags", "pairs", "json", "open_json", "python", "name_in_words"}
    assert len(sayable()) > 25


@pytest.mark.parametrize("name", sayable())
def test_its_data_is_the_same(name: str) -> None:
    assert said(in_a_file(name).form.grammar) == said(all_dialects()[name])
    assert (in_a_file(name), in_a_file(name).form.grammar.name) == (own_name(name), own_name(name))


@pytest.mark.parametrize("name", sayable())
def test_its_cases_are_read_alike_however_they_are_cut(name: str) -> None:
    own = in_a_file(name)
    for case in some(tuple(dialect_cases(name)), 12, name):
        text = case.text
        ways = [[text], chunks(text, 1), chunks(text, 3), *([text[:at], text[at:]] for at in range(1, len(text), 9))]
        for pieces in some(ways, 4, text):
            found = read(case, own, pieces)
            assert plain(found, name) == read(case, name, pieces), case.title
            assert all(type(one.dialect) is str for one in found if isinstance(one, Verdict) and one.dialect)


@pytest.mark.parametrize("name", sayable())
def test_the_same_bytes_leave_for_native_and_text_clients(name: str) -> None:
    own = in_a_file(name)
    for case in some(tuple(dialect_cases(name)), 6, name):
        for pieces in ([case.text], chunks(case.text, 3)):
            for more in ({}, {"client": "text"}):
                spoken = [{**more, "client_dialect": one} if more else more for one in (own, name)]
                (out, verdicts), (expected, by_package) = (
                    exchanged(case, one, pieces, **how) for one, how in zip((own, name), spoken, strict=True)
                )
                assert out == expected, case.title
                assert plain(verdicts, name) == by_package, case.title


@pytest.mark.parametrize("name", sayable())
def test_the_same_calls_are_written(name: str) -> None:
    for one in written_cases(name):
        tools = Toolbox(request_of(WIRE, json.dumps({"messages": [], "tools": one.tools}).encode()).tools)
        texts = []
        for dialect in (in_a_file(name), name):
            try:
                texts.append(write(dialect, [Call(*call) for call in one.calls], tools))
            except Unwritable as refusal:
                texts.append(str(refusal).replace(own_name(name), name))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", sayable())
def test_it_is_taught_and_answered_alike(name: str) -> None:
    tools = request_of(WIRE, json.dumps({"messages": [], "tools": _TOOLS}).encode()).tools
    own = in_a_file(name)
    assert prompting.template(own) == (declared(name, "RESULT") or prompting.template("marker"))
    assert prompting.prompt(own, tools) == prompting.prompt(name, tools)
    answer = prompting.result(own, "ls", "A", "1")
    assert prompting.results_in(own, [answer]) == prompting.results_in(name, [answer])


_TOOLS = [
    {
        "type": "function",
        "function": {"name": "ls", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
    }
]
