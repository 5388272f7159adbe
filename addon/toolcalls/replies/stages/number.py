"""The index, the id and the form that the client sees of each call. Here the lane's calls are written down."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Markup, Verdict, Withdrawn
from toolcalls.replies.calls import Calls, ClientCall
from toolcalls.replies.stages import Item, Native, Stage
from toolcalls.values.toolbox import Toolbox


class Number(Stage):
    """Numbers the calls of a lane.

    call_id   an id for the call with this index and name, where it has none
    room      how many characters of a native call's arguments are kept
    """

    def __init__(self, calls: Calls, tools: Toolbox, call_id: Callable[[int, str], str], *, room: int) -> None:
        self._calls = calls
        self._tools = tools
        self._call_id = call_id
        self._room = room
        self._next = 0  # the first index that no call has, nor any after it

    def streamed(self, markup: Markup, piece: CallPiece) -> tuple[Markup, CallPiece]:
        """`feed` for the usual two events inside a call in text."""
        return markup, self.numbered(piece)

    def keeps_index(self, piece: CallPiece) -> bool:
        """Whether a piece of a native call is one of a call that the client has with the same index."""
        call = self._calls.natives.get(piece.index)
        return call is not None and call.index == piece.index

    def passes(self, piece: CallPiece) -> bool:
        """Whether a piece of a native call stays as it is. If so, it has been written down."""
        call = self._calls.natives.get(piece.index)
        if call is None or call.index != piece.index:
            return False
        call.take(piece)
        self._calls.grown[piece.index] = call
        return True

    def answered(self, item: Native) -> Native:
        """`feed` for one native event."""
        if len(item.parts) != 1:
            return Native(tuple(map(self._part, item.parts)))
        part = item.parts[0]
        numbered = self._part(part)
        return item if numbered is part else Native((numbered,))

    def feed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items with the client's indices and ids."""
        for item in items:
            if isinstance(item, Native):
                yield self.answered(item)
            elif isinstance(item, CallStart | CallPiece | CallEnd):
                yield self._from_text(item)
            elif isinstance(item, Verdict) and item.index is not None:
                call = self._calls.from_text[item.index]
                call.malformed = item.status == "malformed"
                yield msgspec.structs.replace(item, index=call.index)
            else:
                yield item

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
            call.take(part)
            calls.grown[part.index] = call
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
            begun.room = self._room
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
