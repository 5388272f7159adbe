"""Every recorded stream of `shared/suites/streams`, with names, values and JSON mended as well: no byte changes of a
sound one, and a sound call of a recording comes back when it is damaged.

Strategy: the streams go through as in `test_protocol_mending_recorded.py`, and those that change more than with
`protocol` alone are listed here, with what is wrong with them. The calls of the sound ones are damaged in each way that
their schema allows, and must come back.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from support.damaging import Sound
from support.exchanges import as_received, of_request, run
from support.repository import shared_path
from support.sampling import some
from support.valuedamages import FORMS, in_pieces
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.values.conversion import is_object
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.frames import Form

EVERY = Route(mend=("protocol", "json", "types", "names"))
FILES = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "gemini-jsonarray": "gemini",
    "ollama": "ollama",
}
DAMAGED: dict[str, str] = {}  # by their ids, the recordings that are damaged themselves, and how


@cache
def rows(name: str) -> list[dict[str, Any]]:
    lines = shared_path(f"suites/streams/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def request_of(wire: Wire, row: dict[str, Any]) -> Request:
    try:
        return wire.request(json.dumps(row.get("request") or {}).encode())
    except ValueError:
        return Request()


def exchange(wire: Wire, row: dict[str, Any], form: Form, route: Route) -> Exchange:
    return of_request(wire, request_of(wire, row), route, form=form, seed=b"s")


@pytest.mark.parametrize("name", FILES)
def test_only_damaged_streams_are_mended(name: str) -> None:
    wire, changed = all_wires()[FILES[name]], set()
    sample = some(rows(name), 25, name)
    for row in sample:
        body = (
            base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode(errors="surrogatepass")
        )
        form = wire.form(row.get("url_path") or "", row["content_type"])
        if form is None:
            continue
        protocol = run(exchange(wire, row, form, Route()), [body])
        pieces = as_received(body, row.get("chunks") or [])
        one = exchange(wire, row, form, EVERY)
        out = run(one, [body])
        assert out == run(exchange(wire, row, form, EVERY), pieces), row["id"]
        if out != protocol:
            changed.add(row["id"])
            assert any(verdict.repairs for _, verdict in one.verdicts), row["id"]
    assert changed == {row["id"] for row in sample} & set(DAMAGED)


# --- sound calls that are damaged -------------------------------------------------------------------------------------


def calls() -> Iterator[tuple[str, tuple[Tool, ...], str, str]]:
    """The sound calls of all recordings: where, the tools, the name, the arguments."""
    for file, name in FILES.items():
        wire = all_wires()[name]
        for row in rows(file):
            form = wire.form(row.get("url_path") or "", row["content_type"])
            request = request_of(wire, row)
            if form is None or "body" not in row or not request.tools:
                continue
            one = exchange(wire, row, form, Route())
            run(one, [row["body"].encode(errors="surrogatepass")])
            for _, call in one.client_calls:
                if call.complete and is_object(call.arguments) and call.name in Toolbox(request.tools):
                    yield row["id"], request.tools, call.name, call.arguments


def damages(tools: tuple[Tool, ...], name: str, arguments: str) -> Iterator[tuple[str, str, str]]:
    """The kind that mends it, the name and the arguments of the damaged call."""
    toolbox = Toolbox(tools)
    members = json.loads(arguments)
    for key, value in members.items():
        types = toolbox.types(name, key) or frozenset()
        if types and "string" not in types and value is not None:
            yield "types", name, json.dumps({**members, key: json.dumps(value)})
    for other in (name.upper(), f"functions.{name}", f"mcp__x__{name}"):
        if other != name and toolbox.resolve(other) == name:
            yield "names", other, arguments
    yield "names", f"{name}<|channel|>commentary", arguments
    if members:
        yield "json", name, arguments.rstrip()[:-1] + ",}"
        yield "json", name, repr(members)
        yield "json", name, "// here\n" + arguments + "}"


def test_a_recorded_call_that_is_damaged_comes_back() -> None:
    kinds = set()
    found = list(calls())
    assert len(found) > 50
    for id_, tools, name, arguments in some(found, 12, "damaged recordings"):
        for kind, called, text in damages(tools, name, arguments):
            for form in some([form for form in FORMS.values() if form.as_text], 2, f"{id_} {kind}"):
                body = form.body((Sound("c", called, in_pieces(text, 5)),))
                wire = all_wires()[form.wire]
                route = Route(mend=("protocol", kind))  # type: ignore[arg-type]
                one = of_request(wire, Request(tools=tools), route, form=form.form, seed=b"s")  # type: ignore[arg-type]
                ((_, heard, made),) = form.heard(run(one, [body]))
                assert (heard, json.loads(made)) == (name, json.loads(arguments)), (id_, kind, text)
                kinds.add(kind)
    assert {"names", "json"} <= kinds
