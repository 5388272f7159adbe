"""Damaged native calls of Chat Completions, streamed and whole, as the API would have sent them.

In a stream each call has an index of its own, and says its id and its name once, where it begins. An id with a name,
after whole arguments, begins another call, whatever the index says; any other id belongs to the call that is arriving.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import STREAM_END
from toolcalls.wires.mending import CUT, Ids, Mended, Mending
from toolcalls.wires.openai_chat.calls import LEGACY
from toolcalls.wires.openai_chat.choices import reason_of
from toolcalls.wires.openai_chat.decoding import Call, Message, ObjectText, reply_of

_LEGACY_KEY = -(1 << 53)  # where the call of the older form is known, which has no index


class _Arriving(Mended):
    """A call that is arriving. `index` is the client's, `came_as` the latest id that came for it."""

    __slots__ = ("came_as", "index", "is_legacy")

    def __init__(self, mending: Mending, index: int, *, is_legacy: bool) -> None:
        super().__init__(mending)
        self.index = index
        self.is_legacy = is_legacy
        self.came_as = ""


@dataclass(frozen=True, slots=True)
class _Edit:
    """The changes to an entry: its index, its id or name ("" removes it), its arguments."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


_SAME = _Edit()


class _Choice:
    """What is known of one choice of a stream. `calls` are the latest ones by the indices that came."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[int, _Arriving] = {}
        self.taken: set[int] = set()
        self.ids = Ids(mending)
        self._mending = mending

    def begun(self, key: int) -> _Arriving:
        """A call that begins."""
        index = max(self.taken, default=-1) + 1 if key in self.taken or key == _LEGACY_KEY else key
        self.taken.add(index)
        call = self.calls[key] = _Arriving(self._mending, index, is_legacy=key == _LEGACY_KEY)
        return call


class StreamMender:
    """Mends a stream."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending
        self._choices: dict[int, _Choice] = {}
        self._outer: Fields = {}  # what chunks say beside their choices
        self._arriving: dict[int, list[_Arriving]] = {}  # by choice, those that have not ended

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if payload == STREAM_END:
            return self._over()
        if not self._choices and b'"tool_calls"' not in payload and b'"function_call"' not in payload:
            return None
        reply = reply_of(payload)
        if reply is None or not reply.choices:
            return None
        edits: dict[int, list[_Edit]] = {}
        tails: dict[int, list[Fields]] = {}
        for place, choice in enumerate(reply.choices):
            lane = place if choice.index is None else choice.index
            if choice.delta is not None and (choice.delta.tool_calls or choice.delta.function_call):
                edits[place] = list(self._edits(lane, choice.delta))
            if choice.finish_reason and lane in self._arriving:
                tails[place] = list(self._tails(lane, cut=reason_of(choice.finish_reason) in CUT))
        if self._choices and not self._outer:
            self._outer = rawjson.without(rawjson.fields(payload), "choices", "usage")
        if not any(tails.values()) and all(edit is _SAME for row in edits.values() for edit in row):
            return None
        chunk = rawjson.fields(payload)
        choices = [rawjson.fields(raw) for raw in rawjson.items(chunk["choices"])]
        for place, written in enumerate(choices):
            delta = _edited(rawjson.fields(written.get("delta")), edits.get(place, ()))
            for tail in tails.get(place, ()):
                delta = _with_tail(delta, tail)
            choices[place] = {**written, "delta": delta}
        return [rawjson.written({**chunk, "choices": choices})]

    def _edits(self, lane: int, delta: Message) -> Iterator[_Edit]:
        """One for each entry of a delta, and then for its call of the older form."""
        if lane not in self._choices:
            self._choices[lane] = _Choice(self._mending)
        for position, entry in enumerate(delta.tool_calls or ()):
            yield self._entry(lane, position if entry.index is None else entry.index, entry)
        if delta.function_call is not None:
            yield self._entry(lane, _LEGACY_KEY, Call(function=delta.function_call))

    def _entry(self, lane: int, key: int, entry: Call) -> _Edit:
        choice = self._choices[lane]
        function = entry.function
        name, id_ = (function.name if function else "") or "", entry.id or ""
        call = choice.calls.get(key)
        if call is None or (name and self._begins_another(call, name, id_)):
            call = choice.begun(key)
            self._arriving.setdefault(lane, []).append(call)
            self.calls[lane, call.index] = call
        if entry.custom is not None:
            return _SAME
        protocol = self._mending.protocol
        index = call.index if protocol and key != _LEGACY_KEY and entry.index != call.index else None
        if index is not None:
            call.repaired("no_index" if entry.index is None else "shared_index")
        id_edit = name_edit = None
        if name and not call.came_name:
            call.take_name(name, goes_on=function is not None and function.arguments is None)
            name_edit = call.new_name
            given = id_ or call.came_as
            if not call.is_legacy:
                own = choice.ids.of(given, lane, call.index, call)
                id_edit = own if own != given else None
        else:
            name_edit = "" if self._repeats(call, name) else None
            if protocol and id_ and call.came_name:
                call.repaired("repeated_id" if id_ == call.came_as else "changed_id")
                id_edit = ""
        call.came_as = id_ or call.came_as
        arguments = self._arguments(call, function.arguments if function else None)
        if index is None and id_edit is None and name_edit is None and arguments is None:
            return _SAME
        return _Edit(index, id_edit, name_edit, arguments)

    def _begins_another(self, call: _Arriving, name: str, id_: str) -> bool:
        """Whether a name after a call, under its index, is another's."""
        if id_ == call.came_as and id_:
            return False
        arguments = call.arguments
        if not (arguments.begun or id_ == ""):  # a tool without parameters was called, and nothing came for them
            return arguments.takes_nothing and name != call.came_name and self._mending.declared(name)
        return arguments.whole and (id_ != "" or name != call.came_name)

    def _repeats(self, call: _Arriving, name: str) -> bool:
        """Whether a name came before. One that goes on (`get_`, `weather`) is noted."""
        if not name:
            return False
        longer = call.came_name + name
        declared = self._mending.declared
        if name == call.came_name and not (declared(longer) and not declared(name)):
            call.repaired("repeated_name")
            return self._mending.protocol
        if not call.arguments.begun:
            call.goes_on(name)
        return False

    def _arguments(self, call: _Arriving, given: str | dict[str, Any] | None) -> str | None:
        """The arguments to send, None where they are those that came."""
        text = given if isinstance(given, str) else ""
        if isinstance(given, ObjectText) and not self._mending.protocol:
            return None
        left = call.arguments.feed(str(text))
        if isinstance(given, ObjectText):
            call.repaired("object_arguments")
            return left
        return left if left != text else None

    def _tails(self, lane: int, *, cut: bool) -> Iterator[Fields]:
        """What still leaves of the calls of a choice that has ended."""
        for call in self._arriving.pop(lane):
            tail = call.arguments.end(cut=cut) if call.came_name else ""
            if tail:
                told = {"arguments": rawjson.string(tail)}
                yield {LEGACY: told} if call.is_legacy else {"index": call.index, "function": told}

    def _over(self) -> Sequence[bytes] | None:
        """End the stream, and the choices that gave no reason with it."""
        made: list[Fields] = []
        for lane in list(self._arriving):
            delta: Fields = {}
            for tail in self._tails(lane, cut=False):
                delta = _with_tail(delta, tail)
            if delta:
                made.append({"index": lane, "delta": delta, "finish_reason": None})
        return [rawjson.written({**self._outer, "choices": made}), STREAM_END] if made else None


def _edited(delta: Fields, edits: Sequence[_Edit]) -> Fields:
    """A delta with its entries edited."""
    if not edits:
        return delta
    entries = rawjson.items(delta.get("tool_calls"))
    made: Fields = {}
    if entries:
        made["tool_calls"] = [_entry(raw, edit) for raw, edit in zip(entries, edits, strict=False)]
    if len(edits) > len(entries):
        made[LEGACY] = _function(rawjson.fields(delta.get(LEGACY)), edits[-1])
    return {**delta, **made}


def _entry(raw: Any, edit: _Edit) -> Any:
    if edit is _SAME:
        return raw
    entry = rawjson.fields(raw)
    entry = rawjson.without(entry, "id") if edit.id == "" else entry
    made: Fields = {} if edit.index is None else {"index": edit.index}
    made |= {"id": rawjson.string(edit.id)} if edit.id else {}
    if "function" in entry:
        made["function"] = _function(rawjson.fields(entry["function"]), edit)
    return {**entry, **made}


def _function(function: Fields, edit: _Edit) -> Fields:
    function = rawjson.without(function, "name") if edit.name == "" else function
    function = {**function, "name": rawjson.string(edit.name)} if edit.name else function
    return function if edit.arguments is None else {**function, "arguments": rawjson.string(edit.arguments)}


def _with_tail(delta: Fields, tail: Fields) -> Fields:
    """A delta with more of a call's arguments."""
    if LEGACY in tail:
        given = rawjson.fields(delta.get(LEGACY))
        text = rawjson.word(given, "arguments") + rawjson.word(tail[LEGACY], "arguments")
        return {**delta, LEGACY: {**given, "arguments": rawjson.string(text)}}
    return {**delta, "tool_calls": [*rawjson.items(delta.get("tool_calls")), tail]}


class WholeMender:
    """Mends a whole reply."""

    def __init__(self, mending: Mending) -> None:
        self.calls: dict[tuple[int, int], Mended] = {}
        self._mending = mending

    def mend(self, payload: bytes) -> Sequence[bytes] | None:
        if b'"tool_calls"' not in payload and b'"function_call"' not in payload:
            return None
        reply = reply_of(payload)
        edits: dict[int, list[_Edit]] = {}
        for place, choice in enumerate(reply.choices if reply is not None else ()):
            lane = place if choice.index is None else choice.index
            cut = reason_of(choice.finish_reason) in CUT
            edits[place] = list(self._edits(lane, choice.message or Message(), cut=cut))
        if all(edit is _SAME for row in edits.values() for edit in row):
            return None
        body = rawjson.fields(payload)
        choices = [rawjson.fields(raw) for raw in rawjson.items(body["choices"])]
        made = [
            {**choice, "message": _edited(rawjson.fields(choice.get("message")), edits.get(place, ()))}
            for place, choice in enumerate(choices)
        ]
        return [rawjson.written({**body, "choices": made})]

    def _edits(self, lane: int, message: Message, *, cut: bool) -> Iterator[_Edit]:
        ids = Ids(self._mending)
        entries = list(message.tool_calls or ())
        legacy = [Call(function=message.function_call)] if message.function_call is not None else []
        for index, entry in enumerate([*entries, *legacy]):
            function = entry.function
            if function is None or not function.name:
                yield _SAME
                continue
            call = self.calls[lane, index] = self._mending.begun(function.name)
            text, is_object = str(function.arguments or ""), isinstance(function.arguments, ObjectText)
            left = text
            if self._mending.protocol or not is_object:
                left, call.arguments = self._mending.whole(call, text, cut=cut)
            if is_object:
                call.repaired("object_arguments")
            id_ = ids.of(entry.id or "", lane, index, call) if index < len(entries) else entry.id
            edit = _Edit(
                id=None if id_ == (entry.id or "") else id_,
                name=call.new_name,
                arguments=left if (is_object and self._mending.protocol) or left != text else None,
            )
            yield _SAME if edit == _SAME else edit
