"""Messages of several blocks, parts or items, and quotations that begin in one of them and end in another."""

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.quoting import TOOLS, written
from toolcalls.reading.policy import CallPolicy
from toolcalls.reading.reader import Reader
from toolcalls.request import Request
from toolcalls.route import PolicyName, Route
from toolcalls.wires.frames import Form
from toolcalls.writing.writer import calls_in

# What begins a quotation in one block and ends it in a later one. `lenient` takes what is in the first of them.
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


def policies(quotation: str) -> tuple[PolicyName, ...]:
    """The policies that take no call of such a quotation."""
    return ("standard", "strict") if quotation in CODE else ("standard", "strict", "lenient")


@cache
def protects(quotation: str, dialect: str, policy: PolicyName) -> bool:
    """Whether a text protects this call: one that begins with a fence of its own ends some quotations itself."""
    opener, closer = QUOTATIONS[quotation]
    reader = Reader(CallPolicy(Route(client="native", upstream="text", policy=policy), Request(tools=TOOLS)))
    return not calls_in(
        [*reader.feed(opener + "\n" * (quotation in ONE_LINE) + written(dialect) + closer), *reader.finish(cut=False)]
    )


# What a message may begin with that quotes nothing after it.
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

# The bodies that may hold a native call, and the quotations that it ends.
WITH_CALLS = ("anthropic", "anthropic, at once", "anthropic, whole", "responses", "responses, whole")
ENDED_BY_A_CALL = frozenset(
    {"inline code", "inline code of two", "inline code at the start", "an element of code", "a block quote"}
)
_NATIVE = {"type": "function_call", "call_id": "c", "name": "other", "arguments": "{}"}


def around_a_call(key: str, texts: Sequence[str]) -> bytes:
    """A reply with a native call between the last two of its texts."""
    if key.startswith("anthropic"):
        rows = [anthropicclient.text(text) for text in texts]
        events = anthropicclient.stream(
            [*rows[:-1], anthropicclient.call("toolu_1", "other", "{}"), rows[-1]], "tool_use"
        )
        events = anthropicclient.at_once(events) if "once" in key else events
        return anthropicclient.whole(events) if "whole" in key else anthropicclient.written(events)
    made = responsesclient.stream([*texts[:-1], _NATIVE, texts[-1]])
    return responsesclient.whole(made) if "whole" in key else responsesclient.written(made)
