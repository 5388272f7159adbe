"""An agent on each official SDK, for tests from end to end: it asks, gets calls, and goes on with their results.

`SDKS` is the table: one `Sdk` for each API, all with the same members, so that a test can be one function for all of
them. An SDK is asked in three ways: `whole` is a reply as one, `stream` iterates over what comes, `helper` uses the
SDK's own accumulator where it has one. Below each SDK stands what an upstream of its API answers, and what it is told
of calls and results in the request after them.
"""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

import anthropic
import openai

from support import anthropicclient, chatclient, geminiclient, ollamaclient, responsesclient
from support import sdk as chat_sdk
from support.loopback import EVENTS, LIMIT, Reply, Upstream
from support.tlsclient import serving

genai: Any = import_module("google.genai")
genai_types: Any = import_module("google.genai.types")
ollama: Any = import_module("ollama")

type Way = Literal["whole", "stream", "helper"]
# How a reply ends: by itself, at the limit, in the middle of the connection, with an error of the upstream's.
type Ending = Literal["stop", "length", "cut", "error"]
type Native = tuple[str, Mapping[str, Any]]

OVERLOADED = "the model is overloaded"


# --- what all have in common ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tool:
    """A function that an agent offers: its parameters are required strings."""

    name: str
    parameters: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, strict enough for every SDK."""
        properties = {parameter: {"type": "string"} for parameter in self.parameters}
        required = list(self.parameters)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS = (Tool("read_file", ("path",)), Tool("now"), Tool("write_file", ("path", "content")))


@dataclass(frozen=True)
class Call:
    """A call as an agent gets it. `arguments` is what the SDK has read; a str where that is no whole JSON object."""

    id: str
    name: str
    arguments: Any

    @property
    def meant(self) -> tuple[str, Any]:
        """What is to be run."""
        return self.name, self.arguments


@dataclass
class Answer:
    """A reply as far as an agent has got it.

    finish   why it ended, in the API's own word; "" while it has not
    order    "t" for a text, "c" for a call, as they followed each other; "" where the API has no order
    back     the reply as the SDK wants it back in the conversation
    """

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    finish: str = ""
    order: str = ""
    back: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """How an SDK reaches its API: a base URL, a proxy, an authority that it trusts."""

    base: str
    proxy: str | None = None
    verify: ssl.SSLContext | bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The options of httpx, which is under all five."""
        return {"trust_env": False, "timeout": LIMIT, "proxy": self.proxy, "verify": self.verify}


class Sdk(Protocol):
    """One SDK, and the API that it speaks.

    ways     the ways it can be asked in
    broken   what it raises when the connection breaks in the middle of a reply
    fails    what it raises for an error that the upstream tells
    stopped  its API's word for a reply that ended by itself, and for one with calls
    limited  its API's word for a reply that met its limit
    """

    ways: tuple[Way, ...]
    broken: tuple[type[Exception], ...]
    fails: tuple[type[Exception], ...]
    stopped: tuple[str, str]
    limited: str

    def path(self, way: Way) -> str:
        """What is asked after the base URL."""

    def client(self, line: Line) -> AbstractContextManager[Any]:
        """A client of the SDK for the length of a `with` block."""

    def begun(self, user: str) -> list[Any]:
        """A conversation of one user message."""

    def ask(self, client: Any, way: Way, talk: list[Any], answer: Answer) -> None:
        """One request; `answer` is filled as its reply comes. What the SDK raises is the caller's."""

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        """What goes after a conversation: the reply itself, and the result of each of its calls."""

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        """What an upstream answers: text in pieces of `size` characters, then native calls, and an end."""

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        """The calls in a request's conversation, each with its arguments and its result: (name, arguments, result)."""


def cut_up(text: str, size: int) -> list[str]:
    """A text in pieces of so many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(arguments: str) -> Any:
    """Arguments as an agent reads them; the text itself where it is no JSON object."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def _streaming(pieces: Sequence[bytes], ending: Ending, content_type: str = EVENTS["content-type"]) -> Reply:
    cut: Literal["fin"] | None = "fin" if ending == "cut" else None
    return Reply(pieces, {"content-type": content_type}, cut=cut)


def _whole(body: bytes) -> Reply:
    return Reply([body], {"content-type": "application/json"}, framing="length")


def _transport_errors(client: Any) -> tuple[type[Exception], ...]:
    """What the HTTP library under an SDK's client class raises: httpx, or its successor, which has the same names."""
    library = import_module(client.__mro__[1].__module__.partition(".")[0])
    return (library.TransportError,)


# --- openai: Chat Completions -----------------------------------------------------------------------------------------


class Chat:
    """`openai`, Chat Completions."""

    ways: tuple[Way, ...] = ("whole", "stream", "helper")
    broken = chat_sdk.BROKEN
    fails = (openai.APIError,)
    stopped = ("stop", "tool_calls")
    limited = "length"

    def path(self, way: Way) -> str:  # noqa: ARG002 - one path for all
        return "/v1/chat/completions"

    @contextmanager
    def client(self, line: Line) -> Iterator[openai.OpenAI]:
        http = openai.DefaultHttpxClient(**line.options)
        with openai.OpenAI(base_url=f"{line.base}/v1", api_key="made-up", max_retries=0, http_client=http) as made:
            yield made

    def begun(self, user: str) -> list[Any]:
        return [{"role": "user", "content": user}]

    def ask(self, client: openai.OpenAI, way: Way, talk: list[Any], answer: Answer) -> None:
        tools = [chat_sdk.tool(tool.name, *tool.parameters) for tool in TOOLS]
        request: Any = {"model": "m", "messages": talk, "tools": tools}
        if way == "stream":
            got = chat_sdk.Answer()
            try:
                for chunk in client.chat.completions.create(stream=True, **request):
                    chat_sdk.take(got, chunk)
            finally:
                self._take(answer, got)
            return
        try:
            if way == "whole":
                completion = client.chat.completions.create(**request)
            else:
                with client.chat.completions.stream(**request) as stream:
                    for event in stream:
                        answer.text += event.delta if event.type == "content.delta" else ""
                    completion = stream.get_final_completion()
        except openai.LengthFinishReasonError as error:  # how the helper tells of the limit
            completion = error.completion
        self._take(answer, chat_sdk.completed(completion))

    @staticmethod
    def _take(answer: Answer, got: chat_sdk.Answer) -> None:
        for choice in got.choices.values():
            answer.text, answer.finish = choice.text, choice.finish or ""
            answer.calls = [Call(id_, name, read(arguments)) for id_, name, arguments in choice.calls]
            calls = [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id_, name, arguments in choice.calls
            ]
            told = {"role": "assistant", "content": choice.text or None}
            answer.back = [told | ({"tool_calls": calls} if calls else {})]

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        calls = zip(answer.calls, results, strict=True)
        told = [{"role": "tool", "tool_call_id": call.id, "content": result} for call, result in calls]
        return [*answer.back, *told]

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        calls = [
            (f"call_{number}", name, json.dumps(given, ensure_ascii=False))
            for number, (name, given) in enumerate(natives)
        ]
        finish = "length" if ending == "length" else "tool_calls" if calls else "stop"
        if way == "whole":
            return _whole(chat_sdk.whole(text, calls, finish))
        broken = ending in {"cut", "error"}
        pieces = chat_sdk.streamed(text, calls, None if broken else finish, size=size)
        if ending == "error":
            pieces.append(chatclient.event({"error": {"message": OVERLOADED, "code": 503}}))
        return _streaming(pieces, ending)

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        results = {one["tool_call_id"]: one["content"] for one in body["messages"] if one["role"] == "tool"}
        calls = [call for one in body["messages"] for call in one.get("tool_calls", ())]
        assert len({call["id"] for call in calls}) == len(calls) == len(results)
        return [
            (call["function"]["name"], json.loads(call["function"]["arguments"]), results[call["id"]]) for call in calls
        ]


# --- openai: Responses ------------------------------------------------------------------------------------------------


class Failed(Exception):
    """What an agent makes of an `error` event, which the SDK hands on like any other."""


def _raise_if_failed(event: Any) -> None:
    if event.type == "error":
        raise Failed(event.message)


class Responses:
    """`openai`, the Responses API. `stream` takes its items from `output_item.done` alone, as Codex does."""

    ways: tuple[Way, ...] = ("whole", "stream", "helper")
    broken = chat_sdk.BROKEN
    fails: tuple[type[Exception], ...] = (Failed,)
    stopped = ("completed", "completed")
    limited = "incomplete"

    def path(self, way: Way) -> str:  # noqa: ARG002
        return "/v1/responses"

    client = Chat.client
    begun = Chat.begun

    def ask(self, client: openai.OpenAI, way: Way, talk: list[Any], answer: Answer) -> None:
        tools = [{"type": "function", "name": tool.name, "strict": True, "parameters": tool.schema} for tool in TOOLS]
        request: Any = {"model": "m", "input": talk, "tools": tools}
        if way == "whole":
            self._ended(answer, client.responses.create(**request))
        elif way == "helper":
            with client.responses.stream(**request) as stream:
                for event in stream:
                    _raise_if_failed(event)
                    answer.text += event.delta if event.type == "response.output_text.delta" else ""
                    if event.type == "response.incomplete":  # its last word only knows `completed`
                        self._ended(answer, event.response)
                        return
                response = stream.get_final_response()
            self._ended(answer, response)
        else:
            for event in client.responses.create(stream=True, **request):
                _raise_if_failed(event)
                self._take(answer, event)

    @staticmethod
    def _take(answer: Answer, event: Any) -> None:
        if event.type == "response.output_text.delta":
            answer.text += event.delta
        elif event.type == "response.output_item.done":
            answer.back.append(event.item.to_dict())
            if event.item.type == "function_call":
                answer.calls.append(Call(event.item.call_id, event.item.name, read(event.item.arguments)))
            answer.order += "c" if event.item.type == "function_call" else "t"
        elif event.type in {"response.completed", "response.incomplete", "response.failed"}:
            answer.finish = event.response.status

    @staticmethod
    def _ended(answer: Answer, response: Any) -> None:
        answer.text, answer.finish = response.output_text, response.status
        for item in response.output:
            answer.back.append(item.to_dict())
            answer.back[-1].pop("parsed_arguments", None)
            answer.order += "c" if item.type == "function_call" else "t"
            if item.type == "function_call":
                answer.calls.append(Call(item.call_id, item.name, read(item.arguments)))

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        calls = zip(answer.calls, results, strict=True)
        told = [{"type": "function_call_output", "call_id": call.id, "output": result} for call, result in calls]
        return [*answer.back, *told]

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        calls = [
            {
                "type": "function_call",
                "call_id": f"call_{number}",
                "name": name,
                "arguments": json.dumps(given, ensure_ascii=False),
            }
            for number, (name, given) in enumerate(natives)
        ]
        items = [*([cut_up(text, size)] if text else []), *calls]
        status = {"stop": "completed", "length": "incomplete", "cut": "broken", "error": "broken"}[ending]
        events = responsesclient.stream(items, status)
        if way == "whole":
            return _whole(responsesclient.whole(events))
        if status == "broken":  # in the middle: the message has no end
            last = max(number for number, event in enumerate(events) if event["type"].endswith(".delta"))
            events = events[: last + 1]
        if ending == "error":
            told = {"code": "503", "message": OVERLOADED, "param": None}
            events.append({"type": "error", "sequence_number": len(events), **told})
        return _streaming([responsesclient.framed(event) for event in events], ending)

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        items = body["input"]
        results = {one["call_id"]: one["output"] for one in items if one.get("type") == "function_call_output"}
        calls = [one for one in items if one.get("type") == "function_call"]
        assert len({call["call_id"] for call in calls}) == len(calls) == len(results)
        return [(call["name"], json.loads(call["arguments"]), results[call["call_id"]]) for call in calls]


# --- anthropic --------------------------------------------------------------------------------------------------------


class Anthropic:
    """`anthropic`, the Messages API."""

    ways: tuple[Way, ...] = ("whole", "stream", "helper")
    broken = (anthropic.APIConnectionError, *_transport_errors(anthropic.DefaultHttpxClient))
    fails = (anthropic.APIError,)
    stopped = ("end_turn", "tool_use")
    limited = "max_tokens"

    def path(self, way: Way) -> str:  # noqa: ARG002
        return "/v1/messages"

    @contextmanager
    def client(self, line: Line) -> Iterator[anthropic.Anthropic]:
        http = anthropic.DefaultHttpxClient(**line.options)
        with anthropic.Anthropic(base_url=line.base, api_key="made-up", max_retries=0, http_client=http) as made:
            yield made

    begun = Chat.begun

    def ask(self, client: anthropic.Anthropic, way: Way, talk: list[Any], answer: Answer) -> None:
        tools = [{"name": tool.name, "input_schema": tool.schema} for tool in TOOLS]
        request: Any = {"model": "m", "max_tokens": 100, "tools": tools, "messages": talk}
        if way == "whole":
            self._ended(answer, client.messages.create(**request))
        elif way == "helper":
            with client.messages.stream(**request) as stream:
                for text in stream.text_stream:
                    answer.text += text
                message = stream.get_final_message()
            self._ended(answer, message)
        else:
            blocks: list[dict[str, Any]] = []
            try:
                for event in client.messages.create(stream=True, **request):
                    self._take(answer, blocks, event.to_dict())
            finally:
                self._blocks(answer, blocks)

    @staticmethod
    def _take(answer: Answer, blocks: list[dict[str, Any]], event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append({**event["content_block"], "json": ""})
        elif kind == "content_block_delta":
            delta = event["delta"]
            key = {"input_json_delta": "partial_json"}.get(delta["type"], delta["type"].removesuffix("_delta"))
            blocks[event["index"]]["json" if key == "partial_json" else key] += delta[key]
        elif kind == "message_delta":
            answer.finish = event["delta"]["stop_reason"]

    @staticmethod
    def _blocks(answer: Answer, blocks: Sequence[dict[str, Any]]) -> None:
        for block in blocks:
            written = block.pop("json")
            answer.back.append(block)
            if block["type"] == "tool_use":
                block["input"] = read(written or "{}")
                answer.calls.append(Call(block["id"], block["name"], block["input"]))
                answer.order += "c"
            elif block["type"] == "text":
                answer.text += block["text"]
                answer.order += "t"

    @staticmethod
    def _ended(answer: Answer, message: Any) -> None:
        """The accumulator reads unfinished JSON as far as it goes; `stop_reason` is all that tells."""
        answer.finish, answer.text = message.stop_reason, ""
        for block in message.content:
            answer.back.append(block.to_dict())
            if block.type == "thinking":
                continue
            answer.order += "c" if block.type == "tool_use" else "t"
            if block.type == "tool_use":
                answer.calls.append(Call(block.id, block.name, block.input))
            else:
                assert block.text, "an empty text block"
                answer.text += block.text

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        told = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in zip(answer.calls, results, strict=True)
        ]
        return [{"role": "assistant", "content": answer.back}, {"role": "user", "content": told}]

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        blocks = [anthropicclient.text(*cut_up(text, size))] if text else []
        for number, (name, given) in enumerate(natives):
            pieces = cut_up(json.dumps(given, ensure_ascii=False), size)
            blocks.append(anthropicclient.call(f"toolu_{number}", name, *pieces))
        stop = {"stop": "tool_use" if natives else "end_turn", "length": "max_tokens"}.get(ending)
        events = anthropicclient.stream(blocks, stop)
        if way == "whole":
            return _whole(anthropicclient.whole(events))
        if stop is None:
            events.pop()  # the block is still open
        if ending == "error":
            events.append({"type": "error", "error": {"type": "overloaded_error", "message": OVERLOADED}})
        return _streaming([anthropicclient.written([event]) for event in events], ending)

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        blocks = [block for one in body["messages"] if isinstance(one["content"], list) for block in one["content"]]
        results = {one["tool_use_id"]: one["content"] for one in blocks if one["type"] == "tool_result"}
        calls = [one for one in blocks if one["type"] == "tool_use"]
        assert len({call["id"] for call in calls}) == len(calls) == len(results)
        return [(call["name"], call["input"], results[call["id"]]) for call in calls]


# --- google-genai -----------------------------------------------------------------------------------------------------


# Since version 3 it comes with both libraries, and takes the newer one.
_GENAI_HTTP = getattr(genai._api_client, "SyncHttpx2Client", genai._api_client.SyncHttpxClient)


class Gemini:
    """`google-genai`. Its helper is the chat, which keeps the conversation and puts streamed parts together."""

    ways: tuple[Way, ...] = ("whole", "stream", "helper")
    broken = _transport_errors(_GENAI_HTTP)
    fails = (genai.errors.APIError,)
    stopped = ("STOP", "STOP")
    limited = "MAX_TOKENS"

    def path(self, way: Way) -> str:
        method = "generateContent" if way == "whole" else "streamGenerateContent?alt=sse"
        return f"/v1beta/models/gemini-x:{method}"

    @contextmanager
    def client(self, line: Line) -> Iterator[Any]:
        given = {key: value for key, value in line.options.items() if key != "timeout"}
        options = genai_types.HttpOptions(
            base_url=line.base, api_version="v1beta", timeout=int(LIMIT * 1000), client_args=given
        )
        made = genai.Client(api_key="made-up", http_options=options)
        try:
            yield made
        finally:
            made.close()

    def begun(self, user: str) -> list[Any]:
        return [genai_types.Content(role="user", parts=[genai_types.Part(text=user)])]

    def ask(self, client: Any, way: Way, talk: list[Any], answer: Answer) -> None:
        declared = [{"name": tool.name, "parameters_json_schema": tool.schema} for tool in TOOLS]
        config = genai_types.GenerateContentConfig(tools=[{"function_declarations": declared}])
        asked: Any = {"model": "gemini-x", "config": config}
        if way == "whole":
            self._take(answer, client.models.generate_content(contents=talk, **asked))
        elif way == "stream":
            for chunk in client.models.generate_content_stream(contents=talk, **asked):
                self._take(answer, chunk)
        else:
            chat = client.chats.create(history=talk[:-1], **asked)
            for chunk in chat.send_message_stream(talk[-1].parts):
                self._take(answer, chunk)
            kept = [part for content in chat.get_history()[len(talk) :] for part in content.parts]
            assert [part.function_call for part in kept if part.function_call] == [
                part.function_call for part in answer.back if part.function_call
            ]

    @staticmethod
    def _take(answer: Answer, reply: Any) -> None:
        candidate = reply.candidates[0]
        answer.finish = candidate.finish_reason.value if candidate.finish_reason else answer.finish
        for part in (candidate.content.parts or ()) if candidate.content else ():
            if part.function_call is not None:
                call = part.function_call
                answer.calls.append(Call(call.id or "", call.name, call.args))
                answer.order += "c"
                answer.back.append(part)
            elif part.text:
                answer.text += part.text
                answer.order += "" if answer.order.endswith("t") else "t"
                answer.back.append(part)

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        told = [
            genai_types.Part.from_function_response(name=call.name, response={"result": result})
            for call, result in zip(answer.calls, results, strict=True)
        ]
        contents = [("model", answer.back), ("user", told)]
        return [genai_types.Content(role=role, parts=parts) for role, parts in contents]

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        calls = [{"functionCall": {"name": name, "args": given}} for name, given in natives]
        finish = {"stop": "STOP", "length": "MAX_TOKENS"}.get(ending)
        if way == "whole":
            parts = [*([text] if text else []), *calls]
            return _whole(geminiclient.body_of([geminiclient.reply(parts, finish)], "whole"))
        replies = [geminiclient.reply([part]) for part in [*cut_up(text, size), *calls]]
        if finish:
            replies.append(geminiclient.reply([""], finish))
        pieces = [geminiclient.body_of([one]) for one in replies]
        if ending == "error":
            told = {"code": 503, "message": OVERLOADED, "status": "UNAVAILABLE"}
            pieces.append(geminiclient.body_of([{"error": told}]))
        return _streaming(pieces, ending)

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        parts = [part for content in body["contents"] for part in content["parts"]]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        assert [call["name"] for call in calls] == [result["name"] for result in results]
        return [
            (call["name"], call.get("args", {}), result["response"]["result"])
            for call, result in zip(calls, results, strict=True)
        ]


# --- ollama -----------------------------------------------------------------------------------------------------------


class Ollama:
    """`ollama`. The SDK has no accumulator."""

    ways: tuple[Way, ...] = ("whole", "stream")
    broken = _transport_errors(import_module("httpx").Client)
    fails = (ollama.ResponseError,)
    stopped = ("stop", "stop")
    limited = "length"

    def path(self, way: Way) -> str:  # noqa: ARG002
        return "/api/chat"

    @contextmanager
    def client(self, line: Line) -> Iterator[Any]:
        with ollama.Client(host=line.base, **line.options) as made:
            yield made

    begun = Chat.begun

    def ask(self, client: Any, way: Way, talk: list[Any], answer: Answer) -> None:
        tools = [{"type": "function", "function": {"name": tool.name, "parameters": tool.schema}} for tool in TOOLS]
        asked: Any = {"model": "m", "messages": talk, "tools": tools}
        if way == "whole":
            self._take(answer, client.chat(**asked))
            return
        for line in client.chat(stream=True, **asked):
            self._take(answer, line)

    @staticmethod
    def _take(answer: Answer, line: Any) -> None:
        answer.text += line.message.content or ""
        answer.finish = line.done_reason or answer.finish
        for call in line.message.tool_calls or ():
            answer.calls.append(Call("", call.function.name, dict(call.function.arguments)))
        answer.back = [ollama.Message(role="assistant", content=answer.text)]
        if answer.calls:
            calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in answer.calls]
            answer.back = [ollama.Message(role="assistant", content=answer.text, tool_calls=calls)]

    def results(self, answer: Answer, results: Sequence[str]) -> list[Any]:
        calls = zip(answer.calls, results, strict=True)
        told = [{"role": "tool", "tool_name": call.name, "content": result} for call, result in calls]
        return [*answer.back, *told]

    def said(
        self, way: Way, text: str, natives: Sequence[Native] = (), ending: Ending = "stop", size: int = 5
    ) -> Reply:
        calls = [ollamaclient.call(name, given) for name, given in natives]
        finish = {"stop": "stop", "length": "length"}.get(ending)
        if way == "whole":
            message = {"content": text, **({"tool_calls": calls} if calls else {})}
            return _whole(ollamaclient.body_of([ollamaclient.line(message, finish)], b""))
        messages = [*cut_up(text, size), *({"tool_calls": [call]} for call in calls)]
        lines: list[dict[str, Any]] = [ollamaclient.line(message) for message in messages]
        lines += [ollamaclient.line("", finish)] if finish else []
        lines += [{"error": OVERLOADED}] if ending == "error" else []
        return _streaming([ollamaclient.body_of([line]) for line in lines], ending, "application/x-ndjson")

    def told(self, body: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        calls = [call["function"] for one in body["messages"] for call in one.get("tool_calls") or ()]
        results = [one for one in body["messages"] if one["role"] == "tool"]
        assert [call["name"] for call in calls] == [result["tool_name"] for result in results]
        return [
            (call["name"], call["arguments"], result["content"]) for call, result in zip(calls, results, strict=True)
        ]


SDKS: dict[str, Sdk] = {
    "openai_chat": Chat(),
    "openai_responses": Responses(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "ollama": Ollama(),
}


# --- how they reach their upstream ------------------------------------------------------------------------------------


class Secure(Upstream):
    """An upstream behind TLS, whose certificate mitmproxy's own authority in `folder` has signed."""

    def __init__(self, folder: Path, *replies: Reply) -> None:
        self._context = serving(folder)
        super().__init__(*replies)

    @property
    def url(self) -> str:
        return super().url.replace("http:", "https:")

    def _answer(self, connection: Any) -> None:
        try:
            secured = self._context.wrap_socket(connection, server_side=True)
        except OSError:  # somebody asked for the certificate alone
            connection.close()
            return
        super()._answer(secured)
