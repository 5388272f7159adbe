"""`openai_completions`: OpenAI's completions of a prompt (`/completions`), streamed over SSE and whole. Observed only.

https://platform.openai.com/docs/api-reference/completions. The text is in `choices[].text`; a lane is a choice.
There is no place for calls, so nothing is ever changed; the verdicts say what a call would have become.
"""

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from toolcalls.events import Finish, Text
from toolcalls.values import rawjson
from toolcalls.wires import STREAM_END, Part, ReadOnlyCodec, Wire


class _Codec(ReadOnlyCodec):
    """The codec of a reply, streamed or whole."""

    def __init__(self, *, streamed: bool) -> None:
        self._streamed = streamed
        self._unfinished: dict[int, bool] = {}  # by lane; False once it has ended

    def decode(self, payload: bytes) -> list[Part]:
        if payload == STREAM_END:
            return [(lane, Finish("")) for lane, open_ in self._unfinished.items() if open_]
        reply = rawjson.fields(payload)
        choices = rawjson.items(reply.get("choices"))
        if choices:
            self.reply_id = self.reply_id or rawjson.word(reply, "id") or "-"
        return [part for place, raw in enumerate(choices) for part in self._choice(rawjson.fields(raw), place)]

    def _choice(self, choice: rawjson.Fields, place: int) -> Iterator[Part]:
        if "text" not in choice:
            return
        lane = rawjson.number(choice, "index", place)
        self._unfinished.setdefault(lane, True)
        if text := rawjson.word(choice, "text"):
            yield lane, Text(text)
        reason = rawjson.word(choice, "finish_reason")
        if reason or not self._streamed:
            self._unfinished[lane] = False
            yield lane, Finish(reason)


class _OpenAICompletions(Wire):
    """The wire."""

    def matches(self, path: str) -> bool:
        """Any path that ends in `/completions` but those of the chat, and of the gaps that Mistral's models fill."""
        others = ("/chat/completions", "/fim/completions")
        return super().matches(path) and not urlsplit(path).path.rstrip("/").endswith(others)


WIRE = _OpenAICompletions(
    "openai_completions", "/completions", partial(_Codec, streamed=True), partial(_Codec, streamed=False)
)
