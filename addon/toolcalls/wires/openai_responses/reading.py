"""The decoding half of a streamed reply: which events a frame holds.

Text and arguments are read where they come first: in their deltas, else in the frame that says how they ended, else in
the whole response. A server that sends deltas says each text up to four times more; so a text at the end of an item
counts only if none came since the item began, and one of the whole response only if none came at all.
"""

from collections.abc import Iterable, Iterator

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Finish, Text
from toolcalls.rawjson import Fields
from toolcalls.values import escape
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import (
    CUSTOM,
    INPUT_BEGINS,
    INPUT_ENDS,
    PIECES,
    Kind,
    kind_of,
    namespaces,
)
from toolcalls.wires.openai_responses.items import is_text, parts_of, reason_of

DELTA = "response.output_text.delta"
TEXT_DONE = "response.output_text.done"
PART_DONE = "response.content_part.done"
TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})


def place_of(event: Fields, key: str = "output_index") -> int:
    """Where what a frame is about stands; 0 where it does not say."""
    return rawjson.number(event, key, 0)


def native(lane: int, index: int, kind: Kind, item: Fields) -> Iterator[Part]:
    """A call that is there as a whole."""
    yield lane, CallStart(index, kind.name(item), id=rawjson.word(item, "call_id"), form=kind.form)
    yield lane, CallPiece(index, kind.arguments(item))
    if rawjson.word(item, "status") != "incomplete":
        yield lane, CallEnd(index)


class Reading:
    """What is known of the reply so far. It runs ahead of the encoding half, which follows the client."""

    def __init__(self) -> None:
        self.reply_id = ""
        self.namespaces: dict[str, str] = {}
        self.untold: dict[int, Fields] = {}  # calls that only the whole response holds, by their places in it
        self.late: dict[int, set[int]] = {}  # the lanes of texts that only it holds, by their messages' places
        self._lanes: dict[tuple[int, int], int] = {}
        self._lane = 0
        self._open = False  # text or a call came that nothing has ended yet
        self._told: set[tuple[int, int]] = set()  # the places whose text has come
        self._spoken: set[tuple[str, int]] = set()  # the same by their items' ids, where the places are wrong
        self._since = False  # text came since the latest item began
        self._latest: tuple[int, int] | None = None  # the place of the latest text
        self._calls: dict[int, tuple[int, int]] = {}  # by place: lane and index
        self._said: set[int] = set()  # the places of calls whose arguments have begun to come
        self._ids: set[str] = set()  # of the calls that came
        self._ended = False

    def events(self, kind: str, event: Fields) -> Iterable[Part]:
        """The events of one frame."""
        if kind == DELTA:
            place = place_of(event), place_of(event, "content_index")
            if place not in self._told:
                self._spoken.add((rawjson.word(event, "item_id"), place[1]))
            return self._text(place, rawjson.word(event, "delta"))
        if kind in {"response.created", "response.in_progress"}:
            response = rawjson.fields(event.get("response"))
            self.reply_id = self.reply_id or rawjson.word(response, "id")
            self.namespaces = self.namespaces or namespaces(response.get("tools"))
        elif kind == "response.output_item.added":
            return self._added(event)
        elif kind == "response.content_part.added":
            return self._part(event)
        elif kind == TEXT_DONE:
            return self._ending(event, rawjson.word(event, "text"))
        elif kind == PART_DONE:
            part = rawjson.fields(event.get("part"))
            return self._ending(event, rawjson.word(part, "text") if is_text(part) else "")
        elif kind in PIECES:
            return self._arguments(event, *PIECES[kind])
        elif kind == "response.output_item.done":
            return self._done(event)
        elif kind in TERMINAL:
            return self._finished(kind, event)
        return ()

    # Text

    def _text(self, place: tuple[int, int], text: str) -> Iterator[Part]:
        lane = self._lanes.get(place)
        if lane is None:
            yield from self._ends()
            lane = self._lanes[place] = self._lane = len(self._lanes)
        if text and not (self._open and self._since and place == self._latest):
            self._open = self._since = True
            self._latest = place
            self._told.add(place)
        yield lane, Text(text)

    def _ending(self, event: Fields, text: str) -> Iterator[Part]:
        """A frame that says what a text or a part was. Some servers count otherwise there than in its pieces."""
        place = place_of(event), place_of(event, "content_index")
        item = rawjson.word(event, "item_id")
        if text and place not in self._told and not (item and (item, place[1]) in self._spoken):
            yield from self._text(place, text)

    def _ends(self) -> Iterator[Part]:
        """Something else begins, so what came before it is whole."""
        if self._open:
            self._open = False
            yield self._lane, Finish("stop")

    def _part(self, event: Fields) -> Iterator[Part]:
        yield from self._ends()
        if is_text(rawjson.fields(event.get("part"))):
            yield self._lane, Text("")

    # Items

    def _added(self, event: Fields) -> Iterator[Part]:
        item = rawjson.fields(event.get("item"))
        self._since = False
        if (kind := kind_of(item)) is not None:
            if not (place_of(event) in self._calls and rawjson.word(item, "call_id") in self._ids):  # told twice
                yield from self._begun(event, item, kind)
            return
        yield from self._ends()
        if rawjson.word(item, "type") == "message":
            yield self._lane, Text("")

    def _begun(self, event: Fields, item: Fields, kind: Kind) -> Iterator[Part]:
        self._open = bool(self._lanes)  # calls before the first text are told with it
        index = len(self._calls)
        self._calls[place_of(event)] = self._lane, index
        self._ids.add(rawjson.word(item, "call_id"))
        yield self._lane, CallStart(index, kind.name(item), id=rawjson.word(item, "call_id"), form=kind.form)

    def _arguments(self, event: Fields, kind: Kind, piece: bool) -> Iterator[Part]:
        place = place_of(event)
        if place not in self._calls or not (piece or place not in self._said):
            return
        lane, index = self._calls[place]
        said = rawjson.word(event, "delta" if piece else kind.holds[0])
        if said and kind is CUSTOM:
            said = escape(said) if place in self._said else INPUT_BEGINS + escape(said)
        if said:
            self._said.add(place)
            yield lane, CallPiece(index, said)

    def _done(self, event: Fields) -> Iterator[Part]:
        item, place = rawjson.fields(event.get("item")), place_of(event)
        if (kind := kind_of(item)) is not None:
            yield from self._call_done(event, item, kind)
            return
        if not self._since:
            yield from self._message(item, place)
        self._since = False

    def _call_done(self, event: Fields, item: Fields, kind: Kind) -> Iterator[Part]:
        place = place_of(event)
        if place not in self._calls:
            yield from self._begun(event, item, kind)
        lane, index = self._calls[place]
        is_whole = rawjson.word(item, "status") != "incomplete"
        if place not in self._said:
            if arguments := kind.arguments(item):
                yield lane, CallPiece(index, arguments)
        elif kind is CUSTOM and is_whole:
            yield lane, CallPiece(index, INPUT_ENDS)
        if is_whole:
            yield lane, CallEnd(index)

    def _message(self, item: Fields, place: int) -> Iterator[Part]:
        """The texts of a message that is there as a whole."""
        for number, part in enumerate(parts_of(item)):
            text = rawjson.word(part, "text") if is_text(part) else ""
            if text and (place, number) not in self._told:
                yield from self._text((place, number), text)

    # The end

    def _finished(self, kind: str, event: Fields) -> Iterator[Part]:
        if self._ended:
            return
        self._ended = True
        response = rawjson.fields(event.get("response")) if kind != "error" else {"status": "failed"}
        silent = not self._told
        for place, item in enumerate(map(rawjson.fields, rawjson.items(response.get("output")))):
            call = kind_of(item)
            if call is not None and rawjson.word(item, "call_id") not in self._ids:
                self._open = bool(self.late)
                yield from native(self._lane, len(self._calls) + len(self.untold), call, item)
                self.untold[place] = item
            elif silent:
                for part in self._message(item, place):
                    if isinstance(part[1], Text):
                        self.late.setdefault(place, set()).add(part[0])
                    yield part
        self._open = False
        yield self._lane, Finish(reason_of(response, calls=bool(self._calls or self.untold)))
