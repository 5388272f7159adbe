"""What a client received, in the words of a wire's case file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support.wirecases import Sent


@dataclass(frozen=True)
class Received:
    """What a client received.

    texts   each key that is neither calls nor verdicts, with its value and what holds without it
    calls   the complete calls; `open` those that were never completed
    """

    texts: Mapping[str, tuple[Any, Any]]
    calls: list[dict[str, Any]]
    open: list[dict[str, Any]]


def received(sent: Sent, out: bytes) -> Received:
    """What the strict client of a wire makes of bytes in one form."""
    return {
        "openai_chat": _chat,
        "openai_responses": _responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
        "ollama": _ollama,
    }[sent.wire](sent, out)


def _chat(sent: Sent, out: bytes) -> Received:
    if sent.form == "whole":
        (choice,) = json.loads(out)["choices"]
        message = choice["message"]
        calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
        reasoning = message.get("reasoning_content", "")
        got = chatclient.Choice(message["content"] or "", reasoning, choice["finish_reason"], calls)
    else:
        got = chatclient.received(out).choices[0]
    complete = [call for call in got.calls if _is_json(call["arguments"])]
    texts = {**_texts(got.text, got.reasoning), "finish": (got.finish, "stop"), "order": (got.order, None)}
    return Received(texts, complete, [call for call in got.calls if call not in complete])


def _responses(sent: Sent, out: bytes) -> Received:
    got = responsesclient.Reply()
    if sent.form == "whole":
        responsesclient.take_items(got, json.loads(out))
    else:
        got = responsesclient.received(out)
    usual = "max_output_tokens" if got.status == "incomplete" else None
    texts = {
        **_texts(got.text, got.reasoning),
        "status": (got.status, "completed"),
        "reason": (got.reason, usual),
        "order": (got.order, None),
    }
    return Received(texts, _without(got.calls, "form", "function_call"), got.open)


def _anthropic(sent: Sent, out: bytes) -> Received:
    got = anthropicclient.understood(json.loads(out)) if sent.form == "whole" else anthropicclient.received(out)
    texts = {**_texts(got.text, got.reasoning), "stop": (got.stop, "end_turn"), "order": (got.order, None)}
    return Received(texts, got.calls, got.open)


def _gemini(sent: Sent, out: bytes) -> Received:
    form: Any = sent.form
    got = geminiclient.received(out, form, envelope=False).candidates[0]
    texts = {
        **_texts(got.text, got.reasoning),
        "finish": (got.finish, "STOP"),
        "order": (got.order, None),
        "signatures": (got.signatures, []),
        "others": (got.others, []),
    }
    return Received(texts, _pairs(got.calls), [])


def _ollama(sent: Sent, out: bytes) -> Received:
    got = ollamaclient.received(out, whole=sent.form == "whole")
    texts = {**_texts(got.text, got.reasoning), "finish": (got.finish, "stop"), "order": (got.order, None)}
    return Received(texts, _pairs(got.calls), [])


def _texts(text: str, reasoning: str) -> dict[str, tuple[Any, Any]]:
    return {"text": (text, ""), "reasoning": (reasoning, "")}


def _pairs(calls: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]


def _without(calls: Iterable[dict[str, Any]], key: str, usual: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in call.items() if (name, value) != (key, usual)} for call in calls]


def _is_json(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except ValueError:
        return False
    return True
