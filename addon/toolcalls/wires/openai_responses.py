"""`openai_responses`: the Responses API, streamed (`response.*` over SSE, or one a WebSocket message) and whole.

https://platform.openai.com/docs/api-reference/responses. A reply is a row of output items: messages, function calls,
reasoning, the calls of hosted tools. The same text stands in five places of a stream (the delta, the ends of the text,
of the part and of the item, and the whole response at the end), so the codec follows what its client has been told from
the first frame on: every frame goes through `encode`, and one in which nothing changes comes back as it is. A lane is a
text part of a message; native calls belong to the text part before them, those before the first text to that one.

Items follow each other and never nest. A call that is made in the middle of a message's text closes that message; text
behind the call stands in a message of its own, with an id of its own. A message that would show nothing is not shown:
the frames that open it only leave with its first text. Items behind get other places, events other numbers. A call that
broke off gets no end (`arguments.done`, `output_item.done`): the response is then `incomplete`, as if it had met its
limit. Calls that become text stand in a message of their own at the end.

The item of a native call that goes (`Gone`) goes with all frames about it and from the whole response; what stands in
its place, a message or a call made anew, is an item of ours there. One that had begun to leave is told nothing more,
like any call that broke off. A call that only the whole response holds is read there. In a whole reply such text stands
with the message before the calls, or in the place of the first that goes.

Reasoning that stood in the text becomes a reasoning item with `reasoning_text`, as servers of open models write it.
Calls of custom tools, of hosted ones and of MCP pass untouched, with other places at most.

Past 300 lines, because one file holds one API: its streamed and its whole form, and what a request declares.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from toolcalls import rawjson
from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Gone, Reasoning, Text
from toolcalls.frames import Form
from toolcalls.rawjson import Fields
from toolcalls.request import Request, Tool
from toolcalls.wires import Codec, Part, form_of

_NOTHING: list[Any] = []
_MESSAGE: Fields = {"type": "message", "status": "in_progress", "role": "assistant", "content": _NOTHING}

_DELTA = "response.output_text.delta"
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})
# Statuses and reasons of this API in the words of the hub.
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _place(event: Fields, key: str = "output_index") -> int:
    return rawjson.number(event, key, 0)


# --- items ------------------------------------------------------------------------------------------------------------


def _call_item(start: CallStart, namespace: str) -> Fields:
    """A function call that has just begun."""
    item = {
        "id": rawjson.string("fc_" + start.id.removeprefix("call_")),
        "type": "function_call",
        "status": "in_progress",
        "arguments": rawjson.string(""),
        "call_id": rawjson.string(start.id),
        "name": rawjson.string(start.name),
    }
    return item | ({"namespace": rawjson.string(namespace)} if namespace else {})


def _text_part(like: Mapping[str, Any], text: str) -> Fields:
    """The text part `like` with another text; what is told of its tokens goes with them."""
    part = dict(like) or {"type": "output_text", "text": "", "annotations": _NOTHING}
    return {**part, "text": rawjson.string(text), **({"logprobs": _NOTHING} if "logprobs" in part else {})}


def _thought_part(text: str) -> Fields:
    return {"type": "reasoning_text", "text": rawjson.string(text)}


def _thought_item(id_: str, text: str | None) -> Fields:
    """A reasoning item; one without a text has just begun."""
    content = _NOTHING if text is None else [_thought_part(text)]
    return {"id": rawjson.string(id_), "type": "reasoning", "summary": _NOTHING, "content": content}


def _is_text(part: Mapping[str, Any]) -> bool:
    return rawjson.word(part, "type") == "output_text"


def _namespaces(tools: object) -> dict[str, str]:
    """The namespace of each function that is declared in one."""
    found: dict[str, str] = {}
    for tool in map(rawjson.fields, rawjson.items(tools)):
        if rawjson.word(tool, "type") == "namespace":
            for inner in map(rawjson.fields, rawjson.items(tool.get("tools"))):
                found[rawjson.word(inner, "name")] = rawjson.word(tool, "name")
    return found


class _Made:
    """A call or a thought of ours, as far as it came. `item` is the item that also stands in the whole response."""

    def __init__(self, item: Fields, place: int) -> None:
        self.item = item
        self.place = place
        self.pieces: list[str] = []

    @property
    def where(self) -> Fields:
        """Where the only part of its content stands."""
        return {"item_id": self.item["id"], "output_index": self.place, "content_index": 0}

    def end(self, status: str) -> None:
        """Write down what came of a call."""
        self.item["arguments"] = rawjson.string("".join(self.pieces))
        self.item["status"] = status


class _Message:
    """A message of the upstream's, and what the client sees of it: nothing yet, one message, or several with calls
    between them. `held` are the frames that open it or a part of it and that the client has not got.

    home   the items that the client has got in the upstream's item's place
    own    it is one of ours, for text that has none
    """

    def __init__(self, item: Fields, home: list[Any], *, own: bool = False) -> None:
        self.item = item
        self.home = home
        self.own = own
        self.held: list[Fields] = []
        self.segment: _Segment | None = None
        self.count = 0  # segments so far
        self.touched = own  # the client does not see it as it is

    def id(self) -> msgspec.Raw:
        """An id for the next segment; the first one has the message's own."""
        name = rawjson.word(self.item, "id") or "msg"
        self.count += 1
        return rawjson.string(name if self.count == 1 else f"{name}_{self.count}")


class _Segment:
    """One message that the client sees. Its text stands in pieces until its part is closed.

    base   the content_index, in the upstream's message, of its own first part
    """

    def __init__(self, id_: msgspec.Raw, place: int, base: int) -> None:
        self.id = id_
        self.place = place
        self.base = base
        self.content: list[Any] = []
        self.part: Fields | None = None
        self.pieces: list[str] = []
        self.said = False  # `output_text.done` is out

    @property
    def text(self) -> str:
        return "".join(self.pieces)


# --- a streamed reply -------------------------------------------------------------------------------------------------


class _Reading:
    """The decoding half: which events a frame holds. It runs ahead of the encoding half, which follows the client."""

    def __init__(self) -> None:
        self.reply_id = ""
        self.namespaces: dict[str, str] = {}
        self.untold: dict[int, Fields] = {}  # calls that only the whole response holds, by their places in it
        self._lanes: dict[tuple[int, int], int] = {}
        self._lane = 0
        self._open = False  # text or a call came that nothing has ended yet
        self._calls: dict[int, tuple[int, int]] = {}  # by place: lane and index
        self._said: set[int] = set()  # the places of calls whose arguments have begun to come
        self._ids: set[str] = set()  # of the calls that came
        self._ended = False

    def events(self, kind: str, event: Fields) -> Iterable[Part]:
        """The events of one frame."""
        if kind == _DELTA:
            return self._text(event)
        if kind in {"response.created", "response.in_progress"}:
            response = rawjson.fields(event.get("response"))
            self.reply_id = self.reply_id or rawjson.word(response, "id")
            self.namespaces = self.namespaces or _namespaces(response.get("tools"))
        elif kind == "response.output_item.added":
            return self._added(event)
        elif kind == "response.content_part.added":
            return self._part(event)
        elif kind.startswith("response.function_call_arguments."):
            return self._arguments(event, kind.endswith(".delta"))
        elif kind == "response.output_item.done":
            return self._done(event)
        elif kind in _TERMINAL:
            return self._finished(kind, event)
        return ()

    def _text(self, event: Fields) -> Iterator[Part]:
        place = _place(event), _place(event, "content_index")
        lane = self._lanes.get(place)
        if lane is None:
            yield from self._ends()
            lane = self._lanes[place] = self._lane = len(self._lanes)
        delta = rawjson.word(event, "delta")
        self._open = self._open or bool(delta)
        yield lane, Text(delta)

    def _ends(self) -> Iterator[Part]:
        """Something else begins, so what came before it is whole."""
        if self._open:
            self._open = False
            yield self._lane, Finish("stop")

    def _added(self, event: Fields) -> Iterator[Part]:
        item = rawjson.fields(event.get("item"))
        if rawjson.word(item, "type") == "function_call":
            yield from self._begun(event, item)
            return
        yield from self._ends()
        if rawjson.word(item, "type") == "message":
            yield self._lane, Text("")

    def _part(self, event: Fields) -> Iterator[Part]:
        yield from self._ends()
        if _is_text(rawjson.fields(event.get("part"))):
            yield self._lane, Text("")

    def _begun(self, event: Fields, item: Fields) -> Iterator[Part]:
        self._open = bool(self._lanes)  # calls before the first text are told with it
        index = len(self._calls)
        self._calls[_place(event)] = self._lane, index
        self._ids.add(rawjson.word(item, "call_id"))
        yield self._lane, CallStart(index, rawjson.word(item, "name"), id=rawjson.word(item, "call_id"))

    def _arguments(self, event: Fields, piece: bool) -> Iterator[Part]:
        place = _place(event)
        if place in self._calls and (piece or place not in self._said):
            lane, index = self._calls[place]
            arguments = rawjson.word(event, "delta" if piece else "arguments")
            if arguments:
                self._said.add(place)
                yield lane, CallPiece(index, arguments)

    def _done(self, event: Fields) -> Iterator[Part]:
        item, place = rawjson.fields(event.get("item")), _place(event)
        if rawjson.word(item, "type") != "function_call":
            return
        if place not in self._calls:
            yield from self._begun(event, item)
        lane, index = self._calls[place]
        if place not in self._said and (arguments := rawjson.word(item, "arguments")):
            yield lane, CallPiece(index, arguments)
        if rawjson.word(item, "status") != "incomplete":
            yield lane, CallEnd(index)

    def _finished(self, kind: str, event: Fields) -> Iterator[Part]:
        if not self._ended:
            self._ended = True
            self._open = False
            response = rawjson.fields(event.get("response")) if kind != "error" else {"status": "failed"}
            for place, item in enumerate(map(rawjson.fields, rawjson.items(response.get("output")))):
                if rawjson.word(item, "type") == "function_call" and rawjson.word(item, "call_id") not in self._ids:
                    yield from _native(self._lane, len(self._calls) + len(self.untold), item)
                    self.untold[place] = item
            yield self._lane, Finish(_reason(response, calls=bool(self._calls or self.untold)))


def _where(event: Fields, segment: _Segment) -> Fields:
    """Where the client sees what a frame of a message is about, as far as the frame says so."""
    index = _place(event, "content_index") - segment.base
    where = {"item_id": segment.id, "output_index": segment.place, "content_index": index}
    return {key: value for key, value in where.items() if key in event}


def _content(parts: Sequence[Part]) -> tuple[str, bool, list[Event]]:
    """What a frame tells of the reply: its text, whether it opens a place for text, and its other events."""
    text = "".join(event.text for _, event in parts if isinstance(event, Text))
    return text, _opens(parts), [event for _, event in parts if not isinstance(event, Text | Finish)]


def _opens(parts: Sequence[Part]) -> bool:
    """Whether what a frame opens is to be shown."""
    return any(isinstance(event, Text) and not event.text for _, event in parts)


def _gone(parts: Sequence[Part]) -> int:
    """Where the parts tell that a native call goes; their number where they do not."""
    return next((place for place, (_, event) in enumerate(parts) if isinstance(event, Gone)), len(parts))


def _is_stopped(response: Fields, parts: Sequence[Part]) -> bool:
    """Whether a response that met a limit is told to have ended by itself: a processor stopped it before."""
    told = next((event.reason for _, event in reversed(parts) if isinstance(event, Finish)), "")
    return rawjson.word(response, "status") == "incomplete" and told in {"stop", "tool_calls"}


def _begins(parts: Sequence[Part]) -> bool:
    """Whether a native call stays one."""
    return any(isinstance(event, CallStart) and event.dialect is None for _, event in parts)


def _as_was(raw: object, value: Any) -> Any:
    """`value` for a member that was `raw`, in the same spelling where it means the same."""
    if (
        isinstance(raw, msgspec.Raw)
        and isinstance(value, int | msgspec.Raw)
        and rawjson.value(raw) == rawjson.value(value)
    ):
        return raw
    return value


def _response(response: Fields, output: list[Any], made: list[Any], *, cut: bool, stopped: bool = False) -> Fields:
    """The whole response with other items.

    cut       one of its calls broke off, which no other member says
    stopped   it met its limit behind the end that the client is given
    """
    changes: Fields = {}
    if made is not output:
        changes["output"] = made
        if "output_text" in response:  # some servers send what the SDK computes
            parts = [part for item in map(rawjson.fields, made) for part in _texts(item)]
            changes["output_text"] = rawjson.string("".join(rawjson.word(part, "text") for part in parts))
    if cut and rawjson.word(response, "status") == "completed":
        changes |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if stopped and not cut:
        changes |= {"status": "completed", "incomplete_details": None}
    return {**response, **changes} if changes else response


def _reason(response: Fields, *, calls: bool) -> str:
    """Why a response ended, in the words of the hub."""
    status = rawjson.word(response, "status")
    if status == "incomplete":
        return _REASONS.get(rawjson.word(rawjson.fields(response.get("incomplete_details")), "reason"), "length")
    if status in {"failed", "cancelled"}:
        return "failed"
    return "tool_calls" if calls else "stop"


class _Stream:
    """The codec of a streamed reply. `encode` is given every frame that `decode` has seen, once and in order."""

    shifted = True

    def __init__(self) -> None:
        self.bare = False
        self._reading = _Reading()
        self._decoded: deque[tuple[Fields, list[Part]]] = deque()
        self._moved = False  # the client has been told something else than the upstream said
        self._out: list[Fields] = []
        self._first: int | None = None  # the number of the frame's first event, None where events have none
        self._numbers = 0  # how much higher the client's numbers are
        self._shared: Fields = {}  # what every event says beside its own
        self._next = 0  # the place of the next item
        self._places: dict[int, int | None] = {}  # where the client sees the upstream's items; None: nowhere
        self._homes: dict[int, list[Any]] = {}  # what the upstream's items have become; None: what they were
        self._home: list[Any] = []  # where an item of ours belongs
        self._before = self._home  # what comes before all of them
        self._messages: dict[int, _Message] = {}
        self._message: _Message | None = None  # the one that text belongs to
        self._calls: dict[tuple[int, int], _Made] = {}  # those of ours that are open
        self._thought: _Made | None = None
        self._lowered: dict[str, Fields] = {}  # native calls that the client has not got, by their ids
        self._natives: dict[int, _Made] = {}  # those that it has got, by their places
        self._cut: set[int] = set()  # the places of those that had begun to leave
        self._gone: set[str] = set()  # the ids of those that went
        self._standing: dict[int, bool] = {}  # of those that only the whole response holds, whether they stay
        self._own = 0  # items of ours that are no calls

    @property
    def reply_id(self) -> str:
        """The response's own id."""
        return self._reading.reply_id

    def decode(self, payload: bytes) -> list[Part]:
        """The events of one frame."""
        event = rawjson.fields(payload)
        kind = rawjson.word(event, "type")
        parts = list(self._reading.events(kind, event))
        self._decoded.append((event, parts))
        text = parts[0][1] if len(parts) == 1 else None
        self.bare = kind == _DELTA and isinstance(text, Text) and text.text != ""
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:  # noqa: ARG002
        """The frames for `parts`: what is made of the text before comes first, then the frame itself."""
        event, came = self._decoded.popleft()
        number = rawjson.number(event, "sequence_number", -1)
        self._first = None if number < 0 else number + self._numbers
        self._shared = {"stream_id": event["stream_id"]} if "stream_id" in event else {}
        self._out = []
        _HANDLERS.get(rawjson.word(event, "type"), _Stream._other)(self, event, parts)
        if not self._moved and _content(parts) == _content(came):
            return [payload]  # whatever state the stream is in: nothing was changed so far
        self._moved = True
        self._numbers += len(self._out) - 1
        if len(self._out) == 1 and self._out[0] == event:
            return [payload]
        return [rawjson.written(made) for made in self._out]

    # What is said

    def _say(self, kind: str, **members: Any) -> None:
        """A new event."""
        number = {} if self._first is None else {"sequence_number": self._first + len(self._out)}
        self._out.append({"type": kind, **number, **members, **self._shared})

    def _pass(self, event: Fields, **changes: Any) -> None:
        """An event of the upstream's with some of its members changed, and its number."""
        if self._first is not None:
            changes["sequence_number"] = self._first + len(self._out)
        self._out.append({**event, **{key: _as_was(event.get(key), value) for key, value in changes.items()}})

    def _take(self) -> int:
        self._next += 1
        return self._next - 1

    # What the hub's events become

    def _events(self, parts: Iterable[Part], *, natives: bool = True) -> None:
        """Tell the client what became of the text. `natives`: a native call in it is one that could not become text."""
        text = ""
        for lane, event in parts:
            if isinstance(event, Text):
                text += event.text
                continue
            self._text(text)
            text = ""
            self._event(lane, event, natives=natives)
        self._text(text)

    def _event(self, lane: int, event: Event, *, natives: bool) -> None:
        if isinstance(event, CallStart) and (natives or event.dialect is not None):
            self._start(lane, event)
        elif isinstance(event, CallPiece) and (call := self._calls.get((lane, event.index))) is not None:
            call.pieces.append(event.json)
            where = {"item_id": call.item["id"], "output_index": call.place}
            self._say("response.function_call_arguments.delta", **where, delta=rawjson.string(event.json))
        elif isinstance(event, CallEnd) and (call := self._calls.pop((lane, event.index), None)) is not None:
            call.end("completed")
            where = {"item_id": call.item["id"], "output_index": call.place}
            told = {"name": call.item["name"], "arguments": call.item["arguments"]}
            self._say("response.function_call_arguments.done", **where, **told)
            self._say("response.output_item.done", output_index=call.place, item=dict(call.item))
        elif isinstance(event, Reasoning) and event.moved and event.text:
            self._think(event.text)

    def _text(self, text: str, event: Fields | None = None) -> None:
        """Text of a message, in the event that brought it or in a new one."""
        if not text:
            return
        self._unthink()
        message = self._message
        if message is None:
            message = self._message = self._new_message()
        segment = message.segment
        if segment is None or segment.part is None:
            segment = self._open(message, 0 if event is None else _place(event, "content_index"))
        segment.pieces.append(text)
        if event is not None and rawjson.word(event, "delta") == text:
            self._pass(event, **_where(event, segment))
            return
        message.touched = True
        where = {"item_id": segment.id, "output_index": segment.place, "content_index": len(segment.content)}
        self._say(_DELTA, **where, delta=rawjson.string(text), logprobs=_NOTHING)

    def _new_message(self) -> _Message:
        """A message of ours, for text that has none."""
        self._own += 1
        id_ = rawjson.string(f"msg_{self.reply_id.removeprefix('resp_')}_{self._own}")
        return _Message({"id": id_, **_MESSAGE}, self._home, own=True)

    def _open(self, message: _Message, index: int) -> _Segment:
        """Show a message, and a text part in it, with the frames that were held or with new ones.

        A server that does not say where parts begin is not made to.
        """
        held, message.held = message.held, []
        segment = message.segment
        told = segment is None
        if segment is None:
            segment = self._show(message, held, index)
        opener = next((event for event in held if "part" in event), None)
        segment.part = _text_part({}, "") if opener is None else rawjson.fields(opener["part"])
        segment.pieces, segment.said = [], False
        where = {"item_id": segment.id, "output_index": segment.place, "content_index": len(segment.content)}
        if opener is not None:
            self._pass(opener, **where)
        elif told:
            self._say("response.content_part.added", **where, part=segment.part)
        return segment

    def _show(self, message: _Message, held: Iterable[Fields], index: int) -> _Segment:
        """Show a message without its parts. `index`: where its content begins in the upstream's."""
        segment = message.segment = _Segment(message.id(), self._take(), index)
        opener = next((event for event in held if "item" in event), None)
        if opener is not None and message.count == 1:
            self._pass(opener, output_index=segment.place)
        else:
            message.touched = True
            item = {**message.item, "id": segment.id, "status": "in_progress", "content": _NOTHING}
            self._say("response.output_item.added", output_index=segment.place, item=item)
        return segment

    def _close(self) -> None:
        """The message that is open ends here, for something else begins."""
        message = self._message
        if message is None or message.segment is None:
            return
        segment, message.segment = message.segment, None
        message.touched = True
        where = {"item_id": segment.id, "output_index": segment.place, "content_index": len(segment.content)}
        if segment.part is not None:
            if not segment.said:
                self._say("response.output_text.done", **where, text=rawjson.string(segment.text), logprobs=_NOTHING)
            segment.content.append(_text_part(segment.part, segment.text))
            self._say("response.content_part.done", **where, part=segment.content[-1])
        item = {**message.item, "id": segment.id, "status": "completed", "content": segment.content}
        message.home.append(item)
        self._say("response.output_item.done", output_index=segment.place, item=item)

    def _start(self, lane: int, event: CallStart) -> None:
        self._unthink()
        self._close()
        item = _call_item(event, self._reading.namespaces.get(event.name, ""))
        kept = self._lowered.get(event.id) if event.dialect is None else None
        if kept is not None:
            item = {**kept, "status": "in_progress", "arguments": rawjson.string("")}
        call = self._calls[lane, event.index] = _Made(item, self._take())
        self._home.append(item)
        self._say("response.output_item.added", output_index=call.place, item=dict(item))

    def _think(self, text: str) -> None:
        """Reasoning that stood in the text."""
        thought = self._thought
        if thought is None:
            self._close()
            self._own += 1
            item = _thought_item(f"rs_{self.reply_id.removeprefix('resp_')}_{self._own}", None)
            thought = self._thought = _Made(item, self._take())
            self._home.append(item)
            self._say("response.output_item.added", output_index=thought.place, item=dict(item))
            self._say("response.content_part.added", **thought.where, part=_thought_part(""))
        thought.pieces.append(text)
        self._say("response.reasoning_text.delta", **thought.where, delta=rawjson.string(text))

    def _unthink(self) -> None:
        """Such reasoning ends where something else begins."""
        thought, self._thought = self._thought, None
        if thought is None:
            return
        text = "".join(thought.pieces)
        part = _thought_part(text)
        thought.item["content"] = [part]
        self._say("response.reasoning_text.done", **thought.where, text=rawjson.string(text))
        self._say("response.content_part.done", **thought.where, part=part)
        self._say("response.output_item.done", output_index=thought.place, item=dict(thought.item))

    # What the upstream's frames become

    def _other(self, event: Fields, parts: Sequence[Part]) -> None:
        """A frame that is about no text of ours; where it is about an item, the item may have another place."""
        self._events(parts)
        at = _place(event)
        if "output_index" not in event:
            self._pass(event)
        elif (message := self._messages.get(at)) is not None:
            if message.segment is not None:
                self._pass(event, **_where(event, message.segment))
        elif (place := self._places.get(at, at)) is not None:
            self._pass(event, output_index=place)

    def _delta(self, event: Fields, parts: Sequence[Part]) -> None:
        message = self._within(event)
        delta = rawjson.word(event, "delta")
        text = "".join(part.text for _, part in parts if isinstance(part, Text))
        if any(not isinstance(part, Text) for _, part in parts):
            message.touched = True
            self._events(parts)
        elif text != delta:
            message.touched = True
            self._text(text, event)
        elif text:
            self._text(text, event)
        elif _opens(parts) or message.segment is not None:
            self._pass(event, **(_where(event, message.segment) if message.segment is not None else {}))

    def _within(self, event: Fields) -> _Message:
        """The message that a frame is about; one that nobody has opened is open."""
        at = _place(event)
        message = self._messages.get(at)
        if message is None:
            self._end_own()
            self._home = self._homes.setdefault(at, [])
            item = {"id": event["item_id"], **_MESSAGE} if "item_id" in event else dict(_MESSAGE)
            message = self._messages[at] = _Message(item, self._home)
            message.segment = _Segment(message.id(), max(at, self._next), 0)
            self._next = message.segment.place + 1
        elif self._message is not message:
            self._end_own()
        self._message = message
        return message

    def _end_own(self) -> None:
        """A message of ours ends where an item of the upstream's goes on."""
        if self._message is not None and self._message.own:
            self._close()
        self._message = None

    def _added(self, event: Fields, parts: Sequence[Part]) -> None:
        item, at = rawjson.fields(event.get("item")), _place(event)
        kind = rawjson.word(item, "type")
        gone = _gone(parts)
        self._events(parts[:gone], natives=kind != "function_call")
        self._unthink()
        self._end_own()
        self._home = self._homes[at] = []
        if kind == "message":
            self._message = self._messages[at] = _Message(item, self._home)
            self._message.held.append(event)
            if _opens(parts):
                self._show(self._message, [event], 0)
                self._message.held.clear()
        elif kind == "function_call" and not _begins(parts):
            self._leave_out(item, at, parts[gone:])
        else:
            self._keep(event, at)

    def _keep(self, event: Fields, at: int) -> None:
        """An item of the upstream's that stays."""
        self._places[at] = place = self._take()
        self._natives[at] = _Made(rawjson.fields(event["item"]), place)
        self._home.append(None)
        self._pass(event, output_index=place)

    def _leave_out(self, item: Fields, at: int, parts: Sequence[Part]) -> None:
        """A native call that the client does not get here. `parts`: that it goes, and what stands in its place."""
        self._places[at] = None
        if parts:
            self._gone.add(rawjson.word(item, "call_id"))
        self._events(parts)

    def _arguments(self, event: Fields, parts: Sequence[Part]) -> None:
        """A piece of a native call's arguments, or all of them."""
        at = _place(event)
        place, native = self._places.get(at, at), self._natives.get(at)
        if place is None or self._breaks_off(at, parts):
            self._events(parts)
            return
        if native is not None:
            native.pieces.append(rawjson.word(event, "delta"))
        self._pass(event, output_index=place)

    def _breaks_off(self, at: int, parts: Sequence[Part]) -> bool:
        """Whether a call that had begun to leave is told nothing more."""
        if _gone(parts) < len(parts):
            self._cut.add(at)
        return at in self._cut

    def _part_added(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (_is_text(part) or _place(event) in self._messages):
            self._other(event, parts)
            return
        self._events(parts)
        message = self._within(event)
        if _is_text(part) and not _opens(parts):
            message.held.append(event)
            return
        segment = message.segment
        if segment is None:  # a refusal behind a call that was made
            segment = self._show(message, message.held, _place(event, "content_index"))
            message.held.clear()
        if _is_text(part):
            segment.part, segment.pieces, segment.said = part, [], False
        self._pass(event, **_where(event, segment))

    def _text_done(self, event: Fields, parts: Sequence[Part]) -> None:
        self._events(parts)
        message = self._within(event)
        segment = message.segment
        if segment is None or (message.touched and segment.part is None):
            return
        segment.said = True
        rest: Fields = {}
        if message.touched and rawjson.word(event, "text") != segment.text:
            rest = {"text": rawjson.string(segment.text), **({"logprobs": _NOTHING} if "logprobs" in event else {})}
        self._pass(event, **_where(event, segment), **rest)

    def _part_done(self, event: Fields, parts: Sequence[Part]) -> None:
        part = rawjson.fields(event.get("part"))
        if not (_is_text(part) or _place(event) in self._messages):
            self._other(event, parts)
            return
        self._events(parts)
        message = self._within(event)
        segment = message.segment
        if segment is None or (message.touched and _is_text(part) and segment.part is None):
            return
        where = _where(event, segment)
        if message.touched and _is_text(part) and rawjson.word(part, "text") != segment.text:
            part = _text_part(part, segment.text)
            self._pass(event, **where, part=part)
        else:
            self._pass(event, **where)
        segment.content.append(part)
        segment.part = None

    def _annotation(self, event: Fields, parts: Sequence[Part]) -> None:
        """What an annotation is about may be in a call by now; then it is about nothing that is shown."""
        self._events(parts)
        segment = self._within(event).segment
        if segment is not None:
            self._pass(event, **_where(event, segment))

    def _item_done(self, event: Fields, parts: Sequence[Part]) -> None:
        item, at = rawjson.fields(event.get("item")), _place(event)
        kind = rawjson.word(item, "type")
        if kind == "message":
            self._events(parts)
            self._message_done(event, item)
            return
        if kind != "function_call":
            self._other(event, parts)
            return
        if at not in self._places:  # nobody has opened it
            gone = _gone(parts)
            self._events(parts[:gone], natives=False)
            self._end_own()
            self._home = self._homes[at] = []
            if _begins(parts):
                self._keep(event, at)
                return
            self._leave_out(item, at, parts[gone:])
        if self._places[at] is None:
            self._lowered[rawjson.word(item, "call_id")] = item
        elif not self._breaks_off(at, parts):
            self._pass(event, output_index=self._places[at])

    def _message_done(self, event: Fields, item: Fields) -> None:
        message = self._within(event)
        segment, message.segment = message.segment, None
        self._message = None  # what comes now stands in a message of its own
        if segment is None:
            return
        if not message.touched:
            message.home.append(None)
            self._pass(event, output_index=segment.place)
            return
        if segment.part is not None:  # nobody has said that it ends
            segment.content.append(_text_part(segment.part, segment.text))
        made = {**item, "id": segment.id, "content": segment.content}
        message.home.append(made)
        self._pass(event, output_index=segment.place, item=made)

    # The end

    def _ended(self, event: Fields, parts: Sequence[Part]) -> None:
        """The whole response says what the stream has said."""
        self._events(self._untold(parts))
        self._unthink()
        self._end_own()
        open_, self._calls = list(self._calls.values()), {}
        for call in open_:
            call.end("incomplete")
        if "response" not in event:
            self._pass(event)
            return
        response = rawjson.fields(event["response"])
        cut, stopped = bool(open_ or self._cut), _is_stopped(response, parts)
        output = rawjson.items(response.get("output"))
        made = [*self._before, *(item for place, was in enumerate(output) for item in self._became(place, was))]
        same = len(made) == len(output) and all(item is was for item, was in zip(made, output, strict=True))
        made = output if same or not output else made  # some servers leave it empty
        whole = _response(response, output, made, cut=cut, stopped=stopped)
        was = rawjson.word(event, "type")
        now = "incomplete" if cut and was == "response.completed" else "completed" if stopped and not cut else ""
        kind = {"type": f"response.{now}"} if now and was != f"response.{now}" else {}
        self._pass({**event, **kind} if kind else event, **({} if whole is response else {"response": whole}))

    def _untold(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Note which of the calls that only the whole response holds stay; returns what else there is to tell."""
        untold = self._reading.untold
        if not untold:
            return parts
        standing = _Standing(list(untold.values()), parts)
        told = [*standing.rest, *(part for call in standing.behind for part in call.parts)]
        for place, item in untold.items():
            call = standing.next()
            self._standing[place] = call is not None and call.stands_in(item)
            told += call.parts if call is not None and not self._standing[place] else ()
        return told

    def _became(self, place: int, item: Any) -> Iterator[Any]:
        """The items that the client has seen in the place of one; what did not change as it stands at the end."""
        if place not in self._homes and rawjson.word(rawjson.fields(item), "call_id") in self._gone:
            return
        if not self._standing.get(place, True):
            return
        if place in self._cut:
            cut = {"arguments": "".join(self._natives[place].pieces), "status": "incomplete"}
            item = {**rawjson.fields(item), **{key: rawjson.string(word) for key, word in cut.items()}}
        for became in self._homes.get(place, (None,)):
            yield item if became is None else became
        message = self._messages.get(place)
        segment = message.segment if message is not None else None
        if message is None or segment is None:
            return
        if not message.touched:
            yield item
            return
        part = [] if segment.part is None else [_text_part(segment.part, segment.text)]
        yield {**rawjson.fields(item), "id": segment.id, "content": [*segment.content, *part]}


type _Handler = Callable[[_Stream, Fields, Sequence[Part]], None]

_HANDLERS: dict[str, _Handler] = {
    _DELTA: _Stream._delta,
    "response.output_text.done": _Stream._text_done,
    "response.output_text.annotation.added": _Stream._annotation,
    "response.content_part.added": _Stream._part_added,
    "response.content_part.done": _Stream._part_done,
    "response.function_call_arguments.delta": _Stream._arguments,
    "response.function_call_arguments.done": _Stream._arguments,
    "response.output_item.added": _Stream._added,
    "response.output_item.done": _Stream._item_done,
    **dict.fromkeys(_TERMINAL, _Stream._ended),
}


# --- a whole reply ----------------------------------------------------------------------------------------------------


class _Whole:
    """The codec of a reply that comes as one JSON body."""

    shifted = False

    def __init__(self) -> None:
        self.reply_id = ""
        self.bare = False

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the reply, by lane. Native calls come first, so that a text that repeats one is known as it."""
        response = rawjson.fields(payload)
        if "output" not in response:
            return []
        self.reply_id = rawjson.word(response, "id")
        natives: list[list[Part]] = [[]]
        texts: list[str] = []
        index = 0
        for item in map(rawjson.fields, rawjson.items(response["output"])):
            if rawjson.word(item, "type") == "function_call":
                natives[-1] += _native(max(0, len(texts) - 1), index, item)
                index += 1
            for part in _texts(item):
                if texts:
                    natives.append([])
                texts.append(rawjson.word(part, "text"))
        reason = _reason(response, calls=index > 0)
        parts: list[Part] = []
        for lane, calls in enumerate(natives):
            parts += calls
            if lane < len(texts) and texts[lane]:
                parts.append((lane, Text(texts[lane])))
            parts.append((lane, Finish(reason if lane == len(natives) - 1 else "stop")))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, bare: bool) -> list[bytes]:  # noqa: ARG002
        """The reply with its items as `parts` say."""
        response = rawjson.fields(payload)
        output = rawjson.items(response["output"])
        namespaces = _namespaces(response.get("tools"))
        lanes: dict[int, list[Part]] = {}
        for part in parts:
            lanes.setdefault(part[0], []).append(part)
        natives: dict[int, list[Fields]] = {}
        texts = 0
        for item in map(rawjson.fields, output):
            if rawjson.word(item, "type") == "function_call":
                natives.setdefault(max(0, texts - 1), []).append(item)
            texts += len(_texts(item))
        standing = {of: _Standing(items, lanes.get(of, ())) for of, items in natives.items()}
        lanes |= {of: stands.rest for of, stands in standing.items()}
        own = _Rewriting({"id": rawjson.string(f"msg_{self.reply_id.removeprefix('resp_')}_1"), **_MESSAGE}, namespaces)
        made: list[Any] = []
        broken: list[_Made] = []
        lane = 0
        for raw in output:
            item = rawjson.fields(raw)
            if rawjson.word(item, "type") == "function_call":
                stands = standing[max(0, lane - 1)]
                if (call := stands.next()) is not None:
                    made.append(raw if call.stands_in(item) else call.item(namespaces))
                elif stands.in_order and not texts:
                    made += own.of_own(lanes.pop(0, ()))
                continue
            if not _texts(item):
                made.append(raw)
                continue
            rewriting = _Rewriting(item, namespaces)
            for part in rawjson.items(item["content"]):
                if _is_text(rawjson.fields(part)):
                    rewriting.text(rawjson.fields(part), [event for _, event in lanes.pop(lane, ())])
                    lane += 1
                else:
                    rewriting.content.append(part)
            made += rewriting.items() if rewriting.touched else [raw]
            broken += rewriting.open.values()
        made += own.of_own(part for rest in lanes.values() for part in rest)  # text that has no message
        made += [call.item(namespaces) for stands in standing.values() for call in stands.behind]
        stopped = _is_stopped(response, parts)
        return [rawjson.written(_response(response, output, made, cut=bool(broken), stopped=stopped))]


def _native(lane: int, index: int, item: Fields) -> Iterator[Part]:
    yield lane, CallStart(index, rawjson.word(item, "name"), id=rawjson.word(item, "call_id"))
    yield lane, CallPiece(index, rawjson.word(item, "arguments"))
    if rawjson.word(item, "status") != "incomplete":
        yield lane, CallEnd(index)


def _texts(item: Fields) -> list[Fields]:
    """The text parts of a message."""
    if rawjson.word(item, "type") != "message":
        return []
    return [part for part in map(rawjson.fields, rawjson.items(item.get("content"))) if _is_text(part)]


class _Told:
    """A call in a whole reply, with its events as they came."""

    def __init__(self, start: CallStart, part: Part) -> None:
        self.start = start
        self.parts = [part]

    def stands_in(self, item: Fields) -> bool:
        """Whether it is the native call of this item, as it came."""
        was = (rawjson.word(item, "name"), rawjson.word(item, "arguments"))
        own = rawjson.word(item, "call_id")
        is_same = self.start.dialect is None and was == (self.start.name, self._written)
        return is_same and own in {"", self.start.id}

    def item(self, namespaces: Mapping[str, str]) -> Fields:
        """It as an item of ours."""
        made = _Made(_call_item(self.start, namespaces.get(self.start.name, "")), 0)
        made.pieces.append(self._written)
        made.end("completed" if any(isinstance(event, CallEnd) for _, event in self.parts) else "incomplete")
        return made.item

    @property
    def _written(self) -> str:
        return "".join(event.json for _, event in self.parts if isinstance(event, CallPiece))


class _Standing:
    """What stands in the places of native calls.

    Processors let each of them tell in turn what has become of it. Where calls become text only those are told that
    could not, and are known by what they are: no id tells calls apart, for some servers give one to several.

    in_order   each has told
    behind     calls that have no place
    rest       the parts that are of no native call
    """

    def __init__(self, items: Sequence[Fields], parts: Iterable[Part]) -> None:
        self.rest: list[Part] = []
        self.behind: list[_Told] = []
        told = self._told(parts)
        self.in_order = len(told) == len(items)
        if not self.in_order:
            self.behind = [call for call in told if call is not None]
            told = [self._known(item) for item in items]
        self._places = iter(told)

    def next(self) -> _Told | None:
        """The call that stands in the next one's place."""
        return next(self._places)

    def _known(self, item: Fields) -> _Told | None:
        """The call that is this item's, taken from those that have no place."""
        found = next((place for place, call in enumerate(self.behind) if call.stands_in(item)), None)
        return None if found is None else self.behind.pop(found)

    def _told(self, parts: Iterable[Part]) -> list[_Told | None]:
        told: list[_Told | None] = []
        calls: dict[tuple[int, int], _Told] = {}
        before: Event | None = None
        gone = -1
        for lane, event in parts:
            known = calls.get((lane, event.index)) if isinstance(event, CallPiece | CallEnd) else None
            if isinstance(event, Gone):
                told += [None] if event.index != gone else []
                gone = event.index
            elif isinstance(event, CallStart) and (event.dialect is None or isinstance(before, Gone)):
                calls[lane, event.index] = call = _Told(event, (lane, event))
                if event.dialect is None:
                    told.append(call)
                    gone = -1
                else:
                    told[-1] = call  # made anew
            elif known is not None:
                known.parts.append((lane, event))
            else:
                self.rest.append((lane, event))
            before = event
        return told


class _Rewriting:
    """What one message of a whole reply becomes. `content` is what the latest segment holds so far."""

    def __init__(self, item: Fields, namespaces: Mapping[str, str]) -> None:
        self.content: list[Any] = []
        self.open: dict[int, _Made] = {}
        self.touched = False
        self._item = item
        self._namespaces = namespaces
        self._made: list[Any] = []
        self._count = 0

    def of_own(self, parts: Iterable[Part]) -> list[Any]:
        """The items for text that has no message."""
        self._item = {**self._item, "status": "completed"}
        self.text({}, [event for _, event in parts])
        made, self._made = self.items(), []
        return made

    def text(self, part: Fields, events: Iterable[Event]) -> None:
        """A text part, as its events say."""
        pieces: list[str] = []
        for event in events:
            if isinstance(event, Text):
                pieces.append(event.text)
            elif isinstance(event, CallStart) and event.dialect is not None:
                self._say(part, pieces)
                self._segment()
                self.touched = True
                item = _call_item(event, self._namespaces.get(event.name, ""))
                self.open[event.index] = _Made(item, 0)
                self.open[event.index].end("incomplete")
                self._made.append(item)
            elif isinstance(event, CallPiece) and event.index in self.open:
                self.open[event.index].pieces.append(event.json)
                self.open[event.index].end("incomplete")
            elif isinstance(event, CallEnd) and event.index in self.open:
                self.open.pop(event.index).end("completed")
            elif isinstance(event, Reasoning) and event.moved:
                self._say(part, pieces)
                self._segment()
                self.touched = True
                self._think(event.text)
        self._say(part, pieces)

    def _say(self, part: Fields, pieces: list[str]) -> None:
        text = "".join(pieces)
        pieces.clear()
        self.touched = self.touched or text != rawjson.word(part, "text")
        if text:
            self.content.append(part if rawjson.word(part, "text") == text else _text_part(part, text))

    def _segment(self) -> None:
        """A message ends here, if it holds anything."""
        if self.content:
            self._count += 1
            name = rawjson.word(self._item, "id") or "msg"
            id_ = (
                self._item.get("id", rawjson.string(name))
                if self._count == 1
                else rawjson.string(f"{name}_{self._count}")
            )
            self._made.append({**self._item, "id": id_, "content": self.content})
            self.content = []

    def _think(self, text: str) -> None:
        latest = self._made[-1] if self._made else {}
        if rawjson.word(latest, "type") == "reasoning":
            text = rawjson.word(latest["content"][0], "text") + text
            self._made.pop()
        name = rawjson.word(self._item, "id").removeprefix("msg_")
        self._made.append(_thought_item(f"rs_{name}_{len(self._made)}", text))

    def items(self) -> list[Any]:
        """The items that take the message's place."""
        self._segment()
        return self._made


# --- the wire ---------------------------------------------------------------------------------------------------------


# What a request is about. Without any of them it is none of this API's.
_SUBJECTS = frozenset({"input", "instructions", "previous_response_id", "prompt", "conversation"})


class _OpenAIResponses:
    """The wire."""

    name = "openai_responses"
    names_events = True
    call_prefix = "call_"

    def form(self, path: str, content_type: str) -> Form | None:  # noqa: ARG002 - what it is, its type says
        """An event stream, or one JSON object."""
        return form_of(content_type)

    def matches(self, path: str) -> bool:
        """Any path that ends in `/responses`: Azure, gateways and local servers put their own prefixes before it."""
        return urlsplit(path).path.rstrip("/").endswith("/responses")

    def codec(self, *, streamed: bool) -> Codec:
        """A codec for one reply."""
        return _Stream() if streamed else _Whole()

    def request(self, body: bytes) -> Request:
        """Tools (functions, also in namespaces), the choice, and the texts of instructions and input by role."""
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the request body is not JSON: {error}") from error
        if not isinstance(fields, dict) or not _SUBJECTS & set(fields):
            raise ValueError("the request body has no `input`")
        given = fields.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        items = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        instructions = fields.get("instructions")
        system = [instructions] if isinstance(instructions, str) and instructions else []
        tools = tuple(_tools(fields.get("tools")))
        choice = fields.get("tool_choice")
        model = fields.get("model")
        return Request(
            tools=_allowed(tools, choice),
            tool_choice=_choice(choice),
            model=model if isinstance(model, str) else "",
            system="\n".join([*system, *_said(items, "system", "developer")]),
            assistant=tuple(_said(items, "assistant")),
            quotable=(*_said(items, "user"), *_results(items)),
            response_format=_is_structured(fields.get("text")),
        )


def _tools(value: object) -> Iterator[Tool]:
    """The function tools of a request, also those in namespaces; what is no function is passed over."""
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name, schema, about = item.get("name"), item.get("parameters"), item.get("description")
        if item.get("type") == "namespace":
            yield from _tools(item.get("tools"))
        elif item.get("type") == "function" and isinstance(name, str) and name:
            yield Tool(name, schema if isinstance(schema, dict) else {}, about if isinstance(about, str) else "")


def _allowed(tools: tuple[Tool, ...], choice: object) -> tuple[Tool, ...]:
    """The tools that the choice leaves (`allowed_tools`)."""
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return tools
    listed = choice.get("tools")
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    return tuple(tool for tool in tools if tool.name in names)


def _choice(value: object) -> str:
    """`none`, `auto`, `required`, or the name of the function that must be called."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else "auto"
    if value.get("type") == "allowed_tools":
        mode = value.get("mode")
        return mode if isinstance(mode, str) else "auto"
    name = value.get("name")
    return name if isinstance(name, str) and value.get("type") == "function" else "required"


def _is_structured(value: object) -> bool:
    """Whether `text.format` asks for JSON: any type but text does."""
    form = value.get("format") if isinstance(value, dict) else None
    return isinstance(form, dict) and form.get("type", "text") != "text"


def _said(items: Iterable[Mapping[str, Any]], *roles: str) -> Iterator[str]:
    """The texts of messages."""
    for item in items:
        if item.get("role") in roles and item.get("type", "message") == "message":
            yield from filter(None, [_joined(item.get("content"))])


def _results(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of tool results, of whatever kind of tool."""
    for item in items:
        if str(item.get("type", "")).endswith("_call_output"):
            yield from filter(None, [_joined(item.get("output"))])


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


WIRE = _OpenAIResponses()
