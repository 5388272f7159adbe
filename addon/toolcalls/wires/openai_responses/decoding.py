"""The decoding half of a streamed reply: which events a frame holds.

Text and arguments are read where they come first: in their deltas, else in the frame that says how they ended, else in
the whole response. A server that sends deltas says each text up to four times more; so a text at the end of an item
counts only if none came since the item began, and one of the whole response only if none came at all.

A call's name and arguments, too, are said up to three times more, and many clients take what the item's end or the
whole response says. Where that is another call than before, it is `CallUpdate`.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from toolcalls.events import (
    CallEnd,
    CallPiece,
    CallStart,
    CallUpdate,
    Fetched,
    Finish,
    Note,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Reason,
    Reasoning,
    Text,
    Unplaced,
)
from toolcalls.values import rawjson
from toolcalls.values.conversion import escape, same_arguments
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, call_at_once, damages
from toolcalls.wires.openai_responses.calls import (
    CUSTOM,
    FUNCTION,
    INPUT_BEGINS,
    INPUT_ENDS,
    PIECES,
    CallKind,
    has_members,
    holds_call,
    kind_of,
    namespaces,
)
from toolcalls.wires.openai_responses.items import fetched, is_other, is_text, parts_of, reason_of, thought_in

DELTA = "response.output_text.delta"
TEXT_DONE = "response.output_text.done"
PART_DONE = "response.content_part.done"
TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})

# The events whose items are read.
_WITH_CALLS = (TERMINAL - {"error"}) | {"response.output_item.added", "response.output_item.done"}


def place_of(event: Fields, key: str = "output_index") -> int:
    """The place (`output_index`, say) that a frame is about; 0 where it does not say."""
    return rawjson.number(event, key, 0)


def of_id(id_: str, ids: Container[str]) -> Iterator[Reason]:
    """What is wrong with the id of a call that begins. `ids` are those of the calls before it."""
    if not id_:
        yield "no_id"
    elif id_ in ids:
        yield "repeated_id"


def of_item(kind: CallKind, item: Fields) -> Iterator[Reason]:
    """What is wrong with an item, or an event, by itself."""
    if kind is FUNCTION and rawjson.is_object(item.get("arguments")):
        yield "object_arguments"


def whole_call(lane: int, index: int, kind: CallKind, item: Fields, ids: Container[str]) -> Iterator[Part]:
    """The events of a call that comes whole. `ids`: those of the calls before it."""
    id_ = rawjson.word(item, "call_id")
    start = CallStart(index, kind.name(item), id=id_, form=kind.form, space=rawjson.word(item, "namespace"))
    wrong = (*of_id(id_, ids), *of_item(kind, item))
    whole = rawjson.word(item, "status") != "incomplete"
    return call_at_once(lane, start, kind.arguments(item), *wrong, whole=whole)


@dataclass(slots=True, eq=False)
class _Call:
    """A call as far as it has arrived. `texts` are what its pieces hold."""

    lane: int
    index: int
    kind: CallKind
    name: str
    space: str
    id: str
    texts: list[str] = field(default_factory=list, init=False)

    def correction(self, end: Fields) -> Iterator[Part]:
        """An update where an event or item at the end says something else of the call than was said before."""
        said = self.kind.json("".join(self.texts))
        name = self.kind.name(end) or self.name
        space = rawjson.word(end, "namespace") or self.space
        arguments = (self._arguments(end) if any(key in end for key in self.kind.holds) else "") or said
        if (name, space) != (self.name, self.space) or not same_arguments(arguments, said):
            self.name, self.space = name, space
            yield self.lane, CallPiece(self.index, "", CallUpdate(name, arguments, name, space))

    def is_said_by(self, item: Fields) -> bool:
        """Whether an item is the call as it came."""
        same = (self.kind.name(item), rawjson.word(item, "namespace")) == (self.name, self.space)
        return same and same_arguments(self._arguments(item), self.kind.json("".join(self.texts)))

    def _arguments(self, end: Fields) -> str:
        if self.kind is CUSTOM:  # closed, even in an item that says that it is incomplete
            return self.kind.json(rawjson.word(end, self.kind.holds[0]))
        return self.kind.arguments(end)


class Reading:
    """What is known of the reply so far. It runs ahead of the encoding half, which follows the client.

    guarded       a rule may block calls, so they are read as the most careless client would: also in an item that says
                  that it is incomplete
    withdrawn     lanes and indexes of calls that the client did not get, or not whole, where `guarded` is set
    left_unread   the latest frame holds calls that are none of its events, and `guarded` is set
    """

    def __init__(self) -> None:
        self.guarded = False
        self.left_unread = False
        self.withdrawn: set[tuple[int, int]] = set()
        self.reply_id = ""
        self.namespaces: dict[str, str] = {}
        self.unstreamed_calls: dict[int, Fields] = {}  # calls that only the whole response holds, by their places in it
        # The lanes of texts that only the whole response holds, by their messages' places and numbers in these.
        self.unstreamed_texts: dict[int, dict[int, int]] = {}
        self._lanes: dict[tuple[int, int], int] = {}
        self._lane = 0
        self._open = False  # text or a call came that nothing has ended yet
        self._behind_call = False  # a call began since the latest text did
        self._streamed: set[tuple[int, int]] = set()  # the places whose text has come
        self._streamed_ids: set[tuple[str, int]] = set()  # the same by their items' ids, where the places are wrong
        self._text_in_item = False  # text came since the latest item began
        self._latest: tuple[int, int] | None = None  # the place of the latest text
        self._calls: dict[int, _Call] = {}  # by place
        self._with_arguments: set[int] = set()  # the places of calls whose arguments have begun to come
        self._ids: dict[str, list[_Call]] = {}  # the calls that came; some servers give several the same id
        self._items_done = False  # an item has come as a whole
        self._ended = False

    def events(self, kind: str, event: Fields) -> Iterable[Part]:
        self.left_unread = False
        if kind == DELTA:
            place = place_of(event), place_of(event, "content_index")
            if place not in self._streamed:
                self._streamed_ids.add((rawjson.word(event, "item_id"), place[1]))
            return self._text(place, rawjson.word(event, "delta"))
        if self.guarded and kind not in _WITH_CALLS and holds_call(event):
            self.left_unread = True
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
            if self._behind_call and lane:
                yield lane, ParagraphEnd()
            self._behind_call = False
        if text and not (self._open and self._text_in_item and place == self._latest):
            self._open = self._text_in_item = True
            self._latest = place
            self._streamed.add(place)
        yield lane, Text(text)

    def _ending(self, event: Fields, text: str) -> Iterator[Part]:
        """A frame that says what a text or a part was. Some servers count otherwise there than in its pieces."""
        place = place_of(event), place_of(event, "content_index")
        item = rawjson.word(event, "item_id")
        if text and place not in self._streamed and not (item and (item, place[1]) in self._streamed_ids):
            yield from self._text(place, text)

    def _ends(self) -> Iterator[Part]:
        """Something else begins, so what came before it is whole."""
        if self._open:
            self._open = False
            yield self._lane, PartEnd("stop")

    def _part(self, event: Fields) -> Iterator[Part]:
        yield from self._ends()
        if is_text(rawjson.fields(event.get("part"))):
            yield self._lane, Text("")

    # Items

    def _added(self, event: Fields) -> Iterator[Part]:
        item = rawjson.fields(event.get("item"))
        self._text_in_item = False
        if (kind := kind_of(item)) is not None:
            known = self._calls.get(place_of(event))
            if known is None or rawjson.word(item, "call_id") not in self._ids:
                yield from self._begun(event, item, kind)
                if self.guarded and not kind.whole and has_members(kind.arguments(item)):  # LangChain begins with them
                    yield from self._calls[place_of(event)].correction(item)
            else:  # announced twice
                yield from known.correction(item)
            return
        yield from self._ends()
        if rawjson.word(item, "type") == "message":
            yield self._lane, Text("")
        elif rawjson.word(item, "type") == "reasoning":
            yield self._lane, Reasoning("")

    def _begun(self, event: Fields, item: Fields, kind: CallKind) -> Iterator[Part]:
        self._open = bool(self._lanes)  # calls before the first text are reported with it
        self._behind_call = True
        index = len(self._calls)
        name, id_ = kind.name(item), rawjson.word(item, "call_id")
        place = place_of(event)
        codes: list[Reason] = [*of_id(id_, self._ids), *of_item(kind, item)]
        if place in self._calls:
            codes.append("glued_calls")
        call = self._calls[place] = _Call(self._lane, index, kind, name, rawjson.word(item, "namespace"), id_)
        self._ids.setdefault(id_, []).append(call)
        yield self._lane, CallStart(index, name, id=id_, form=kind.form, space=call.space)
        yield from damages(self._lane, index, *codes)

    def _arguments(self, event: Fields, kind: CallKind, piece: bool) -> Iterator[Part]:
        place = place_of(event)
        call = self._calls.get(place)
        said = rawjson.word(event, "delta" if piece else kind.holds[0])
        if said and (call is None or not rawjson.is_place(event.get("output_index"))):
            yield self._lane, Unplaced()
        if call is None:
            self.left_unread = self.guarded
            return
        if place in self._with_arguments and not piece:
            yield from call.correction(event)
            return
        call.texts.append(said)
        if said and kind is CUSTOM:
            said = escape(said) if place in self._with_arguments else INPUT_BEGINS + escape(said)
        if said:
            self._with_arguments.add(place)
            yield call.lane, CallPiece(call.index, said)

    def _done(self, event: Fields) -> Iterator[Part]:
        item, place = rawjson.fields(event.get("item")), place_of(event)
        self._items_done = True
        if (kind := kind_of(item)) is not None:
            yield from self._call_done(event, item, kind)
            return
        yield from ((self._lane, Fetched(text)) for text in fetched(item))
        yield from self._aside(item)
        if not self._text_in_item:
            yield from self._message(item, place)
        self._text_in_item = False

    def _call_done(self, event: Fields, item: Fields, kind: CallKind) -> Iterator[Part]:
        place = place_of(event)
        if place not in self._calls:
            yield from self._begun(event, item, kind)
        call = self._calls[place]
        is_whole = rawjson.word(item, "status") != "incomplete"
        arguments = kind.arguments(item)
        yield from damages(call.lane, call.index, *of_item(kind, item))
        if (id_ := rawjson.word(item, "call_id")) not in {"", call.id}:
            self._ids.setdefault(id_, []).append(call)  # the whole response may know it by either
            yield from damages(call.lane, call.index, "changed_id")
        if place not in self._with_arguments:
            if arguments:
                call.texts.append(rawjson.word(item, kind.holds[0]) if kind is CUSTOM else arguments)
                yield call.lane, CallPiece(call.index, arguments)
        elif kind is CUSTOM and is_whole:
            yield call.lane, CallPiece(call.index, INPUT_ENDS)
        if is_whole or self.guarded:
            yield from call.correction(item)
        if is_whole:
            yield call.lane, CallEnd(call.index)

    def _aside(self, item: Fields) -> Iterator[Part]:
        """What is only to be known of an item that is no call: its reasoning, or that it is something else."""
        if thought := thought_in(item):
            yield self._lane, Reasoning("", said=thought)
        elif is_other(item):
            yield self._lane, OtherContent()

    def _message(self, item: Fields, place: int) -> Iterator[Part]:
        """The texts of a message that is there as a whole."""
        for number, part in enumerate(parts_of(item)):
            text = rawjson.word(part, "text") if is_text(part) else ""
            if text and (place, number) not in self._streamed:
                yield from self._text((place, number), text)

    # The end

    def take_unstreamed(self) -> tuple[dict[int, Fields], dict[int, dict[int, int]]]:
        """The calls and the lanes of texts that only the whole response holds; they are given once."""
        taken = self.unstreamed_calls, self.unstreamed_texts
        self.unstreamed_calls, self.unstreamed_texts = {}, {}
        return taken

    def places_of_call(self, lane: int, index: int) -> list[int]:
        """The places at which the stream has announced a call."""
        return [place for place, call in self._calls.items() if (call.lane, call.index) == (lane, index)]

    def places_of_id(self, id_: str) -> list[int]:
        """The places at which the stream has announced calls with this id."""
        return [place for place, call in self._calls.items() if call in self._ids.get(id_, ())]

    def is_withdrawn(self, item: Fields) -> bool:
        """Whether an item may be a call that was withdrawn."""
        calls = self._ids.get(rawjson.word(item, "call_id"), ())
        return any((call.lane, call.index) in self.withdrawn for call in calls)

    def is_at(self, place: int, item: Fields) -> bool:
        """Whether an item is the latest call at a place, as it came, and was not withdrawn."""
        call = self._calls.get(place)
        known = self._ids.get(rawjson.word(item, "call_id"), ())
        is_there = call is not None and call in known and (call.lane, call.index) not in self.withdrawn
        return call is not None and is_there and call.is_said_by(item)

    def _finished(self, kind: str, event: Fields) -> Iterator[Part]:
        response = rawjson.fields(event.get("response")) if kind != "error" else {"status": "failed"}
        if self._ended:
            self.left_unread = self.left_unread or (self.guarded and self._has_other_calls(response))
            return
        self._ended = True
        silent = not self._streamed
        met: Counter[str] = Counter()
        silent_ids: set[str] = set()  # of calls that only the whole response holds
        for place, item in enumerate(map(rawjson.fields, rawjson.items(response.get("output")))):
            kind_of_call, id_ = kind_of(item), rawjson.word(item, "call_id")
            if kind_of_call is not None and id_ in self._ids:
                met[id_] += 1
                if self.guarded or rawjson.word(item, "status") != "incomplete":
                    yield from self._ids[id_][: met[id_]][-1].correction(item)
            elif kind_of_call is not None:
                self._open = bool(self.unstreamed_texts)
                self._behind_call = True
                index = len(self._calls) + len(self.unstreamed_calls)
                yield from whole_call(self._lane, index, kind_of_call, item, silent_ids)
                silent_ids.add(id_)
                self.unstreamed_calls[place] = item
            elif silent:
                if rawjson.word(item, "type") == "reasoning":
                    yield self._lane, Reasoning("")
                yield from self._aside(item) if not self._items_done else ()
                yield from ((self._lane, Fetched(text)) for text in fetched(item))
                yield from self._message(item, place)
                numbers = range(len(parts_of(item)))
                lanes = {number: self._lanes[place, number] for number in numbers if (place, number) in self._lanes}
                if lanes:
                    self.unstreamed_texts[place] = lanes
        self._open = False
        if self._calls and "output" in response and not (met or self.unstreamed_calls):
            said = "the whole response holds none of its calls, and some clients read nothing else"
            yield self._lane, Note("finish_denies_calls", said, warns=True)
        yield self._lane, Finish(reason_of(response, calls=bool(self._calls or self.unstreamed_calls)))

    def _has_other_calls(self, response: Fields) -> bool:
        """Whether a response after the end holds a call that the stream did not say, or said otherwise."""
        calls = [item for item in map(rawjson.fields, rawjson.items(response.get("output"))) if kind_of(item)]
        return not all(map(self._is_streamed, calls))

    def _is_streamed(self, item: Fields) -> bool:
        return any(call.is_said_by(item) for call in self._ids.get(rawjson.word(item, "call_id"), ()))


class Events:
    """Decodes a stream whose frames nobody changes."""

    def __init__(self) -> None:
        self._reading = Reading()

    def decode(self, payload: bytes) -> list[Part]:
        event = rawjson.fields(payload)
        return list(self._reading.events(rawjson.word(event, "type"), event))
