"""The content view "Conversation": a request as a reader wants it, from the model's name to the last message.

First what is done to the exchange and why, then the tools with their schemas folded, then the messages in order, each
result beside its call. Where the upstream was sent another body than the client sent, that body is the one shown; what
the rewriting made of it is marked, and the client's own messages that are no longer in it are at the end.

Agents send their whole history with each turn, so a request may have megabytes. A long one is made small before it is
read (`small`): messages from both ends, and long ones cut; what is left out is said where it stood.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from mitmproxy import contentviews, http

from toolcalls.flows.exchange_plan import wire_for
from toolcalls.flows.flow_metadata import REPORT, original_request_body
from toolcalls.flows.websocket.turns import REQUEST_TYPE, messages_as_received, type_and_stream
from toolcalls.flows.websocket.upgrade import is_api_websocket
from toolcalls.insight.formatting import counted
from toolcalls.insight.report import visible
from toolcalls.mitm.in_progress import tap_of
from toolcalls.mitm.views.calls import summed_up, what_is_done
from toolcalls.mitm.views.lines import below, clipped, field, folded, pretty, quoted, remark, title, wrapped
from toolcalls.mitm.views.message import report_of
from toolcalls.mitm.views.shortening import Reduced, reduced
from toolcalls.request import Request, Tool
from toolcalls.requests.conversation import Conversation, PastCall, Result, Text, Turn, conversation_of
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import wire_of

_MOST_TOOLS = 120
_MOST_JSON = 64 * 1024  # characters of past arguments that are laid out in one view
_MOST_CALLS = 100  # of one request whose arguments are laid out; of more they stand as they came
_MOST_TEXT = 128 * 1024  # characters of text in one view


class ConversationView(contentviews.Contentview):
    """For requests to an LLM API that the addon reads; the first choice for those, and for nothing else."""

    name = "Conversation"
    syntax_highlight = "yaml"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Raises ValueError for a message that is no request of an API that is known here."""
        flow = metadata.flow
        if not isinstance(flow, http.HTTPFlow) or not _is_ours(data, metadata):
            raise ValueError("this is not a request to an API that the addon reads")
        wire = wire_of(flow.request.path)
        if wire is None:
            raise ValueError("this is not a request to an API that the addon reads")
        came = _asked(flow, metadata)
        small = reduced(data)
        body = small.body
        sent = conversation_of(wire.name, body)
        asked = sent.request
        client = conversation_of(wire.name, reduced(came).body) if came is not None else None
        lines = [
            *_head(flow, wire.name, asked, small, came, len(data)),
            " ",
            *_tools(sent.tools, sent.tool_choice, client),
            *_messages(sent, client, small),
        ]
        return "\n".join(line or " " for line in lines)

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Above every view of mitmproxy's own, for our requests."""
        return 2 if _is_ours(data, metadata) else -1


def _is_ours(data: bytes, metadata: contentviews.Metadata) -> bool:
    flow = metadata.flow
    if not isinstance(flow, http.HTTPFlow):
        return False
    if (message := metadata.websocket_message) is not None:
        return is_api_websocket(flow) and message.from_client and type_and_stream(data)[0] == REQUEST_TYPE
    if metadata.http_message is not flow.request:
        return False
    known = isinstance(flow.metadata.get(REPORT), dict) or tap_of(flow) is not None
    return wire_for(flow.request) is not None and (known or data[:1] == b"{")


def _asked(flow: http.HTTPFlow, metadata: contentviews.Metadata) -> bytes | None:
    """What the client sent where the upstream was sent something else."""
    message = metadata.websocket_message
    if message is None:
        return original_request_body(flow)
    content = next((content for one, content in messages_as_received(flow) if one is message), None)
    return None if content == message.content else content


# --- what is said -----------------------------------------------------------------------------------------------------


def _head(
    flow: http.HTTPFlow, wire: str, asked: Request, small: Reduced, came: bytes | None, size: int
) -> Iterator[str]:
    turns = f" · {counted(small.messages, 'message')}" if small.messages else ""
    tools = counted(len(asked.tools), "tool")
    yield from summed_up(f"{clipped(asked.model, 100) or 'no model'}{turns} · {tools} · {counted(size, 'byte')}")
    yield ""
    yield title("REQUEST")
    report = report_of(flow)
    if report is not None:
        yield from what_is_done(report, "request")
    else:
        yield from field("request", f"{wire}; the reply was not read, or has not come yet")
    if came is not None:
        yield from field(
            "rewritten",
            f"the client sent {counted(len(came), 'byte')}, and the upstream was sent what is shown here; "
            "what the addon made bears a *",
        )


def _tools(tools: Sequence[Tool], choice: str, client: Conversation | None) -> Iterator[str]:
    if tools:
        yield title(f"TOOLS  {len(tools)}, choice {clipped(choice, 60)}")
    box = Toolbox(tools)
    for tool in islice(tools, _MOST_TOOLS):
        required = box.required(tool.name)
        keys = [f"{key}{'' if key in required else '?'}" for key in islice(box.keys(tool.name), 24)]
        folded_schema = counted(len(json.dumps(tool.schema, ensure_ascii=False)), "character") if tool.schema else "no"
        named = title(f"{clipped(tool.name, 60)}({clipped(', '.join(keys), 160)})  [{folded_schema} of schema]")
        about = next(iter(tool.description.strip().splitlines()), "")
        yield f"  {named}"
        if about:
            yield f"    {quoted(clipped(about.strip(), 100))}"
    if len(tools) > _MOST_TOOLS:
        yield remark(f"… {counted(len(tools) - _MOST_TOOLS, 'more tool')} …")
    gone = [] if client is None else [tool.name for tool in client.tools if tool.name not in box.names]
    if gone:
        yield from field("not sent", f"the client's {counted(len(gone), 'tool')}: {', '.join(gone[:24])}")
    if tools or gone:
        yield " "


def _messages(sent: Conversation, client: Conversation | None, small: Reduced) -> Iterator[str]:
    own = None if client is None else {_print(turn) for turn in client.turns}
    shower = _Turns(sent, small)
    for turn in sent.turns:
        yield from shower.lines(turn, changed=own is not None and _print(turn) not in own)
    if client is None:
        return
    kept = {_print(turn) for turn in sent.turns}
    lost = [turn for turn in client.turns if _print(turn) not in kept]
    if lost:
        yield title(f"THE CLIENT'S OWN  {counted(len(lost), 'message')} that the upstream was not sent so")
        yield " "
        shower = _Turns(client, Reduced(b""))
        for turn in lost:
            yield from shower.lines(turn)


class _Turns:
    """The messages of one conversation on their way into lines; a result is beside its call, and only there."""

    def __init__(self, conversation: Conversation, small: Reduced) -> None:
        self._small = small
        self._results: dict[str, Result] = {}
        for turn in conversation.turns:
            for block_ in turn.blocks:
                if isinstance(block_, Result) and block_.id:
                    self._results.setdefault(block_.id, block_)
        self._shown: set[int] = set()
        self._number = 0
        calls = sum(isinstance(one, PastCall) for turn in conversation.turns for one in turn.blocks)
        self._json = _MOST_JSON if calls <= _MOST_CALLS else 0
        self._size = max(256, min(4096, _MOST_TEXT // max(1, len(conversation.turns))))  # characters of one text

    def lines(self, turn: Turn, *, changed: bool = False) -> Iterator[str]:
        """The lines of one message."""
        self._number += 1
        first = turn.blocks[0] if turn.blocks else None
        if self._small.note and isinstance(first, Text) and first.text == self._small.note:
            self._number += self._small.left_out - 1
            yield remark(first.text)
            yield " "
            return
        blocks = [one for one in turn.blocks if id(one) not in self._shown]
        if turn.blocks and not blocks:
            return  # all of its results are beside their calls
        size = sum(len(one.text) for one in blocks if isinstance(one, Text | Result))
        made = title(f"{self._number} {turn.role.upper()}{' *' if changed else ''}  {counted(size, 'character')}")
        yield from below(made, 4, self._blocks(turn, blocks, changed=changed))
        yield " "

    def _blocks(self, turn: Turn, blocks: Sequence[object], *, changed: bool) -> list[str]:
        """What a message holds, as one text: it may begin with any of these."""
        found: list[str] = []
        for one in blocks:
            if isinstance(one, Text):
                lines, end = (12, 20 if changed else 3) if turn.role == "system" else (60, 8)
                found += wrapped(folded(one.text, lines=lines, tail=end, size=self._size))
            elif isinstance(one, PastCall):
                found += self._call(one)
            elif isinstance(one, Result):
                found += self._result(one)
            else:
                found += _named("other", folded(_raw(getattr(one, "raw", None)), lines=6, tail=0, size=240))
        return found

    def _call(self, call: PastCall) -> list[str]:
        found = _named("call", [f"{clipped(call.name, 100)}  {clipped(call.id, 60)}".rstrip()])
        self._json -= len(call.arguments)
        short = self._json < 0 or len(call.arguments) > 4096
        found += _named("", folded(call.arguments, lines=12, tail=2, size=1024) if short else pretty(call.arguments))
        result = self._results.get(call.id)
        if result is not None and id(result) not in self._shown:
            self._shown.add(id(result))
            found += self._result(result)
        return found

    def _result(self, result: Result) -> list[str]:
        length = f"({counted(len(result.text), 'character')})"
        found = _named("result", [length, *folded(result.text, lines=20, tail=5, size=self._size // 2)])
        for other in result.others:
            found += _named("", folded(_raw(other.raw), lines=6, tail=0, size=240))
        return found


def _named(name: str, lines: Iterable[str]) -> list[str]:
    """Lines, already visible, with a name in front of the first."""
    found = [f"{'' if number else name:<7} {line}" for number, line in enumerate(wrapped(lines))]
    return [line.rstrip(" ") if line[-1] == " " else line for line in found]


def _raw(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return visible(repr(value))


def _print(turn: Turn) -> tuple[object, ...]:
    """What tells a message from others: who said what, not how its JSON is spelt."""
    return (turn.role, *(_block_print(one) for one in turn.blocks))


def _block_print(one: object) -> tuple[str, ...]:
    if isinstance(one, Text):
        return "text", one.text
    if isinstance(one, PastCall):
        return "call", one.id, one.name, one.arguments
    if isinstance(one, Result):
        return "result", one.id, one.text
    return "other", _raw(getattr(one, "raw", None))
