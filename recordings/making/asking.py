"""One request by the official SDK of each API, and what a recording says of it.

Every request has the same question, with the recording's name behind it, and the same tools, so that what differs
between two recordings is what they are there to show. What an SDK makes of the reply is of no interest here: it reads
to the end.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal
from unittest.mock import patch
from urllib.parse import parse_qsl
from warnings import catch_warnings

import anthropic
import boto3
import cohere
import httpx
import openai

from making.shapes import CHUNKS, EVENTS, JSON, LINES, QUESTION
from support.agentclient import SDKS, Line
from support.loopback import LIMIT, post

genai_types: Any = import_module("google.genai.types")

REDACTED = "<redacted>"
_ON_VERTEX = "awPredict"  # `:rawPredict` or `:streamRawPredict`
_CLAUDE = "anthropic.made-up-v1:0"
TAUGHT = """You can use tools. To use one, write it in this form, and nothing after it:

<read_file>
<path>README.md</path>
</read_file>"""

_TEXT = {"type": "string"}
_EDITS = {"type": "array", "items": {"type": "object", "properties": {"old": _TEXT, "new": _TEXT}}}
_TOOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "read_file": ("Read some lines of a file.", {"path": _TEXT, "limit": {"type": "integer"}}, ["path"]),
    "edit_file": (
        "Replace parts of a file.",
        {"path": _TEXT, "edits": _EDITS, "all": {"type": "boolean"}},
        ["path", "edits"],
    ),
    "now": ("What time it is.", {}, []),
}
_PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "websocket": "/v1/responses",
    "anthropic": "/v1/messages",
    "bedrock": "/model/anthropic.made-up-v1%3A0/invoke-with-response-stream",
    "bedrock_converse": "/model/anthropic.made-up-v1%3A0/converse-stream",
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    "gemini_interactions": "/v1beta/interactions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
    "ollama_generate": "/api/generate",
    "openai_completions": "/v1/completions",
    "mistral_fim": "/v1/fim/completions",
}


@dataclass(frozen=True)
class Recording:
    """What is asked, and what the upstream answers.

    api       whose SDK asks; `websocket` is the Responses API over one
    pieces    the reply, each piece a write of the server's, or a message over WebSocket
    turns     over WebSocket: the replies to further requests
    tools     the tools that are declared; () for none
    question  what the user asks; no two recordings ask the same, so that `toolcalls serve` can tell them apart
    earlier   what was said before the question: roles and texts
    path      where it is asked, if that is not the API's own path
    kind      the reply's content type, if that is not the API's own
    headers   further headers of the reply
    cut       the server breaks off behind the last piece
    fails     the SDK raises an error for the reply
    body      what is asked by hand, where no SDK asks so
    """

    api: str
    pieces: Sequence[bytes]
    turns: Sequence[Sequence[bytes]] = ()
    tools: tuple[str, ...] = ("read_file",)
    system: str = ""
    question: str = QUESTION
    earlier: Sequence[tuple[str, str]] = ()
    streamed: bool = True
    path: str = ""
    kind: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: Literal["rst"] | None = None
    fails: bool = False
    body: Mapping[str, Any] | None = None

    @property
    def asked_at(self) -> str:
        """The path and query of the request."""
        if self.path:
            return self.path
        path = _PATHS[self.api]
        return path if self.streamed else path.replace("streamGenerateContent?alt=sse", "generateContent")

    @property
    def content_type(self) -> str:
        """The reply's."""
        if self.kind:
            return self.kind
        if not self.streamed or self.status != 200:
            return JSON
        if self.api.startswith("bedrock"):
            return CHUNKS
        return LINES if self.api.startswith("ollama") else EVENTS


def ask(url: str, base: str, recording: Recording) -> None:
    """One request, and its reply to the end. `base` is what stands before every path; what the SDK raises is raised."""
    if recording.body is not None:
        body = json.dumps(recording.body).replace(QUESTION, recording.question).encode()
        post(url, body, {"authorization": REDACTED}, path=base + recording.asked_at)
        return
    _ASK[recording.api](url + base, recording)


def _schema(name: str) -> dict[str, Any]:
    _, properties, required = _TOOLS[name]
    return {"type": "object", "properties": properties, "required": required}


def _functions(recording: Recording) -> list[dict[str, Any]]:
    """The tools as Chat Completions and Ollama have them."""
    made = ({"name": name, "description": _TOOLS[name][0], "parameters": _schema(name)} for name in recording.tools)
    return [{"type": "function", "function": one} for one in made]


def _talk(recording: Recording, *, system: bool = True) -> list[dict[str, Any]]:
    """The conversation as a list of messages."""
    told = [("system", recording.system)] if recording.system and system else []
    return [{"role": role, "content": text} for role, text in [*told, *recording.earlier, ("user", recording.question)]]


@contextmanager
def _openai(base: str, path: str, suffix: str) -> Iterator[openai.OpenAI]:
    """An SDK of OpenAI's whose API lies where `path` says."""
    folder, _, query = path.partition("?")
    with SDKS["openai_chat"].client(Line(base)) as made:
        url = base + folder.removesuffix(suffix)
        yield made.with_options(base_url=url, default_query=dict(parse_qsl(query)))


def _ask_chat(base: str, recording: Recording) -> None:
    request: dict[str, Any] = {"model": "made-up", "messages": _talk(recording)}
    request |= {"tools": _functions(recording)} if recording.tools else {}
    with _openai(base, recording.asked_at, "/chat/completions") as sdk:
        _read(sdk.chat.completions.create(stream=recording.streamed, **request), recording)


def _ask_completions(base: str, recording: Recording) -> None:
    with _openai(base, recording.asked_at, "/completions") as sdk:
        _read(sdk.completions.create(model="made-up", prompt=recording.question, stream=recording.streamed), recording)


def _response(recording: Recording) -> dict[str, Any]:
    made = [
        {"type": "function", "strict": False, "name": name, "description": _TOOLS[name][0], "parameters": _schema(name)}
        for name in recording.tools
    ]
    request: dict[str, Any] = {"model": "made-up", "input": _talk(recording, system=False)}
    request |= {"instructions": recording.system} if recording.system else {}
    return request | ({"tools": made} if made else {})


def _ask_responses(base: str, recording: Recording) -> None:
    with _openai(base, recording.asked_at, "/responses") as sdk:
        _read(sdk.responses.create(stream=recording.streamed, **_response(recording)), recording)


def _ask_websocket(base: str, recording: Recording) -> None:
    """A connection with one request for each reply; each is read to its end."""
    with _openai(base, recording.asked_at, "/responses") as sdk, sdk.responses.connect() as connection:
        for _ in range(1 + len(recording.turns)):
            connection.response.create(**_response(recording))
            while connection.recv().type != "response.completed":
                pass


def _ask_anthropic(base: str, recording: Recording) -> None:
    made = [{"name": name, "description": _TOOLS[name][0], "input_schema": _schema(name)} for name in recording.tools]
    request: dict[str, Any] = {"model": "made-up", "max_tokens": 1000, "messages": _talk(recording, system=False)}
    request |= {"system": recording.system} if recording.system else {}
    request |= {"tools": made} if made else {}
    if recording.asked_at.endswith(_ON_VERTEX):
        folder = base + recording.asked_at.partition("/projects/")[0]
        given: dict[str, Any] = {"region": "made-up-1", "project_id": "made-up", "access_token": "made-up"}
        with anthropic.AnthropicVertex(base_url=folder, **given) as vertex:
            _read(vertex.messages.create(stream=recording.streamed, **request), recording)
        return
    with SDKS["anthropic"].client(Line(base + recording.asked_at.removesuffix("/v1/messages"))) as sdk:
        _read(sdk.messages.create(stream=recording.streamed, **request), recording)


@contextmanager
def _boto3(base: str) -> Iterator[Any]:
    """boto3's client for Bedrock, with a token: a signature would tell the time."""
    with patch.dict(os.environ, {"AWS_BEARER_TOKEN_BEDROCK": "made-up", "AWS_EC2_METADATA_DISABLED": "true"}):
        yield boto3.session.Session(region_name="us-east-1").client("bedrock-runtime", endpoint_url=base)


def _ask_bedrock(base: str, recording: Recording) -> None:
    made = [{"name": name, "description": _TOOLS[name][0], "input_schema": _schema(name)} for name in recording.tools]
    request: dict[str, Any] = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1000}
    request |= {"messages": _talk(recording, system=False)}
    request |= {"system": recording.system} if recording.system else {}
    request |= {"tools": made} if made else {}
    with _boto3(base) as sdk:
        reply = sdk.invoke_model_with_response_stream(modelId=_CLAUDE, body=json.dumps(request))
        _read(reply["body"], recording)


def _ask_converse(base: str, recording: Recording) -> None:
    made = [
        {"toolSpec": {"name": name, "description": _TOOLS[name][0], "inputSchema": {"json": _schema(name)}}}
        for name in recording.tools
    ]
    talk = [{**one, "content": [{"text": one["content"]}]} for one in _talk(recording, system=False)]
    request: dict[str, Any] = {"messages": talk, "inferenceConfig": {"maxTokens": 1000}}
    request |= {"system": [{"text": recording.system}]} if recording.system else {}
    request |= {"toolConfig": {"tools": made}} if made else {}
    with _boto3(base) as sdk:
        _read(sdk.converse_stream(modelId=_CLAUDE, **request)["stream"], recording)


def _ask_gemini(base: str, recording: Recording) -> None:
    declared = [
        {"name": name, "description": _TOOLS[name][0], "parameters_json_schema": _schema(name)}
        for name in recording.tools
    ]
    config = genai_types.GenerateContentConfig(
        system_instruction=recording.system or None,
        tools=[{"function_declarations": declared}] if declared else None,
    )
    roles = {"assistant": "model"}
    talk = [
        genai_types.Content(role=roles.get(one["role"], one["role"]), parts=[genai_types.Part(text=one["content"])])
        for one in _talk(recording, system=False)
    ]
    with SDKS["gemini"].client(Line(base)) as sdk:
        method = sdk.models.generate_content_stream if recording.streamed else sdk.models.generate_content
        _read(method(model="gemini-x", contents=talk, config=config), recording)


def _ask_interactions(base: str, recording: Recording) -> None:
    made = [
        {"type": "function", "name": name, "description": _TOOLS[name][0], "parameters": _schema(name)}
        for name in recording.tools
    ]
    kinds = {"user": "user_input", "assistant": "model_output"}
    steps = [
        {"type": kinds[one["role"]], "content": [{"type": "text", "text": one["content"]}]}
        for one in _talk(recording, system=False)
    ]
    request: dict[str, Any] = {"model": "gemini-x", "input": steps}
    request |= {"system_instruction": recording.system} if recording.system else {}
    request |= {"tools": made} if made else {}
    with SDKS["gemini"].client(Line(base)) as sdk, catch_warnings(action="ignore"):  # it calls the API experimental
        _read(sdk.interactions.create(stream=recording.streamed, **request), recording)


def _ask_cohere(base: str, recording: Recording) -> None:
    request: dict[str, Any] = {"model": "made-up", "messages": _talk(recording)}
    request |= {"tools": _functions(recording)} if recording.tools else {}
    with httpx.Client(trust_env=False, timeout=LIMIT, verify=False) as line:
        sdk = cohere.ClientV2("made-up", base_url=base, httpx_client=line, log_warning_experimental_features=False)
        _read(sdk.chat_stream(**request) if recording.streamed else sdk.chat(**request), recording)


def _ask_ollama(base: str, recording: Recording) -> None:
    with SDKS["ollama"].client(Line(base)) as sdk:
        tools = _functions(recording) or None
        _read(sdk.chat("made-up", _talk(recording), tools=tools, stream=recording.streamed), recording)


def _ask_generate(base: str, recording: Recording) -> None:
    with SDKS["ollama"].client(Line(base)) as sdk:
        _read(
            sdk.generate("made-up", recording.question, system=recording.system, stream=recording.streamed), recording
        )


def _read(got: Any, recording: Recording) -> None:
    """A stream to its end; a whole reply has come."""
    if recording.streamed:
        for _ in got:
            pass


_ASK: dict[str, Callable[[str, Recording], None]] = {
    "openai_chat": _ask_chat,
    "openai_completions": _ask_completions,
    "openai_responses": _ask_responses,
    "websocket": _ask_websocket,
    "anthropic": _ask_anthropic,
    "bedrock": _ask_bedrock,
    "bedrock_converse": _ask_converse,
    "gemini": _ask_gemini,
    "gemini_interactions": _ask_interactions,
    "cohere": _ask_cohere,
    "ollama": _ask_ollama,
    "ollama_generate": _ask_generate,
}
