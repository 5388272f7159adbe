"""The candidates of a reply, streamed or whole, written again as their events say."""

from collections.abc import Sequence
from typing import Any

from toolcalls.events import CallEnd, CallPiece, CallStart, Event, Finish, Markup, Place, Reasoning, Text, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, Undivided
from toolcalls.wires.gemini.decoding import Reading
from toolcalls.wires.gemini.parts import EMPTY, Call, parts_of, unwrapped, values_of, with_json_texts, written_reason
from toolcalls.wires.gemini.placing import (
    Row,
    append_text,
    event_count,
    is_of_native_call,
    kept_parts,
    merged_groups,
    merged_parts,
    staying_calls,
)


class Candidates(Undivided):
    """The codec of a reply, streamed or whole."""

    must_encode = False  # a frame stands for itself

    def __init__(self, *, streamed: bool) -> None:
        self.can_omit = False
        self._streamed = streamed
        self._reading = Reading(streamed=streamed)
        self._new_calls: dict[tuple[int, int], Call] = {}  # by lane and index
        self._markup: dict[int, str] = {}  # by lane, what the candidate that is arriving was written with

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
            made = self._candidate(lane, candidate, [event for of, event in parts if of == lane])
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

    def _candidate(self, lane: int, candidate: Fields, events: Sequence[Event]) -> Fields:
        """The candidate as its events say; itself when they say what it says already."""
        own = parts_of(candidate)
        made = self._parts_in_order(lane, own, events)
        if made is None:
            made = self._parts_by_content(lane, own, events)
        written = rawjson.word(candidate, "finishReason")
        reason = next((event.reason for event in events if isinstance(event, Finish)), "")
        if written and not reason:  # it was no end, for more follows
            candidate = rawjson.without(candidate, "finishReason")
            written = ""
        word = written_reason(written, reason)
        changes: Fields = {} if word == written else {"finishReason": rawjson.string(word)}
        if values_of(made) != values_of(own):
            content = {"role": rawjson.string("model"), **rawjson.fields(candidate.get("content"))}
            changes["content"] = {**content, "parts": [with_json_texts(part) for part in made]}
        return {**candidate, **changes} if changes else candidate

    def _parts_in_order(self, lane: int, own: Sequence[Fields], events: Sequence[Event]) -> list[Fields] | None:
        """The parts where events answer for each of the frame's calls, in order; None where they do not."""
        slots = [place for place, part in enumerate(own) for _ in range(event_count(part))]
        ours = {index for of, index in self._new_calls if of == lane}
        ours |= {event.index for event in events if isinstance(event, CallStart) and event.dialect is not None}
        said = [event for event in events if is_of_native_call(event, ours)]
        if len(said) != len(slots):
            return None
        stays = staying_calls(own, slots, said)
        if stays is None:
            return None
        calls: dict[int, list[Fields]] = {place: [own[place]] if stay else [] for place, stay in stays.items()}
        groups: dict[int, Row] = {-1: [], **{place: [] for place in calls}}
        places = iter(slots)
        place, rest, begun = -1, {}, False
        for event in events:
            if is_of_native_call(event, ours):
                before, place = place, next(places)
                begun = place != before
                if begun:
                    rest = {} if stays[place] else rawjson.without(own[place], "functionCall")
                    calls[place] += [{**rest, "text": EMPTY}] if rest else []
                continue
            made = self._add_event(lane, event, groups[place])
            if made is not None and begun:
                # Made anew. What a reactor says comes before its call, and so before the part of it.
                calls[place] = [*_parts(groups[place]), {**rest, **made.part(with_id=True)}]
                groups[place], rest = [], {}
            elif made is not None:
                groups[place].append(made.part())
        if not self._streamed:  # all calls came first, wherever they stand
            return merged_parts(own, calls, [new for group in groups.values() for new in group])
        return merged_groups(own, calls, groups)

    def _parts_by_content(self, lane: int, own: Sequence[Fields], events: Sequence[Event]) -> list[Fields]:
        """The parts where native calls that stay are found by their content; beside a withdrawn one only whole ones.

        One of which the frame has no part is where its events do.
        """
        derived: Row = []
        natives: dict[int, Call] = {}
        elsewhere: dict[int, Fields] = {}  # the parts of native calls that came in other frames
        has_calls = any("functionCall" in part for part in own)
        for event in events:
            if isinstance(event, CallStart) and event.dialect is None:
                natives[event.index] = Call(event.index, event.name)
                if event.name and not has_calls:
                    elsewhere[event.index] = {}
                    derived.append(elsewhere[event.index])
            elif isinstance(event, CallPiece) and (lane, event.index) not in self._new_calls:
                natives.setdefault(event.index, Call(event.index, "")).pieces.append(event.json)
            elif (made := self._add_event(lane, event, derived)) is not None:
                derived.append(made.part())
        for index, part in elsewhere.items():
            part.update(natives.pop(index).part())
        left = list(natives.values())
        sure = any(isinstance(event, Withdrawn) for event in events)
        calls = {
            place: list(kept_parts(part, left, sure=sure)) for place, part in enumerate(own) if "functionCall" in part
        }
        return [*merged_parts(own, calls, derived), *(one.part() for one in left if one.name)]

    def _add_event(self, lane: int, event: Event, derived: Row) -> Call | None:
        """Add the part that an event makes; a call of ours that it ends comes back."""
        if isinstance(event, Text) and event.text:
            append_text(derived, event.text)
        elif isinstance(event, Place):
            derived.append(event.at)
        elif isinstance(event, Markup):
            self._add_markup(lane, event.text, derived)
        elif isinstance(event, Reasoning) and event.moved:
            derived.append({"text": event.text, "thought": True})
        elif isinstance(event, CallStart) and event.dialect is not None:
            self._new_calls[lane, event.index] = Call(event.index, event.name, event.id)
        elif isinstance(event, CallPiece | CallEnd):
            known = self._new_calls.get((lane, event.index))
            if isinstance(event, CallPiece) and known is not None:
                known.pieces.append(event.json)
            elif isinstance(event, CallEnd) and known is not None:
                known.ended = True
                return known
        return None

    def _add_markup(self, lane: int, markup: str, derived: Row) -> None:
        """Keep what a call is written with until it has its verdict. One that broke off is text."""
        if markup:
            self._markup[lane] = self._markup.get(lane, "") + markup
            return
        written = self._markup.pop(lane, "")
        last = next((call for (of, _), call in reversed(self._new_calls.items()) if of == lane), None)
        if last is not None and not last.ended:
            last.ended = True
            append_text(derived, written)


def _parts(derived: Row) -> list[Fields]:
    return [part for part in derived if not isinstance(part, int)]
