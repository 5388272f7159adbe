"""What is quoted in a message of several blocks, parts or items, or after what the request begins of it."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest

from support import anthropicclient, chatclient, geminiclient, responsesclient
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
from support.sampling import a_few, share, some
from toolcalls.dialects import all_dialects, replaces_native
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.route import PolicyName, Route
from toolcalls.tools.parse.command import parsed
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

PARTS = [key for key in BODIES if not key.startswith("gemini")]


def exchange(wire: str, form: Form, policy: PolicyName, request: dict[str, Any] | None = None) -> Exchange:
    read = Request() if request is None else request_of(all_wires()[wire], json.dumps(request).encode())
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS)
    return of_request(all_wires()[wire], read, route, form=form, seed=b"x")


def lifted(one: Exchange) -> list[str | None]:
    return [verdict.name for _, verdict in one.verdicts if verdict.status == "lifted"]


def assert_untouched(made: Callable[[], Exchange], body: bytes, said: str) -> None:
    for size in a_few((0, 1, 7), 1, said):
        one = made()
        assert run(one, in_pieces(body, size)) == body, f"{said}, in pieces of {size}"
        assert not lifted(one), f"{said}, in pieces of {size}"


def dialects_of(text: str, texts: Iterable[str], key: str, keys: Iterable[str]) -> Sequence[str]:
    """The dialects that are tried with a text in a place. Each is tried with each text, in one of the places."""
    places = list(keys)
    turn = list(texts).index(text) + places.index(key)
    return some(share(sorted(DIALECTS), turn, len(places)), 2, f"{text} {key}")


def protecting(quotation: str, dialect: str, key: str) -> Sequence[PolicyName]:
    """The policy that is tried where a quotation protects a call: one of those by which it does."""
    found = [policy for policy in policies(quotation) if protects(quotation, dialect, policy)]
    return a_few(found, 1, f"{quotation} {dialect} {key}")


@pytest.mark.parametrize("key", BODIES)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_quotation_goes_on_in_the_next_block(quotation: str, key: str) -> None:
    opener, closer = QUOTATIONS[quotation]
    wire, form, body = BODIES[key]
    if key.startswith("gemini") and quotation in ONE_LINE:
        opener += "\n"
    for dialect in dialects_of(quotation, QUOTATIONS, key, BODIES):
        for policy in protecting(quotation, dialect, key):
            sent = body(["I will show it.\n\n", opener, written(dialect), closer])
            assert_untouched(partial(exchange, wire, form, policy), sent, f"{dialect}, {policy}")


@pytest.mark.parametrize("key", PREFILLED)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_quotation_that_the_request_began_goes_on_in_the_reply(quotation: str, key: str) -> None:
    opener, closer = QUOTATIONS[quotation]
    wire, form, body, request = PREFILLED[key]
    for dialect in dialects_of(quotation, QUOTATIONS, key, PREFILLED):
        for policy in protecting(quotation, dialect, key):
            made = partial(exchange, wire, form, policy, request(opener))
            assert_untouched(made, body(written(dialect) + closer), f"{dialect}, {policy}")


@pytest.mark.parametrize("key", BODIES)
@pytest.mark.parametrize("behind", ["It lists the files.", "\n\nOr not.", "```\nmore\n```", "[1]"])
def test_a_call_that_must_be_last_is_none_where_another_block_follows(behind: str, key: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in some(("hermes", "invoke", "mistral"), 1, f"{behind} {key}"):
        call = written(dialect)
        for policy, last in (("strict", call), ("lenient", f"```\n{call}\n```\n")):
            made = partial(exchange, wire, form, policy)
            assert_untouched(made, body(["So:\n\n", last, behind]), f"{dialect}, {policy}, {behind}")
            for size in (0, 1, 7):
                one = made()
                shown = run(one, in_pieces(body(["So:\n\n", last]), size))
                assert lifted(one) == [CALL.name], f"{dialect}, {policy}, in pieces of {size}"
                assert (b"```" in shown) == ("```" in last), "the fence stays"


@pytest.mark.parametrize("key", PARTS)
@pytest.mark.parametrize("before", PLAIN)
def test_a_block_outside_of_a_quotation_begins_a_line(before: str, key: str) -> None:
    wire, form, body = BODIES[key]
    for dialect in dialects_of(before, PLAIN, key, PARTS):
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body([before, written(dialect)]), size))
            assert lifted(one) == [CALL.name], dialect


@pytest.mark.parametrize("key", PREFILLED)
@pytest.mark.parametrize("before", PLAIN)
def test_a_reply_begins_a_line_behind_what_the_request_began(before: str, key: str) -> None:
    wire, form, body, request = PREFILLED[key]
    for dialect in dialects_of(before, PLAIN, key, PREFILLED):
        one = exchange(wire, form, "standard", request(before))
        run(one, [body(written(dialect))])
        assert lifted(one) == [CALL.name], dialect


@pytest.mark.parametrize("key", WITH_CALLS)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_native_call_ends_a_paragraph_and_no_fence(quotation: str, key: str) -> None:
    ends = quotation in ENDED_BY_A_CALL
    opener, closer = QUOTATIONS[quotation]
    wire, form, _ = BODIES[key]
    for dialect in dialects_of(quotation, QUOTATIONS, key, WITH_CALLS):
        if not (ends or protects(quotation, dialect, "standard")):
            continue
        body = around_a_call(key, [opener, written(dialect)])
        # What takes the place of native calls is text behind one, in whichever block, part or item it stands.
        made = [CALL.name] if ends and not replaces_native(all_dialects()[dialect]) else []
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body, size))
            assert lifted(one) == made, dialect
    body = around_a_call(key, ["Hi.", written("hermes") + closer])
    one = exchange(wire, form, "standard")
    run(one, [body])
    # In a whole reply, a closer of reasoning that nothing opened says what was before it.
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


H = written("hermes")
# Texts of one message, and how many calls `strict` makes of them; `standard` makes one of each that it can.
MESSAGES: dict[str, tuple[list[str], int]] = {
    "words behind": ([f"So.\n{H}", "Done."], 0),
    "words behind two calls": ([H, H, "Done."], 0),
    "a closer of reasoning behind": ([f"Shall I?\n{H}", "No.\n</think>\nHi."], 0),
    "a closer of reasoning alone behind": ([f"Shall I?\n{H}", "\n</think>"], 0),
    "a closer of reasoning, and a call behind": ([f"Shall I?\n{H}", "\n</think>\n", H], 1),
    "a call without its closer, and words": ([H.removesuffix("\n</tool_call>"), "Done."], 0),
    "a call without its closer": ([f"So.\n{H.removesuffix('</tool_call>')}"], 1),
    "two calls": ([H, H], 2),
    "white space between and behind": ([H, "\n\n", H, "\n"], 2),
    "words before": (["So.", H], 1),
}


def _calls_that_a_client_reads(key: str, out: bytes) -> list[str]:
    if "whole" in key or "parts" in key:
        items = json.loads(out)["content" if key.startswith("anthropic") else "output"]
        return [item["name"] for item in items if item["type"] in {"tool_use", "function_call"}]
    if key.startswith("anthropic"):
        return [call["name"] for call in anthropicclient.received(out).calls]
    return [call["name"] for call in responsesclient.received(out).calls]


@pytest.mark.parametrize("key", PARTS)
@pytest.mark.parametrize("message", MESSAGES)
def test_strict_waits_for_the_end_of_the_message(message: str, key: str) -> None:
    """And not for the end of a block, part or item only."""
    texts, count = MESSAGES[message]
    wire, form, body = BODIES[key]
    came = body(texts)
    for size in (0, 1, 50):
        one = exchange(wire, form, "strict")
        out = run(one, in_pieces(came, size))
        assert lifted(one) == [CALL.name] * count
        assert (out == came) == (not count)
        if count:
            assert [call.name for _, call in one.client_calls if call.complete] == [CALL.name] * count
            assert _calls_that_a_client_reads(key, out) == [CALL.name] * count


@pytest.mark.parametrize("key", ["anthropic", "responses"])
def test_what_waits_for_the_end_of_the_message_is_bounded(key: str) -> None:
    wire, form, body = BODIES[key]
    came = body([H, *["\n" * 200] * 40])
    route = Route(client="native", upstream="text", policy="strict", tools=TOOLS, max_frame_bytes=4096)
    for size in (0, 100):
        one = of_request(all_wires()[wire], Request(), route, form=form, seed=b"x")
        assert run(one, in_pieces(came, size)) == came
        assert [verdict.reason for _, verdict in one.verdicts] == ["overflow"]


@pytest.mark.parametrize("key", ["anthropic", "responses"])
def test_a_message_that_breaks_off_behind_a_part_makes_no_call_of_it(key: str) -> None:
    wire, form, body = BODIES[key]
    came = body([H, "Done."])
    one = exchange(wire, form, "strict")
    half = came[: came.index(b"rm -rf build") + 400]
    for piece in in_pieces(half, 7):
        one.feed(piece)
    one.abort()
    assert lifted(one) == []


AS_TEXT = written("hermes")
NEXT = [
    *(f"{before}</think>" for before in ("", "\n", "hm ", f"{AS_TEXT}\n", "`x` ")),
    *(f"{before}</think>{AS_TEXT}" for before in ("", "hm ", "\n\n")),
    AS_TEXT.replace("rm", "</think> rm"),
    '&lt;invoke name="run_shell"&gt;</think>',
    "hm",
]


@pytest.mark.parametrize("policy", ["strict", "lenient", "standard"])
@pytest.mark.parametrize("inside", [False, True])
def test_why_a_call_of_an_earlier_part_is_none_does_not_depend_on_the_deltas(policy: PolicyName, inside: bool) -> None:
    """Its part has ended, and a closer of reasoning is somewhere in the next one."""
    wire = all_wires()["anthropic"]
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS, starts_in_reasoning=inside)
    for text in NEXT:
        found = []
        for pieces in ([text], [text[:1], text[1:]], list(text)):
            body = anthropicclient.written(
                anthropicclient.stream([anthropicclient.text(f"I look.\n\n{AS_TEXT}"), anthropicclient.text(*pieces)])
            )
            one = of_request(wire, Request(), route, form="sse", seed=b"x")
            out = anthropicclient.received(run(one, [body]))
            found.append((out.text, out.calls, [verdict for _, verdict in one.verdicts]))
        assert found[0] == found[1] == found[2], text
