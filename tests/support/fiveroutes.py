"""Five routes, told apart by their paths, and what a model says on them: the same for every API and every client.

Each route is of another kind. The names and arguments have characters of two, three and four bytes, so that a cut may
fall into one.
"""

from collections.abc import Callable
from typing import Any

from support.loopback import Host, Reply
from toolcalls.flows import flow_metadata

CONFIG = """
routes:
  - {name: lift, match: {path: "/lift/*"}, client: native, upstream: text}
  - {name: lower, match: {path: "/lower/*"}, client: invoke, upstream: native}
  - {name: same, match: {path: "/same/*"}, client: invoke, upstream: text}
  - {name: other, match: {path: "/other/*"}, client: tagged, upstream: text, multiple_calls: true}
  - {name: observe, match: {path: "/observe/*"}, client: native, upstream: native, mend: []}
"""

# And one that rewrites requests for an upstream of text.
WITH_ASK = (
    CONFIG
    + """
  - {name: ask, match: {path: "/ask/*"}, client: native, upstream: text, dialects: [invoke], rewrite_request: true}
"""
)
SCHEMAS: dict[str, Any] = {
    "read_file": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "now": {"type": "object", "properties": {}},
}

# Two calls in a text: as they are written, and as they are meant.
INVOKE = [
    '<invoke name="read_file">\n<parameter name="path">größe/日本 😀.md</parameter>\n</invoke>',
    '<invoke name="now"></invoke>',
]
BLOCK = "<function_calls>\n{}\n{}\n</function_calls>".format(*INVOKE)
TAGGED = ["<read_file>\n<path>größe/日本 😀.md</path>\n</read_file>", "<now>\n</now>"]
TEXT = "Naïve: let me look.\n\n{}\n\nAnd the time:\n\n{}\n\nThat is all."
MEANT = [("read_file", {"path": "größe/日本 😀.md"}), ("now", {})]

# The first of them alone.
ONE = MEANT[0]
ONE_BLOCK = f"<function_calls>\n{INVOKE[0]}\n</function_calls>"


def one_call(native: Any) -> dict[str, tuple[list[Any], str, list[Any], str]]:
    """By route: what the upstream says, the text and the calls that the client gets, and the verdict.

    native   the call as the upstream makes it
    """
    written = ["Let me ", "look.\n\n<inv", INVOKE[0][4:], "\n"]
    return {
        "lift": (written, "Let me look.\n\n", [ONE], "lifted"),
        "lower": (["Let me look.", native], f"Let me look.\n\n{ONE_BLOCK}", [], "lowered"),
        "observe": (["Let me look.", native], "Let me look.", [ONE], "native"),
    }


def two_calls(
    said: Callable[[str], Any], native: Any, *, calls: str = "tool_use", end: str = "end_turn"
) -> dict[str, tuple[Any, str, list[Any], str, str]]:
    """By route: what the upstream says, the text, the calls and the finish reason that the client gets, the verdicts.

    said        a text as the upstream says it; `native`: "Let me look." and the calls as it makes them
    calls, end  the finish reasons with and without calls
    """
    text = said(TEXT.format(*INVOKE))
    return {
        "lift": (text, TEXT.format("", ""), MEANT, calls, "lifted"),
        "lower": (native, f"Let me look.\n\n{BLOCK}", [], end, "lowered"),
        "same": (text, TEXT.format(*INVOKE), [], end, "lowered"),
        "other": (text, TEXT.format(*TAGGED), [], end, "lowered"),
        "observe": (native, "Let me look.", MEANT, calls, "native"),
    }


def exchanged[Got](running: Host, route: str, reply: Reply, ask: Callable[[str], Got]) -> tuple[Got, Any]:
    """One request to an upstream that gives this reply: what `ask` makes of it, asked with a base URL, and the flow."""
    base = f"/{route}{running.prefix()}"
    running.upstream.asked.clear()
    running.upstream.replies = [reply]
    got = ask(running.dump.url + base)
    return got, running.flow_under(base + "/")


def statuses(flow: Any) -> list[str]:
    return [verdict["status"] for verdict in flow.metadata[flow_metadata.REPORT]["verdicts"]]


def check_flow(flow: Any, route: str, status: str, model: str, sent: list[bytes]) -> None:
    """Assert what the flow of one of `two_calls` says, and that untouched is identical."""
    assert statuses(flow) == [status, status]
    assert flow.metadata[flow_metadata.REPORT]["model"] == model
    if route in {"same", "observe"}:
        assert flow.response.raw_content == b"".join(sent)
