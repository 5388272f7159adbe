"""What mends the native calls of a reply, one payload at a time: the codec, and behind it the stage `mend`."""

from collections.abc import Sequence
from typing import Any

from toolcalls.replies.stages.mend import Mend
from toolcalls.wires import all_wires
from toolcalls.wires.mending import Mended, Mending


class EventMender:
    """Mends one stream of a wire."""

    def __init__(self, wire: str, mending: Mending) -> None:
        self._codec = all_wires()[wire].codec(streamed=True)
        self._codec.mends(mending)
        self._stage: Mend[Any] = Mend(mending, may_hold=False, message_of=int)

    @property
    def calls(self) -> dict[tuple[int, int], Mended]:
        return self._stage.calls

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        """The payloads in the place of one; None where it stays as it is."""
        (known,) = self._stage.feed(None, payload, self._codec.decode(payload))
        if not (known.changed or self._codec.must_encode):
            return None
        made = self._codec.encode(payload, known.parts, can_omit=False)
        return None if made == [payload] else made


def mender(wire: str, mending: Mending) -> Any:
    """What mends one stream of a wire."""
    known = all_wires()[wire]
    return EventMender(wire, mending) if known.mends_stream is None else known.mender(mending, streamed=True)
