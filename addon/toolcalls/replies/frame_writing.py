"""A frame as it leaves: the bytes that it came as where nothing of it changed, else encoded anew and spelt alike."""

from typing import Protocol

import msgspec

from toolcalls.replies.body_encoding import encoding_of, from_utf8
from toolcalls.replies.mended_frames import uncut
from toolcalls.replies.waiting import WaitingFrame
from toolcalls.values import rawjson
from toolcalls.wires import Codec, Part
from toolcalls.wires.frames import Frame


class _Named(msgspec.Struct):
    type: str | None = None
    event_type: str | None = None


_decode_named = msgspec.json.Decoder(_Named).decode


def _name_of(payload: bytes, member: str) -> str | None:
    """The name of an event, which a member of its payload says, one of `_Named`.

    Lone surrogates, which msgspec refuses, may be in what a model wrote.
    """
    try:
        named = _decode_named(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return rawjson.word(rawjson.fields(payload), member) or None
    return named.type if member == "type" else named.event_type


class _Build(Protocol):
    """Makes the frame for a payload, as the form of the body has it."""

    def __call__(self, data: bytes, like: bytes, *, keep: bool, name: str | None) -> bytes:
        """See `frames`."""


class FrameWriter:
    """Writes the frames of one reply.

    event_name       the member of a payload that names its event; "" where events have no names
    ends_in_return   the latest frame left with a CR at its end
    """

    def __init__(self, codec: Codec, build: _Build, *, event_name: str, streamed: bool) -> None:
        self.ends_in_return = False
        self._codec = codec
        self._build = build
        self._event_name = event_name
        self._streamed = streamed

    def written(self, waiting: WaitingFrame) -> bytes:
        """The bytes of a frame whose events have become what the client is given."""
        frame = waiting.frame
        if frame.data is not None and (waiting.changed or self._codec.must_encode):
            alike = None if waiting.parts else waiting.alike
            out = b"" if alike is not None and alike.vanish else self._encoded(waiting, frame.data)
            if alike is not None:
                alike.vanish = not (out or self._codec.must_encode)
        elif frame.tail and not self.ends_in_return:  # the frame whose line end it goes on with did not leave
            out = b""
        else:
            out = frame.raw
        self.ends_in_return = out.endswith(b"\r")
        return out

    def behind(self, frame: Frame, payload: bytes, parts: list[Part]) -> bytes:
        """Frames like this one, with this payload, for parts that came after it."""
        payloads = self._codec.encode(payload, parts, can_omit=True)
        return b"".join([self.built(new, frame.raw, keep=False) for new in payloads])

    def built(self, payload: bytes, like: bytes, *, keep: bool) -> bytes:
        """A new frame like another one, with the event's name where the wire has names.

        keep   what that one says beside its payload stays
        """
        name = _name_of(payload, self._event_name) if self._event_name else None
        return self._build(payload, like, keep=keep, name=name)

    def _encoded(self, waiting: WaitingFrame, payload: bytes) -> bytes:
        frame = waiting.frame
        payloads = self._codec.encode(payload, waiting.parts, can_omit=waiting.can_omit)
        if not payloads and self._streamed:
            return b""
        if payloads == [payload]:
            return frame.raw
        if not self._streamed:
            return from_utf8(payloads[0], encoding_of(frame.raw))
        built = self.built(payloads[0], frame.raw, keep=True)
        if len(payloads) > 1:  # the others are spelt like a short frame, so that a long one is looked at once
            like = self._build(b"{}", frame.raw, keep=False, name=None)
            built += b"".join([self.built(other, like, keep=False) for other in payloads[1:]])
        return built if frame.raw.endswith(b"\n\n") else uncut(built, frame.raw)
