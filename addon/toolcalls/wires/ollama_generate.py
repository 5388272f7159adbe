"""`ollama_generate`: Ollama's completion of a prompt (`/api/generate`), streamed as NDJSON and whole. Observed only.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-completion. The text stands in `response`. There is no
place for calls, so nothing is ever changed; what a call would have become is told by the verdicts.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from toolcalls.events import Finish, Reasoning, Text
from toolcalls.request import Request
from toolcalls.values import rawjson
from toolcalls.wires import Codec, Part, form_of
from toolcalls.wires.frames import Form


class _Codec:
    """The codec of a reply, streamed or whole."""

    must_encode = False
    can_omit = False

    def __init__(self) -> None:
        self.reply_id = ""

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one line."""
        line = rawjson.fields(payload)
        if "response" not in line:
            return []
        self.reply_id = self.reply_id or rawjson.word(line, "created_at") or "-"
        parts: list[Part] = []
        if thought := rawjson.word(line, "thinking"):
            parts.append((0, Reasoning(thought)))
        if text := rawjson.word(line, "response"):
            parts.append((0, Text(text)))
        if rawjson.value(line.get("done")) is True:
            parts.append((0, Finish(rawjson.word(line, "done_reason"))))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        """The line as it is."""
        return [payload]


class _OllamaGenerate:
    """The wire."""

    name = "ollama_generate"
    has_event_names = False
    sequential_lanes = False
    calls_are_whole = False
    call_id_prefix = "call_"

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - what it is, its type says
        """Lines of JSON, or one JSON object."""
        return form_of(content_type)

    def matches(self, path: str) -> bool:
        """Any path that ends in `/api/generate`."""
        return urlsplit(path).path.rstrip("/").endswith("/api/generate")

    def codec(self, *, streamed: bool) -> Codec:  # noqa: ARG002 - a whole reply is a line
        """A codec for one reply."""
        return _Codec()

    def request(self, body: bytes) -> Request:
        """The prompt, and the system text."""
        fields = rawjson.loaded(body)
        if not isinstance(fields, dict):
            raise ValueError("the request body is no object")
        model, system, prompt = (fields.get(key) for key in ("model", "system", "prompt"))
        return Request(
            model=model if isinstance(model, str) else "",
            system=system if isinstance(system, str) else "",
            quotable=(prompt,) if isinstance(prompt, str) and prompt else (),
            response_format=bool(fields.get("format")),
            carries_calls=False,
        )


WIRE = _OllamaGenerate()
