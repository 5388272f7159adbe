"""A candidate's parts, merged with what has become of its calls and its text."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from toolcalls.events import CallPiece, CallStart, Event, Withdrawn
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires.gemini.parts import EMPTY, Call, arguments_of, is_text, is_whole

# What the parts of a frame became, in order. A number says which of them the texts and calls after it were.
type Row = list[Fields | int]


def event_count(part: Fields) -> int:
    """How many events answer for a part, themselves or `Withdrawn`: for a call, its start and its piece."""
    if "functionCall" not in part:
        return 0
    return 2 if rawjson.word(rawjson.fields(part["functionCall"]), "name") else 1


def is_nameless(part: Fields) -> bool:
    """Whether a part is a call that lacks a name, and not the next part of one."""
    call = rawjson.fields(part["functionCall"])
    return "args" in call and not rawjson.word(call, "name") and "willContinue" not in call


def is_of_native_call(event: Event, ours: Container[int]) -> bool:
    """Whether an event answers for a native call of the frame."""
    return isinstance(event, Withdrawn) or (isinstance(event, CallStart | CallPiece) and event.index not in ours)


def staying_calls(
    own: Sequence[Fields], slots: Sequence[int], said: Sequence[Event]
) -> dict[int, Fields | None] | None:
    """What is left of each of the frame's calls: its part, with what of it was mended, or nothing (None). No dict where
    an event is not of the call at its place.
    """
    left: dict[int, Fields | None] = {}
    for place, event in zip(slots, said, strict=True):
        call = rawjson.fields(own[place]["functionCall"])
        name = rawjson.word(call, "name")
        first = place not in left
        part = left[place] = None if isinstance(event, Withdrawn) else left.get(place, own[place])
        if isinstance(event, CallStart):
            if not first or (event.name != name and not event.mended):
                return None
            left[place] = None if part is None else with_start(part, event)
        elif isinstance(event, CallPiece):
            same = event.mended or not is_whole(call) or event.json == arguments_of(call)
            if (first and name) or not same:
                return None
            left[place] = None if part is None else with_piece(part, event)
    return left


def with_start(part: Fields, start: CallStart) -> Fields:
    """The part of a call with the name and the id of its start, where that was mended."""
    if not start.mended:
        return part
    call = rawjson.fields(part["functionCall"])
    given = {"name": start.name, "id": start.id}
    changes = {
        key: rawjson.string(word) for key, word in given.items() if key in call and word != rawjson.word(call, key)
    }
    return {**part, "functionCall": {**call, **changes}}


def with_piece(part: Fields, piece: CallPiece) -> Fields:
    """The part of a whole call with the arguments of its piece, where they were mended."""
    if not piece.mended:
        return part
    call = rawjson.fields(part["functionCall"])
    return {**part, "functionCall": {**call, "args": rawjson.json_text(piece.json)}}


def merged_parts(
    own: Sequence[Fields], calls: Mapping[int, list[Fields]], derived: Iterable[Fields | int], start: int = 0
) -> list[Fields]:
    """The parts with what has become of the calls, and with the text in its place: without a number, the first text's.

    `start`: the first part's number.
    """
    made: list[Fields] = []
    texts = [place for place, part in enumerate(own, start) if place not in calls and is_text(part)]
    at = first = texts[0] if texts else -1
    rows: dict[int, list[Fields]] = {}
    for new in derived:
        if isinstance(new, int):
            at = new if new in texts else first
        elif list(new) == ["text"]:
            append_text(rows.setdefault(at, []), new["text"])
        else:
            rows.setdefault(at, []).append(new)
    for place, part in enumerate(own, start):
        if place in calls:
            made.extend(calls[place])
        elif place in texts:
            made.extend(_with_text(part, rows.get(place, [])))
        else:
            made.append(part)
    return [*made, *rows.get(-1, ())]


def append_text(derived: Row | list[Fields], text: str) -> None:
    """Append text, to the last part where that is text."""
    last = derived[-1] if derived else {}
    if not isinstance(last, int) and list(last) == ["text"]:
        last["text"] += text
    else:
        derived.append({"text": text})


def merged_groups(own: Sequence[Fields], calls: Mapping[int, list[Fields]], groups: Mapping[int, Row]) -> list[Fields]:
    """The parts of a stream: what has become of each call, and between them the text of their group."""
    made: list[Fields] = []
    before, start = -1, 0
    for place in sorted(calls):
        made += [*merged_parts(own[start:place], {}, groups[before], start), *calls[place]]
        before, start = place, place + 1
    return [*made, *merged_parts(own[start:], {}, groups[before], start)]


def kept_parts(part: Fields, natives: list[Call], *, sure: bool) -> Iterator[Fields]:
    """A native call's part while the call stays native, and what else was in it when the call is gone.

    `sure`: only a whole call stays, which its arguments append_text from one that must not.
    """
    call = rawjson.fields(part["functionCall"])
    name, whole = rawjson.word(call, "name"), "partialArgs" not in call and "willContinue" not in call
    for native in natives if not sure or (name and whole) else ():
        is_same = native.name == name
        is_it = is_same and native.arguments == arguments_of(call) if name and whole else is_same or not native.name
        if is_it:
            if whole or name:
                natives.remove(native)
            yield part
            return
    if rest := rawjson.without(part, "functionCall"):
        yield {**rest, "text": EMPTY}


def _with_text(part: Fields, derived: Sequence[Fields]) -> Iterator[Fields]:
    """What a part's text became. Its other fields (a signature) stay with the last of it that is plain text."""
    rest = rawjson.without(part, "text")
    place = max((place for place, made in enumerate(derived) if list(made) == ["text"]), default=-1)
    for number, made in enumerate(derived):
        yield {**rest, **made} if number == place else made
    if rest and place < 0:
        yield {**rest, "text": EMPTY}
