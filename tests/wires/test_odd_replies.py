"""Replies that no API describes, on every wire that carries calls: nothing is a fault, and no cut matters.

Strategy. Each wire says the same sound reply in its words, with reasoning, a text that holds a call, and native calls:
what it makes of an error that quotes them (`wires.answers`), so that a new wire needs nothing here. The frames of that
come in any order, twice or not at all, with members that are gone, of another type, or taken from elsewhere.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.exchanges import LIFTING, of_request, run
from support.oddreplies import CALL, TEXTS, TOOLS, check_no_fault
from toolcalls.request import Request
from toolcalls.route import Route
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.answers import Answer, AnsweredCall
from toolcalls.wires.frames import FRAMES, Form

APIS = [pytest.param(wire, id=name) for name, wire in all_wires().items() if wire.answer and wire.answering]
FORMS: dict[str, Form] = {"ollama": "ndjson", "bedrock_converse": "eventstream", "bedrock": "eventstream_chunks"}
ODD: tuple[Any, ...] = (None, True, 0, 1, -1, 1.5, "", [], {}, *TEXTS)
BODIES = [b"{}", b"[]", b"no", b"3", b'{"error": {"code": 400, "message": "no"}}', b'{"id":"x","message":"no"}',
          b'{"output": {}}', b'{"steps": 3}', b'{"steps": {}}']  # fmt: skip
SAID = Answer(
    (AnsweredCall("c1", "Bash", '{"command": "l"}'), AnsweredCall("c2", "Noop", "{}")),
    digest="d", text=f"a\n{CALL}\nb", reasoning="hm",
)  # fmt: skip


def form_of(wire: Wire) -> Form:
    return FORMS.get(wire.name, "sse")


def streamed(wire: Wire) -> list[bytes]:
    """The payloads of a sound stream."""
    assert wire.answering is not None
    return list(wire.answering().rest(SAID) or ())


def body_of(form: Form, payloads: Sequence[bytes]) -> bytes:
    if form == "whole":
        return b"".join(payloads)
    frames = FRAMES[form]()
    return b"".join(frames.build(payload, b"", keep=False, name=None) for payload in payloads)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member and item of a JSON value: what holds it, and its key or place there."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def _values(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except ValueError:
        return None


@st.composite
def changed(draw: st.DrawFn, payload: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A payload with a few members of other values: odd ones, or what stands elsewhere in this or another payload."""
    value = _values(payload)
    if value is None:
        return payload
    elsewhere = [holder[key] for one in (payload, *others) for holder, key in _places(_values(one))]
    for _ in range(draw(st.integers(0, 2))):
        if not (places := list(_places(value))):
            break
        holder, key = draw(st.sampled_from(places))
        new = draw(st.sampled_from(["gone", "elsewhere", "odd"]))
        if new == "gone":
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(elsewhere if new == "elsewhere" else ODD)))
    return json.dumps(value).encode()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wire", APIS)
@given(st.data())
def test_no_stream_is_a_fault_and_no_cut_matters(wire: Wire, data: st.DataObject) -> None:
    sound = streamed(wire)
    order = data.draw(st.lists(st.integers(0, len(sound) - 1), max_size=12) | st.just([*range(len(sound))]))
    body = body_of(form_of(wire), [data.draw(changed(sound[place], sound)) for place in order])
    check_no_fault(wire, form_of(wire), body, data.draw(st.lists(st.integers(0, len(body)), max_size=4)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wire", APIS)
@given(st.data())
def test_no_whole_reply_is_a_fault(wire: Wire, data: st.DataObject) -> None:
    assert wire.answer is not None
    check_no_fault(wire, "whole", data.draw(changed(wire.answer(SAID))))


@pytest.mark.parametrize("wire", APIS)
@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
def test_the_sound_reply_has_a_call_to_lift_beside_its_own(wire: Wire, streams: bool) -> None:
    """Else the laws above would be about nothing."""
    assert wire.answer is not None
    form: Form = form_of(wire) if streams else "whole"
    body = body_of(form, streamed(wire) if streams else [wire.answer(SAID)])
    one = of_request(wire, Request(tools=TOOLS), LIFTING, form=form, seed=b"s")
    run(one, [body])
    assert sorted(verdict.status for _, verdict in one.verdicts) == ["lifted", "native", "native"]


@pytest.mark.parametrize("wire", APIS)
@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_reply_stays(wire: Wire, body: bytes) -> None:
    for route in (LIFTING, Route()):
        assert run(of_request(wire, Request(tools=TOOLS), route, form="whole", seed=b"s"), [body]) == body
