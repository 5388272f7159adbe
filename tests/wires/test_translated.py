"""APIs that say in other words what another one says (`support/translated.py`): what becomes of a reply is the same.

Strategy. The cases of the base API are put into the words of each API, and what leaves is read by a client that knows
no code of the wire. So is each damage that occurs on the base API: verdicts, notes and the calls that a client gets
must be the same as there, with and without mending, and wherever the bytes are cut.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.damagedcalls import CALL, DAMAGES, REQUEST, Damage
from support.exchanges import in_pieces, of_request, run, same_wherever_it_is_cut, words
from support.oddreplies import KINDS
from support.translated import TRANSLATED, Case, Translated
from toolcalls.insight import replies
from toolcalls.insight.exchange_record import Pieces
from toolcalls.mending.error_texts import generation_in
from toolcalls.replies.exchange import Exchange
from toolcalls.route import Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

ROUTES = {
    "told": Route(mend=()),
    "protocol": Route(mend=("protocol",)),
    "all kinds": Route(mend=KINDS),
    "lifted": Route(client="native", upstream="text", mend=KINDS),
    "lowered": Route(client="text", client_dialect="invoke", upstream="native", mend=KINDS),
}


def cases(fits: Callable[[Translated], bool] = lambda _: True) -> list[Any]:
    found = {name: api.cases for name, api in TRANSLATED.items() if fits(api)}
    assert all(len(each) > 25 for each in found.values())
    return [
        pytest.param(TRANSLATED[name], case, id=f"{name}: {case['title']}")
        for name, each in found.items()
        for case in each
    ]


@pytest.mark.sampled(2, per="api")
@pytest.mark.parametrize(("api", "case"), cases())
def test_the_cases_of_the_base_api(api: Translated, case: Case) -> None:
    one, body = api.exchange(case), api.body(case)
    out = run(one, [body])
    got = api.heard(out)
    case = case if api.streams else {**case, **case.get("in_whole", {})}
    api.base.check(case, got, one)
    if api.streams:
        assert got.order == case.get("order", got.order)
    if api.base.wire == "anthropic" or "same" in case:
        assert (out == body) == (case.get("same", False) is True)


@pytest.mark.sampled(2, per="api")
@pytest.mark.parametrize(("api", "case"), cases(lambda api: api.streams))
def test_it_is_the_same_wherever_the_bytes_are_cut(api: Translated, case: Case) -> None:
    same_wherever_it_is_cut(lambda: api.exchange(case), api.body(case), step=29)


# --- damaged calls ----------------------------------------------------------------------------------------------------


def seen(wire: str, form: Form, body: bytes, size: int, one: Exchange) -> Any:
    """What is said of a reply that comes in such pieces, and what its client gets. New ids begin as the API's do."""
    out = run(one, in_pieces(body, size))
    read = replies.read(wire, form, out, Pieces())
    calls = [(call.name, call.arguments, call.complete, bool(call.id)) for lane in read.lanes for call in lane.calls]
    repairs = [verdict.repairs for _, verdict in one.verdicts]
    texts = "".join(lane.text for lane in read.lanes)
    finish = read.lanes[-1].finish if read.lanes else None
    return words(one), repairs, sorted(note.rule for _, note in one.notes), calls, texts, finish, out == body


@pytest.mark.sampled(2, per="api")
@pytest.mark.parametrize(
    ("api", "damage", "route"),
    [
        pytest.param(api, damage, route, id=f"{damage.reason}, {damage.title}, {name}, {route}")
        for damage in DAMAGES
        for name, api in TRANSLATED.items()
        if api.suffers(damage)
        for route in ROUTES
    ],
)
def test_damaged_calls_are_as_on_the_base_api(api: Translated, damage: Damage, route: str) -> None:
    form: Form = "sse" if api.streams else "whole"
    base = of_request(all_wires()[api.base.wire], REQUEST, ROUTES[route], form=form, seed=b"s")
    wanted = seen(api.base.wire, form, api.base.said(damage, streams=api.streams), 0, base)
    for size in (0, 1, 50):
        one = api.damaged_exchange(ROUTES[route])
        assert seen(api.wire, api.form, api.damaged(damage), size, one) == wanted, size


@pytest.mark.parametrize("api", TRANSLATED.values(), ids=TRANSLATED)
def test_a_sound_call_stays_with_all_kinds_of_mending(api: Translated) -> None:
    body = api.damaged(Damage("sound", "", (CALL,)))
    one = api.damaged_exchange(ROUTES["all kinds"])
    assert run(one, [body]) == body
    assert words(one) == ["native edit"]


@pytest.mark.parametrize("api", TRANSLATED.values(), ids=TRANSLATED)
def test_an_error_that_quotes_a_call_becomes_a_reply_with_it(api: Translated) -> None:
    """As gateways give it, with the status of an error."""
    raw = '<tool_call>{"name": "edit", "arguments": {"path": "a.ts"}}</tool_call>'
    error = json.dumps({"error": {"code": 500, "message": f"Failed to parse input at pos 0: {raw}"}}).encode()
    assert generation_in(error)
    made = api.damaged_exchange(Route(mend=("errors",))).answer(error, api.form, 500)
    assert made is not None
    (lane,) = replies.read(api.wire, api.form, made, Pieces()).lanes
    assert [(call.name, call.complete) for call in lane.calls] == [("edit", True)]
    assert lane.finish == "tool_calls"
