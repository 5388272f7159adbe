"""Codec and answer: those of the Messages API, with what goes in and comes out translated."""

from collections.abc import Sequence
from functools import partial

from toolcalls.events import OtherContent
from toolcalls.values import rawjson
from toolcalls.wires import Codec, Part, Undivided, answers
from toolcalls.wires.answers import Answer
from toolcalls.wires.gemini_interactions import streamed, whole
from toolcalls.wires.mending import Mending
from toolcalls.wires.translation import Translation, translated

# Indices of steps of our own, after those of any reply.
_OWN_STEPS = 1 << 40


TRANSLATION = Translation("anthropic", whole.is_reply, whole.to_messages, whole.from_messages)


class Stream(Undivided):
    """The codec of a streamed reply."""

    def __init__(self) -> None:
        self.can_omit = False
        self._inner: Codec = TRANSLATION.other.stream()
        self._lane = 0
        self._own_steps = 0

    @property
    def must_encode(self) -> bool:
        return self._inner.must_encode

    @property
    def reply_id(self) -> str:
        return self._inner.reply_id

    def mends(self, mending: Mending) -> None:
        self._inner.mends(mending)

    def decode(self, payload: bytes) -> list[Part]:
        parts = self._inner.decode(rawjson.written(streamed.to_messages(payload)))
        self.can_omit = self._inner.can_omit
        if parts:
            self._lane = parts[-1][0]
        elif streamed.is_other_output(payload):
            return [(self._lane, OtherContent())]
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        asked = rawjson.written(streamed.to_messages(payload))
        made = self._inner.encode(asked, parts, can_omit=can_omit)
        if not made and streamed.is_other_output(payload):
            made = self._step_of(asked)
        return translated(made, asked, payload, partial(streamed.from_messages, reply_id=self.reply_id))

    def _step_of(self, asked: bytes) -> list[bytes]:
        """The frames for a piece of output in a step of its own."""
        index = _OWN_STEPS + self._own_steps
        self._own_steps += 1
        row = (
            {"type": "content_block_start", "index": index, "content_block": {"type": "other", **_OUTPUT}},
            {**rawjson.fields(asked), "index": index},
            {"type": "content_block_stop", "index": index},
        )
        return [frame for one in row for frame in self._inner.encode(rawjson.written(one), (), can_omit=False)]


_OUTPUT = {streamed.AS_CAME: {"type": "model_output"}}


# --- a reply of our own making ----------------------------------------------------------------------------------------


def _interaction(answer: Answer) -> rawjson.Fields:
    """The members that every interaction has."""
    tokens = (answer.tokens.input or 0, answer.tokens.output or 0)
    usage = {"total_input_tokens": tokens[0], "total_output_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {
        "id": f"v1_{answer.digest}",
        "status": "requires_action",
        "usage": usage,
        "created": answer.created_at,
        "updated": answer.created_at,
        "object": "interaction",
        "model": rawjson.string(answer.model),
    }


def answer(answer: Answer) -> bytes:
    return TRANSLATION.answer(answer, _interaction(answer))


class Answering(answers.Answering):
    """Goes on with a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._inner = TRANSLATION.answering()
        self._begun = False

    def saw(self, payload: bytes) -> None:
        event = streamed.to_messages(payload)
        self._begun = self._begun or event["type"] == "message_start"
        self._inner.saw(rawjson.written(event))
        self.answered = self._inner.answered

    def rest(self, answer: Answer) -> list[bytes] | None:
        made = self._inner.rest(answer)
        if made is None:
            return None
        interaction = _interaction(answer)
        begun = {"interaction": {**interaction, "status": "in_progress"}, "event_type": "interaction.created"}
        ended = {"interaction": interaction, "event_type": "interaction.completed"}
        between = [one for one in made if rawjson.word(rawjson.fields(one), "type").startswith("content_block")]
        first = [] if self._begun else [rawjson.written(begun)]
        return [
            *first,
            *translated(between, b"", b"", partial(streamed.from_messages, reply_id="")),
            rawjson.written(ended),
            streamed.STREAM_END,
        ]
