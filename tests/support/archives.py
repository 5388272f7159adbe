"""Archives of any size, made of recorded replies: the same ones again and again after requests as long as those of
agents. They are those of `recordings/`, or the streams of `shared/suites/streams`.

A request grows by earlier turns (source code that was read, and a word about it), whose number goes around from none to
some forty, so it has up to 250 KB and 120 KB in the middle. Ids and times are the flows' own, and the same in every
run.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from mitmproxy import http
from mitmproxy.io import FlowReader, tnetstring
from mitmproxy.test import tflow

from support.recordedstreams import FILES
from support.repository import REPO, shared_path
from toolcalls.flows.exchange_plan import wire_for

_TURNS = 41  # kinds of length
_STEP = 16  # from one to the next, so that few flows already have short and long ones
_RESULT = 6000  # characters of a file that was read
_APART = 40.0  # seconds between two exchanges
_BEGAN = 1_790_000_000.0
_PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
_SOURCE = "".join(
    path.read_text(encoding="utf-8") for path in sorted((REPO / "addon" / "toolcalls" / "insight").glob("*.py"))
)


def recordings() -> list[http.HTTPFlow]:
    """The flows of `recordings/`."""
    found: list[http.HTTPFlow] = []
    for path in sorted((REPO / "recordings").glob("*.flow")):
        with path.open("rb") as file:
            found += (flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow))
    return found


def recorded_streams() -> list[http.HTTPFlow]:
    """A flow for each recorded stream of an API that is read, with the request that it answers."""
    return [flow for file in FILES for flow in _streams(file)]


def _streams(file: str) -> Iterator[http.HTTPFlow]:
    for line in shared_path(f"suites/streams/{file}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "body" not in row or not row.get("request"):
            continue
        path, content_type = row.get("url_path") or "", row["content_type"] or "text/event-stream"
        flow = tflow.tflow(resp=True)
        body = json.dumps(row["request"])
        flow.request = http.Request.make("POST", f"http://upstream{path}", body, {"content-type": "application/json"})
        if wire_for(flow.request) is None:
            flow.request.path = _PATHS.get(file, path)
        answer = row["body"].encode("utf-8", "surrogatepass")
        flow.response = http.Response.make(200, answer, {"content-type": content_type})
        for message in (flow.request, flow.response):
            message.timestamp_start = message.timestamp_end = _BEGAN
        if wire_for(flow.request) is not None:
            yield flow


def grown(flow: http.HTTPFlow, turns: int, at: int) -> bytes:
    """The request's body with `turns` more turns in front, whose text begins at a place of its own."""
    body = flow.request.content or b""
    try:
        asked = json.loads(body)
    except ValueError:
        return body
    key = next((one for one in ("messages", "contents", "input") if isinstance(asked.get(one), list)), None)
    if key is None:
        return body
    earlier: list[dict[str, Any]] = []
    for turn in range(turns):
        begin = (at * 997 + turn * 4111) % (len(_SOURCE) - _RESULT)
        for role, text in (("user", _SOURCE[begin : begin + _RESULT]), ("assistant", f"I have read part {turn}.")):
            role = "model" if key == "contents" and role == "assistant" else role  # noqa: PLW2901
            content = {"parts": [{"text": text}]} if key == "contents" else {"content": text}
            earlier.append({"role": role, **content})
    first = asked[key][:1]
    asked[key] = (
        [*first, *earlier, *asked[key][1:]] if first and first[0].get("role") == "system" else earlier + asked[key]
    )
    return json.dumps(asked, ensure_ascii=False).encode()


def flows(count: int, of: Sequence[http.HTTPFlow] | None = None) -> Iterator[dict[str, Any]]:
    """The states of `count` flows, made of these; None for the recordings."""
    bases = recordings() if of is None else of
    states = [flow.get_state() for flow in bases]
    for number in range(count):
        base, turns = number % len(bases), number * _STEP % _TURNS
        state = copy.copy(states[base])
        state["id"] = str(UUID(int=number))
        request, response = dict(state["request"]), dict(state["response"])
        request["content"] = grown(bases[base], turns, base)
        moved = number * _APART
        for message in (request, response):
            for key in ("timestamp_start", "timestamp_end"):
                message[key] += moved
        yield {**state, "request": request, "response": response}


def write(folder: Path, size: int, files: int = 1, of: Sequence[http.HTTPFlow] | None = None) -> list[Path]:
    """An archive of at least `size` bytes in `files` files, of flows that are made `of` these."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03}.flow" for number in range(files)]
    states = flows(1 << 40, of)
    for path in paths:
        with path.open("wb") as file:
            while file.tell() < size // files:
                file.write(tnetstring.dumps(next(states)))
    return paths
