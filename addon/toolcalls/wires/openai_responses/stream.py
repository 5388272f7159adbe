"""A streamed reply: `response.*` events over SSE, or one a WebSocket message.

Every frame goes through `encode`, for the codec follows what its client has been told from the first one on; one in
which nothing changed comes back as it is. What the frames hold is read by `reading`, what the client is told beside
them is said by `client`; here stands what becomes of each of the upstream's own frames.

Past 300 lines: one handler for each kind of frame, over the state that all of them keep.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from toolcalls.events import CallStart, Event, Finish, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.calls import PIECES, Kind, Made, kind_of
from toolcalls.wires.openai_responses.client import Client, opens, within
from toolcalls.wires.openai_responses.items import (
    MESSAGE,
    Message,
    Segment,
    is_stopped,
    is_text,
    parts_of,
    response_with,
    text_part,
)
from toolcalls.wires.openai_responses.reading import DELTA, PART_DONE, TERMINAL, TEXT_DONE, Reading, place_of
from toolcalls.wires.openai_responses.replacement import Standing


def _content(parts: Sequence[Part]) -> tuple[str, bool, list[Event]]:
    """What a frame tells of the reply: its text, whether it opens a place for text, and its other events."""
    text = "".join(event.text for _, event in parts if isinstance(event, Text))
    return text, opens(parts), [event for _, event in parts if not isinstance(event, Text | Finish)]


def _gone(parts: Sequence[Part]) -> int:
    """Where the parts tell that a native call goes; their number where they do not."""
    return next((place for place, (_, event) in enumerate(parts) if isinstance(event, Withdrawn)), len(parts))


def _begins(parts: Sequence[Part]) -> bool:
    """Whether a native call stays one."""
    return any(isinstance(event, CallStart) and event.dialect is None for _, event in parts)


def _refusals(item: Fields) -> list[Fields]:
    """The parts of a message that are no text."""
    return [part for part in parts_of(item) if not is_text(part)]


class Stream:
    """The codec of a streamed reply. `encode` is given every frame that `decode` has seen, once and in order."""

    must_encode = True

    def __init__(self) -> None:
        self.can_omit = False
        self._reading = Reading()
        self._client = Client(self._reading)
        self._decoded: deque[tuple[str, Fields, list[Part]]] = deque()
        self._came: list[Part] = []  # the events that the frame in hand came with
        self._places: dict[int, int | None] = {}  # where the client sees the upstream's items; None: nowhere
        self._homes: dict[int, list[Any]] = {}  # what the upstream's items have become; None: what they were
        self._messages: dict[int, Message] = {}
        self._natives: dict[int, Made] = {}  # native calls that the client has got, by their places
        self._cut: set[int] = set()  # the places of those that had begun to leave
        self._gone: set[str] = set()  # the ids of those that went
        self._standing: dict[int, bool] = {}  # of those that only the whole response holds, whether they stay

    @property
    def reply_id(self) -> str:
        """The response's own id."""
        return self._reading.reply_id

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame."""
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        parts = list(self._reading.events(kind, event))
        self._decoded.append((kind, event, parts))
        text = parts[0][1] if len(parts) == 1 else None
        self.can_omit = kind == DELTA and isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        """The frames for `parts`: what is made of the text before comes first, then the frame itself."""
        kind, event, self._came = self._decoded.popleft()
        client = self._client
        client.begin(event)
        _HANDLERS.get(kind, Stream._other)(self, event, parts)
        if not client.moved and _content(parts) == _content(self._came):
            return [payload]  # whatever state the stream is in: nothing was changed so far
        client.moved = True
        client.end()
        if len(client.out) == 1 and client.out[0] == event:
            return [payload]
        return [rawjson.written(made) for made in client.out]

    def _other(self, event: Fields, parts: Sequence[Part]) -> None:
        """A frame that is about no text of ours; where it is about an item, the item may have another place."""
        self._client.tell(parts)
        at = place_of(event)
        if "output_index" not in event:
            self._client.hand_on(event)
        elif (message := self._messages.get(at)) is not None:
            if message.segment is not None:
                self._client.hand_on(event, **within(event, message.segment))
        elif at not in self._cut and (place := self._places.get(at, at)) is not None:
            self._client.hand_on(event, output_index=place)

    # Messages

    def _begin_item(self, at: int) -> None:
        """An item of the upstream's begins; what is of ours until the next one stands with it."""
        self._client.end_own()
        self._client.home = self._homes[at] = []

    def _within(self, event: Fields) -> Message:
        """The message that a frame is about; one that nobody has opened is open."""
        client, at = self._client, place_of(event)
        message = self._messages.get(at)
        if message is None:
            client.end_own()
            client.home = self._homes.setdefault(at, [])
            item = {"id": event["item_id"], **MESSAGE} if "item_id" in event else dict(MESSAGE)
            message = self._messages[at] = Message(item, client.home)
            message.segment = Segment(message.id(), max(at, client.next), 0)
            client.next = message.segment.place + 1
        elif client.message is not message:
            client.end_own()
        client.message = message
        return message

    def _delta(self, event: Fields, parts: Sequence[Part]) -> None:
        client, message = self._client, self._within(event)
        delta = rawjson.word(event, "delta")
        text = "".join(part.text for _, part in parts if isinstance(part, Text))
        if any(not isinstance(part, Text) for _, part in parts):
            message.touched = True
            client.tell(parts)
        elif text != delta:
            message.touched = True
            client.text(text, event)
        elif text:
            client.text(text, event)
        elif opens(parts) or message.segment is not None:
            client.hand_on(event, **(within(event, message.segment) if message.segment is not None else {}))

    def _part_added(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (is_text(part) or place_of(event) in self._messages):
            self._other(event, parts)
            return
        client = self._client
        client.tell(parts)
        message = self._within(event)
        if is_text(part) and not opens(parts):
            message.held.append(event)
            return
        segment = message.segment
        if segment is None:  # a refusal behind a call that was made
            segment = client.show(message, message.held, place_of(event, "content_index"))
            message.held.clear()
        where = within(event, segment)
        begun = segment.part is not None and where.get("content_index") == len(segment.content)
        if is_text(part) and not begun:  # else its text came before it was told of
            segment.begin(part)
        client.hand_on(event, **where)

    def _brings(self, parts: Sequence[Part], event: Fields) -> bool:
        """Whether a frame that says how a text ended is the first to say it; then the client is told what became of it.

        Text that stays as it is goes with the frame, as it came.
        """
        text = _content(self._came)[0]
        if not text:
            self._client.tell(parts)
            return False
        message = self._within(event)
        if _content(parts) == (text, False, []):
            self._client.part(event)[1].pieces.append(text)
        else:
            message.touched = True
            self._client.tell(parts)
        return True

    def _text_done(self, event: Fields, parts: Sequence[Part]) -> None:
        self._brings(parts, event)
        message = self._within(event)
        segment = message.segment
        if segment is None or (message.touched and segment.part is None):
            return
        segment.said = True
        rest: Fields = {}
        if message.touched and rawjson.word(event, "text") != segment.text:
            rest = {"text": rawjson.string(segment.text), **({"logprobs": []} if "logprobs" in event else {})}
        self._client.hand_on(event, **within(event, segment), **rest)

    def _part_done(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (is_text(part) or place_of(event) in self._messages):
            self._other(event, parts)
            return
        brings = self._brings(parts, event)
        message = self._within(event)
        segment = message.segment
        if segment is None or (message.touched and is_text(part) and segment.part is None):
            return
        if brings and message.touched:
            self._client.text_ends(segment)
        where = within(event, segment)
        if message.touched and is_text(part) and rawjson.word(part, "text") != segment.text:
            part = text_part(part, segment.text)
            self._client.hand_on(event, **where, part=part)
        else:
            self._client.hand_on(event, **where)
        segment.content.append(part)
        segment.part = None

    def _annotation(self, event: Fields, parts: Sequence[Part]) -> None:
        """What an annotation is about may be in a call by now; then it is about nothing that is shown."""
        self._client.tell(parts)
        segment = self._within(event).segment
        if segment is not None:
            self._client.hand_on(event, **within(event, segment))
            if segment.part is not None:  # it is told again where the part ends
                known = rawjson.items(segment.part.get("annotations"))
                known.append(event.get("annotation", rawjson.NULL))
                segment.part = {**segment.part, "annotations": known}

    def _message_done(self, event: Fields, parts: Sequence[Part], item: Fields) -> None:
        client, at = self._client, place_of(event)
        came = _content(self._came)[0]
        if not came:
            client.tell(parts)
        elif at not in self._messages:  # nobody has opened it
            lanes = {lane for lane, said in self._came if isinstance(said, Text)}
            client.tell(part for part in parts if part[0] not in lanes)  # what came before it
            parts = [part for part in parts if part[0] in lanes]
            self._begin_item(at)
            self._messages[at] = Message(item, client.home)
        message = self._within(event)
        if came and (message.touched or _content(parts) != (came, False, [])):
            client.tell(parts)
            client.close(behind=_refusals(item))
            client.message = None
            return
        segment, message.segment = message.segment, None
        client.message = None  # what comes now stands in a message of its own
        if segment is None and came:
            message.home.append(None)
            client.hand_on(event, output_index=client.take(at))
        elif segment is None:
            return
        elif not message.touched:
            message.home.append(None)
            client.hand_on(event, output_index=segment.place)
        else:  # with what nobody has said to be over
            made = {**item, "id": segment.id, "content": segment.closed()}
            message.home.append(made)
            client.hand_on(event, output_index=segment.place, item=made)

    # Calls

    def _added(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        item, at = rawjson.fields(event.get("item")), place_of(event)
        kind = kind_of(item)
        gone = _gone(parts)
        client.tell(parts[:gone], natives=kind is None)
        client.end_thought()
        self._begin_item(at)
        if rawjson.word(item, "type") == "message":
            client.message = self._messages[at] = message = Message(item, client.home)
            message.held.append(event)
            if opens(parts):
                client.show(message, [event], 0)
                message.held.clear()
        elif kind is not None and not _begins(parts):
            self._leave_out(item, at, parts[gone:])
        else:
            self._keep(kind, event, at)

    def _keep(self, kind: Kind | None, event: Fields, at: int) -> None:
        """An item of the upstream's that stays."""
        client = self._client
        self._places[at] = place = client.take(at)
        if kind is not None:
            self._natives[at] = Made(kind, rawjson.fields(event["item"]), place)
        client.home.append(None)
        client.hand_on(event, output_index=place)

    def _leave_out(self, item: Fields, at: int, parts: Sequence[Part]) -> None:
        """A native call that the client does not get here. `parts`: that it goes, and what stands in its place."""
        self._places[at] = None
        if parts:
            id_ = rawjson.word(item, "call_id")
            self._gone.add(id_)
            self._client.replaced[id_] = item
        self._client.tell(parts)

    def _arguments(self, event: Fields, parts: Sequence[Part]) -> None:
        """A piece of a native call's arguments, or all of them."""
        at = place_of(event)
        place, native = self._places.get(at, at), self._natives.get(at)
        if place is None or self._breaks_off(at, parts):
            self._client.tell(parts)
            return
        if native is not None:
            native.pieces.append(rawjson.word(event, "delta"))
        self._client.hand_on(event, output_index=place)

    def _breaks_off(self, at: int, parts: Sequence[Part]) -> bool:
        """Whether a call that had begun to leave is told nothing more."""
        if _gone(parts) < len(parts):
            self._cut.add(at)
        return at in self._cut

    def _item_done(self, event: Fields, parts: Sequence[Part]) -> None:
        client = self._client
        item, at = rawjson.fields(event.get("item")), place_of(event)
        kind = kind_of(item)
        if rawjson.word(item, "type") == "message":
            self._message_done(event, parts, item)
            return
        if kind is None:
            self._other(event, parts)
            return
        if at not in self._places:  # nobody has opened it
            gone = _gone(parts)
            client.tell(parts[:gone], natives=False)
            self._begin_item(at)
            if _begins(parts):
                self._keep(kind, event, at)
                return
            self._leave_out(item, at, parts[gone:])
        if self._places[at] is None:
            client.lowered[rawjson.word(item, "call_id")] = item
        elif not self._breaks_off(at, parts):
            client.hand_on(event, output_index=self._places[at])

    # The end

    def _ended(self, event: Fields, parts: Sequence[Part]) -> None:
        """The whole response says what the stream has said."""
        client = self._client
        response = rawjson.fields(event.get("response"))
        output = rawjson.items(response.get("output"))
        self._cut.update(
            place
            for lane, said in parts
            if isinstance(said, Withdrawn)
            for place in self._reading.places(lane, said.index)
            if place in self._natives
        )
        client.tell(self._late(self._untold(parts), output))
        client.end_thought()
        client.end_own()
        open_, client.calls = list(client.calls.values()), {}
        for call in open_:
            call.end("incomplete")
        if "response" not in event:
            client.hand_on(event)
            return
        cut, stopped = bool(open_ or self._cut), is_stopped(response, parts)
        made = [*client.before, *(item for place, was in enumerate(output) for item in self._became(place, was))]
        same = len(made) == len(output) and all(item is was for item, was in zip(made, output, strict=True))
        made = output if same or not output else made  # some servers leave it empty
        whole = response_with(response, output, made, cut=cut, stopped=stopped)
        was = rawjson.word(event, "type")
        now = "incomplete" if cut and was == "response.completed" else "completed" if stopped and not cut else ""
        kind = {"type": f"response.{now}"} if now and was != f"response.{now}" else {}
        client.hand_on({**event, **kind} if kind else event, **({} if whole is response else {"response": whole}))

    def _untold(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Note which of the calls that only the whole response holds stay; returns what else there is to tell."""
        untold = self._reading.untold
        if not untold:
            return parts
        standing = Standing(list(untold.values()), parts)
        told = [*standing.rest, *(part for call in standing.behind for part in call.parts)]
        for place, item in untold.items():
            call = standing.next()
            self._standing[place] = call is not None and call.stands_in(item)
            told += call.parts if call is not None and not self._standing[place] else ()
        return told

    def _late(self, parts: Sequence[Part], output: Sequence[Any]) -> Iterable[Part]:
        """Tell what became of the texts that only the whole response holds; returns what else there is to tell."""
        client, late = self._client, self._reading.late
        for place, lanes in late.items():
            message = self._messages.get(place)
            if message is None:
                client.end_own()
                client.home = self._homes[place] = []
                message = self._messages[place] = Message(rawjson.fields(output[place]), client.home)
            client.message, client.home = message, message.home
            client.tell(part for part in parts if part[0] in lanes)
            client.close(behind=_refusals(rawjson.fields(output[place])))
            client.message = None
        told = set().union(*late.values()) if late else set()
        return [part for part in parts if part[0] not in told]

    def _became(self, place: int, item: Any) -> Iterator[Any]:
        """The items that the client has seen in the place of one; what did not change as it stands at the end."""
        if place not in self._homes and rawjson.word(rawjson.fields(item), "call_id") in self._gone:
            return
        if not self._standing.get(place, True):
            return
        if place in self._cut:
            native = self._natives[place]
            item = self._broken(native, rawjson.fields(item))
        for became in self._homes.get(place, (None,)):
            yield item if became is None else became
        message = self._messages.get(place)
        segment = message.segment if message is not None else None
        if message is None or segment is None:
            return
        yield {**rawjson.fields(item), "id": segment.id, "content": segment.closed()} if message.touched else item

    @staticmethod
    def _broken(native: Made, item: Fields) -> Fields:
        """A native call that broke off on its way, as far as the client has got it."""
        if native.kind.whole:
            return {**native.item, "status": rawjson.string("incomplete")}
        held = {native.kind.holds[0]: "".join(native.pieces), "status": "incomplete"}
        named = {"name": native.item["name"]} if "name" in native.item else {}
        return {**item, **named, **{key: rawjson.string(word) for key, word in held.items()}}


type _Handler = Callable[[Stream, Fields, Sequence[Part]], None]

_HANDLERS: dict[str, _Handler] = {
    DELTA: Stream._delta,
    TEXT_DONE: Stream._text_done,
    "response.output_text.annotation.added": Stream._annotation,
    "response.content_part.added": Stream._part_added,
    PART_DONE: Stream._part_done,
    **dict.fromkeys(PIECES, Stream._arguments),
    "response.output_item.added": Stream._added,
    "response.output_item.done": Stream._item_done,
    **dict.fromkeys(TERMINAL, Stream._ended),
}
