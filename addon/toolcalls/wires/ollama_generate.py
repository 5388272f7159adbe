"""`ollama_generate`: Ollama's completion of a prompt (`/api/generate`), streamed as NDJSON and whole. Observed only.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-completion. The text is in `response`. There is no
place for calls, so nothing is ever changed; the verdicts say what a call would have become.
"""

from toolcalls.events import Finish, Reasoning, Text
from toolcalls.values import rawjson
from toolcalls.wires import Part, ReadOnlyCodec, Wire


class _Codec(ReadOnlyCodec):
    """The codec of a reply, streamed or whole."""

    def decode(self, payload: bytes) -> list[Part]:
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


WIRE = Wire("ollama_generate", "/api/generate", _Codec, _Codec)  # a whole reply is a line
