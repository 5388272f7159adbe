"""What is quoted in a message of several blocks, parts or items, or behind what the request begins of it."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.exchanges import in_pieces, of_request, run
from support.quoting import CALL, DIALECTS, TOOLS, written
from support.sampling import DEEP, some
from toolcalls.commands.parse import parsed
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in

# What begins a quotation in one block and ends it in a later one. `lenient` takes what stands in the first of them.
CODE = {
    "a fence": ("So:\n\n```xml\n", "\n```\n"),
    "a fence without a line end": ("So:\n\n```", "\n```\n"),
    "a fence of tildes": ("~~~~\n~~~\n", "\n~~~~\n"),
    "a fence in a list": ("1. Write\n\n   ```\n   ", "\n   ```\n"),
    "a here-document": ("cat > x <<EOF\n", "\nEOF\n"),
    "a here-document without a line end": ("cat > x <<'END'", "\nEND\n"),
    "a string": ('text = """', '"""\n'),
    "inline code": ("Write `", "` and wait."),
    "inline code of two": ("Write ``", "`` and wait."),
    "inline code at the start": ("`", "` is it."),
    "an element of code": ("So <code>", "</code> it is."),
    "preformatted text": ("<pre>\n", "\n</pre>\n"),
}
CLOSED = {
    "a comment": ("<!-- a note\n", "\n-->\n"),
    "a comment in a line": ("A note: <!-- ", " --> so much."),
    "an example": ("<example>\nfirst\n\n", "\n</example>\n"),
    "a document": ('<document index="1">', "</document>\n"),
    "a block quote": ("> Somebody wrote: ", "\n\nSo they say."),
    "a fence in a block quote": ("> ```\n> ", "\n\nSo they say."),
    "reasoning": ("<think>\nShall I?\n", "\n</think>\nNo."),
}
QUOTATIONS = {**CODE, **CLOSED}
# What counts from the next line on: parts of a Gemini reply are pieces of one text, and no lines of their own.
ONE_LINE = frozenset({"a here-document without a line end", "a string"})

type Body = Callable[[Sequence[str]], bytes]


def _gemini_parts(form: geminiclient.Body, texts: Sequence[str]) -> bytes:
    return geminiclient.body_of([geminiclient.reply(list(texts), "STOP")], form)


def _responses(texts: Sequence[str]) -> list[dict[str, Any]]:
    return responsesclient.stream([[text[:7], text[7:]] if text[7:] else text for text in texts])


def _parts(texts: Sequence[str]) -> bytes:
    """A whole response with one message of several parts."""
    response = json.loads(responsesclient.whole(_responses(texts)))
    first, *others = response["output"]
    for item in others:
        first["content"] += item["content"]
    return json.dumps({**response, "output": [first]}).encode()


def _anthropic(texts: Sequence[str]) -> list[dict[str, Any]]:
    return anthropicclient.stream([anthropicclient.text(text[:5], text[5:]) for text in texts])


# A wire, a form, and a body whose message has these texts in blocks, parts or items of their own.
BODIES: dict[str, tuple[str, Form, Body]] = {
    "anthropic": ("anthropic", "sse", lambda texts: anthropicclient.written(_anthropic(texts))),
    "anthropic, at once": (
        "anthropic",
        "sse",
        lambda texts: anthropicclient.written(anthropicclient.at_once(_anthropic(texts))),
    ),
    "anthropic, whole": ("anthropic", "whole", lambda texts: anthropicclient.whole(_anthropic(texts))),
    "responses": ("openai_responses", "sse", lambda texts: responsesclient.written(_responses(texts))),
    "responses, whole": ("openai_responses", "whole", lambda texts: responsesclient.whole(_responses(texts))),
    "responses, parts": ("openai_responses", "whole", _parts),
    "gemini, parts": ("gemini", "sse", partial(_gemini_parts, "sse")),
    "gemini, array": ("gemini", "json_array", partial(_gemini_parts, "json_array")),
    "gemini, whole": ("gemini", "whole", partial(_gemini_parts, "whole")),
}
# A wire, a form, the body of a reply with this text, and the request whose message it goes on.
PREFILLED: dict[str, tuple[str, Form, Callable[[str], bytes], Callable[[str], dict[str, Any]]]] = {
    "anthropic": (
        "anthropic",
        "sse",
        lambda text: anthropicclient.written(_anthropic([text])),
        lambda begun: {"messages": [{"role": "assistant", "content": [{"type": "text", "text": begun}]}]},
    ),
    "anthropic, whole": (
        "anthropic",
        "whole",
        lambda text: anthropicclient.whole(_anthropic([text])),
        lambda begun: {"messages": [{"role": "assistant", "content": begun}]},
    ),
    "chat": (
        "openai_chat",
        "sse",
        lambda text: chatclient.stream([text[:9], text[9:]]),
        lambda begun: {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": begun}]},
    ),
    "responses": (
        "openai_responses",
        "sse",
        lambda text: responsesclient.written(_responses([text])),
        lambda begun: {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": begun}]}]},
    ),
    "gemini": (
        "gemini",
        "sse",
        lambda text: _gemini_parts("sse", [text]),
        lambda begun: {"contents": [{"role": "model", "parts": [{"text": begun}]}]},
    ),
    "ollama": (
        "ollama",
        "ndjson",
        lambda text: ollamaclient.body_of([ollamaclient.line(text), ollamaclient.line("", "stop")]),
        lambda begun: {"messages": [{"role": "assistant", "content": begun}]},
    ),
}


def exchange(wire: str, form: Form, policy: PolicyName, request: dict[str, Any] | None = None) -> Exchange:
    read = Request() if request is None else all_wires()[wire].request(json.dumps(request).encode())
    route = Route(client="native", upstream="text", policy=policy, tools=TOOLS)
    return of_request(all_wires()[wire], read, route, form=form, seed=b"x")


def policies(quotation: str) -> tuple[PolicyName, ...]:
    return ("standard", "strict") if quotation in CODE else ("standard", "strict", "lenient")


def lifted(one: Exchange) -> list[str | None]:
    return [verdict.name for _, verdict in one.verdicts if verdict.status == "lifted"]


def assert_untouched(made: Callable[[], Exchange], body: bytes, said: str) -> None:
    for size in (0, 1, 7):
        one = made()
        assert run(one, in_pieces(body, size)) == body, f"{said}, in pieces of {size}"
        assert not lifted(one), f"{said}, in pieces of {size}"


def protects(quotation: str, dialect: str, policy: PolicyName) -> bool:
    """Whether a text protects this call: one that begins with a fence of its own ends some quotations itself."""
    opener, closer = QUOTATIONS[quotation]
    reader = Reader(CallPolicy(Route(client="native", upstream="text", policy=policy), Request(tools=TOOLS)))
    return not calls_in(
        [*reader.feed(opener + "\n" * (quotation in ONE_LINE) + written(dialect) + closer), *reader.finish(cut=False)]
    )


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


PLAIN = [
    "I will look.",
    "So:",
    "- one\n- two",
    "# Title",
    "`ls` it is.",
    "> Quoted.\n\n",
    "<!-- a --> b",
    "```\nx\n```",
]


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


NATIVE = {"type": "function_call", "call_id": "c", "name": "other", "arguments": "{}"}


def _around_a_call(key: str, texts: Sequence[str]) -> bytes:
    """A reply with a native call between the last two of its texts."""
    if key.startswith("anthropic"):
        rows = [anthropicclient.text(text) for text in texts]
        events = anthropicclient.stream(
            [*rows[:-1], anthropicclient.call("toolu_1", "other", "{}"), rows[-1]], "tool_use"
        )
        events = anthropicclient.at_once(events) if "once" in key else events
        return anthropicclient.whole(events) if "whole" in key else anthropicclient.written(events)
    made = responsesclient.stream([*texts[:-1], NATIVE, texts[-1]])
    return responsesclient.whole(made) if "whole" in key else responsesclient.written(made)


@pytest.mark.parametrize(
    "key", ["anthropic", "anthropic, at once", "anthropic, whole", "responses", "responses, whole"]
)
@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_a_native_call_ends_a_paragraph_and_no_fence(quotation: str, key: str) -> None:
    ends = quotation in {"inline code", "inline code of two", "inline code at the start", "an element of code"}
    ends = ends or quotation == "a block quote"
    opener, closer = QUOTATIONS[quotation]
    wire, form, _ = BODIES[key]
    for dialect in dialects_of(quotation, key):
        if not (ends or protects(quotation, dialect, "standard")):
            continue
        body = _around_a_call(key, [opener, written(dialect)])
        for size in (0, 1):
            one = exchange(wire, form, "standard")
            run(one, in_pieces(body, size))
            assert lifted(one) == ([CALL.name] if ends else []), dialect
    body = _around_a_call(key, ["Hi.", written("hermes") + closer])
    one = exchange(wire, form, "standard")
    run(one, [body])
    assert lifted(one) == [CALL.name]


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
