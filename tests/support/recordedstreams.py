"""The recorded streams of `shared/suites/streams`, each with the request that it answers."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from support.exchanges import as_received, of_request
from support.repository import shared_path
from toolcalls.replies.exchange import Exchange
from toolcalls.request import Request
from toolcalls.requests.conversation import request_of
from toolcalls.route import Route
from toolcalls.wires import Wire, all_wires
from toolcalls.wires.frames import Form

FILES = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "gemini-jsonarray": "gemini",
    "gemini-interactions": "gemini_interactions",
    "ollama": "ollama",
    "cohere": "cohere",
}

# Those that are damaged themselves, by what is odd about each. A route that mends changes these, and no other.
DAMAGED = {
    "llm__test_tools_streaming_variant_b__0__72d88d01": "a call, and no finish reason before [DONE]",
}


@dataclass(frozen=True)
class RecordedStream:
    """One reply as it was recorded. `pieces`: as it came. `binary`: some of its bytes are no UTF-8."""

    id: str
    wire: Wire
    form: Form
    request: Request
    body: bytes
    pieces: list[bytes]
    binary: bool

    def exchange(self, route: Route) -> Exchange:
        """What rewrites it on this route."""
        return of_request(self.wire, self.request, route, form=self.form, seed=b"s")


@cache
def recorded_streams(file: str) -> tuple[RecordedStream, ...]:
    """The streams of one file that hold a reply of the file's API."""
    return tuple(_streams(file))


def _streams(file: str) -> Iterator[RecordedStream]:
    wire = all_wires()[FILES[file]]
    for line in shared_path(f"suites/streams/{file}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        form = wire.form(row.get("url_path") or "", row["content_type"])
        if form is None:
            continue
        binary = "body_base64" in row
        body = base64.b64decode(row["body_base64"]) if binary else row["body"].encode(errors="surrogatepass")
        try:
            request = request_of(wire, json.dumps(row.get("request") or {}).encode())
        except ValueError:
            request = Request()
        pieces = as_received(body, row.get("chunks") or [])
        yield RecordedStream(row["id"], wire, form, request, body, pieces, binary)
