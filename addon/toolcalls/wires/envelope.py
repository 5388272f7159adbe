"""The commonest frame of a reply, known by its bytes: all that differs from the frame before it is the text.

A streamed reply repeats the same hundred bytes around every few characters. Once a frame has been decoded in full, its
bytes before and after the text are remembered, and the next frame that has the same ones needs no decoding. That they
mean what they seem to is not guessed: a probe text is put between them and decoded in full before they are believed.
"""

import json
import re
from collections.abc import Callable

import msgspec

# What must not be in JSON string contents that are taken as they are: quotes, escapes, raw control characters.
_SPECIAL = re.compile(rb'["\\\x00-\x1f]')
_PROBE = "toolcalls-probe"
# A server that changes its envelope with every frame is not worth learning from.
_PATIENCE = 32
_decode_string = msgspec.json.Decoder(str).decode


class Envelope:
    """Recognizes frames that differ from one that was decoded in nothing but their text.

    decode         the whole way: a frame's text and lane when it holds nothing else, None when it does
    takes_escapes  also texts with escapes are recognized
    """

    def __init__(self, decode: Callable[[bytes], tuple[int, str] | None], *, takes_escapes: bool = False) -> None:
        self.lane = 0
        self._decode = decode
        self._takes_escapes = takes_escapes
        self._head = b""
        self._tail = b""
        self._misses = 0

    def text_of(self, raw: bytes) -> str | None:
        """The text of a frame with the known surroundings; None for any other frame."""
        head, tail = self._head, self._tail
        if not (head and raw.startswith(head) and raw.endswith(tail)):
            return None
        inner = raw[len(head) : -len(tail)]
        if _SPECIAL.search(inner) is not None:
            if not self._takes_escapes or len(raw) < len(head) + len(tail):
                return None
            try:
                text = _decode_string(b'"%b"' % inner)
            except (msgspec.MsgspecError, UnicodeDecodeError):  # a quote ends it, or it has half a surrogate pair
                return None
            self._misses = 0
            return text
        self._misses = 0
        try:
            return inner.decode()
        except UnicodeDecodeError:
            return None

    def learn(self, raw: bytes, lane: int, text: str) -> bool:
        """Remember what surrounds `text` in `raw`, a frame that was decoded in full and holds nothing else.

        Returns whether it is known now.
        """
        if self._misses > _PATIENCE:
            return False
        written = b'"%b"' % text.encode("utf-8", "surrogatepass")
        if _SPECIAL.search(written, 1, len(written) - 1) is not None:
            written = json.dumps(text).encode() if self._takes_escapes else b""
        at = raw.rfind(written)
        if at < 0 or not written:
            return False
        self._misses += 1
        head, tail = raw[: at + 1], raw[at + len(written) - 1 :]
        if self._decode(head + _PROBE.encode() + tail) != (lane, _PROBE):
            return False
        self.lane, self._head, self._tail = lane, head, tail
        return True

    def forget(self) -> None:
        """Recognize no frame until the next one is learned."""
        self._head = self._tail = b""
        self._misses = 0
