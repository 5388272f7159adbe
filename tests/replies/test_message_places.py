"""What is quoted in a message of several blocks, parts or items, or behind what the request begins of it."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest

from support import chatclient, geminiclient
from support.exchanges import in_pieces, of_request, run
from support.messages import (
    BODIES,
    ENDED_BY_A_CALL,
    ONE_LINE,
    PLAIN,
    PREFILLED,
    QUOTATIONS,
    WITH_CALLS,
    around_a_call,
    policies,
    protects,
)
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.sampling import DEEP, some
from toolcalls.commands.parse import parsed
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form


def exchange(wire: str, form: Form, policy: PolicyName, request: dict[str, Any] | None = None) -> Exchange:
    read = Request() if request is None else all_wires()[wire].request(json.dumps(request).encode())
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS)
    return of_request(all_wires()[wire], read, route, form=form, seed=b"x")


def lifted(one: Exchange) -> list[str | None]:
    return [verdict.name for _, verdict in one.verdicts if verdict.status == "lifted"]


def assert_untouched(made: Callable[[], Exchange], body: bytes, said: str) -> None:
    for size in (0, 1, 7):
        one = made()
        assert run(one, in_pieces(body, size)) == body, f"{said}, in pieces of {size}"
        assert not lifted(one), f"{said}, in pieces of {size}"


def dialects_of(quotation: str, key: str) -> Sequence[str]:
    """The dialects that are tried in a place: all of them in `make test-long`, else always the same twenty."""
    dialects = DIALECTS if DEEP else Random(f"{quotation} {key}").sample(sorted(DIALECTS), 20)
    return some(dialects, 2, f"{quotation} {key}")


@pytest.mark.parametrize("key", BODIES)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_quotation_goes_on_in_the_next_block(quotation: str, key: str) -> None:
    opener, closer = QUOTATIONS[quotation]
    wire, form, body = BODIES[key]
    if key.startswith("gemini") and quotation in ONE_LINE:
        opener += "\n"
    for dialect in dialects_of(quotation, key):
        for policy in policies(quotation):
            if not protects(quotation, dialect, policy):
                continue
            sent = body(["I will show it.\n\n", opener, written(dialect), closer])
            assert_untouched(partial(exchange, wire, form, policy), sent, f"{dialect}, {policy}")


@pytest.mark.parametrize("key", PREFILLED)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_quotation_that_the_request_began_goes_on_in_the_reply(quotation: str, key: str) -> None:
    opener, closer = QUOTATIONS[quotation]
    wire, form, body, request = PREFILLED[key]
    for dialect in dialects_of(quotation, key):
        for policy in policies(quotation):
            if not protects(quotation, dialect, policy):
                continue
            made = partial(exchange, wire, form, policy, request(opener))
            assert_untouched(made, body(written(dialect) + closer), f"{dialect}, {policy}")


@pytest.mark.parametrize("key", [key for key in BODIES if not key.startswith("gemini")])
@pytest.mark.parametrize("before", PLAIN)
def test_a_block_outside_of_a_quotation_begins_a_line(before: str, key: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in dialects_of(before, key):
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body([before, written(dialect)]), size))
            assert lifted(one) == [CALL.name], dialect


@pytest.mark.parametrize("key", PREFILLED)
@pytest.mark.parametrize("before", PLAIN)
def test_a_reply_begins_a_line_behind_what_the_request_began(before: str, key: str) -> None:
    wire, form, body, request = PREFILLED[key]
    for dialect in dialects_of(before, key):
        one = exchange(wire, form, "standard", request(before))
        run(one, [body(written(dialect))])
        assert lifted(one) == [CALL.name], dialect


@pytest.mark.parametrize("key", WITH_CALLS)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_native_call_ends_a_paragraph_and_no_fence(quotation: str, key: str) -> None:
    ends = quotation in ENDED_BY_A_CALL
    opener, closer = QUOTATIONS[quotation]
    wire, form, _ = BODIES[key]
    for dialect in dialects_of(quotation, key):
        if not (ends or protects(quotation, dialect, "standard")):
            continue
        body = around_a_call(key, [opener, written(dialect)])
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body, size))
            assert lifted(one) == ([CALL.name] if ends else []), dialect
    body = around_a_call(key, ["Hi.", written("hermes") + closer])
    one = exchange(wire, form, "standard")
    run(one, [body])
    # In a whole reply, a closer of reasoning that nothing opened says what stood before it.
    assert lifted(one) == ([] if quotation == "reasoning" and key.endswith("whole") else [CALL.name])


@pytest.mark.parametrize("opener", [opener for opener, _ in QUOTATIONS.values()])
def test_a_text_that_is_parsed_goes_on_behind_what_the_request_began(opener: str) -> None:
    for prefill, made in (((opener,), []), (("So:",), [CALL.name]), ((), [CALL.name])):
        call_policy = CallPolicy(Route(), Request(tools=TOOLS, prefill=prefill))
        found = parsed([written("hermes")], call_policy, cut=False)
        assert [call["name"] for call in found["calls"]] == made


def test_choices_have_nothing_to_do_with_each_other() -> None:
    body = chatclient.stream(["```\n"]).replace(b"data: [DONE]\n\n", b"")
    body += (
        chatclient.stream([written("hermes")]).replace(b'"index": 0', b'"index": 1').replace(b'"index":0', b'"index":1')
    )
    one = exchange("openai_chat", "sse", "standard")
    run(one, [body])
    assert lifted(one) == [CALL.name]
    candidates = geminiclient.reply(["```\n"], "STOP")
    other = geminiclient.reply([written("hermes")], "STOP")["candidates"][0]
    candidates["candidates"].append({**other, "index": 1})
    one = exchange("gemini", "sse", "standard")
    run(one, [geminiclient.body_of([candidates], "sse")])
    assert lifted(one) == [CALL.name]
