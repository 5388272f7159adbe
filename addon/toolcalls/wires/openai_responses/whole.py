"""A reply that comes as one JSON body."""

from collections.abc import Sequence
from itertools import count

from toolcalls.events import (
    Event,
    Fetched,
    Finish,
    OtherContent,
    ParagraphEnd,
    PartEnd,
    Reasoning,
    Text,
)
from toolcalls.values import rawjson
from toolcalls.values.rawjson import Fields
from toolcalls.wires import Part, WholeCodec, calls_first
from toolcalls.wires.openai_responses.calls import kind_of, namespaces
from toolcalls.wires.openai_responses.decoding import whole_call
from toolcalls.wires.openai_responses.final_frame import FinalFrame
from toolcalls.wires.openai_responses.items import (
    fetched,
    is_other,
    is_text,
    parts_of,
    reason_of,
    texts_of,
    thought_in,
)
from toolcalls.wires.openai_responses.upstream_items import UpstreamItems


class Whole(WholeCodec):
    """The codec of a whole reply."""

    def __init__(self) -> None:
        self._reads_text = False
        self._left_unread = False

    def guard(self, *, reads_text: bool) -> None:
        self._reads_text = reads_text

    @property
    def left_unread(self) -> bool:
        return self._left_unread

    def decode(self, payload: bytes) -> list[Part]:
        """The events of the output's items: each text has a lane of its own, with the calls after it."""
        response = rawjson.fields(payload)
        if "output" not in response:
            return []
        self.reply_id = rawjson.word(response, "id")
        self._left_unread = self._reads_text and _holds_other_text(response)
        rows: list[list[Event]] = [[]]
        texts = 0
        behind_call = False  # a call came since the latest text
        results: list[str] = []  # of the provider's own tools, since then
        ids: set[str] = set()
        index = 0
        for item in map(rawjson.fields, rawjson.items(response["output"])):
            if (kind := kind_of(item)) is not None:
                rows[-1] += (event for _, event in whole_call(0, index, kind, item, ids))
                ids.add(rawjson.word(item, "call_id"))
                index += 1
                behind_call = True
            elif is_other(item):
                rows[-1].append(OtherContent())
            results += fetched(item)
            for part in texts_of(item):
                if texts:
                    rows.append([ParagraphEnd()] if behind_call else [])
                rows[-1] += map(Fetched, results)
                behind_call, results = False, []
                texts += 1
                if text := rawjson.word(part, "text"):
                    rows[-1].append(Text(text))
        reason = reason_of(response, calls=index > 0)
        items = [*map(rawjson.fields, rawjson.items(response["output"]))]
        thoughts = [thought for item in items if (thought := thought_in(item)) is not None]
        parts: list[Part] = [(0, Reasoning("", said="\n".join(thoughts)))] if thoughts else []
        if rawjson.word(response, "status") in {"queued", "in_progress"}:
            parts.append((0, OtherContent()))  # it says nothing yet
        for lane, events in enumerate(rows):
            parts += [(lane, event) for event in calls_first(events)]
            parts.append((lane, Finish(reason) if lane == len(rows) - 1 else PartEnd("stop")))
        return parts

    def encode(self, payload: bytes, parts: Sequence[Part], *, can_omit: bool) -> list[bytes]:  # noqa: ARG002
        """The reply, as the last frame of a stream would have it in which nothing came before."""
        items = UpstreamItems(folded=True)
        reading = items.reading
        reading.reply_id = self.reply_id
        response = rawjson.fields(payload)
        reading.namespaces = namespaces(response.get("tools"))
        lanes = count()
        for place, item in enumerate(map(rawjson.fields, rawjson.items(response["output"]))):
            if kind_of(item) is not None:
                reading.unstreamed_calls[place] = item
            texts = [number for number, part in enumerate(parts_of(item)) if is_text(part)]
            if texts:
                reading.unstreamed_texts[place] = dict(zip(texts, lanes, strict=False))
        in_order = sorted(parts, key=lambda part: part[0])
        made, _ = FinalFrame(items).response(response, in_order)
        return [rawjson.written(made)]


def _holds_other_text(response: Fields) -> bool:
    """Whether a response holds a text of a message that is not read: one in another form, or one that is said again and
    differs. White space does not count.
    """
    messages = [
        item
        for item in map(rawjson.fields, rawjson.items(response["output"]))
        if rawjson.word(item, "type") == "message"
    ]
    said = "".join(rawjson.word(part, "text") for item in messages for part in texts_of(item))
    again = "".join(rawjson.word(response, "output_text").split())
    others = [rawjson.word(part, "text") for item in messages for part in parts_of(item) if not is_text(part)]
    others += [rawjson.word(item, "content") for item in messages]
    return again not in {"", "".join(said.split())} or any(text.strip() for text in others)
