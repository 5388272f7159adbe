"""Every recorded stream of `shared/suites/streams`, with names, values and JSON mended as well: no byte changes of a
sound one, and a sound call of a recording comes back when it is damaged.

Strategy: the streams go through as in `test_protocol_mending_recorded.py`, and those that change more than with
`protocol` alone are listed here, with what is wrong with them. The calls of the sound ones are damaged in each way that
their schema allows, and must come back.
"""

import json
from collections.abc import Iterator
from itertools import chain

import pytest

from support.damaging import Sound
from support.exchanges import of_request, run
from support.recordedstreams import FILES, recorded_streams
from support.sampling import a_few, some
from support.valuedamages import FORMS, in_pieces
from toolcalls.request import Request, Tool
from toolcalls.route import Route
from toolcalls.values.conversion import is_object
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import all_wires

EVERY = Route(mend=("protocol", "json", "types", "names"))
DAMAGED: dict[str, str] = {}  # by their ids, the recordings that are damaged themselves, and how


@pytest.mark.parametrize("name", FILES)
def test_only_damaged_streams_are_mended(name: str) -> None:
    changed = set()
    streams = some(recorded_streams(name), 25, name)
    for stream in streams:
        protocol = run(stream.exchange(Route()), [stream.body])
        one = stream.exchange(EVERY)
        out = run(one, [stream.body])
        assert out == run(stream.exchange(EVERY), stream.pieces), stream.id
        if out != protocol:
            changed.add(stream.id)
            assert any(verdict.repairs for _, verdict in one.verdicts), stream.id
    assert changed == {stream.id for stream in streams} & set(DAMAGED)


# --- sound calls that are damaged -------------------------------------------------------------------------------------


def calls() -> Iterator[tuple[str, tuple[Tool, ...], str, str]]:
    """The sound calls of all recordings: where, the tools, the name, the arguments."""
    for stream in chain.from_iterable(map(recorded_streams, FILES)):
        if stream.binary or not stream.request.tools:
            continue
        one = stream.exchange(Route())
        run(one, [stream.body])
        for _, call in one.client_calls:
            if call.complete and is_object(call.arguments) and call.name in Toolbox(stream.request.tools):
                yield stream.id, stream.request.tools, call.name, call.arguments


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
            forms = a_few([form for form in FORMS.values() if form.as_text], 2, f"{id_} {kind} {text}")
            for form in some(forms, 2, f"{id_} {kind}"):
                body = form.body((Sound("c", called, in_pieces(text, 5)),))
                wire = all_wires()[form.wire]
                route = Route(mend=("protocol", kind))  # type: ignore[arg-type]
                one = of_request(wire, Request(tools=tools), route, form=form.form, seed=b"s")  # type: ignore[arg-type]
                ((_, heard, made),) = form.heard(run(one, [body]))
                assert (heard, json.loads(made)) == (name, json.loads(arguments)), (id_, kind, text)
                kinds.add(kind)
    assert {"names", "json"} <= kinds
