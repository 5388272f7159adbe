"""Frames in which a native call is damaged, as they should have come. Everything else reads only these.

What the API asks (`protocol`) is mended in the frame. Names and values are mended by a second mender beside the first:
while it holds something, all frames wait, each as both would have it. If nothing turns out to be mended, they leave as
the first has them, which is mostly as they came.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from toolcalls.ids import call_id
from toolcalls.mending.names import Names
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.body_encoding import encoding_of, from_utf8
from toolcalls.replies.stages.mend import ends_stream
from toolcalls.values.tool_values import ToolValues
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import Wire
from toolcalls.wires.frames import Frame
from toolcalls.wires.mending import Mended, Mender, Mending

# The kinds of damage that are mended here.
FRAME_KINDS = frozenset({"protocol", "json", "types", "names"})


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A frame that came, as what it leaves if nothing is mended but the protocol, and as what else."""

    frame: Frame
    plain: list[Frame]
    meant: list[Frame]


def mending_of(wire: Wire, tools: Toolbox, call_policy: CallPolicy, seed: Callable[[], bytes]) -> Mending:
    """What is mended of the native calls of a reply. `seed` is asked for when a new id is needed."""

    def new_id(lane: int, index: int, name: str) -> str:
        return call_id(b"native " + seed(), lane, index, name, prefix=wire.call_id_prefix)

    kinds = call_policy.route.mend
    mending = Mending(new_id, tools.takes_nothing, tools.__contains__, protocol="protocol" in kinds)
    if not (FRAME_KINDS - {"protocol"}) & set(kinds):
        return mending
    values = ToolValues(tools, mending.held, types="types" in kinds, json="json" in kinds)
    mending = replace(mending, values=values.of_call)
    if "names" not in kinds:
        return mending
    names = Names(tools, call_policy)
    return replace(mending, named=names.meant, begins_name=names.begins)


class MendedFrames:
    """Mends the frames of one reply.

    seed    tells the exchange from others; asked for when a new id is needed
    built   a new frame like another one; with `keep` it has what that one says beside its payload
    """

    def __init__(
        self,
        wire: Wire,
        tools: Toolbox,
        call_policy: CallPolicy,
        *,
        streamed: bool,
        seed: Callable[[], bytes],
        built: Callable[[bytes, bytes, bool], bytes],
    ) -> None:
        self._streamed = streamed
        self._built = built
        self._limit = call_policy.route.max_frame_bytes
        self._coming: deque[Frame] = deque()  # frames that no mender has seen
        self._waiting: list[_Waiting] = []
        self._size = 0  # bytes of those
        self._leaving: list[bytes] = []  # of frames that leave as soon as all that came have been looked at
        self._mended_before = 0  # how much was mended when the first of those came
        self._over = False  # the stream has ended, so what still comes is no part of any call
        full = mending_of(wire, tools, call_policy, seed)
        self._held = full.held
        self._first = self._full = None
        if full.protocol:
            mending = Mending(full.call_id, full.takes_nothing, full.declared)
            self._first = self._full = wire.mender(mending, streamed=streamed)
        if (FRAME_KINDS - {"protocol"}) & set(call_policy.route.mend):
            self._full = wire.mender(full, streamed=streamed)

    @property
    def may_hold(self) -> bool:
        """Whether frames may wait here."""
        return self._full is not self._first

    @property
    def holds(self) -> bool:
        """Whether frames wait here."""
        return bool(self._waiting)

    @property
    def held(self) -> bytes:
        """The bytes of all frames that came and have not left."""
        waiting = [one.frame.raw for one in self._waiting]
        return b"".join([*self._leaving, *waiting, *(frame.raw for frame in self._coming)])

    def of_call(self, lane: int, index: int) -> Mended | None:
        """What was mended of the native call that came with this lane and index."""
        return None if self._full is None else self._full.calls.get((lane, index))

    def all_of(self, frames: Iterable[Frame]) -> list[Frame]:
        """The frames, each as it should have come. None of them waits: a whole reply, or where none may."""
        made: list[Frame] = []
        for frame in frames:
            made += self._of(self._full, frame)
            self._over = self._over or (frame.data is not None and ends_stream(frame.data))
        return made

    def take(self, frames: Iterable[Frame]) -> None:
        """Frames that come; `ready` has those that leave."""
        self._coming.extend(frames)

    def ready(self) -> tuple[list[Frame], bytes]:
        """The frames that leave, as they should have come; and the bytes that they came as."""
        ready: list[Frame] = []
        while self._coming:
            frame = self._coming[0]
            plain, meant = list(self._of(self._first, frame)), list(self._of(self._full, frame))
            self._waiting.append(_Waiting(self._coming.popleft(), plain, meant))
            self._over = self._over or (frame.data is not None and ends_stream(frame.data))
            self._size += len(frame.raw)
            if self._held.open and self._size > self._limit:
                self._give_up()
            if not self._held.open:
                self._leaving += [waiting.frame.raw for waiting in self._waiting]
                ready += self._released(meant=self._held.mended > 0)
        came, self._leaving = b"".join(self._leaving), []
        return ready, came

    def rest(self) -> list[Frame]:
        """The frames that wait, because nothing follows."""
        return self._released(meant=self._held.mended > self._mended_before)

    def _released(self, *, meant: bool) -> list[Frame]:
        waiting, self._waiting, self._size = self._waiting, [], 0
        self._mended_before = self._held.mended
        return [frame for one in waiting for frame in (one.meant if meant else one.plain)]

    def _give_up(self) -> None:
        """No more may wait: what is held of calls leaves as it came."""
        for call in self._full.calls.values() if self._full is not None else ():
            call.arguments.give_up(drops=not self._held.mended)

    def _of(self, mender: Mender | None, frame: Frame) -> Iterator[Frame]:
        """The frames in the place of one; it alone where nothing in it is damaged."""
        if mender is None or self._over or frame.data is None or not frame.complete:
            yield frame
            return
        payloads = mender.mend(frame.data)
        if payloads is None:
            yield frame
            return
        if not self._streamed:
            yield from (Frame(from_utf8(payload, encoding_of(frame.raw)), payload) for payload in payloads)
            return
        if not payloads:
            yield Frame(b"", None)  # what goes on with the line end of one that is gone is gone, too
        for number, payload in enumerate(payloads, 1):
            built = self._built(payload, frame.raw, number == 1)
            yield Frame(uncut(built, frame.raw) if number == len(payloads) else built, payload)


def uncut(built: bytes, came: bytes) -> bytes:
    """A frame for one that came so. Where a CRLF was cut, its LF comes after the frame, and leaves behind it."""
    if came.endswith(b"\r") and built.endswith(b"\r\n"):
        return built[:-1]
    return built + b"\n" if came.endswith(b"\r\n") and built.endswith(b"\r") else built
