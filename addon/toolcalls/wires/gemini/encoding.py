"""The candidates of a reply, streamed or whole, written again as their events say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Place, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided
from toolcalls.wires.content_blocks import CompleteCalls
from toolcalls.wires.gemini.decoding import Reading
from toolcalls.wires.gemini.parts import EMPTY, Call, parts_of, unwrapped, values_of, with_json_texts, written_reason
from toolcalls.wires.gemini.placing import (
    Row,
    append_text,
    event_count,
    is_nameless,
    is_of_native_call,
    kept_parts,
    merged_groups,
    merged_parts,
    staying_calls,
    with_piece,
    with_start,
)


class Candidates(Undivided):
    """The codec of a reply, streamed or whole."""

    must_encode = False  # a frame stands for itself

    def __init__(self, *, streamed: bool) -> None:
        self.can_omit = False
        self._streamed = streamed
        self._reading = Reading(streamed=streamed)
        self._complete: dict[int, CompleteCalls] = {}  # by lane

    @property
    def reply_id(self) -> str:
        return self._reading.reply_id

    def decode(self, payload: bytes) -> list[Part]:
        parts = self._reading.events(payload)
        self.can_omit = self._reading.can_omit
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:
        reply, around = unwrapped(payload)
        candidates: list[Any] = []
        changed = said = False
        for place, raw in enumerate(rawjson.items(reply.get("candidates"))):
            candidate = rawjson.fields(raw)
            lane = rawjson.number(candidate, "index", place)
            made = self._candidate(candidate, self._shown(lane, parts))
            changed = changed or made is not candidate
            said = said or bool(parts_of(made))
            if parts_of(candidate) and not parts_of(made):
                made = {**made, "content": {**made["content"], "parts": [{"text": EMPTY}]}}
            candidates.append(made)
        if not changed:
            return [payload]
        if can_omit and not said:
            return []
        reply = {**reply, "candidates": candidates}
        return [rawjson.written(reply if around is None else {**around, "response": reply})]

    def _shown(self, lane: int, parts: Sequence[Part]) -> list[Event]:
        """The events of one candidate, each new call of which is complete."""
        complete = self._complete.setdefault(lane, CompleteCalls())
        return complete.of([event for of, event in parts if of == lane])

    def _candidate(self, candidate: Fields, events: Sequence[Event]) -> Fields:
        """The candidate as its events say; itself when they say what it says already."""
        own = parts_of(candidate)
        made = _parts_in_order(own, events, streamed=self._streamed)
        if made is None:
            made = _parts_by_content(own, events)
        written = rawjson.word(candidate, "finishReason")
        reason = next((event.reason for event in events if isinstance(event, Finish)), "")
        if written and not reason:  # it was no end, for more follows
            candidate = rawjson.without(candidate, "finishReason")
            written = ""
        word = written_reason(written, reason)
        changes: Fields = {} if word == written else {"finishReason": rawjson.string(word)}
        if values_of(made) != values_of(own):
            content = rawjson.fields(candidate.get("content"))
            if not _only_mends(own, made, events):
                content = {"role": rawjson.string("model"), **content}
            changes["content"] = {**content, "parts": [with_json_texts(part) for part in made]}
        return {**candidate, **changes} if changes else candidate


def _parts_in_order(own: Sequence[Fields], events: Sequence[Event], *, streamed: bool) -> list[Fields] | None:
    """The parts where events answer for each of the frame's calls, in order; None where they do not."""
    ours = _new_calls(events)
    said = [event for event in events if is_of_native_call(event, ours)]
    every = [place for place, part in enumerate(own) for _ in range(event_count(part))]
    # One without a name goes on with a call, or no event answers for it.
    slots = every if len(said) == len(every) else [place for place in every if not is_nameless(own[place])]
    if len(said) != len(slots):
        return None
    stays = staying_calls(own, slots, said)
    if stays is None:
        return None
    calls = {place: [own[place]] for place in every}
    calls |= {place: [] if part is None else [part] for place, part in stays.items()}
    groups: dict[int, Row] = {-1: [], **{place: [] for place in calls}}
    places = iter(slots)
    place, rest, begun = -1, {}, False
    for event in events:
        if is_of_native_call(event, ours):
            before, place = place, next(places)
            begun = place != before
            if begun:
                rest = {} if stays[place] is not None else rawjson.without(own[place], "functionCall")
                calls[place] += [{**rest, "text": EMPTY}] if rest else []
            continue
        made = _add_event(event, groups[place], ours)
        if made is not None and begun:
            # Made anew. What a reactor says comes before its call, and so before the part of it.
            calls[place] = [*_parts(groups[place]), {**rest, **made.part(with_id=True)}]
            groups[place], rest = [], {}
        elif made is not None:
            groups[place].append(made.part())
    if not streamed:  # all calls came first, wherever they stand
        return merged_parts(own, calls, [new for group in groups.values() for new in group])
    return merged_groups(own, calls, groups)


def _parts_by_content(own: Sequence[Fields], events: Sequence[Event]) -> list[Fields]:
    """The parts where native calls that stay are found by their content; beside a withdrawn one only whole ones.

    One of which the frame has no part is where its events do.
    """
    derived: Row = []
    ours = _new_calls(events)
    own = _mended(own, events)
    natives: dict[int, Call] = {}
    elsewhere: dict[int, Fields] = {}  # the parts of native calls that came in other frames
    has_calls = any("functionCall" in part for part in own)
    for event in events:
        if isinstance(event, CallStart) and event.dialect is None:
            natives[event.index] = Call(event.index, event.name)
            if event.name and not has_calls:
                elsewhere[event.index] = {}
                derived.append(elsewhere[event.index])
        elif isinstance(event, CallPiece) and event.index not in ours:
            natives.setdefault(event.index, Call(event.index, "")).pieces.append(event.json)
        elif (made := _add_event(event, derived, ours)) is not None:
            derived.append(made.part())
    for index, part in elsewhere.items():
        part.update(natives.pop(index).part())
    left = list(natives.values())
    sure = any(isinstance(event, Withdrawn) for event in events)
    calls = {place: list(kept_parts(part, left, sure=sure)) for place, part in enumerate(own) if "functionCall" in part}
    return [*merged_parts(own, calls, derived), *(one.part() for one in left if one.name)]


def _only_mends(own: Sequence[Fields], made: Sequence[Fields], events: Iterable[Event]) -> bool:
    """Whether nothing changed but native calls that were mended: then the content keeps its members as they stand."""
    same = len(own) == len(made) and all(was.keys() == now.keys() for was, now in zip(own, made, strict=True))
    return same and any(isinstance(event, CallStart | CallPiece) and event.mended for event in events)


def _mended(own: Sequence[Fields], events: Iterable[Event]) -> list[Fields]:
    """The parts, with what was mended of their native calls."""
    made = list(own)
    for event in events:
        if not isinstance(event, CallStart | CallPiece) or not event.mended or not 0 <= event.entry < len(made):
            continue
        part = made[event.entry]
        if "functionCall" in part:
            made[event.entry] = with_start(part, event) if isinstance(event, CallStart) else with_piece(part, event)
    return made


def _new_calls(events: Iterable[Event]) -> dict[int, Call]:
    """The calls that were made, by their indices."""
    return {
        event.index: Call(event.index, event.name, event.id)
        for event in events
        if isinstance(event, CallStart) and event.dialect is not None
    }


def _add_event(event: Event, derived: Row, ours: Mapping[int, Call]) -> Call | None:
    """Add the part that an event makes; a call of ours that it ends comes back."""
    if isinstance(event, Text) and event.text:
        append_text(derived, event.text)
    elif isinstance(event, Place):
        derived.append(event.at)
    elif isinstance(event, Reasoning) and event.moved:
        derived.append({"text": event.text, "thought": True})
    elif isinstance(event, CallPiece) and event.index in ours:
        ours[event.index].pieces.append(event.json)
    elif isinstance(event, CallEnd):
        return ours.get(event.index)
    return None


def _parts(derived: Row) -> list[Fields]:
    return [part for part in derived if not isinstance(part, int)]
