"""The cases of `tests/cases/wires` on the wires that carry calls: how each is sent, and what its client must have got.

`SENT` is the table: a row for each wire and form. What a case may say is in `caseformat`, and what it means at
the head of its file. The strict clients are those of `tests/support/*client.py`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.casefiles import canonical, load, openai_tools
from support.exchanges import of_case, words
from toolcalls.replies.exchange import Exchange
from toolcalls.wires import all_wires
from toolcalls.wires.frames import Form

type Case = Mapping[str, Any]
type Tools = list[dict[str, Any]]

WIRES = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
FILES = {name: load("wires", name) for name in WIRES}


# --- what is asked ----------------------------------------------------------------------------------------------------


def chat_request(tools: Tools) -> dict[str, Any]:
    return {"messages": [], "tools": tools}


def responses_request(tools: Tools) -> dict[str, Any]:
    return {"input": [], "tools": [{"type": "function", **tool["function"]} for tool in tools]}


def anthropic_request(tools: Tools) -> dict[str, Any]:
    functions = [tool["function"] for tool in tools]
    declared = [{"name": one["name"], "input_schema": one.get("parameters", {"type": "object"})} for one in functions]
    return {"messages": [], "tools": declared}


def gemini_request(tools: Tools) -> dict[str, Any]:
    declared = [{"functionDeclarations": [tool["function"] for tool in tools]}] if tools else []
    return {"contents": [], "tools": declared}


_REQUESTS: dict[str, Callable[[Tools], dict[str, Any]]] = {
    "openai_chat": chat_request,
    "openai_responses": responses_request,
    "anthropic": anthropic_request,
    "gemini": gemini_request,
    "ollama": chat_request,
}


def exchange_for(wire: str, case: Case, form: Form) -> Exchange:
    """The exchange of a case; one that says nothing is for the tools of its file."""
    tools = openai_tools(case.get("tools", FILES[wire]["tools"]) or {})
    return of_case(all_wires()[wire], case, _REQUESTS[wire](tools), form)


def _calls_as_said(case: Case, calls: list[dict[str, str]]) -> None:
    expected = case.get("calls", [])
    assert [call["name"] for call in calls] == [call["name"] for call in expected]
    for call, want in zip(calls, expected, strict=True):
        assert canonical(call["arguments"]) == canonical(want.get("json") or json.dumps(want.get("arguments", {})))
        assert call["id"] == want.get("id", call["id"])


# --- Chat Completions -------------------------------------------------------------------------------------------------


def chat_deltas(case: Case) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each delta of the case's reply with its finish reason."""
    reply = [{"content": item} if isinstance(item, str) else dict(item) for item in case["reply"]]
    if "role" not in reply[0]:
        reply.insert(0, dict(chatclient.HEAD))
    for delta in reply:
        finish = delta.pop("finish", None)
        yield delta, finish
    if finish is None:
        yield {}, case.get("upstream_finish", "stop")


def chat_streamed(case: Case) -> bytes:
    events = [chatclient.event(chatclient.chunk(delta, finish)) for delta, finish in chat_deltas(case)]
    usage = chatclient.event(chatclient.outer([], usage=chatclient.USAGE))
    return b"".join([*events, usage, b"data: [DONE]\n\n"])


def chat_whole(case: Case) -> bytes:
    """The same reply as one body: texts joined, the pieces of native calls joined."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, Any] = {}
    reason = None
    for delta, finish in chat_deltas(case):
        reason = finish or reason
        for key in {"content", "reasoning_content"} & set(delta):
            message[key] = (message.get(key) or "") + delta[key]
        for entry in delta.get("tool_calls", ()):
            known = calls.setdefault(entry["index"], json.loads(json.dumps(entry)))
            if known != entry:
                known["function"]["arguments"] += entry["function"]["arguments"]
    if calls:
        message["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in calls.values()]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return json.dumps({**chatclient.outer([choice], usage=chatclient.USAGE), "object": "chat.completion"}).encode()


def check_chat(case: Case, got: chatclient.Choice, exchange: Exchange) -> None:
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.finish == case.get("finish", "stop")
    assert words(exchange) == case.get("verdicts", [])
    ended, open_ = len(case.get("calls", [])), case.get("open", [])
    _calls_as_said(case, got.calls[:ended])
    assert [(call["name"], call["arguments"]) for call in got.calls[ended:]] == [
        (call["name"], call["json"]) for call in open_
    ]


def check_chat_streamed(case: Case, out: bytes, exchange: Exchange) -> None:
    reply = chatclient.received(out)
    check_chat(case, reply.choices[0], exchange)
    assert reply.usage == chatclient.USAGE
    assert reply.choices[0].order == case.get("order", reply.choices[0].order)


def check_chat_whole(case: Case, out: bytes, exchange: Exchange) -> None:
    reply = json.loads(out)
    (choice,) = reply["choices"]
    message = choice["message"]
    made = message.get("tool_calls", ())
    assert all(call["type"] == "function" and "index" not in call for call in made)
    calls = [{"id": call["id"], **call["function"]} for call in made]
    text, reasoning = message["content"] or "", message.get("reasoning_content", "")
    check_chat(case, chatclient.Choice(text, reasoning, choice["finish_reason"], calls), exchange)
    assert message["content"] is None or message["content"] or not calls, "an empty text beside calls"
    assert reply["usage"] == chatclient.USAGE


# --- Responses --------------------------------------------------------------------------------------------------------


def responses_events(case: Case) -> list[dict[str, Any]]:
    items: list[Any] = []
    for item in case["reply"]:
        if isinstance(item, dict) and "call" in item:
            rest = {key: item[key] for key in item if key not in {"call", "id", "json"}}
            call = {"type": "function_call", "call_id": item["id"], "name": item["call"], "arguments": item["json"]}
            items.append({**call, **rest})
        else:
            items.append(item["item"] if isinstance(item, dict) else item)
    return responsesclient.stream(items, case.get("upstream_status", "completed"))


def responses_streamed(case: Case) -> bytes:
    return responsesclient.written(responses_events(case))


def responses_whole(case: Case) -> bytes:
    return responsesclient.whole(responses_events(case))


def check_responses(case: Case, got: responsesclient.Reply, exchange: Exchange) -> None:
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.status == case.get("status", "completed")
    assert got.reason == case.get("reason", "max_output_tokens" if got.status == "incomplete" else None)
    assert got.order == case["order"]
    assert sorted(words(exchange)) == sorted(case.get("verdicts", []))
    _calls_as_said(case, got.calls)
    assert [call["form"] for call in got.calls] == [call.get("form", "function_call") for call in case.get("calls", [])]
    assert [(call["name"], call["arguments"]) for call in got.open] == [
        (call["name"], call["json"]) for call in case.get("open", [])
    ]


def check_responses_streamed(case: Case, out: bytes, exchange: Exchange) -> None:
    check_responses(case, responsesclient.received(out), exchange)


def check_responses_whole(case: Case, out: bytes, exchange: Exchange) -> None:
    reply = responsesclient.Reply()
    responsesclient.take_items(reply, json.loads(out))
    check_responses(case, reply, exchange)


# --- Anthropic --------------------------------------------------------------------------------------------------------


def anthropic_events(case: Case) -> list[dict[str, Any]]:
    blocks: list[list[dict[str, Any]]] = []
    for item in case["reply"]:
        if isinstance(item, str | list):
            blocks.append(anthropicclient.text(*([item] if isinstance(item, str) else item)))
        elif "call" in item:
            blocks.append(anthropicclient.call(item["id"], item["call"], *item.get("pieces", ())))
        elif "thinking" in item:
            blocks.append(anthropicclient.thinking(item["thinking"]))
        else:
            blocks.append(anthropicclient.block(item["block"]))
    return anthropicclient.stream(blocks, case.get("upstream_stop", "end_turn"))


def anthropic_streamed(case: Case) -> bytes:
    return anthropicclient.written(anthropic_events(case))


def anthropic_whole(case: Case) -> bytes:
    return anthropicclient.whole(anthropic_events(case))


def check_anthropic(case: Case, got: anthropicclient.Reply, exchange: Exchange) -> None:
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.stop == case.get("stop", "end_turn")
    assert got.order == case["order"]
    assert got.usage == anthropicclient.USAGE
    assert sorted(words(exchange)) == sorted(case.get("verdicts", []))
    _calls_as_said(case, got.calls)
    assert [(call["name"], call["arguments"]) for call in got.open] == [
        (call["name"], call["json"]) for call in case.get("open", [])
    ]


def check_anthropic_streamed(case: Case, out: bytes, exchange: Exchange) -> None:
    check_anthropic(case, anthropicclient.received(out), exchange)


def check_anthropic_whole(case: Case, out: bytes, exchange: Exchange) -> None:
    check_anthropic(case, anthropicclient.understood(json.loads(out)), exchange)


# --- Gemini -----------------------------------------------------------------------------------------------------------


def gemini_replies(case: Case) -> list[dict[str, Any]]:
    """The case's streamed replies."""
    out = []
    for item in case["reply"]:
        more = dict(item) if isinstance(item, dict) else {"parts": item if isinstance(item, list) else [item]}
        out.append(geminiclient.reply(more.pop("parts"), more.pop("finish", None), **more))
    if not any("finishReason" in one["candidates"][0] for one in out):
        out.append(geminiclient.reply([""], case.get("upstream_finish", "STOP")))
    return out


def gemini_joined(replies: list[dict[str, Any]]) -> dict[str, Any]:
    """Streamed replies as one; neighbouring texts are joined."""
    parts: list[dict[str, Any]] = []
    candidate: dict[str, Any] = {}
    for one in replies:
        (got,) = one["candidates"]
        candidate |= got
        for new in got["content"]["parts"]:
            if parts and set(new) == set(parts[-1]) == {"text"}:
                parts[-1] = geminiclient.part(parts[-1]["text"] + new["text"])
            elif new != {"text": ""}:
                parts.append(new)
    candidate["content"] = {"parts": parts, "role": "model"}
    return {**replies[-1], "candidates": [candidate]}


def gemini_body(case: Case, *, form: geminiclient.Body, envelope: bool = False) -> bytes:
    replies = gemini_replies(case)
    return geminiclient.body_of([gemini_joined(replies)] if form == "whole" else replies, form, envelope=envelope)


def check_gemini(
    case: Case, out: bytes, exchange: Exchange, *, form: geminiclient.Body, envelope: bool = False
) -> None:
    reply = geminiclient.received(out, form, envelope=envelope)
    got = reply.candidates[0]
    assert words(exchange) == case.get("verdicts", [])
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.finish == case.get("finish", "STOP")
    assert got.calls == [(call["name"], call.get("arguments", {})) for call in case.get("calls", [])]
    assert got.signatures == case.get("signatures", [])
    assert got.others == case.get("others", [])
    if form != "whole":
        assert reply.usage == geminiclient.USAGE
        assert got.order == case.get("order", got.order)


# --- Ollama -----------------------------------------------------------------------------------------------------------


def ollama_lines(case: Case) -> list[dict[str, Any]]:
    """The case's lines."""
    lines = []
    for item in case["reply"]:
        message = {"content": item} if isinstance(item, str) else dict(item)
        finish = message.pop("finish", None)
        lines.append(ollamaclient.line(message, finish))
    return lines if lines[-1]["done"] else [*lines, ollamaclient.line("", case.get("upstream_finish", "stop"))]


def ollama_joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Lines as one: texts and thoughts joined, calls in a row."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for one in lines:
        for key in {"content", "thinking", "tool_calls"} & set(one["message"]):
            new = one["message"][key]
            message[key] = message[key] + new if key in message else new
    return {**lines[-1], "message": message}


def ollama_streamed(case: Case, end: bytes) -> bytes:
    return ollamaclient.body_of(ollama_lines(case), end)


def ollama_whole(case: Case) -> bytes:
    return ollamaclient.body_of([ollama_joined(ollama_lines(case))], b"")


def check_ollama(case: Case, out: bytes, exchange: Exchange, *, end: bytes = b"") -> None:
    got = ollamaclient.received(out, whole=not end)
    assert words(exchange) == case.get("verdicts", [])
    assert got.text == case.get("text", "")
    assert got.reasoning == case.get("reasoning", "")
    assert got.finish == case.get("finish", "stop")
    assert got.calls == [(one["name"], one.get("arguments", {})) for one in case.get("calls", [])]
    assert got.stats == ollamaclient.STATS
    if end:
        assert out.count(b"\n") == out.count(end)
        assert got.order == case.get("order", got.order)


# --- all of them ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sent:
    """How the cases of a wire are sent in one form.

    body    the upstream's reply
    check   assert that what leaves is what the case says, and so are the verdicts
    step    how much of a body is cut in two, see `same_wherever_it_is_cut`
    seen    what must be the same wherever it is cut
    """

    wire: str
    form: Form
    body: Callable[[Case], bytes]
    check: Callable[[Case, bytes, Exchange], None]
    step: int = 1
    seen: Callable[[bytes], object] = bytes

    def exchange(self, case: Case) -> Exchange:
        return exchange_for(self.wire, case, self.form)

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases that can be sent so."""
        return [case for case in FILES[self.wire]["cases"] if self.takes(case)]

    def takes(self, case: Case) -> bool:
        """Whether a case can be sent so."""
        return bool(case.get("whole", True)) if self.form == "whole" else not case.get("whole_only")


def _gemini(form: geminiclient.Body, step: int, seen: Callable[[bytes], object], *, envelope: bool = False) -> Sent:
    body = partial(gemini_body, form=form, envelope=envelope)
    return Sent("gemini", form, body, partial(check_gemini, form=form, envelope=envelope), step, seen)


def _ollama(end: bytes) -> Sent:
    return Sent("ollama", "ndjson", partial(ollama_streamed, end=end), partial(check_ollama, end=end))


def _without_blank_lines(out: bytes) -> list[bytes]:
    """A line feed that was cut from its CR comes after the event: one more blank line, which says nothing."""
    return out.split()


SENT = {
    "openai_chat": Sent("openai_chat", "sse", chat_streamed, check_chat_streamed),
    "openai_responses": Sent("openai_responses", "sse", responses_streamed, check_responses_streamed, step=13),
    "anthropic": Sent("anthropic", "sse", anthropic_streamed, check_anthropic_streamed, step=11),
    "gemini events": _gemini("sse", 1, _without_blank_lines),
    "gemini array": _gemini("json_array", 7, bytes),
    "ollama": _ollama(b"\n"),
}
# The same with what only matters to a frame: sent, but not cut.
ALSO_SENT = {
    "gemini events in an envelope": _gemini("sse", 1, bytes, envelope=True),
    "gemini array in an envelope": _gemini("json_array", 1, bytes, envelope=True),
    "ollama with crlf": _ollama(b"\r\n"),
}
WHOLE = {
    "openai_chat": Sent("openai_chat", "whole", chat_whole, check_chat_whole),
    "openai_responses": Sent("openai_responses", "whole", responses_whole, check_responses_whole),
    "anthropic": Sent("anthropic", "whole", anthropic_whole, check_anthropic_whole),
    "gemini": _gemini("whole", 1, bytes),
    "ollama": Sent("ollama", "whole", ollama_whole, check_ollama),
}
