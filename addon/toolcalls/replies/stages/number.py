"""The index, the id and the form that the client sees of each call. Here the lane's calls are written down."""

from collections.abc import Callable, Iterable

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Verdict, Withdrawn
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import Item, Native, Stage
from toolcalls.values.toolbox import Toolbox


class Number(Stage):
    """Numbers the calls of a lane.

    call_id   an id for the call with this index and name, where it has none
    room      how many characters of a native call's arguments are kept
    """

    looks_at = (Native, CallStart, CallPiece, CallEnd, Verdict)

    def __init__(self, calls: Calls, tools: Toolbox, call_id: Callable[[int, str], str], *, room: int) -> None:
        self._calls = calls
        self._tools = tools
        self._call_id = call_id
        self._room = room
        self._next = 0  # the first index that no call has, nor any after it

    def write_down(self, call: ClientCall, piece: CallPiece) -> None:
        """The next piece of a native call."""
        call.take(piece)
        self._calls.grown[piece.index] = call

    def feed(self, items: Iterable[Item]) -> Iterable[Item]:
        """The items with the client's indices and ids."""
        return [self._numbered(item) for item in items]

    def _numbered(self, item: Item) -> Item:
        if isinstance(item, Native):
            parts = tuple([self._part(part) for part in item.parts])
            return item if len(parts) == 1 and parts[0] is item.parts[0] else Native(parts)
        if isinstance(item, CallStart | CallPiece | CallEnd):
            return self._from_text(item)
        if isinstance(item, Verdict) and item.index is not None:
            call = self._calls.from_text[item.index]
            call.malformed = item.status == "malformed"
            return msgspec.structs.replace(item, index=call.index)
        return item

    def _from_text(self, event: CallStart | CallPiece | CallEnd) -> CallStart | CallPiece | CallEnd:
        calls = self._calls
        if isinstance(event, CallStart):
            call = calls.from_text[event.index] = self._client_call(event, wanted=None)
            return CallStart(call.index, call.name, call.dialect, call.id, call.form, call.space)
        call = calls.from_text[event.index]
        if isinstance(event, CallPiece):
            return self.numbered(event)
        call.close()
        calls.repeatable.add(call.name, call.arguments)
        return CallEnd(call.index)

    def numbered(self, piece: CallPiece) -> CallPiece:
        """A piece of a call in text, as the client is given it. It is written down."""
        call = self._calls.from_text[piece.index]
        call.pieces.append(piece.json)
        return piece if call.index == piece.index else CallPiece(call.index, piece.json)

    def _part(self, part: Event | str) -> Event | str:
        """What the client sees of a part of what has become of a native event."""
        calls = self._calls
        if isinstance(part, CallPiece) and (call := calls.natives.get(part.index)) is not None:
            self.write_down(call, part)
            return part if call.index == part.index else msgspec.structs.replace(part, index=call.index)
        if isinstance(part, Withdrawn):
            begun = calls.natives.get(part.index)
            calls.renumbers = calls.had_native = True
            if begun is not None:
                calls.broken_off = calls.broken_off or not begun.complete
                begun.ended = True
            return part
        if not isinstance(part, CallStart | CallPiece | CallEnd):
            return part
        if isinstance(part, CallStart):
            calls.had_native = True
            begun = self._client_call(part, wanted=None if calls.renumbers else part.index)
            begun.room, begun.entry, begun.mended = self._room, part.entry, part.mended
            calls.natives[part.index] = calls.native_at[begun.index] = begun
            if (begun.index, begun.form, begun.space) == (part.index, part.form, part.space):
                return part
            return msgspec.structs.replace(part, index=begun.index, form=begun.form, space=begun.space)
        known = calls.natives.get(part.index)
        if known is None:  # it has its verdict already, or was never begun: events that come twice or out of order
            known = calls.judged.get(part.index)
        else:
            known.ended = True
            if known.is_object:
                known.complete = True
                calls.whole_natives.append(known)
        if known is None or known.index == part.index:
            return part
        return msgspec.structs.replace(part, index=known.index)

    def _client_call(self, start: CallStart, *, wanted: int | None) -> ClientCall:
        """A call that begins. A native one keeps its own index, unless a call in text came before it."""
        calls, tools = self._calls, self._tools
        index = wanted if wanted is not None and not calls.from_text else self._next
        self._next = max(self._next, index + 1)
        ours = start.dialect is not None
        form = start.form if start.form or not ours else tools.form(start.name)
        space = start.space if start.space or not ours else tools.space(start.name)
        id_ = start.id or self._call_id(index, start.name)
        call = ClientCall(index, start.name, start.dialect, id_, form, space)
        calls.client_calls.append(call)
        return call
