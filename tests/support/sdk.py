"""The official OpenAI SDK as a client, for tests from end to end: three ways to ask, one record of what was received.

`whole` asks for a reply that comes as one, `stream` iterates over its chunks, `helper` uses the SDK's own accumulator
(`client.chat.completions.stream`), which is the strictest of the three: it insists on `index`, refuses repeated
identities by gluing them together, and looks calls up by their place. Below them stand the replies of an upstream, in
the same two forms.
"""

import json
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import openai

from support.chatclient import HEAD, USAGE, chunk, event, outer
from support.loopback import LIMIT

type Way = Literal["whole", "stream", "helper"]
WAYS: tuple[Way, ...] = ("whole", "stream", "helper")

# The SDK comes with its own HTTP client, httpx until version 2 and httpx2 since; both have the same names.
HTTPX = import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
BROKEN = (openai.APIConnectionError, HTTPX.TransportError)  # what a stream raises when its connection breaks


def tool(name: str, *parameters: str) -> dict[str, Any]:
    """A tool whose parameters are required strings. It is strict, because the helper takes no other."""
    schema = {
        "type": "object",
        "properties": {parameter: {"type": "string"} for parameter in parameters},
        "required": list(parameters),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": schema}}


TOOLS = [tool("read_file", "path"), tool("now"), tool("write_file", "path", "content")]


# --- the client -------------------------------------------------------------------------------------------------------


@dataclass
class Choice:
    """What one choice has told the SDK. A call is its id, its name and the text of its arguments."""

    text: str = ""
    finish: str | None = None
    calls: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def meant(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls as an agent runs them. Raises ValueError for arguments that are no JSON."""
        return [(name, json.loads(arguments)) for _, name, arguments in self.calls]


@dataclass
class Answer:
    """A reply; `choices` by their index."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, Any] | None = None

    @property
    def only(self) -> Choice:
        """The choice of a reply that has one."""
        (choice,) = self.choices.values()
        return choice


class _OnlyHTTP2(ssl.SSLContext):
    """mitmproxy takes a client's first offer, and some versions of httpx offer HTTP/1.1 first."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:  # noqa: ARG002 - httpx calls it
        super().set_alpn_protocols(["h2"])


@contextmanager
def client(url: str, *, trusting: Path | None = None) -> Iterator[openai.OpenAI]:
    """An SDK client for a base URL. `trusting`: it speaks HTTP/2 over TLS and trusts this file's authority alone."""
    # To read all authorities of the world takes 50 ms, and there is none to be trusted without TLS.
    options: dict[str, Any] = {"trust_env": False, "timeout": LIMIT, "verify": False}
    if trusting is not None:
        context = _OnlyHTTP2(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(trusting)
        options |= {"http2": True, "verify": context}
    with openai.OpenAI(
        base_url=url, api_key="made-up", max_retries=0, http_client=openai.DefaultHttpxClient(**options)
    ) as made:
        yield made


def ask(sdk: openai.OpenAI, way: Way, **given: Any) -> Answer:
    """One request, and its reply to the end. What the SDK raises is the caller's."""
    request: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": TOOLS, **given}
    if way == "whole":
        return completed(sdk.chat.completions.create(**request))
    request["stream_options"] = {"include_usage": True}
    if way == "helper":
        with sdk.chat.completions.stream(**request) as stream:
            return completed(stream.get_final_completion())
    answer = Answer()
    with sdk.chat.completions.create(stream=True, **request) as chunks:
        for one in chunks:
            take(answer, one)
    return answer


def take(answer: Answer, one: Any) -> None:
    """The next chunk of a reply, as the SDK's documentation says to put them together."""
    answer.usage = one.usage.to_dict() if one.usage else answer.usage
    for choice in one.choices:
        got = answer.choices.setdefault(choice.index, Choice())
        got.text += choice.delta.content or ""
        got.finish = choice.finish_reason or got.finish
        for call in choice.delta.tool_calls or ():
            if call.index == len(got.calls):
                got.calls.append((call.id, call.function.name, ""))
            id_, name, arguments = got.calls[call.index]
            got.calls[call.index] = (id_, name, arguments + (call.function.arguments or ""))


def completed(completion: Any) -> Answer:
    """What a completion tells: a whole one, or one that the helper has put together."""
    choices = {
        choice.index: Choice(
            choice.message.content or "",
            choice.finish_reason,
            [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()],
        )
        for choice in completion.choices
    }
    return Answer(choices, completion.usage.to_dict() if completion.usage else None)


# --- what an upstream answers -----------------------------------------------------------------------------------------

type Calls = Sequence[tuple[str, str, str]]  # id, name, arguments


def streamed(text: str, calls: Calls = (), finish: str | None = "stop", *, size: int = 5) -> list[bytes]:
    """A reply as events: text, then native calls, each in pieces of `size`. Without `finish` it does not end."""
    events = [chunk(HEAD), *(chunk({"content": piece}) for piece in _pieces(text, size))]
    for index, (id_, name, arguments) in enumerate(calls):
        head = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
        events.append(chunk({"tool_calls": [head]}))
        for piece in _pieces(arguments, size):
            events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    ending = [] if finish is None else [chunk({}, finish), outer([], usage=USAGE)]
    return [*(event(one) for one in (*events, *ending)), *([b"data: [DONE]\n\n"] if ending else [])]


def whole(text: str, calls: Calls = (), finish: str = "stop") -> bytes:
    """The same as one body."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return json.dumps(body, ensure_ascii=False).encode()


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
