"""Replies of an API that says the same as another one in other words: translated for the other's codec, and back.

The other wire is found by its name, since no wire imports another one. What happens to a stream is too different to be
shared; `translated` says what comes of the other codec's frames.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Codec, Part, WholeCodec, Wire, all_wires
from toolcalls.wires.answers import Answer, Answering
from toolcalls.wires.mending import Mending


@dataclass(frozen=True)
class Translation:
    """How the whole replies of an API are translated.

    wire         the name of the other wire
    is_reply     whether a body is a reply with a message, and no error
    to_other     a reply in the other's words
    from_other   that, after something became of it, in the words of the reply that came
    """

    wire: str
    is_reply: Callable[[bytes], bool]
    to_other: Callable[[bytes], bytes]
    from_other: Callable[[bytes, bytes], bytes]

    @property
    def other(self) -> Wire:
        return all_wires()[self.wire]

    def whole(self) -> Codec:
        return _Whole(self)

    def answer(self, answer: Answer, like: Fields) -> bytes:
        """A whole reply of our own making: the other's, with what else the API says in one."""
        make = self.other.answer
        assert make is not None
        return self.from_other(make(answer), rawjson.written(like))

    def answering(self) -> Answering:
        """What writes the rest of a stream in the other's words."""
        make = self.other.answering
        assert make is not None
        return make()


def translated(
    made: Sequence[bytes], asked: bytes, payload: bytes, back: Callable[[bytes], bytes | None]
) -> list[bytes]:
    """The other codec's frames in the API's words. The frame that equals `asked` is the payload as it came."""
    frames = (payload if one == asked else back(one) for one in made)
    return [frame for frame in frames if frame is not None]


class _Whole(WholeCodec):
    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._inner: Codec = translation.other.whole()

    def mends(self, mending: Mending) -> None:
        self._inner.mends(mending)

    def decode(self, payload: bytes) -> list[Part]:
        if not self._translation.is_reply(payload):
            return []
        parts = self._inner.decode(self._translation.to_other(payload))
        self.reply_id = self._inner.reply_id
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        if not self._translation.is_reply(payload):
            return [payload]
        asked = self._translation.to_other(payload)
        (made,) = self._inner.encode(asked, parts, can_omit=can_omit)
        return [payload if made == asked else self._translation.from_other(made, payload)]
