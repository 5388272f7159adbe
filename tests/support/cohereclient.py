"""Cohere's API for tests: replies of Chat Completions in its words, and a strict client's reading of them.

What is sent is made of deltas of Chat Completions. What is received is checked event by event (names, the order of
starts, pieces and ends, indices of contents and of calls) and put into chunks again, so that `chatclient`, the
strictest of all clients, has its say. No code of the wire is in either direction.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from support import chatclient
from support.namedevents import events_of

type Event = Mapping[str, Any]
type Deltas = Iterable[tuple[Mapping[str, Any], str | None]]

USAGE = {"billed_units": {"input_tokens": 1, "output_tokens": 2}, "tokens": {"input_tokens": 1, "output_tokens": 2}}
REASONS = {"stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS", "content_filter": "ERROR_TOXIC"}
_WORDS = {word: reason for reason, word in REASONS.items()}
DONE = b"data: [DONE]\n\n"


# --- what an upstream sends -------------------------------------------------------------------------------------------


def frame(payload: Mapping[str, Any]) -> bytes:
    """One event as it is on the wire. Text stands as UTF-8; where it holds a lone surrogate, as escapes."""
    try:
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        text = json.dumps(payload, separators=(",", ":")).encode()
    return b"event: %b\ndata: %b\n\n" % (payload["type"].encode(), text)


def written(deltas: Deltas) -> bytes:
    """A body of these deltas, each with its finish reason or None."""
    events = list(of_chat(deltas))
    return b"".join(map(frame, events)) + (DONE if events[-1]["type"] == "message-end" else b"")


def said(pieces: Iterable[str], finish: str | None = "stop") -> bytes:
    """A body whose text comes in these pieces."""
    return written([*(({"content": piece}, None) for piece in pieces), *([({}, finish)] if finish else [])])


def of_chat(deltas: Deltas) -> Iterator[dict[str, Any]]:
    """Deltas of Chat Completions as events."""
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield {"id": "r1", "type": "message-start", "delta": {"message": message}}
    contents = 0
    open_: tuple[str, int] | None = None
    latest: str | None = None  # the id of the latest call
    for delta, finish in deltas:
        for key, kind in (("reasoning_content", "thinking"), ("content", "text")):
            if not delta.get(key):
                continue
            if open_ is None or open_[0] != kind:
                yield from _end(open_)
                open_, contents = (kind, contents), contents + 1
                content = {"type": kind, kind: ""}
                yield {"type": "content-start", "index": open_[1], "delta": {"message": {"content": content}}}
            piece = {"message": {"content": {kind: delta[key]}}}
            yield {"type": "content-delta", "index": open_[1], "delta": piece}
        for entry in delta.get("tool_calls", ()):
            rest = {key: member for key, member in entry.items() if key != "index"}
            begins = "name" in entry["function"] and (open_ != ("call", entry["index"]) or entry.get("id") != latest)
            if begins:
                yield from _end(open_)
                open_, latest = ("call", entry["index"]), entry.get("id")
            kind = "tool-call-start" if begins else "tool-call-delta"
            yield {"type": kind, "index": entry["index"], "delta": {"message": {"tool_calls": rest}}}
        if finish is not None:
            yield from _end(open_)
            open_ = None
            word = REASONS.get(finish, finish)
            yield {"type": "message-end", "delta": {"finish_reason": word, "usage": USAGE}}


def _end(open_: tuple[str, int] | None) -> Iterator[dict[str, Any]]:
    if open_ is not None:
        yield {"type": "tool-call-end" if open_[0] == "call" else "content-end", "index": open_[1]}


def whole(chat: bytes) -> bytes:
    """A whole reply of Chat Completions as one of Cohere's."""
    reply = json.loads(chat)
    (choice,) = reply["choices"]
    told = choice["message"]
    content = [
        {"type": kind, kind: told[key]}
        for key, kind in (("reasoning_content", "thinking"), ("content", "text"))
        if told.get(key)
    ]
    message = {"role": "assistant", **({"content": content} if content else {})}
    message |= {"tool_calls": told["tool_calls"]} if told.get("tool_calls") else {}
    reason = choice.get("finish_reason")
    word = {} if reason is None else {"finish_reason": REASONS.get(reason, reason)}
    return json.dumps({"id": "r1", **word, "message": message, "usage": USAGE}, separators=(",", ":")).encode()


# --- what a client makes of it ----------------------------------------------------------------------------------------


def parsed(body: bytes) -> list[dict[str, Any]]:
    """The events of a body, each named like its payload."""
    return events_of(body.removesuffix(DONE))


def received(body: bytes, *, ends: bool = True) -> chatclient.Choice:
    """What a strict client makes of a streamed body. `ends`: it ended as it should."""
    assert body.endswith(DONE) or not ends, "no end"
    return told(parsed(body), ends=ends)


def told(events: Iterable[Event], *, ends: bool = True) -> chatclient.Choice:
    """What a strict client makes of events."""
    chunks = [chatclient.event(one) for one in _as_chunks(events)]
    return chatclient.received(b"".join(chunks) + (DONE if ends else b""), ends=ends).choices[0]


def _as_chunks(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    open_: tuple[str, int] | None = None
    contents = calls = 0
    text = ""
    for number, event in enumerate(events):
        kind, at = event["type"], event.get("index")
        message = (event.get("delta") or {}).get("message") or {}
        assert (kind == "message-start") == (number == 0), f"{kind} is event {number}"
        if kind == "message-start":
            assert event["id"]
            yield chatclient.chunk(chatclient.HEAD)
        elif kind == "content-start":
            assert open_ is None, f"a content begins in {open_}"
            assert at == contents, f"content {at} behind {contents}"
            kind = message["content"]["type"]
            open_, contents, text = (kind, at), contents + 1, message["content"].get(kind, "")
            yield _content(kind, text)
        elif kind == "content-delta":
            assert open_ is not None
            assert at == open_[1], f"a piece of content {at} in {open_}"
            text += message["content"][open_[0]]
            yield _content(open_[0], message["content"][open_[0]])
        elif kind == "content-end":
            assert open_ is not None
            assert (open_[0] != "call", at) == (True, open_[1]), f"the end of content {at} in {open_}"
            assert text, "a content without text"
            open_ = None
        elif kind == "tool-call-start":
            assert open_ is None, f"a call begins in {open_}"
            assert at == calls, f"call {at} behind {calls}"
            open_, calls, text = ("call", at), calls + 1, message["tool_calls"]["function"]["arguments"]
            yield chatclient.chunk({"tool_calls": [{"index": at, **message["tool_calls"]}]})
        elif kind == "tool-call-delta":
            assert open_ == ("call", at), f"a piece of call {at} in {open_}"
            text += message["tool_calls"]["function"]["arguments"]
            yield chatclient.chunk({"tool_calls": [{"index": at, **message["tool_calls"]}]})
        elif kind == "tool-call-end":
            assert open_ == ("call", at), f"the end of call {at} in {open_}"
            if not text:  # which says that it has none
                yield chatclient.chunk({"tool_calls": [{"index": at, "function": {"arguments": "{}"}}]})
            open_ = None
        elif kind == "message-end":
            assert open_ is None, f"the message ends in {open_}"
            word = event["delta"]["finish_reason"]
            assert event["delta"].get("usage", USAGE) == USAGE
            yield chatclient.chunk({}, _WORDS.get(word, word))
        elif kind == "tool-plan-delta":
            yield chatclient.chunk({"reasoning_content": message["tool_plan"]})


def _content(kind: str, text: str) -> dict[str, Any]:
    return chatclient.chunk({"content" if kind == "text" else "reasoning_content": text})


def understood(body: bytes) -> chatclient.Choice:
    """What a strict client makes of a whole body."""
    return answered(json.loads(body))


def answered(reply: Mapping[str, Any]) -> chatclient.Choice:
    """What a strict client makes of a whole reply."""
    assert reply["usage"] == USAGE
    message = reply["message"]
    assert message["role"] == "assistant"
    content = message.get("content") or []
    assert sum(one["type"] == "text" for one in content) <= 1, "clients read the first text"
    assert all(one[one["type"]] for one in content), "a content without text"
    calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or ()]
    assert all(call["type"] == "function" and "index" not in call for call in message.get("tool_calls") or ())
    text = "".join(one["text"] for one in content if one["type"] == "text")
    thoughts = [message.get("tool_plan") or "", *(one["thinking"] for one in content if one["type"] == "thinking")]
    word = reply["finish_reason"]
    return chatclient.Choice(text, "".join(thoughts), _WORDS.get(word, word), calls)
