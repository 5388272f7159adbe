"""Codec and answer: those of the Messages API, with what goes in and comes out translated."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcalls.events import Text, Unplaced
from toolcalls.values import rawjson
from toolcalls.wires import Codec, Part, Undivided, answers
from toolcalls.wires.answers import Answer
from toolcalls.wires.bedrock_converse import streamed, whole
from toolcalls.wires.bedrock_converse.streamed import Openings
from toolcalls.wires.mending import Mending
from toolcalls.wires.translation import Translation, translated

TRANSLATION = Translation("anthropic", whole.is_reply, whole.to_messages, whole.from_messages)


@dataclass(frozen=True, slots=True)
class _Opening:
    """A frame that begins a block: its payload, the event that would in Messages, and the lane of a text."""

    payload: bytes
    start: bytes
    lane: int | None


class Stream(Undivided):
    """The codec of a streamed reply.

    Where the first piece of a block begins it, the codec of Messages gets two events for the frame. `encode` knows such
    a frame by its payload, which is the same object that `decode` got.
    """

    def __init__(self) -> None:
        self.can_omit = False
        self._inner: Codec = TRANSLATION.other.stream()
        self._openings = Openings()
        self._opened: dict[int, _Opening] = {}  # by the identity of their payloads

    @property
    def must_encode(self) -> bool:
        return self._inner.must_encode

    @property
    def reply_id(self) -> str:
        """Always "": no event of this API has an id."""
        return ""

    def mends(self, mending: Mending) -> None:
        self._inner.mends(mending)

    def decode(self, payload: bytes) -> list[Part]:
        event = streamed.to_messages(payload)
        start = self._openings.before(event)
        begun: list[Part] = []
        if start is not None:
            opened = self._inner.decode(start)
            begun = [part for part in opened if not _is_opener(part)]
            lane = next((lane for lane, one in opened if isinstance(one, Text)), None)
            self._opened[id(payload)] = _Opening(payload, start, lane)
        parts = [*begun, *self._inner.decode(rawjson.written(event))]
        if streamed.has_unread_call(event):
            parts.append((0, Unplaced()))
        self.can_omit = self._inner.can_omit and len(parts) == 1
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        opening = self._opened.pop(id(payload), None)
        made: list[bytes] = []
        if opening is not None:
            own = [part for part in parts if part[0] == opening.lane and not _is_opener(part)]
            others = [part for part in parts if part[0] != opening.lane or _is_opener(part)]
            made += self._inner.encode(opening.start, others, can_omit=False)
            parts = own
        asked = rawjson.written(streamed.to_messages(payload))
        made += self._inner.encode(asked, parts, can_omit=can_omit)
        return translated(made, asked, payload, streamed.from_messages)


def _is_opener(part: Part) -> bool:
    return isinstance(part[1], Text) and not part[1].text


# --- a reply of our own making ----------------------------------------------------------------------------------------


def _metadata(answer: Answer) -> rawjson.Fields:
    """Usage and metrics, which the API adds to each reply."""
    tokens_in, tokens_out = answer.tokens.input or 0, answer.tokens.output or 0
    usage = {"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out}
    return {"usage": usage, "metrics": {"latencyMs": 0}}


def answer(answer: Answer) -> bytes:
    like = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "tool_use", **_metadata(answer)}
    return TRANSLATION.answer(answer, like)


class Answering(answers.Answering):
    """Goes on with a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._inner = TRANSLATION.answering()
        self._openings = Openings()

    def saw(self, payload: bytes) -> None:
        event = streamed.to_messages(payload)
        start = self._openings.before(event)
        if start is not None:
            self._inner.saw(start)
        self._inner.saw(rawjson.written(event))
        self.answered = self._inner.answered

    def rest(self, answer: Answer) -> list[bytes] | None:
        made = self._inner.rest(answer)
        if made is None:
            return None
        return [*translated(made, b"", b"", streamed.from_messages), rawjson.written({"metadata": _metadata(answer)})]
