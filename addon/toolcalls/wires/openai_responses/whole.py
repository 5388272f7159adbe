"""A reply that comes as one JSON body."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolcalls.events import (
    CallStart,
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
from toolcalls.wires.content_blocks import Block, ContentBlocks
from toolcalls.wires.openai_responses.calls import FUNCTION, CallItem, kind_of, kind_of_form, namespaces
from toolcalls.wires.openai_responses.decoding import whole_call
from toolcalls.wires.openai_responses.items import (
    MESSAGE,
    fetched,
    is_other,
    is_stopped,
    is_text,
    parts_of,
    reason_of,
    response_with,
    text_part,
    texts_of,
    thought_in,
    thought_item,
)
from toolcalls.wires.openai_responses.replacement import ItemCall
from toolcalls.wires.replacement import Replacements


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
        response = rawjson.fields(payload)
        output = rawjson.items(response["output"])
        spaces = namespaces(response.get("tools"))
        lanes: dict[int, list[Part]] = {}
        for part in parts:
            lanes.setdefault(part[0], []).append(part)
        replacements = {of: Replacements(items, lanes.get(of, ()), ItemCall) for of, items in _natives(output).items()}
        lanes |= {of: replacement.other_parts for of, replacement in replacements.items()}
        own = _Rewriting({"id": rawjson.string(f"msg_{self.reply_id.removeprefix('resp_')}_1"), **MESSAGE}, spaces)
        has_text = any(texts_of(rawjson.fields(raw)) for raw in output)
        made: list[Any] = []
        cut = False
        lane = 0
        for raw in output:
            item = rawjson.fields(raw)
            if kind_of(item) is not None:
                replacement = replacements[max(0, lane - 1)]
                if (call := replacement.next()) is not None:
                    made.append(raw if call.is_unchanged(item) else call.item(spaces, item))
                elif replacement.in_order and not has_text:
                    made += own.of_own(lanes.pop(0, ()))
                continue
            if not texts_of(item):
                made.append(raw)
                continue
            rewriting = _Rewriting(item, spaces)
            for part in rawjson.items(item["content"]):
                if is_text(rawjson.fields(part)):
                    rewriting.take_text(rawjson.fields(part), [event for _, event in lanes.pop(lane, ())])
                    lane += 1
                else:
                    rewriting.content.append(part)
            made += rewriting.items() if rewriting.changed else [raw]
            cut = cut or rewriting.cut
        made += own.of_own(part for rest in lanes.values() for part in rest)  # text that has no message
        made += [call.item(spaces) for replacement in replacements.values() for call in replacement.unplaced]
        return [rawjson.written(response_with(response, output, made, cut=cut, stopped=is_stopped(response, parts)))]


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


def _natives(output: Sequence[Any]) -> dict[int, list[Fields]]:
    """The items of native calls by their lanes."""
    natives: dict[int, list[Fields]] = {}
    texts = 0
    for item in map(rawjson.fields, output):
        if kind_of(item) is not None:
            natives.setdefault(max(0, texts - 1), []).append(item)
        texts += len(texts_of(item))
    return natives


class _Rewriting(ContentBlocks):
    """What one message of a whole reply becomes: messages with what is between them. `content` is what the latest one
    holds so far.

    changed   not what it was
    cut       a call broke off
    """

    def __init__(self, item: Fields, spaces: Mapping[str, str]) -> None:
        super().__init__()
        self.content: list[Any] = []
        self.changed = False
        self.cut = False
        self._item = item
        self._spaces = spaces
        self._made: list[Any] = []
        self._count = 0
        self._part: Fields = {}  # the text part in hand
        self._said: list[str] = []  # of the text or the reasoning that is open
        self._call = CallItem(FUNCTION, {}, 0)  # the call that is open

    def of_own(self, parts: Iterable[Part]) -> list[Any]:
        """The items for text that has no message."""
        self._item = {**self._item, "status": "completed"}
        self.take_text({}, [event for _, event in parts])
        made, self._made = self.items(), []
        return made

    def take_text(self, part: Fields, events: Iterable[Event]) -> None:
        """A text part, as its events say."""
        before = len(self.content), len(self._made)
        self._part = part
        for event in events:
            self.event(0, event)
        self.close()
        if before == (len(self.content), len(self._made)) and rawjson.word(part, "text"):
            self.changed = True  # nothing is left of it

    def _start(self, block: Block, opener: Fields | None, call: CallStart | None) -> None:  # noqa: ARG002
        self._said = []
        if block.kind == "text":
            return
        self._segment()
        self.changed = True
        if call is not None:
            kind = kind_of_form(call.form)
            space = call.space or self._spaces.get(call.name, "")
            self._call = CallItem(kind, kind.new_item(call, space, None), 0)
            self._made.append(self._call.item)

    def _say(self, block: Block, text: str, event: Fields | None) -> None:  # noqa: ARG002
        (self._call.pieces if block.kind == "call" else self._said).append(text)

    def _break_off(self, block: Block) -> None:
        """Its item says that it is incomplete."""
        self.cut, block.call = True, None

    def _stop(self, block: Block) -> None:
        said = "".join(self._said)
        if block.kind == "call":
            self._call.end("incomplete" if block.call is None else "completed")
        elif block.kind == "reasoning":
            self._think(said)
        else:
            same = said == rawjson.word(self._part, "text")
            self.changed = self.changed or not same
            self.content.append(self._part if same else text_part(self._part, said))

    def _segment(self) -> None:
        """A message ends here, if it holds anything."""
        if not self.content:
            return
        self._count += 1
        name = rawjson.word(self._item, "id") or "msg"
        first = self._item.get("id", rawjson.string(name))
        id_ = first if self._count == 1 else rawjson.string(f"{name}_{self._count}")
        self._made.append({**self._item, "id": id_, "content": self.content})
        self.content = []

    def _think(self, text: str) -> None:
        latest = self._made[-1] if self._made else {}
        if rawjson.word(latest, "type") == "reasoning":
            text = rawjson.word(latest["content"][0], "text") + text
            self._made.pop()
        name = rawjson.word(self._item, "id").removeprefix("msg_")
        self._made.append(thought_item(f"rs_{name}_{len(self._made)}", text))

    def items(self) -> list[Any]:
        """The items that take the message's place."""
        self._segment()
        return self._made
