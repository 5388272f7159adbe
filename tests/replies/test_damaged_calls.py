"""Native calls that come damaged: each way, on each API, streamed and whole, at every cut. No byte changes for it."""

import json
from dataclasses import replace

import pytest

from support.damagedcalls import CALL, DAMAGES, REQUEST, SECOND, SOUND, TOOLS, WIRES, Damage, streamed, whole
from support.exchanges import in_pieces, of_kind, of_request
from support.sampling import some
from toolcalls.events import Verdict
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

FORMS: dict[str, Form] = {"ollama": "ndjson"}
ROUTES = {
    "auto": Route(mend=()),
    "observe": Route(client="native", upstream="native", mend=()),
    "lift": Route(upstream="text", mend=()),
}


def exchange_of(wire: str, form: str, route: str = "auto") -> Exchange:
    as_form: Form = FORMS.get(wire, "sse") if form == "streamed" else "whole"
    return of_request(all_wires()[wire], REQUEST, ROUTES[route], form=as_form)


def through(wire: str, form: str, body: bytes, size: int = 0, route: str = "auto") -> tuple[list[Verdict], bytes]:
    exchange = exchange_of(wire, form, route)
    out = b"".join([exchange.feed(piece) for piece in in_pieces(body, size)]) + exchange.close()
    assert exchange.failure is None, repr(exchange.failure)
    return [verdict for _, verdict in exchange.verdicts if verdict.dialect is None], out


def body_of(wire: str, form: str, damage: Damage) -> bytes:
    if form == "streamed":
        return streamed(wire, damage.calls, damage.text)
    return json.dumps(whole(wire, damage.calls, damage.text)).encode()


CASES = [
    pytest.param(damage, wire, form, id=f"{damage.reason}, {damage.title}, {wire}, {form}")
    for damage in DAMAGES
    for form in ("streamed", "whole")
    for wire in (damage.streamed if form == "streamed" else damage.whole)
]


@pytest.mark.parametrize(("damage", "wire", "form"), CASES)
def test_a_damaged_call_says_what_is_wrong(damage: Damage, wire: str, form: str) -> None:
    body = body_of(wire, form, damage)
    for route in ROUTES:
        verdicts, out = through(wire, form, body, route=route)
        assert damage.reason in [verdict.reason for verdict in verdicts]
        assert all(verdict.defects[0].code == verdict.reason for verdict in verdicts if verdict.defects)
        assert not damage.text or route == "observe" or out != body
        assert damage.text or out == body
        for size in some([1, 2, 3, 7, 64, 301], 2, f"{damage.title} {wire}"):
            assert through(wire, form, body, size, route) == (verdicts, out)


@pytest.mark.parametrize(("damage", "wire", "form"), CASES)
def test_a_call_that_is_mended_says_what_was_wrong(damage: Damage, wire: str, form: str) -> None:
    """Whatever is mended, and whatever is left: the finding is among the defects."""
    as_form: Form = FORMS.get(wire, "sse") if form == "streamed" else "whole"
    exchange = of_request(all_wires()[wire], REQUEST, Route(mend=("protocol",)), form=as_form)
    exchange.feed(body_of(wire, form, damage))
    exchange.close()
    assert exchange.failure is None
    verdicts = [verdict for _, verdict in exchange.verdicts]
    found = {verdict.reason for verdict in verdicts} | {one.code for verdict in verdicts for one in verdict.defects}
    assert damage.reason in found


@pytest.mark.parametrize("form", ["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_sound_call_is_a_plain_native_one(wire: str, form: str) -> None:
    body = streamed(wire, [CALL, SECOND]) if form == "streamed" else json.dumps(whole(wire, [CALL, SECOND])).encode()
    for route in ROUTES:
        verdicts, out = through(wire, form, body, route=route)
        assert [(verdict.status, verdict.reason, verdict.defects) for verdict in verdicts] == [("native", None, ())] * 2
        assert out == body


@pytest.mark.parametrize("form", ["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ('{"path": "a.ts", "all": "true"}', "native", "unwritable"),
        ('{"all": true}', "lowered", "missing_argument"),
        (SOUND, "lowered", None),
    ],
)
def test_a_call_that_becomes_text_says_what_is_wrong_with_it(
    wire: str, form: str, text: str, status: str, reason: str | None
) -> None:
    """A boolean that is a string cannot be told from one in text, so such a call stays native."""
    calls = [replace(CALL, text=text)]
    body = streamed(wire, calls) if form == "streamed" else json.dumps(whole(wire, calls)).encode()
    as_form: Form = FORMS.get(wire, "sse") if form == "streamed" else "whole"
    exchange = of_kind(all_wires()[wire], TOOLS, Route(mend=()), "lower", form=as_form)
    exchange.feed(body)
    exchange.close()
    assert exchange.failure is None
    (verdict,) = [verdict for _, verdict in exchange.verdicts]
    assert (verdict.status, verdict.reason) == (status, reason)
    assert ([one.code for one in verdict.defects] == ["wrong_type"]) == (status == "native")
