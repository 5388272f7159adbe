"""Flows out of files that are not mitmproxy's own: HAR, and lines of JSON that other LLM proxies write.

HAR (http://www.softwareishard.com/blog/har-12-spec/) is read by mitmproxy, entry by entry. What browsers and proxies
write otherwise than it expects is put right first: bodies are there without the coding that their headers name,
HTTP/2's pseudo-headers are none, a request that got no reply has status 0, a body may be missing or a form, and Chrome
adds the messages of a WebSocket.

Lines of JSON, one exchange each, by their members:

claude-trace   `request`, `response` with `status_code`
               https://github.com/badlogic/lemmy/tree/main/apps/claude-trace
LiteLLM        the standard logging payload: `call_type`, `messages`, `response`. It holds what LiteLLM made of a reply,
               whole and mostly in the form of Chat Completions https://docs.litellm.ai/docs/proxy/logging_spec
OpenPipe       an export of request logs: `input`, `output` https://docs.openpipe.ai/features/request-logs/exporting-logs

An id is made of what is there, so that the same file gives the same ids.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, BinaryIO
from urllib.parse import urlencode, urlsplit
from uuid import NAMESPACE_URL, uuid5

from mitmproxy import http
from mitmproxy.connection import Client, Server
from mitmproxy.flow import Error
from mitmproxy.io.har import request_to_flow
from mitmproxy.websocket import WebSocketData, WebSocketMessage
from wsproto.frame_protocol import Opcode

from toolcalls.streams import BadInput, print_error

_KNOWN = "HAR, or lines of claude-trace, LiteLLM or OpenPipe"
_NOBODY = ("127.0.0.1", 0)
_IN_MILLISECONDS = 100_000_000_000  # a time from here on; in seconds it would be in the year 5138
_JSON = {"content-type": "application/json"}


def captured(source: BinaryIO, name: str) -> Iterator[http.HTTPFlow]:
    """The flows of a file that begins as JSON does. One that cannot be read is named on standard error and left out.

    Raises BadInput where none can be.
    """
    first = source.readline().removeprefix(b"\xef\xbb\xbf")
    found = _json(first)
    if isinstance(found, dict) and "log" not in found:
        read = _reader_of(found)
        if read is None:
            raise BadInput(f"{name}:1: this is no exchange that is known; expected {_KNOWN}")
        yield from _each(_lines(found, source), read, name, "line")
        return
    har = found if isinstance(found, dict) else _json(first + source.read())
    entries = har.get("log", {}).get("entries") if isinstance(har, dict) and isinstance(har.get("log"), dict) else None
    if not isinstance(entries, list):
        raise BadInput(f"{name}: this is JSON, but nothing that can be read; expected {_KNOWN}")
    yield from _each(iter(entries), _har_flow, name, "entry")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _lines(first: Any, source: BinaryIO) -> Iterator[Any]:
    yield first
    for line in source:
        if line.strip():
            yield _json(line)


def _each(
    items: Iterator[Any], read: Callable[[dict[str, Any]], http.HTTPFlow], name: str, called: str
) -> Iterator[http.HTTPFlow]:
    some = False
    for number, one in enumerate(items, 1):
        try:
            flow = read(one)
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            if not some:
                raise BadInput(f"{name}: {called} {number} cannot be read ({why}); expected {_KNOWN}") from error
            print_error("toolcalls", f"{name}: {called} {number} cannot be read and is left out ({why})")
            continue
        flow.id = str(uuid5(NAMESPACE_URL, f"{number} {flow.request.timestamp_start} {flow.request.url}"))
        some = True
        yield flow


# --- HAR --------------------------------------------------------------------------------------------------------------


def _har_flow(entry: dict[str, Any]) -> http.HTTPFlow:
    request, response = dict(entry["request"]), dict(entry.get("response") or {})
    request["headers"] = _har_headers(request.get("headers"))
    request["httpVersion"] = str(request.get("httpVersion") or "")
    posted = request.pop("postData", None)
    if posted:
        request["postData"] = {"text": _posted(posted)}
    content = dict(response.get("content") or {})
    content["text"] = content.get("text") or ""
    answered = {
        "status": int(response.get("status") or 0),
        "headers": _har_headers(response.get("headers")),
        "httpVersion": str(response.get("httpVersion") or ""),
        "content": content,
    }
    took = max(0.0, float(entry.get("time") or 0))
    flow = request_to_flow({**entry, "time": took, "request": request, "response": answered})
    if posted and posted.get("encoding") == "base64" and flow.request.raw_content:
        flow.request.raw_content = b64decode(flow.request.raw_content)
    assert flow.response is not None
    began = flow.request.timestamp_start
    receiving = max(0.0, float((entry.get("timings") or {}).get("receive") or 0))
    flow.request.timestamp_end = began
    flow.response.timestamp_start = began + max(0.0, took - receiving) / 1000
    flow.response.timestamp_end = began + took / 1000
    if answered["status"] == 0:
        why = entry.get("_error") or response.get("_error") or response.get("statusText") or "no reply"
        flow.response, flow.error = None, Error(str(why), began + took / 1000)
    messages = entry.get("_webSocketMessages")
    if isinstance(messages, list):
        flow.websocket = WebSocketData([_har_message(one) for one in messages])
    return flow


def _har_headers(headers: Any) -> list[dict[str, str]]:
    """Headers by name and value, without HTTP/2's and without the coding, which the body has no more."""
    pairs = [(one["name"], one["value"]) if isinstance(one, dict) else tuple(one[:2]) for one in headers or ()]
    return [
        {"name": str(name), "value": str(value)}
        for name, value in pairs
        if not str(name).startswith(":") and str(name).lower() not in {"content-encoding", "transfer-encoding"}
    ]


def _posted(posted: dict[str, Any]) -> str:
    if isinstance(posted.get("text"), str):
        return str(posted["text"])
    return urlencode([(str(one.get("name")), str(one.get("value", ""))) for one in posted.get("params") or ()])


def _har_message(one: dict[str, Any]) -> WebSocketMessage:
    text = one.get("opcode", 1) == 1
    data = str(one.get("data", ""))
    content = data.encode("utf-8", "surrogatepass") if text else b64decode(data)
    return WebSocketMessage(Opcode.TEXT if text else Opcode.BINARY, one.get("type") == "send", content, one.get("time"))


# --- lines of JSON ----------------------------------------------------------------------------------------------------


def _reader_of(line: dict[str, Any]) -> Callable[[dict[str, Any]], http.HTTPFlow] | None:
    """What reads lines such as this one."""
    request = line.get("request")
    if isinstance(request, dict) and "url" in request and "response" in line:
        return _claude_trace
    if "call_type" in line and "messages" in line and "response" in line:
        return _litellm
    if isinstance(line.get("input"), dict) and "messages" in line["input"] and "output" in line:
        return _openpipe
    return None


def _claude_trace(line: dict[str, Any]) -> http.HTTPFlow:
    asked, answer = line["request"], line["response"]
    flow = _flow(
        asked.get("method") or "POST", asked["url"], _headers(asked), _bytes(asked.get("body")), asked.get("timestamp")
    )
    if answer is None:
        flow.error = Error(str(line.get("note") or "no reply"), flow.request.timestamp_start)
        return flow
    raw = answer.get("body_raw")
    body = _bytes(answer.get("body") if raw is None else raw)
    _answer(flow, int(answer["status_code"]), _headers(answer), body, answer.get("timestamp"))
    return flow


def _litellm(line: dict[str, Any]) -> http.HTTPFlow:
    settings = line.get("model_parameters")
    settings = {key: value for key, value in settings.items() if key != "stream"} if isinstance(settings, dict) else {}
    answer = line["response"]
    if isinstance(answer, dict) and "output" in answer:
        path, said = "/v1/responses", "input"
    elif isinstance(answer, dict) and answer.get("type") == "message":
        path, said = "/v1/messages", "messages"
    else:
        path, said = "/v1/chat/completions", "messages"
    host = urlsplit(str(line.get("api_base") or "")).netloc.rpartition("@")[2] or "litellm"
    body = {"model": line.get("model"), **settings, said: line["messages"]}
    flow = _flow("POST", f"https://{host}{path}", _JSON, _bytes(body), line.get("startTime"))
    failed = line.get("status") == "failure"
    _answer(
        flow,
        500 if failed else 200,
        _JSON,
        _bytes({"error": {"message": str(line.get("error_str") or "")}} if failed else answer),
        line.get("endTime"),
    )
    return flow


def _openpipe(line: dict[str, Any]) -> http.HTTPFlow:
    answer = line["output"]
    asked = {key: value for key, value in line["input"].items() if key != "stream"}
    is_object = isinstance(answer, dict)
    created = answer.get("created") if is_object else None
    if isinstance(created, int) and created > _IN_MILLISECONDS:
        created /= 1000
    flow = _flow("POST", "https://openpipe/v1/chat/completions", _JSON, _bytes(asked), created)
    body = answer if is_object and ("choices" in answer or "error" in answer) else {"error": answer}
    _answer(flow, 200 if "choices" in body else 500, _JSON, _bytes(body), None)
    return flow


def _flow(method: str, url: str, headers: dict[str, str], body: bytes, began: Any) -> http.HTTPFlow:
    moment = _moment(began)
    request = http.Request.make(method, url, body, http.Headers(_fields(headers)))
    client = Client(peername=_NOBODY, sockname=_NOBODY, timestamp_start=moment)
    flow = http.HTTPFlow(client, Server(address=(request.host, request.port)))
    flow.request = request
    flow.request.timestamp_start = flow.request.timestamp_end = flow.timestamp_created = moment
    return flow


def _answer(flow: http.HTTPFlow, status: int, headers: dict[str, str], body: bytes, ended: Any) -> None:
    flow.response = http.Response.make(status, body, http.Headers(_fields(headers)))
    began = flow.request.timestamp_start
    flow.response.timestamp_start = flow.response.timestamp_end = max(began, _moment(ended))


def _headers(message: dict[str, Any]) -> dict[str, str]:
    """The headers of a body that is there without its coding and as a whole."""
    found = message.get("headers")
    left_out = {"content-encoding", "transfer-encoding", "content-length"}
    pairs = found.items() if isinstance(found, dict) else ()
    return {str(name): str(value) for name, value in pairs if str(name).lower() not in left_out}


def _fields(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in headers.items()]


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _moment(given: Any) -> float:
    """Seconds since 1970, of a number of them, or of a time in ISO 8601; 0 for what is none."""
    if isinstance(given, int | float):
        return float(given)
    try:
        return datetime.fromisoformat(str(given)).timestamp()
    except ValueError:
        return 0.0
