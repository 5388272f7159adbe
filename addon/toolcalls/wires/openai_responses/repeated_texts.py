"""What a client that reads calls from text is given again of a text: nothing that it was not given before.

A text comes in its deltas, and then up to four times more: in the ends of the text, of the part and of the item, and in
the whole response. Rules see it where it comes first, and some clients read only what comes last. So where a rule may
block, what is given again and differs is replaced by what the client has got in that place.

White space around a text does not count, since some servers strip what they say again. Nor does the place where the
text is one that the client has got: some servers number their items anew. But texts in another order may make a call
that they did not make before, so these are emptied.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolcalls.events import Text
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part
from toolcalls.wires.openai_responses.decoding import DELTA, place_of

_THOUGHTS = frozenset({"reasoning_text", "summary_text"})  # parts of reasoning, in which no client reads calls

type _Place = tuple[int, int]  # of an item, and of a part in it


class RepeatedTexts:
    """Sees the events that the client of one stream is given, in order."""

    def __init__(self) -> None:
        self._given: dict[_Place, list[str]] = {}  # by their deltas
        self._grown: set[_Place] = set()  # places whose text has grown since it was added to `_known`
        self._known: set[str] = set()  # texts that the client has got, without white space around them
        self._order: list[_Place | str] = []  # where the client got them, or what it got as a whole
        self._solid = 0  # characters of all deltas, without white space
        self._frame: list[str] = []  # what it gets as a whole in the frame in hand

    def screened(self, parts: Iterable[Part]) -> None:
        """What rules have let pass of the frame in hand, if it says texts as a whole."""
        texts: dict[int, str] = {}
        for lane, event in parts:
            if isinstance(event, Text):
                texts[lane] = texts.get(lane, "") + event.text
        self._frame = [text.strip() for text in texts.values() if text.strip()]
        self._known.update(self._frame)
        self._order += self._frame

    def event(self, event: Fields) -> Fields:
        """The event for the client in the place of one; the same object where nothing of it differs."""
        kind = rawjson.word(event, "type")
        at = place_of(event)
        place = at, place_of(event, "content_index")
        if kind == DELTA:
            if place not in self._given:
                self._given[place] = []
                self._order.append(place)
            self._given[place].append(rawjson.word(event, "delta"))
            self._solid += _solid(self._given[place][-1])
            self._grown.add(place)
            return event
        changes: Fields = {}
        if kind.startswith("response.output_text."):
            changes |= self._text(event, "text", place)
        if kind.startswith("response.content_part."):
            part = rawjson.fields(event.get("part"))
            is_thought = rawjson.word(part, "type") in _THOUGHTS
            changes |= {} if is_thought else _member("part", part, self._text(part, "text", place))
        item = rawjson.fields(event.get("item"))
        changes |= _member("item", item, self._single(item, at))
        response = rawjson.fields(event.get("response"))
        if "output" in response or "output_text" in response:
            changes |= _member("response", response, self._response(response))
        return {**event, **changes} if changes else event

    def _single(self, item: Fields, at: int) -> Fields:
        """As `_item`, for an event about one item."""
        changes = self._item(item, at)
        made = {**item, **changes}
        if len(_texts(made)) < 2:
            return changes
        places = [
            place for number in range(len(rawjson.items(made.get("content")))) if (place := (at, number)) in self._given
        ]
        had = ["".join(self._given[place]).strip() for place in places]
        return changes if _is_within(_texts(made), [*had, *self._frame]) else _emptied(made)

    def _item(self, item: Fields, at: int) -> Fields:
        """What changes of a message; {} for any other item."""
        if rawjson.word(item, "type") != "message":
            return {}
        if rawjson.word(item, "content"):
            return self._text(item, "content", (at, 0))
        made = _each(rawjson.items(item.get("content")), lambda number, part: self._text(part, "text", (at, number)))
        return {} if made is None else {"content": made}

    def _response(self, response: Fields) -> Fields:
        output, whole = rawjson.items(response.get("output")), rawjson.word(response, "output_text")
        said = _texts_of(output)
        if not (said or whole.strip()):
            return {}
        for place in [*self._grown]:
            self._settle(place)
        if any(_solid(text) == self._solid for text in (whole, *said)):  # all texts as one; else it costs too much
            self._known.add("".join(text for pieces in self._given.values() for text in pieces).strip())
        made = _each(output, lambda at, item: self._item(item, at))
        said = said if made is None else _texts_of(made)
        had = (one if isinstance(one, str) else "".join(self._given[one]).strip() for one in self._order)
        if len(said) > 1 and not _is_within(said, had):
            made, said = _each(output, lambda _, item: _emptied(item)), []
        changes: Fields = {} if made is None else {"output": made}
        if "".join(whole.split()) != "".join("".join(said).split()):
            changes |= self._text(response, "output_text", None)
        return changes

    def _text(self, holder: Fields, key: str, place: _Place | None) -> Fields:
        """What changes of a member that is a text. `place`: where the client has got what is said in its place."""
        text = rawjson.word(holder, key).strip()
        if place is not None:
            self._settle(place)
        if not text or text in self._known:
            return {}
        had = "" if place is None else "".join(self._given.get(place, ()))
        return {key: rawjson.string(had), **({"logprobs": []} if "logprobs" in holder else {})}

    def _settle(self, place: _Place) -> None:
        if place in self._grown:
            self._grown.remove(place)
            text = "".join(self._given[place])
            self._given[place] = [text]
            self._known.add(text.strip())


def _texts(item: Fields) -> list[str]:
    """The texts of a message, without white space around them."""
    if rawjson.word(item, "type") != "message":
        return []
    parts = map(rawjson.fields, rawjson.items(item.get("content")))
    texts = [rawjson.word(item, "content"), *(rawjson.word(part, "text") for part in parts)]
    return [text.strip() for text in texts if text.strip()]


def _solid(text: str) -> int:
    return sum(map(len, text.split()))


def _texts_of(output: Iterable[Any]) -> list[str]:
    return [text for item in output for text in _texts(rawjson.fields(item))]


def _is_within(said: Sequence[str], had: Iterable[str]) -> bool:
    """Whether these texts are among those, in the same order."""
    rest = iter(had)
    return all(text in rest for text in said)


def _emptied(item: Fields) -> Fields:
    """What changes of a message whose texts go; {} for one without any."""
    if not _texts(item):
        return {}
    if rawjson.word(item, "content"):
        return {"content": ""}
    parts = map(rawjson.fields, rawjson.items(item.get("content")))
    return {"content": [{**part, "text": ""} if "text" in part else part for part in parts]}


def _member(key: str, holder: Fields, changes: Fields) -> Fields:
    """The member of an event that holds what changes; {} where nothing does."""
    return {key: {**holder, **changes}} if changes else {}


def _each(raws: list[Any], changes_of: Callable[[int, Fields], Fields]) -> list[Any] | None:
    """A list whose objects are changed; None where none is."""
    made = [(raw, changes_of(number, rawjson.fields(raw))) for number, raw in enumerate(raws)]
    if not any(changes for _, changes in made):
        return None
    return [{**rawjson.fields(raw), **changes} if changes else raw for raw, changes in made]
