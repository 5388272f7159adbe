"""Completions of a prompt by models on Bedrock: Llama, Mistral, Titan, Command, Jurassic, Claude 2. Observed only.

https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html. Each model has members of its own for the
text and for why it ended.
"""

from collections.abc import Iterator

from toolcalls.events import Finish, Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, ReadOnlyCodec

_LISTS = ("outputs", "results", "generations", "completions", "choices")  # of several replies
_TEXTS = ("generation", "outputText", "completion", "text")
_REASONS = ("stop_reason", "completionReason", "finish_reason", "finishReason")
_WORDS = {
    "FINISH": "stop", "COMPLETE": "stop", "stop_sequence": "stop", "endoftext": "stop", "end_turn": "stop",
    "LENGTH": "length", "MAX_TOKENS": "length", "max_tokens": "length",
}  # fmt: skip


class Completions(ReadOnlyCodec):
    """The codec of a reply, streamed or whole."""

    def __init__(self, *, streamed: bool) -> None:
        self._streamed = streamed

    def decode(self, payload: bytes) -> list[Part]:
        reply = rawjson.fields(payload)
        listed = next((rawjson.items(reply[key]) for key in _LISTS if key in reply), None)
        one = [reply] if listed is None else [rawjson.fields(raw) for raw in listed]
        return [part for lane, fields in enumerate(one) for part in self._of(lane, fields)]

    def _of(self, lane: int, fields: Fields) -> Iterator[Part]:
        if not any(key in fields for key in (*_TEXTS, "data")):
            return
        fields = {**rawjson.fields(fields.get("data")), **fields}  # Jurassic has its text one level down
        if text := next(filter(None, (rawjson.word(fields, key) for key in _TEXTS)), ""):
            yield lane, Text(text)
        reason = next(filter(None, (rawjson.word(fields, key) for key in _REASONS)), "")
        reason = reason or rawjson.word(rawjson.fields(fields.get("finishReason")), "reason")
        if reason or not self._streamed or rawjson.value(fields.get("is_finished")) is True:
            yield lane, Finish(_WORDS.get(reason, reason))
